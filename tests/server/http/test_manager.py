"""The server under a service manager: told when ready, alive, reloading, stopping; given its socket; settings read again;
its log; its end whatever it is doing."""
import hashlib
import hmac
import http.client
import json
import os
import re
import signal
import socket
import subprocess
import tempfile
import unittest

import sandbox
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
        server = support.Server(self.cluster.database(migrated=True), *flags, **more)
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
        process = self.activated([listener])
        try:
            self.assertEqual(early.getresponse().status, 200)
        finally:
            process.send_signal(signal.SIGTERM)
            log, _ = process.communicate(timeout=support.DEADLINE_S)
        self.assertEqual(process.returncode, 0, log)
        self.assertIn(f"http://127.0.0.1:{port}", log)

    def activated(self, sockets, *flags, names=None, count=None, pid="$$", database=None):
        """The server with these from descriptor 3 on, as systemd passes them; LISTEN_PID is its own unless said."""
        def arrange():
            # out of the way of each other first
            for i, fd in enumerate([os.dup2(s.fileno(), 100 + i) for i, s in enumerate(sockets)]):
                os.dup2(fd, 3 + i)
                os.close(fd)
        env = {**os.environ, "LISTEN_FDS": str(len(sockets) if count is None else count), "PERFCI_DATABASE_UNSAFE": "1",
               "PERFCI_DATABASE_URL": database or self.cluster.database()}
        if names:
            env["LISTEN_FDNAMES"] = names
        return subprocess.Popen(["sh", "-c", f'LISTEN_PID={pid} exec "$0" "$@"', support.BIN / "perfci-server", *flags], env=env,
                                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                close_fds=False, preexec_fn=arrange)

    def listeners(self, count):
        made = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
        for one in made:
            self.addCleanup(one.close)
        return made

    def test_a_socket_named_ops_answers_operations_alone(self):
        for names in ("ops:perfci-server.socket", "perfci-server.socket:ops"):
            with self.subTest(names):
                sockets = self.listeners(2)
                port = {name: one.getsockname()[1] for name, one in zip(names.split(":"), sockets)}
                process = self.activated(sockets, "--public-read", names=names)
                try:
                    support.until("ready", lambda: self.ask(port["ops"], "/readyz")[0] == 200)
                    self.assertEqual(self.ask(port["ops"], "/api/v1/projects")[0], 404)
                    self.assertEqual(self.ask(port["perfci-server.socket"], "/api/v1/projects")[0], 200)
                finally:
                    process.send_signal(signal.SIGTERM)
                    log, _ = process.communicate(timeout=support.DEADLINE_S)
                self.assertEqual(process.returncode, 0, log)

    def test_sockets_that_cannot_be_used_are_one_sentence_and_status_2(self):
        folder = tempfile.TemporaryDirectory(prefix="pfc-sockets-")
        self.addCleanup(folder.cleanup)
        unix = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        unix.bind(os.path.join(folder.name, "s"))
        unix.listen()
        datagrams, mute = socket.socket(socket.AF_INET, socket.SOCK_DGRAM), socket.socket()
        mute.bind(("127.0.0.1", 0))
        for one in (unix, datagrams, mute):
            self.addCleanup(one.close)
        two = self.listeners(2)
        for sockets, more, wanted in (
                (two, {}, "2 sockets were passed; expected one ListenStream=, and at most one more"),
                (two, {"names": "ops:ops"}, "2 sockets were passed; expected one"),
                (two[:1], {"count": 90}, "LISTEN_FDS=90: the service manager's sockets cannot be used"),
                (two[:1], {"count": "many"}, "LISTEN_FDS=many: the service manager's sockets cannot be used"),
                (two[:1], {"count": -1}, "LISTEN_FDS=-1: "), ([datagrams], {}, "does not listen for streams"), ([mute], {}, "does not listen for streams"),
                ([unix], {}, "has no Internet address"), ([unix], {"names": "ops"}, "has no Internet address")):
            with self.subTest(wanted=wanted, **more):
                process = self.activated(sockets, "--listen", "127.0.0.1:0", database="dbname=none", **more)
                log, _ = process.communicate(timeout=support.DEADLINE_S)
                self.assertEqual(process.returncode, 2, log)
                self.assertRegex(log, r"\Aperfci-server: [^\n]+\n\Z")
                self.assertIn(wanted, log)

    def test_sockets_of_another_process_are_left_alone(self):
        """LISTEN_PID names the process that owns the sockets; a child of it opens its own."""
        folder = tempfile.TemporaryDirectory(prefix="pfc-sockets-")
        self.addCleanup(folder.cleanup)
        listener, = self.listeners(1)
        process = self.activated([listener], "--listen", "127.0.0.1:0", "--data", folder.name, pid="1")
        endpoint = os.path.join(folder.name, "endpoint")
        try:
            support.until("it listens", lambda: os.path.exists(endpoint))
            with open(endpoint, encoding="ascii") as file:
                self.assertNotEqual(int(file.read().rsplit(":", 1)[1]), listener.getsockname()[1])
        finally:
            process.send_signal(signal.SIGTERM)
            log, _ = process.communicate(timeout=support.DEADLINE_S)
        self.assertEqual(process.returncode, 0, log)

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
        support.until("the fault is logged", lambda: f"{file.name}:2: unknown setting" in server.log())
        self.assertEqual(read(), 200)
        # and a rate limit begins to hold
        self.write(file, "PERFCI_PUBLIC_READ=1\nPERFCI_RATE_ADDRESS=1\n")
        server.process.send_signal(signal.SIGHUP)
        support.until("the limit holds", lambda: read() == 429)

    def test_each_setting_is_taken_over_or_named_as_wanting_a_restart(self):
        certificate = self.settings("")
        others = {"LISTEN": "127.0.0.1:1", "OPS_LISTEN": "127.0.0.1:2", "DATA": "/nowhere", "DOCS": "/nowhere", "SOURCES": "/x/*", "HOSTS": "a.example", "PUBLIC_READ": "1", "WORKERS": "2",
                  "HTTP_THREADS": "3", "REQUEST_TIMEOUT": "31", "LEASE": "30", "DATABASE_WAIT": "61", "DATABASE_PREPARE": "0",
                  "DATABASE_UNSAFE": "1", "RATE_ADDRESS": "1000", "RATE_TOKEN": "1000", "CONNECTIONS": "99",
                  "CONNECTIONS_PER_ADDRESS": "98", "WAITING_PER_TOKEN": "97", "UPLOADS_PER_TOKEN": "96", "TRUSTED_PROXIES": "10.0.0.0/8", "TLS_CERT": certificate.name,
                  "TLS_KEY": certificate.name, "PLAIN_HTTP": "1", "LOG_LEVEL": "debug", "RETAIN_RAW": "5", "RETAIN_DAYS": "6", "RETAIN_AUDIT": "7", "PARTITION_WIDTH": "day",
                  "BACKFILL_DELAY": "2h", "BACKFILL_BUDGET": "3",
                  "NOTIFY": self.settings("chat kind=slack url=http://127.0.0.1:1/\n").name,
                  "NOTIFY_NETWORKS": "10.0.0.0/8", "NOTIFY_TIMEOUT": "2", "NOTIFY_RETRY": "2", "NOTIFY_TRIES": "2",
                  "PUBLIC_URL": "https://perfci.example",
                  "FORGES": self.settings("").name, "PULL_POLL": "6m", "PULL_RETRY": "31s", "MISSED_NIGHT": "1h",
                  "SILENT_RUNNER": "1h", "STALLED_NIGHTS": "4"}
        file = self.settings("")
        server = self.start("--settings", file.name)
        table = re.search(r"known\[\] = \{(.*?)NULL", (support.SOURCE / "server/settings.c").read_text(), re.S).group(1)
        self.assertEqual(set(re.findall(r'"PERFCI_(\w+)"', table)), set(others), "a new setting: say here what becomes of it")
        helped = subprocess.run([support.BIN / "perfci-server", "--help"], capture_output=True, text=True, check=True,
                                timeout=support.DEADLINE_S).stdout
        self.assertEqual([name for name in others if f"PERFCI_{name}" not in helped], [])
        self.write(file, "".join(f"PERFCI_{name}={value}\n" for name, value in others.items()))
        server.process.send_signal(signal.SIGHUP)
        line, = support.until("the settings are named", lambda: [l for l in self.lines(server)
                                                                 if l["event"] == "settings_need_restart"])
        taken = {"PUBLIC_READ", "RATE_ADDRESS", "RATE_TOKEN", "LOG_LEVEL", "RETAIN_RAW", "RETAIN_DAYS", "RETAIN_AUDIT", "PUBLIC_URL", "FORGES",
                 "PARTITION_WIDTH", "PULL_POLL", "PULL_RETRY"}
        taken |= {name for name in others if name.startswith("NOTIFY")}
        self.assertEqual({n.removeprefix("PERFCI_") for n in line["settings"].split(", ")}, set(others) - taken)
        self.assertEqual(server.call("GET", "/api/v1/projects").status, 200)
        # and what is as at the start is named no more
        self.write(file, "PERFCI_WORKERS=2\n")
        server.process.send_signal(signal.SIGHUP)
        support.until("again", lambda: len([l for l in self.lines(server) if l["event"] == "settings_reloaded"]) == 2)
        line = [l for l in self.lines(server) if l["event"] == "settings_need_restart"][-1]
        self.assertEqual(line["settings"], "PERFCI_WORKERS")

    def test_accounts_at_forges_are_taken_over_and_a_wrong_file_changes_nothing(self):
        secrets = [self.settings(text * 16) for text in "ab"]
        forges = self.settings("")
        settings = self.settings(f"PERFCI_FORGES={forges.name}\n")
        server = self.start("--settings", settings.name)

        def status(secret, delivery):
            body = b"{}"
            mac = hmac.new(secret.encode() * 16, body, hashlib.sha256).hexdigest()
            return server.call("POST", "/api/v1/webhooks/github", raw=body, headers={
                "Content-Type": "application/json", "X-GitHub-Event": "star", "X-GitHub-Delivery": delivery,
                "X-Hub-Signature-256": "sha256=" + mac}).status

        def reload(text, event):
            before = len([line for line in self.lines(server) if line["event"] == event])
            self.write(forges, text)
            server.process.send_signal(signal.SIGHUP)
            support.until(event, lambda: len([line for line in self.lines(server) if line["event"] == event]) > before)

        self.assertEqual(status("a", "1"), 401)  # no account
        reload(f"team forge=github secret={secrets[0].name}\n", "settings_reloaded")
        self.assertEqual((status("a", "2"), status("b", "3")), (202, 401))
        reload(f"team forge=github secret={secrets[1].name}\nteam forge=gitlab\n", "settings_not_reloaded")
        self.assertEqual((status("a", "4"), status("b", "5")), (202, 401))
        self.write(secrets[0], "b" * 16)  # the file of the secret, too
        reload(f"team forge=github secret={secrets[0].name}\n", "settings_reloaded")
        self.assertEqual((status("a", "6"), status("b", "7")), (401, 202))
        other = self.settings(f"other forge=github secret={secrets[1].name}\n")
        self.write(settings, f"PERFCI_FORGES={other.name}\n")  # another file
        self.write(secrets[1], "a" * 16)
        reload("", "settings_reloaded")
        self.assertEqual((status("a", "8"), status("b", "9")), (202, 401))

    def test_a_flag_goes_before_the_file(self):
        file = self.settings("PERFCI_PUBLIC_READ=0\n")
        server = self.start("--settings", file.name, "--public-read")
        self.assertEqual(server.call("GET", "/api/v1/projects").status, 200)
        server.process.send_signal(signal.SIGHUP)
        support.until("reloaded", lambda: '"settings_reloaded"' in server.log())
        self.assertEqual(server.call("GET", "/api/v1/projects").status, 200)

    def test_a_settings_file_that_cannot_be_used_is_one_sentence_and_status_2(self):
        for text, wanted in (("PERFCI_WORKERS=many\n", "--workers"), ("PERFCI_LEASE=1.5\n", "--lease: expected 1 to 3600"), ("x\n", ":1: expected NAME=value"),
                             ("PERFCI_LISTEN=a\nPERFCI_LISTEN=b\n", ":2: PERFCI_LISTEN is set a second time"),
                             ("PERFCI_DATABASE_URL=x\n", "unknown setting"), ("PERFCI_DATA=\x07\n", "control")):
            done = subprocess.run([support.BIN / "perfci-server", "--database", "dbname=none", "--settings",
                                   self.settings(text).name], capture_output=True, text=True, check=False,
                                  timeout=support.DEADLINE_S, stdin=subprocess.DEVNULL)
            self.assertEqual(done.returncode, 2, text)
            self.assertIn(wanted, done.stderr)
            self.assertEqual(done.stderr.count("\n"), 1)

    def test_a_path_that_cannot_be_used_is_reported_with_its_setting_and_leaves_no_token(self):
        database = self.cluster.database()
        for flags, wanted in ((("--settings", "/nonexistent/server.env"), "--settings: cannot open /nonexistent/server.env"),
                              (("--bootstrap-token-file", "/nonexistent/token"), "--bootstrap-token-file: cannot create"),
                              (("--data", "/proc/nonexistent"), "--data: cannot make the folder")):
            done = subprocess.run([support.BIN / "perfci-server", "--listen", "127.0.0.1:0", "--database-unsafe", *flags],
                                  env={**os.environ, "PERFCI_DATABASE_URL": database}, capture_output=True, text=True, check=False,
                                  timeout=support.DEADLINE_S, stdin=subprocess.DEVNULL)
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn("perfci-server: " + wanted, done.stderr.splitlines()[-1])
        self.assertEqual(support.sql(database, "SELECT count(*), count(*) FILTER (WHERE revoked_at IS NULL) FROM tokens").strip(), "1|0")

    def lines(self, server):
        """The log, which is JSON in every line."""
        return [json.loads(line) for line in server.log().splitlines()]

    def test_the_log_is_json_lines_that_name_their_request(self):
        server = self.start("--public-read", "--log-level", "debug")
        trace = "0af7651916cd43dd8448eb211c80319c"
        parent = f"00-{trace}-b7ad6b7169203331-01"
        own = ("a b", "x" * 65, "", 'q"uote', "\u00e9")
        broken = (parent.upper(), parent[:-1], parent.replace(trace, "0" * 32), "ff" + parent[2:], parent + "-0",
                  parent.replace("b7ad6b7169203331", "0" * 16))
        for given, wanted in [({"X-Request-Id": "deploy-7.a_B"}, "deploy-7.a_B"), ({"X-Request-Id": "x" * 64}, "x" * 64),
                              ({"traceparent": parent}, trace), ({"traceparent": "01" + parent[2:] + "-more"}, trace),
                              ({"traceparent": parent, "X-Request-Id": "mine"}, "mine"),
                              ({"traceparent": parent, "X-Request-Id": "not mine"}, trace)] + [
                                  ({"X-Request-Id": text}, None) for text in own] + [({"traceparent": t}, None) for t in broken]:
            with self.subTest(given=given):
                answer = server.call("GET", "/api/v1/projects", headers=given)
                self.assertEqual(answer.status, 200)
                got = answer.headers["x-request-id"]
                if wanted:
                    self.assertEqual(got, wanted)
                else:
                    self.assertRegex(got, r"\A[0-9a-f]{32}\Z")
                    self.assertNotIn(got, (trace, trace.upper()))
                support.until("its line", lambda: [l for l in self.lines(server) if l.get("request") == got
                                                   and l["event"] == "request" and l["path"] == "/api/v1/projects"])
        # a newline in a path makes no second line; what fails names its request, too
        hostile = server.call("GET", "/x%0a%7b%22level%22:%22error%22%7d/" + "%f0" * 90)
        self.assertEqual(hostile.status, 404)
        lines = support.until("its line", lambda: [l for l in self.lines(server) if l.get("request") == hostile.headers["x-request-id"]])
        self.assertEqual({l["event"] for l in lines}, {"request"})
        # what stores a run says which, and so does who judges it
        self.assertEqual(server.as_admin("POST", "/api/v1/projects", {"name": "demo"}).status, 201)
        stored = server.as_admin("POST", "/api/v1/runs", support.run_document(1, 1), headers={"X-Request-Id": "the-run"})
        self.assertEqual(stored.status, 201)
        run = stored.json["run_id"]
        support.until("the request's line has it", lambda: [l for l in self.lines(server) if l.get("request") == "the-run"
                                                            and l.get("run") == run and l["status"] == 201])
        support.until("the detector's line has it", lambda: [l for l in self.lines(server)
                                                             if l["event"] == "run judged" and l["run"] == run])
        for line in self.lines(server):
            self.assertEqual(line["program"], "perfci-server")
            self.assertRegex(line["time"], r"\A\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d")
        self.assertNotIn(server.admin, server.log())

    def test_a_log_without_a_reader_does_not_stop_the_service(self):
        for name in ("blocked", "closed", "full"):
            with self.subTest(name):
                read_end, write_end = os.pipe()
                how = {"blocked": f"exec 2>&{write_end}", "closed": "exec 0<&- 1>&- 2>&-", "full": "exec 2>/dev/full"}[name]
                folder = tempfile.TemporaryDirectory(prefix="pfc-mute-")
                self.addCleanup(folder.cleanup)
                process = subprocess.Popen(
                    ["sh", "-c", how + "; exec \"$0\" \"$@\"", support.BIN / "perfci-server", "--listen", "127.0.0.1:0",
                     "--data", folder.name, "--log-level", "debug", "--database-unsafe"], pass_fds=(write_end,), stdin=subprocess.DEVNULL,
                    env={**os.environ, "PERFCI_DATABASE_URL": self.cluster.database()})
                try:
                    endpoint = os.path.join(folder.name, "endpoint")
                    support.until("it listens", lambda: os.path.exists(endpoint))
                    with open(endpoint, encoding="ascii") as file:
                        port = int(file.read().rsplit(":", 1)[1])
                    call = lambda path: self.ask(port, path)
                    support.until("ready", lambda: call("/readyz")[0] == 200)
                    # more lines than a pipe holds
                    for _ in range(500):
                        self.assertEqual(call("/" + "x" * 190)[0], 404)
                    # files 0 to 2 are no sockets of the server's
                    kinds = [os.readlink(f"/proc/{process.pid}/fd/{n}") for n in range(3)]
                    self.assertFalse([k for k in kinds if k.startswith(("socket:", "anon_inode:"))], kinds)
                    lost = float(call("/metrics")[1].split(b"\nperfci_log_lines_lost_total ")[1].split()[0])
                    (self.assertEqual if name == "closed" else self.assertGreater)(lost, 0)
                finally:
                    process.send_signal(signal.SIGTERM)
                    self.assertEqual(process.wait(timeout=support.DEADLINE_S), 0)
                    os.close(read_end)
                    os.close(write_end)

    def ask(self, port, path):
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=support.DEADLINE_S)
        try:
            connection.request("GET", path)
            reply = connection.getresponse()
            return reply.status, reply.read()
        finally:
            connection.close()

    def test_sigterm_ends_it_in_order_while_it_waits_for_another_to_migrate(self):
        database = self.cluster.database()
        holder = subprocess.Popen(["psql", "-XAtq", "-d", database], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        try:
            holder.stdin.write("BEGIN; SELECT pg_advisory_xact_lock(74202026);\n\\echo held\n")
            holder.stdin.flush()
            support.until("the lock is held", lambda: holder.stdout.readline().strip() == "held")
            server = support.Server(database, ready=False)
            self.addCleanup(server.close)
            waits = "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'advisory' AND application_name = 'perfci'"
            support.until("it waits", lambda: support.sql(database, waits) == "1\n")
            answer = server.call("GET", "/readyz")
            self.assertEqual((answer.status, answer.json["error"]["code"]), (503, "unavailable"))
            self.assertIn("schema", answer.json["error"]["message"])
            self.assertEqual(server.stop(), 0, server.log())
            # and the database is not left with the statement
            support.until("nothing waits", lambda: support.sql(database, waits) == "0\n")
        finally:
            holder.communicate("ROLLBACK;\n", timeout=support.DEADLINE_S)

    def test_under_the_units_filter_of_system_calls_it_serves_and_ends(self):
        """Runs under a filter of the system calls that the unit allows; any other call kills the process."""
        unit = (support.SOURCE / "deploy/systemd/perfci-server.service").read_text()
        allowed = sandbox.allowed_calls(unit)
        self.assertNotIn("mount", allowed)
        self.assertNotIn("ptrace", allowed)
        # The leak checker traces the process that it looks at, and would wait for its killed tracer for ever.
        options = ":".join(filter(None, [os.environ.get("ASAN_OPTIONS"), "detect_leaks=0"]))
        server = self.start("--public-read", before=lambda: sandbox.restrict(allowed), environment={"ASAN_OPTIONS": options})
        self.assertEqual(server.as_admin("POST", "/api/v1/projects", {"name": "demo"}).status, 201)
        for n in range(1, 4):
            self.assertEqual(server.as_admin("POST", "/api/v1/runs", support.run_document(n, n)).status, 201)
        support.until("the runs are judged", lambda: (server.call(
            "GET", "/api/v1/projects/demo/series").json.get("series") or [{}])[0].get("points") == 3)
        self.assertEqual(server.stop(), 0, server.log())

    def test_a_second_signal_ends_it_at_once(self):
        server = self.start()
        # a request that is never complete keeps the first one waiting
        slow = socket.create_connection(("127.0.0.1", server.port))
        self.addCleanup(slow.close)
        slow.sendall(b"POST /api/v1/runs HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\n\r\n12")
        support.until("it is being read", lambda: b"perfci_http_connections 2" in server.call("GET", "/metrics").body)
        server.process.send_signal(signal.SIGTERM)
        support.until("it stops", lambda: '"stopping"' in server.log())
        server.process.send_signal(signal.SIGINT)
        self.assertEqual(server.process.wait(timeout=support.DEADLINE_S), 5)
        self.assertIn("stopping_at_once", server.log())
        self.assertNotIn('"stopped"', server.log())


if __name__ == "__main__":
    unittest.main(verbosity=1)
