"""The server under a service manager: told when ready, alive, reloading, stopping; given its socket; settings read again."""
import http.client
import os
import signal
import socket
import subprocess
import tempfile
import unittest

import support


class Manager:
    """The receiving end of sd_notify(3)."""

    def __init__(self):
        self.folder = tempfile.TemporaryDirectory(prefix="pfc-notify-")
        self.path = os.path.join(self.folder.name, "socket")
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind(self.path)
        self.socket.settimeout(support.DEADLINE_S)

    def wait_for(self, line):
        """Reads messages until one holds this line; returns the lines of all that were read."""
        lines = []
        while line not in lines:
            lines += self.socket.recv(65536).decode().splitlines()
        return lines

    def close(self):
        self.socket.close()
        self.folder.cleanup()


class Managed(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.cluster = support.Cluster()
        cls.addClassCleanup(cls.cluster.close)

    def settings(self, text):
        file = tempfile.NamedTemporaryFile("w", prefix="pfc-settings-", suffix=".env")
        self.addCleanup(file.close)
        self.write(file, text)
        return file

    def write(self, file, text):
        file.seek(0)
        file.truncate()
        file.write(text)
        file.flush()

    def start(self, *flags, **more):
        server = support.Server(self.cluster.database(), *flags, **more)
        self.addCleanup(server.close)
        return server

    def test_the_manager_hears_ready_alive_reloading_and_stopping(self):
        manager = Manager()
        self.addCleanup(manager.close)
        # A period that passes quickly, so that more than one sign of life comes.
        server = self.start(environment={"NOTIFY_SOCKET": manager.path, "WATCHDOG_USEC": "300000"})
        lines = manager.wait_for("READY=1")
        self.assertNotIn("STOPPING=1", lines)
        for _ in range(3):
            manager.wait_for("WATCHDOG=1")
        server.process.send_signal(signal.SIGHUP)
        lines = manager.wait_for("RELOADING=1")
        self.assertTrue(any(line.startswith("MONOTONIC_USEC=") for line in lines + manager.wait_for("READY=1")))
        self.assertEqual(server.stop(), 0)
        manager.wait_for("STOPPING=1")

    def test_it_answers_on_the_socket_it_was_given(self):
        listener = socket.create_server(("127.0.0.1", 0))
        self.addCleanup(listener.close)
        port = listener.getsockname()[1]
        # A request that comes before the server is there waits in the socket's queue.
        early = http.client.HTTPConnection("127.0.0.1", port, timeout=support.DEADLINE_S)
        self.addCleanup(early.close)
        early.request("GET", "/healthz")
        process = subprocess.Popen(
            ["sh", "-c", "exec 3<&0 0</dev/null; LISTEN_PID=$$ exec \"$0\" \"$@\"", support.BIN / "perfci-server"],
            stdin=listener.fileno(), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            env={**os.environ, "LISTEN_FDS": "1", "PERFCI_DATABASE_UNSAFE": "1", "PERFCI_DATABASE_URL": self.cluster.database()})
        try:
            self.assertEqual(early.getresponse().status, 200)
        finally:
            process.send_signal(signal.SIGTERM)
            log, _ = process.communicate(timeout=support.DEADLINE_S)
        self.assertEqual(process.returncode, 0, log)
        self.assertIn(f"http://127.0.0.1:{port}", log)

    def test_sighup_takes_over_what_may_change_and_names_what_may_not(self):
        file = self.settings("# open to all?\nPERFCI_PUBLIC_READ=0\nPERFCI_RATE_ADDRESS=0\n")
        server = self.start("--settings", file.name)
        read = lambda: server.call("GET", "/api/v1/projects").status
        self.assertEqual(read(), 401)
        self.write(file, 'PERFCI_PUBLIC_READ="1"\nPERFCI_WORKERS=2\n')
        server.process.send_signal(signal.SIGHUP)
        support.until("reading is open", lambda: read() == 200)
        support.until("the other setting is named", lambda: "PERFCI_WORKERS" in server.log())
        # a file that cannot be used changes nothing
        self.write(file, "PERFCI_PUBLIC_READ=0\nPERFCI_RATE_ADRESS=3\n")
        server.process.send_signal(signal.SIGHUP)
        support.until("the fault is told", lambda: f"{file.name}:2: unknown setting" in server.log())
        self.assertEqual(read(), 200)
        # and a rate limit begins to hold
        self.write(file, "PERFCI_PUBLIC_READ=1\nPERFCI_RATE_ADDRESS=1\n")
        server.process.send_signal(signal.SIGHUP)
        support.until("the limit holds", lambda: read() == 429)

    def test_a_flag_goes_before_the_file(self):
        file = self.settings("PERFCI_PUBLIC_READ=0\n")
        server = self.start("--settings", file.name, "--public-read")
        self.assertEqual(server.call("GET", "/api/v1/projects").status, 200)
        server.process.send_signal(signal.SIGHUP)
        support.until("reloaded", lambda: '"reloaded"' in server.log())
        self.assertEqual(server.call("GET", "/api/v1/projects").status, 200)

    def test_a_settings_file_that_cannot_be_used_is_one_sentence_and_status_2(self):
        for text, wanted in (("PERFCI_WORKERS=many\n", "--workers"), ("x\n", ":1: want NAME=value"),
                             ("PERFCI_LISTEN=a\nPERFCI_LISTEN=b\n", ":2: PERFCI_LISTEN is set a second time"),
                             ("PERFCI_DATABASE_URL=x\n", "unknown setting"), ("PERFCI_DATA=\x07\n", "control")):
            done = subprocess.run([support.BIN / "perfci-server", "--database", "dbname=none", "--settings",
                                   self.settings(text).name], capture_output=True, text=True, check=False,
                                  timeout=support.DEADLINE_S, stdin=subprocess.DEVNULL)
            self.assertEqual(done.returncode, 2, text)
            self.assertIn(wanted, done.stderr)
            self.assertEqual(done.stderr.count("\n"), 1)


if __name__ == "__main__":
    unittest.main(verbosity=1)
