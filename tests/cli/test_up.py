"""perfci up, down and status: one state, "all of it runs", reached from whatever was there before; and the commands that
talk to the service."""

import json
import os
import pathlib
import re
import signal
import socket
import subprocess
import urllib.request

import support


def alive(pid):
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as f:
            return f.read().rsplit(")", 1)[1].split()[0] not in "ZX"
    except FileNotFoundError:
        return False


class Stack(support.Case):
    def setUp(self):
        super().setUp()
        self.data = self.path("data")
        # A stack that is thrown away need not wait for the disk.
        self.env["PERFCI_UP_VOLATILE"] = "1"
        self.addCleanup(self.stop)

    def stop(self):
        if os.path.exists(self.path("data/stack.json")):
            self.expect(self.perfci("down", "--data", self.data), 0)

    def up(self, *more, status=0):
        return self.expect(self.perfci("up", "--detach", "--data", self.data, *more), status)

    def start(self):
        self.up("--port", "0")

    def members(self):
        doc = json.loads(self.perfci("status", "--json", "--data", self.data).stdout)
        return {m["name"]: m.get("pid") for m in doc["members"]}

    def url(self):
        with open(self.path("data/endpoint.json"), encoding="utf-8") as f:
            return json.load(f)["url"]

    def read(self, name):
        with open(self.path(name), encoding="utf-8") as f:
            return f.read()

    def ask(self, path):
        with urllib.request.urlopen(self.url() + path, timeout=support.DEADLINE_S) as answer:
            return json.load(answer)

    def kill(self, name):
        pid = self.members()[name]
        os.kill(pid, signal.SIGKILL)
        support.wait_for(lambda: not alive(pid), f"{name} is gone")
        return pid


class Up(Stack):
    def test_up_twice_status_and_down(self):
        before = self.expect(self.perfci("status", "--data", self.data), 5)
        self.assertIn("not ready", before.stdout)
        self.start()
        pids = self.members()
        self.assertTrue(all(pids.values()), pids)
        self.assertEqual(self.ask("/api/v1/projects")["projects"], [])
        self.assertIn("ready at", self.expect(self.perfci("status", "--data", self.data), 0).stdout)
        for name in ("admin.token", "runner.token", "stack.json"):
            self.assertEqual(os.stat(self.path("data", name)).st_mode & 0o077, 0, name)
        # A second one says so and changes nothing.
        self.assertIn("already running", self.up().stdout)
        self.assertEqual(self.members(), pids)
        self.expect(self.perfci("down", "--data", self.data), 0)
        for name, pid in pids.items():
            self.assertFalse(alive(pid), name)
        self.assertFalse(os.path.exists(self.path("data/endpoint.json")))
        # Down of what is down is no error, and up goes on with what was stored.
        self.expect(self.perfci("down", "--data", self.data), 0)
        self.up()
        self.assertEqual(self.ask("/api/v1/projects")["projects"], [])

    @support.needs_root("as another user nothing has root's powers")
    def test_as_root_the_server_and_jobs_have_no_powers_of_root(self):
        self.start()
        pids = self.members()
        status = lambda name: dict(re.findall(r"^(\w+):\s*(.*)$", pathlib.Path(f"/proc/{pids[name]}/status").read_text(), re.M))
        server = status("server")
        self.assertEqual([int(server[key], 16) for key in ("CapPrm", "CapEff", "CapInh", "CapBnd", "CapAmb")], [1 << 1, 1 << 1, 0, 1 << 1, 0], "CAP_DAC_OVERRIDE alone, for the socket of PostgreSQL")
        self.assertEqual(server["NoNewPrivs"], "1")
        self.assertNotEqual(status("postgres")["Uid"].split()[0], "0")
        words = pathlib.Path(f"/proc/{pids['runner']}/cmdline").read_bytes().split(b"\0")
        self.assertIn([b"--sandbox", b"require"], [words[i:i + 2] for i in range(len(words))], "a job never runs as root")

    def test_up_recovers_whatever_was_killed(self):
        self.start()
        self.expect(self.perfci("project", "create", "kept", "--data", self.data), 0)
        for name in ("server", "runner", "postgres"):
            pid = self.kill(name)
            self.expect(self.perfci("status", "--data", self.data), 0 if name == "runner" else 5)
            self.up()
            self.assertNotEqual(self.members()[name], pid)
            self.assertEqual([p["name"] for p in self.ask("/api/v1/projects")["projects"]], ["kept"])

    def test_a_runner_whose_token_was_revoked_is_not_ready_and_up_makes_another_one(self):
        self.start()
        pids, token = self.members(), self.read("data/runner.token")
        listed = lambda: [t for t in json.loads(self.expect(self.perfci("token", "list", "--json", "--data", self.data), 0).stdout)["tokens"]
                          if t["name"] == "runner of perfci up"]
        self.expect(self.perfci("token", "revoke", str(listed()[0]["id"]), "--data", self.data), 0)
        self.assertEqual(self.members(), pids, "the runner runs on")
        said = self.expect(self.perfci("status", "--data", self.data), 5)
        self.assertIn("refuses the runner's token", said.stdout)
        self.assertIn("perfci up", said.stdout)
        doc = json.loads(self.expect(self.perfci("status", "--json", "--data", self.data), 5).stdout)
        self.assertEqual((doc["ready"], "token" in doc["reason"]), (False, True))
        again = self.up()
        self.assertIn("already running", again.stdout)
        self.assertIn("new one", again.stderr)
        self.assertIn("ready at", self.expect(self.perfci("status", "--data", self.data), 0).stdout)
        now = self.members()
        self.assertNotEqual(now["runner"], pids["runner"])
        self.assertEqual({**now, "runner": 0}, {**pids, "runner": 0})
        self.assertNotEqual(self.read("data/runner.token"), token)
        # its new token works, and nothing of the looking is in the log of refused writes
        support.wait_for(lambda: self.ask("/api/v1/runners")["runners"], "the runner asks for jobs")
        log = json.loads(self.expect(self.perfci("audit", "--json", "--data", self.data), 0).stdout)
        self.assertEqual([r for r in log["audit"] if r["action"] == "refused" and "heartbeat" in r["object"]], [])
        # and with a good token up changes nothing
        self.up()
        self.assertEqual(self.members(), now)

    def test_a_data_folder_that_others_can_change_is_refused(self):
        os.mkdir(self.data)
        for mode in (0o777, 0o1777, 0o702):
            os.chmod(self.data, mode)
            said = self.up("--port", "0", status=2)
            self.assertIn("writable for every user", said.stderr)
            self.assertIn("chmod 0711", said.stderr)
            self.assertEqual(os.listdir(self.data), [])
        os.chmod(self.data, 0o755)
        if os.geteuid() == 0:
            os.chown(self.data, 1, 1)
            said = self.up("--port", "0", status=2)
            self.assertIn("belongs to user 1", said.stderr)
            self.assertEqual(os.listdir(self.data), [])
            os.chown(self.data, 0, 0)

    def test_a_record_of_a_foreign_process_ends_no_process(self):
        self.start()
        pids = self.members()
        self.expect(self.perfci("down", "--data", self.data), 0)
        with subprocess.Popen(["sleep", "600"]) as stranger:
            self.addCleanup(stranger.kill)
            with open(self.path("data/stack.json"), encoding="utf-8") as f:
                record = json.load(f)
            for name in pids:
                record[name] = {"pid": stranger.pid, "start_ticks": 1, "exe": f"perfci-{name}"}
            self.write("data/stack.json", json.dumps(record), 0o600)
            # The database's own stale file, with a process id that another process has now.
            with open(os.path.join(record["cluster"], "postmaster.pid"), "w", encoding="ascii") as f:
                f.write(f"{stranger.pid}\n{record['cluster']}\n1\n5432\n\n\n")
            self.expect(self.perfci("status", "--data", self.data), 5)
            self.expect(self.perfci("down", "--data", self.data), 0)
            self.up()
            self.assertIsNone(stranger.poll())
            stranger.kill()

    def test_a_port_in_use_is_one_sentence(self):
        with socket.socket() as s:
            s.bind(("127.0.0.1", 0))
            s.listen()
            port = str(s.getsockname()[1])
            done = self.up("--port", port, status=5)
        self.assertIn(f"port {port}", done.stderr)
        self.assertIn("in use", done.stderr)
        self.assertIn("hint: choose another port with --port N", done.stderr)
        self.assertFalse(os.path.exists(self.data), "a first start that failed leaves nothing behind")

    def test_a_cluster_of_another_postgresql_version_is_refused_with_the_command_to_type(self):
        programs = subprocess.run([os.path.join(os.environ["PERFCI_TEST_DIR"], "pfc-cluster"), "programs"], check=True,
                                  capture_output=True, text=True).stdout.strip()
        version = subprocess.run([os.path.join(programs, "postgres"), "--version"], check=True, capture_output=True, text=True).stdout
        installed = int(version.split()[2].split(".")[0])
        other = 16 if installed != 16 else 17
        self.env.update(PERFCI_PG_BIN=programs, PERFCI_OS_RELEASE=self.write("os-release", "ID=debian\nVERSION_ID=\"13\"\n"))
        os.makedirs(self.path("data/pg"), 0o700)
        for made_by, said, hint in ((other, f"was made by PostgreSQL {other}, which is not installed, and PostgreSQL {installed} cannot read it",
                                     f'hint: run "apt-get install postgresql-{other}", then "perfci up" again'),
                                    (14, "was made by PostgreSQL 14, and perfci runs with 15 to 18", "hint: convert it")):
            self.write("data/pg/PG_VERSION", f"{made_by}\n")
            done = self.up("--port", "0", status=5)
            self.assertIn(said, done.stderr)
            self.assertIn(hint, done.stderr)
            self.assertEqual([pid for pid in self.members().values() if pid], [])

    def test_without_postgresql_the_package_of_the_distribution_is_named(self):
        old = self.path("old")
        os.mkdir(old)
        for name in ("initdb", "pg_ctl", "postgres"):
            self.write(f"old/{name}", "#!/bin/sh\necho 'postgres (PostgreSQL) 14.3'\n", 0o755)
        self.env.update(PERFCI_PG_BIN=old, PERFCI_OS_RELEASE=self.write("os-release", "ID=debian\nVERSION_ID=\"13\"\n"))
        done = self.up("--port", "0", status=5)
        self.assertIn(f"expected version 15 to 18, and installed here is 14 in {old}", done.stderr)
        self.assertIn('hint: run "apt-get install postgresql-17"', done.stderr)
        self.assertFalse(os.path.exists(self.data))

    def test_a_long_data_folder_gets_its_socket_elsewhere(self):
        self.data = self.path("data", "x" * 100)
        self.start()
        with open(os.path.join(self.data, "stack.json"), encoding="utf-8") as f:
            sock = json.load(f)["socket"]
        self.addCleanup(lambda: os.path.isdir(sock) and os.rmdir(sock))
        self.assertLess(len(sock), 90)
        self.assertEqual(os.stat(sock).st_mode & 0o777, 0o700)
        self.expect(self.perfci("down", "--data", self.data), 0)

    def test_in_the_foreground_it_stays_until_a_signal_and_stops_all(self):
        for how in ("signal", "down", "member"):
            with subprocess.Popen([support.PERFCI, "up", "--port", "0", "--data", self.data, "--no-runner"],
                                  stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                                  env=self.env, text=True) as p:
                self.assertIn("is running", p.stdout.readline())
                pids = [pid for pid in self.members().values() if pid]
                self.assertEqual(len(pids), 2)
                if how == "signal":
                    p.send_signal(signal.SIGTERM)
                elif how == "down":
                    self.expect(self.perfci("down", "--data", self.data), 0)
                else:
                    self.kill("server")
                self.assertEqual(p.wait(support.DEADLINE_S), 5 if how == "member" else 0, how)
            for pid in pids:
                self.assertFalse(alive(pid), how)

    @support.needs_root("only root has a home that others cannot enter")
    def test_below_a_closed_folder_the_cluster_goes_where_its_user_can_reach_it(self):
        os.mkdir(self.path("closed"), 0o700)
        self.data = self.path("closed", "data")
        done = self.up("--port", "0")
        self.assertIn("cannot reach", done.stderr)
        with open(os.path.join(self.data, "stack.json"), encoding="utf-8") as f:
            record = json.load(f)
        self.addCleanup(subprocess.run, ["rm", "-rf", record["cluster"], record["socket"]], check=False)
        self.assertTrue(record["cluster"].startswith("/var/lib/perfci/"))
        self.expect(self.perfci("status", "--data", self.data), 0)
        self.expect(self.perfci("down", "--data", self.data), 0)


class Service(Stack):
    """One stack, and a morning's work with it."""

    def here(self, *args):
        return self.perfci(*args, "--data", self.data, cwd=self.path("repo"))

    def commit(self, value, message):
        self.write("repo/value", f"{value}\n")
        self.git("add", "-A", cwd=self.path("repo"))
        self.git("-c", "user.name=A", "-c", "user.email=a@example.org", "commit", "-q", "--allow-empty", "-m", message,
                 cwd=self.path("repo"))
        return self.git("rev-parse", "HEAD", cwd=self.path("repo"))

    def replay_tries_settings(self, series):
        config = self.path("detector.json")
        with open(config, "w", encoding="utf-8") as out:
            json.dump({"rules": [{"metric": "lat*", "min_change": 0.02}]}, out)
        answer = self.json_of(self.here("replay", "--config", config, "--json"))
        self.assertGreaterEqual(answer["series"], 1)
        self.assertEqual((answer["alerts"], answer["f1"]), ([], None))
        self.assertIn("0 alerts", self.expect(self.here("replay", "--config", config), 0).stdout)
        one = self.json_of(self.here("replay", "--config", config, "--series", str(series), "--json"))
        self.assertEqual((one["series_id"], one["points"], one["changes"]), (series, 5, []))
        self.assertIn("nothing is stored", self.expect(self.here("replay", "--show"), 0).stderr)
        self.assertIn("version 1", self.expect(self.here("replay", "--config", config, "--apply"), 0).stdout)
        stored = self.expect(self.here("replay", "--show"), 0)
        self.assertEqual(json.loads(stored.stdout), {"rules": [{"metric": "lat*", "min_change": 0.02}]})
        with open(config, "w", encoding="utf-8") as out:
            out.write('{"rules": [{"metric": "x", "min_change": 99}]}')
        bad = self.expect(self.here("replay", "--config", config), 2)
        self.assertIn("rules[0].min_change", bad.stderr)

    def test_tokens_projects_push_nightly_series_and_comparisons(self):
        self.start()
        # Tokens and projects.
        token = self.expect(self.here_in_scratch("token", "create", "--scope", "read", "--quiet"), 0).stdout.strip()
        self.assertRegex(token, r"^pfc_[0-9a-f]+$")
        listed = self.json_of(self.here_in_scratch("token", "list", "--json"))["tokens"]
        number = str(max(t["id"] for t in listed))
        self.assertNotIn(token, json.dumps(listed))
        refused = self.perfci("project", "create", "p", "--url", self.url(), env={"PERFCI_TOKEN": token})
        self.assertNotEqual(refused.returncode, 0)
        self.assertNotIn(token, refused.stderr)
        self.expect(self.here_in_scratch("token", "revoke", number), 0)
        self.expect(self.here_in_scratch("token", "revoke", "999999"), 2)
        self.assertIn('"create"', self.expect(self.here_in_scratch("token", "crate"), 2).stderr)
        self.expect(self.here_in_scratch("project", "create", "Not A Slug"), 2)

        # The first night measures the newest commit alone, the next ones what is new.
        os.mkdir(self.path("repo"))
        self.git("init", "-q", "-b", "main", cwd=self.path("repo"))
        self.write("repo/perfci.yaml", "project: night\nbranch: main\nmeasure: cat value\nmetric: latency\nunit: ms\n")
        first = self.commit(100, "one")
        second = self.commit(100, "two")
        report = self.json_of(self.here("nightly", "--json"))
        self.assertEqual([(c["id"], c["status"]) for c in report["commits"]], [(second, "measured")])
        self.assertEqual(self.json_of(self.here("nightly", "--json"))["commits"], [])
        third = self.commit(101, "three")
        self.write("repo/perfci.yaml", "project: night\nbranch: main\nmeasure: cat value\nmetric: latency\nunit: ms\n")
        self.git("tag", "candidate-3", third, cwd=self.path("repo"))
        fourth = self.commit(130, "four | <b>")
        self.git("-c", "user.name=a", "-c", "user.email=a@x", "tag", "-a", "-m", "x", "v1.0", fourth, cwd=self.path("repo"))
        self.git("tag", "latest", fourth, cwd=self.path("repo"))
        # The report of the first night with the slow commit names it.
        report = self.json_of(self.here("nightly", "--jobs", "--json", "--wait", "120s"), 1)
        self.assertEqual([(c["id"], c["status"]) for c in report["commits"]],
                         [(third, "measured"), (fourth, "measured")], report)
        self.assertTrue(report["judged"])

        # A document from elsewhere, pushed twice, is there once.
        run = self.path("run.json")
        self.expect(self.perfci("run", "--commit", first, "--repeats", "6", "--out", run, cwd=self.path("repo")), 0)
        pushed, = self.json_of(self.here("push", run, "--json"))
        again, = self.json_of(self.here("push", run, "--json"))
        self.assertEqual((pushed["run_id"], pushed["repeated"], again["repeated"]), (again["run_id"], False, True))
        bare = self.write("number.txt", "99.5\n")
        self.assertIn("direction of", self.expect(self.here("push", bare, "--commit", second), 2).stderr)
        as_cost = "--commit", second, "--direction", "value=lower", "--json"
        imported, = self.json_of(self.here("push", bare, *as_cost))
        imported_again, = self.json_of(self.here("push", bare, *as_cost))
        self.assertEqual(imported["run_id"], imported_again["run_id"])
        self.projects_are_not_made_by_a_typo(bare, second)
        # A history names its commits in short, and becomes a run a commit.
        history = self.write("history.csv", "time,commit,requests\n"
                             f"2026-01-01 10:00:00 +0100,{first[:12]},100\n2026-01-02 10:00:00 +0100,{second[:12]},101\n")
        shown = self.json_of(self.here("import", history, "--direction", "requests=higher", "--json"))
        self.assertEqual([r["commit"] for r in shown], [first, second])
        shown_again = self.json_of(self.here("import", history, "--direction", "requests=higher", "--json"))
        self.assertEqual([(r["run_id"], r["repeated"]) for r in shown_again], [(r["run_id"], True) for r in shown])

        series = self.json_of(self.here("series", "--json", "--metric", "latency"))["series"]
        self.assertEqual([s["points"] for s in series if s["metric"] == "latency"], [5])  # the base twice
        points = self.json_of(self.here("series", str(series[0]["id"]), "--json"))["columns"]
        # The second night has measured its base again.
        self.assertEqual(points["commit"], [first, second, second, third, fourth])
        self.assertEqual(points["median"], [100, 100, 100, 101, 130])
        self.assertIn("four", self.expect(self.here("series", str(series[0]["id"])), 0).stdout)
        self.expect(self.here("alerts"), 0)
        self.replay_tries_settings(series[0]["id"])
        done = self.here("compare", "--stored", first, fourth, "--json")
        rows = json.loads(done.stdout)["rows"]
        self.assertAlmostEqual([r for r in rows if r["metric"] == "latency"][0]["rel_change"], 0.30, delta=0.01)

        # Every tag that was sent is an end; those that are versions are marked.
        done = self.here("compare", "--stored", "candidate-3", "latest", "--json")
        self.assertEqual([json.loads(done.stdout)[side]["name"] for side in "ab"], [third, fourth], done.stderr)
        # Without the repository the service knows them, too.
        answer = self.ask("/api/v1/compare?project=night&a=candidate-3&b=latest")
        self.assertEqual([(answer[side]["commit"], answer[side]["how"].split(" at ")[0]) for side in "ab"],
                         [(third, "tag candidate-3"), (fourth, "tag latest")])
        commits = {c["id"]: (c["tags"], c["releases"]) for c in self.ask("/api/v1/projects/night/commits")["commits"]}
        self.assertEqual((commits[third], commits[fourth]), ((["candidate-3"], []), (["v1.0", "latest"], ["v1.0"])))

        # A commit that cannot be measured is news, and the newest one decides the status.
        self.write("repo/perfci.yaml", "project: night\nbranch: main\nmeasure: exit 125\n")
        self.commit(100, "broken")
        done = self.expect(self.here("nightly", "--markdown"), 4)
        self.assertIn("broken", done.stdout)

    def names(self):
        return [p["name"] for p in self.json_of(self.here_in_scratch("project", "list", "--json"))["projects"]]

    def projects_are_not_made_by_a_typo(self, bare, commit):
        before = self.names()
        done = self.expect(self.here("push", bare, "--commit", commit, "--direction", "value=lower", "--project", "nihgt"), 2)
        self.assertRegex(done.stderr, r'\Aperfci push: .*no project "nihgt"\nhint: did you mean "night"\? --create makes a new one\n\Z')
        done = self.expect(self.here("run", "--push", "--project", "nihgt", "--repeats", "1"), 2)
        self.assertIn('did you mean "night"?', done.stderr)
        done = self.expect(self.here("nightly", "--project", "nihgt"), 2)
        self.assertIn('did you mean "night"?', done.stderr)
        # Nor by a file that cannot be stored, before or behind the service's door.
        broken = self.write("broken.txt", "no numbers in here\n")
        self.expect(self.here("push", broken, "--commit", commit, "--project", "new", "--create"), 2)
        self.expect(self.here("push", bare, "--commit", commit, "--direction", "value=lower", "--project", "new", "--create", "--branch", "x" * 300), 2)
        self.assertEqual(self.names(), before)
        done = self.expect(self.here("push", bare, "--commit", commit, "--direction", "value=lower", "--project", "new", "--create"), 0)
        self.assertIn("project new is new", done.stderr)
        self.assertEqual(self.names(), before + ["new"])
        coverage = self.json_of(self.here_in_scratch("coverage", "--project", "new", "--json"))
        self.assertEqual([row["cells"][0] for row in coverage["rows"]], ["x"])
        self.assertIn("0 gaps", self.expect(self.here_in_scratch("coverage", "--project", "new"), 0).stdout)
        # what was pushed has no canary, while that of a busy machine may have brought events to the project of its runs
        self.assertIn("no infrastructure events", self.expect(self.here_in_scratch("events", "--project", "new"), 0).stderr)
        # It goes as it came, by its name or by --yes, and takes its rows along.
        self.assertIn("needs --yes", self.expect(self.here_in_scratch("project", "delete", "new"), 2).stderr)
        self.assertIn("new", self.names())
        gone = self.json_of(self.here_in_scratch("project", "delete", "new", "--yes", "--json"))
        self.assertEqual(gone["deleted"], "new")
        self.assertGreater(gone["rows"], 3)
        self.assertEqual(self.names(), before)
        self.expect(self.here_in_scratch("series", "--project", "new"), 2)
        self.expect(self.here_in_scratch("project", "delete", "new", "--yes"), 2)
        log = self.json_of(self.here_in_scratch("audit", "--json"))["audit"]
        self.assertIn(("delete", "new"), [(row["action"], row["object"]) for row in log])
        self.assertIn("delete", self.expect(self.here_in_scratch("audit", "--limit", "5"), 0).stdout)

    def here_in_scratch(self, *args):
        return self.perfci(*args, "--data", self.data)


class Nobody(support.Case):
    def test_without_a_service_the_commands_say_where_they_looked(self):
        url = f"http://127.0.0.1:{support.free_port()}"
        for args in (("token", "list"), ("project", "list"), ("series", "--project", "p"), ("alerts",)):
            done = self.expect(self.perfci(*args, "--url", url), 5)
            self.assertIn(url, done.stderr)
            self.assertEqual(done.stdout, "")


if __name__ == "__main__":
    support.main()
