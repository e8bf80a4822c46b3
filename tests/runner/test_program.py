"""perfci-runner as a program: what each flag takes, and the exit status of every end.

0: stopped, or nothing to do with --once; 2: wrong usage; 5: it cannot work.
"""

import fcntl
import http.server
import json
import os
import shutil
import signal
import subprocess
import tempfile
import threading
import unittest

BIN = os.environ.get("PERFCI_BIN_DIR") or os.path.join(os.path.dirname(__file__), "../../build/release/bin")
RUNNER = os.path.join(BIN, "perfci-runner")
PATIENCE_S = 600


class Server:
    """Answers every request with one status, and sets an event at the first one."""

    def __init__(self, status, body=None):
        self.heard, self.calls = threading.Event(), []
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                text = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                outer.calls.append((self.path, self.headers.get("Authorization"), json.loads(text)))
                reply = json.dumps(body or {}).encode()
                self.send_response(status)
                if status != 204:
                    self.send_header("Content-Type", "application/json")
                    self.send_header("Content-Length", str(len(reply)))
                self.end_headers()
                if status != 204:
                    self.wfile.write(reply)
                outer.heard.set()

            def log_message(self, *args):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True)
        self.thread.start()

    def close(self):
        self.server.shutdown()
        self.thread.join()
        self.server.server_close()


class Program(unittest.TestCase):
    def setUp(self):
        self.dir = tempfile.mkdtemp(prefix="pfc-runner-")
        self.addCleanup(shutil.rmtree, self.dir, ignore_errors=True)
        self.work = os.path.join(self.dir, "work")
        self.token = self.write("token", "pfc_x\n")
        self.env = {k: v for k, v in os.environ.items()
                    if not k.startswith("PERFCI_") and k != "CREDENTIALS_DIRECTORY"}

    def write(self, name, text):
        path = os.path.join(self.dir, name)
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)
        os.chmod(path, 0o600)
        return path

    def serve(self, status, body=None):
        server = Server(status, body)
        self.addCleanup(server.close)
        return server

    def run_it(self, *args, env=None):
        return subprocess.run([RUNNER, *args], capture_output=True, text=True, cwd=self.dir, stdin=subprocess.DEVNULL,
                              env={**self.env, **(env or {})}, timeout=PATIENCE_S, check=False)

    def expect(self, done, status, words=""):
        self.assertEqual(done.returncode, status, f"\nstdout: {done.stdout}\nstderr: {done.stderr}")
        self.assertIn(words, done.stderr)
        return done

    def once(self, server, *args):
        """With all that is needed, against a server that answers at once."""
        return self.run_it("--url", server.url, "--token-file", self.token, "--work", self.work, "--once", *args)

    def test_help_and_version_go_to_stdout_with_status_0(self):
        done = self.expect(self.run_it("--help"), 0)
        self.assertTrue(done.stdout.startswith("perfci-runner --url URL"), done.stdout)
        self.assertIn("Ends with 0 when stopped, 2 on wrong usage, 5 when it cannot work.", done.stdout)
        self.assertEqual(done.stderr, "")
        done = self.expect(self.run_it("--version"), 0)
        self.assertRegex(done.stdout, r"\Aperfci-runner \d+\.\d+")
        # Later options are not read.
        self.expect(self.run_it("--help", "--no-such-flag"), 0)
        self.expect(self.run_it("--version", "--poll", "0"), 0)

    def test_wrong_usage_has_status_2(self):
        needed = ["--url", "http://127.0.0.1:1", "--token-file", self.token, "--work", self.work, "--once"]
        for args, words in [
                ([], "--work DIR is missing"),
                (["--no-such-flag"], "unknown flag"),
                (["--poll"], "unknown flag"),
                ([*needed, "more"], "unexpected argument 'more'"),
                ([*needed, "--poll", "0.99"], "--poll"),
                ([*needed, "--poll", "30.01"], "--poll"),
                ([*needed, "--poll", "often"], "--poll"),
                ([*needed, "--timeout", "soon"], "--timeout"),
                ([*needed, "--wait-quiet", "soon"], "--wait-quiet"),
                ([*needed, "--executor", "docker"], "--executor: expected local or slurm, got 'docker'"),
                ([*needed, "--slurm-option", "time=3"], "--slurm-option: expected an option of sbatch"),
                ([*needed, "--executor", "slurm", "--job", "-"], "--job: expected --executor local"),
                (["--url", "http://127.0.0.1:1", "--work", self.work, "--job", "/dev/null"], "--job"),
                (["--url", "http://127.0.0.1:1", "--work", self.work, "--job", "-"], "--job"),
                ([*needed, "--log", "loud"], "--log: expected debug, info, warn or error, got 'loud'"),
                (["--work", self.work], "no token"),
                (["--url", "ftp://x", "--token-file", self.token, "--work", self.work], "expected http://"),
        ]:
            with self.subTest(args=args):
                done = self.expect(self.run_it(*args), 2, words)
                self.assertEqual(done.stdout, "")

    def test_values_at_their_limits_are_taken(self):
        server = self.serve(204)
        for args in [["--poll", "1"], ["--poll", "30"], ["--timeout", "1s"], ["--wait-quiet", "5m"],
                     ["--executor", "local"], ["--log", "debug"], ["--log", "info"], ["--log", "warn"],
                     ["--log", "error"]]:
            with self.subTest(args=args):
                self.expect(self.once(server, *args), 0)

    def test_the_log_level_is_the_one_that_was_asked_for(self):
        server = self.serve(204)
        self.assertIn("runner_started", self.expect(self.once(server), 0).stderr)
        self.assertIn("runner_started", self.expect(self.once(server, "--log", "info"), 0).stderr)
        self.assertEqual(self.expect(self.once(server, "--log", "warn"), 0).stderr, "")

    def test_no_job_is_a_clean_end_and_the_question_is_ours(self):
        server = self.serve(204)
        self.expect(self.once(server, "--name", "me", "--class", "lab"), 0)
        path, auth, body = server.calls[0]
        self.assertEqual(path, "/api/v1/jobs/lease?wait=0")
        self.assertEqual(auth, "Bearer pfc_x")
        self.assertEqual((body["runner"], body["machine_class"]), ("me", "lab"))
        self.assertEqual(body["labels"], {"tasks": "blocks", "once": "yes"}, "its silence afterwards is no fault")
        self.assertEqual(len(server.calls), 1)

    def test_the_environment_stands_in_for_flags(self):
        server = self.serve(204)
        done = self.run_it("--work", self.work, "--once", env={"PERFCI_URL": server.url, "PERFCI_TOKEN": "pfc_env"})
        self.expect(done, 0)
        self.assertEqual(server.calls[0][1], "Bearer pfc_env")
        done = self.run_it("--work", self.work, "--once", "--token-file", self.token,
                           env={"PERFCI_URL": server.url, "PERFCI_TOKEN": "pfc_env"})
        self.expect(done, 0)
        self.assertEqual(server.calls[1][1], "Bearer pfc_x")
        done = self.run_it("--work", self.work, "--once",
                           env={"PERFCI_URL": server.url, "PERFCI_TOKEN_FILE": self.token})
        self.expect(done, 0)
        self.assertEqual(server.calls[2][1], "Bearer pfc_x")

    def test_what_cannot_work_has_status_5(self):
        for status in (401, 403):
            with self.subTest(status=status):
                server = self.serve(status)
                self.expect(self.once(server), 5)
                self.assertEqual(len(server.calls), 1)
        self.write("file", "")
        self.expect(self.run_it("--url", "http://127.0.0.1:1", "--token-file", self.token, "--once", "--work",
                                os.path.join(self.dir, "file", "work")), 5, "perfci-runner: ")

    def test_a_machine_without_slurm_gets_one_sentence(self):
        done = self.run_it("--url", "http://127.0.0.1:1", "--token-file", self.token, "--work", self.work, "--once", "--executor", "slurm",
                           env={"PATH": self.dir})
        self.expect(done, 5, "perfci-runner: sinfo: not found: --executor slurm needs Slurm's client programs here"
                             " (Debian: apt-get install slurm-client)\n")

    def test_a_second_runner_in_a_folder_has_status_5(self):
        os.mkdir(self.work)
        with open(os.path.join(self.work, "lock"), "w", encoding="utf-8") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            server = self.serve(204)
            self.expect(self.once(server), 5, "another runner works in")
            self.assertEqual(server.calls, [])
        self.expect(self.once(server), 0)

    def test_a_signal_ends_it_with_status_0(self):
        for signo in (signal.SIGTERM, signal.SIGINT):
            with self.subTest(signal=signo):
                server = self.serve(204)
                with subprocess.Popen([RUNNER, "--url", server.url, "--token-file", self.token, "--work", self.work],
                                      stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=self.dir,
                                      env=self.env) as runner:
                    self.assertTrue(server.heard.wait(PATIENCE_S))
                    runner.send_signal(signo)
                    _, said = runner.communicate(timeout=PATIENCE_S)
                self.assertEqual(runner.returncode, 0, said)
                self.assertIn("runner_ended", said)
                self.assertEqual(server.calls[0][0], "/api/v1/jobs/lease?wait=20")

    def test_poll_is_what_one_question_waits(self):
        server = self.serve(204)
        with subprocess.Popen([RUNNER, "--url", server.url, "--token-file", self.token, "--work", self.work, "--poll",
                               "7"], stderr=subprocess.DEVNULL, cwd=self.dir, env=self.env) as runner:
            self.assertTrue(server.heard.wait(PATIENCE_S))
            runner.send_signal(signal.SIGTERM)
            self.assertEqual(runner.wait(PATIENCE_S), 0)
        self.assertEqual(server.calls[0][0], "/api/v1/jobs/lease?wait=7")
        self.assertEqual(server.calls[0][2]["labels"], {"tasks": "blocks"}, "a runner that stays")

    def test_resend_counts_what_is_there_and_asks_for_it(self):
        self.expect(self.run_it("--work", self.work, "--resend"), 5, "spool")
        for folder, count in (("sent", 3), ("rejected", 1), ("", 2)):
            path = os.path.join(self.work, "spool", folder)
            os.makedirs(path, exist_ok=True)
            for i in range(count):
                name = f"00000000000{i}.000000000-{i:032x}-000.json"
                with open(os.path.join(path, name), "w", encoding="utf-8") as f:
                    f.write("{}")
        done = self.expect(self.run_it("--work", self.work, "--resend"), 0)
        self.assertEqual(done.stdout, "3 documents of the last 24 hours are sent again; 2 wait, 1 were rejected\n")
        self.assertTrue(os.path.exists(os.path.join(self.work, "spool", "sent", "again")))
        # Without a token, and without a server.
        self.expect(self.run_it("--resend"), 2, "--work DIR is missing")


if __name__ == "__main__":
    unittest.main()
