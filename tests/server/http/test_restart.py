"""Data that must survive a kill of the server: answered runs, and notices with unfinished deliveries."""
import concurrent.futures
import hmac
import http.client
import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import tempfile
import unittest

import receiver
import support


def setUpModule():
    global cluster
    cluster = support.Cluster()


def tearDownModule():
    cluster.close()


class Restart(unittest.TestCase):
    def setUp(self):
        self.server = support.Server(cluster.database(migrated=True), "--public-read")
        self.addCleanup(self.server.close)
        self.assertEqual(self.server.as_admin("POST", "/api/v1/projects", {"name": "demo"}).status, 201)

    def post(self, n):
        """The answer's status and document; None when the server died under it."""
        try:
            answer = self.server.call("POST", "/api/v1/runs", support.run_document(n, 1 + n % 5), token=self.token)
        except (OSError, http.client.HTTPException):
            return None
        return answer.status, answer.json

    def test_nothing_that_was_answered_is_lost_or_counted_twice(self):
        server, runs = self.server, range(1, 61)
        self.token = server.admin
        acknowledged = {}
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            pending = {n: pool.submit(self.post, n) for n in runs}
            support.until("the first few answers", lambda: sum(p.done() for p in pending.values()) >= 5)
            server.kill()
            for n, p in pending.items():
                answer = p.result(timeout=support.DEADLINE_S)
                if answer:
                    self.assertEqual(answer[0], 201, answer)
                    acknowledged[n] = answer[1]
        self.assertGreaterEqual(len(acknowledged), 5)
        server.start()
        self.assertEqual(server.admin, self.token, "the bootstrap token changed")
        for n in runs:
            status, document = self.post(n)
            if n in acknowledged:
                self.assertEqual((status, document), (200, acknowledged[n]))
            else:
                self.assertIn(status, (200, 201))
        listed = server.call("GET", "/api/v1/projects/demo/runs?limit=1000").json["runs"]
        self.assertEqual(sorted(r["id"] for r in listed), sorted(f"{n:032x}" for n in runs))
        self.assertEqual(server.call("GET", "/api/v1/stats").json["measurements"], len(runs))

    def test_sigterm_stops_in_order_while_others_wait(self):
        runner = self.server.as_admin("POST", "/api/v1/tokens", {"scopes": ["runner"]}).json["token"]
        with concurrent.futures.ThreadPoolExecutor(3) as pool:
            waiting = [pool.submit(self.server.call, "POST", "/api/v1/jobs/lease?wait=30",
                                   {"runner": f"r{i}", "machine_class": "m"}, token=runner) for i in range(3)]
            support.until("three requests that wait", lambda: b"perfci_http_waiting 3\n" in
                          self.server.call("GET", "/metrics").body)
            self.assertEqual(self.server.stop(), 0, self.server.log())
            self.assertEqual([w.result(timeout=support.DEADLINE_S).status for w in waiting], [204] * 3)


class Notices(unittest.TestCase):
    """The notice of a confirmed culprit reaches every receiver."""

    SECRET = "sixteen bytes it is, or more"
    NAMES = ("gemm/f32/m64n64k64", "norm/f32/<b>&@all")

    def setUp(self):
        self.receiver = receiver.Receiver({"/slow": ["hang", 204], "/broken": [500, 503, 204], "/closing": ["close", "close", 204],
                                  "/moved": ["redirect"], "/denied": [401], "/always-500": [500]})
        self.addCleanup(self.receiver.close)
        self.folder = tempfile.mkdtemp(prefix="pfc-notify-")
        self.addCleanup(shutil.rmtree, self.folder)
        self.secret = self.write("secret", self.SECRET + "\n")
        self.token = self.write("token", "token-of-16-bytes\n")

    def write(self, name, text):
        path = os.path.join(self.folder, name)
        with open(path, "w", encoding="ascii") as file:
            file.write(text)
        os.chmod(path, 0o600)
        return path

    def start(self, lines, *flags):
        here = f"http://127.0.0.1:{self.receiver.port}"
        notify = ()
        if lines:
            text = lines.replace("HERE", here).replace("SECRET", self.secret).replace("TOKEN", self.token)
            notify = ("--notify", self.write("receivers", text))
        server = support.Server(cluster.database(migrated=True), "--public-read", *notify, "--notify-retry", "0.05", "--notify-tries",
                                "4", "--notify-timeout", "1", "--public-url", "https://perfci.example/", *flags)
        self.addCleanup(server.close)
        self.assertEqual(server.as_admin("POST", "/api/v1/projects", {"name": "demo"}).status, 201)
        self.assertEqual(server.as_admin("POST", "/api/v1/projects/demo/commits", support.commits(1, 12)).status, 200)
        for n in range(1, 13):
            document = support.run_document(n, n, 100.0 if n < 8 else 200.0)
            document["measurements"] *= 2
            document["measurements"][1] = {**document["measurements"][0], "benchmark": self.NAMES[1]}
            self.assertEqual(server.as_admin("POST", "/api/v1/runs", document).status, 201)
        support.until("alerts", lambda: len(server.call("GET", "/api/v1/alerts").json["alerts"]) == 2)
        return server

    def blame(self, server, benchmark=0):
        report = {"project": "demo", "metric": "time_ns", "benchmark": self.NAMES[benchmark], "backend": "cpu-scalar",
                  "good": support.commit_id(1), "bad": support.commit_id(12), "verdict": "found",
                  "culprits": [{"commits": [support.commit_id(8)], "probability": 0.99, "rel_change": 1.0, "rel_low": 0.9,
                                "rel_high": 1.1}],
                  "runs": 9, "builds": 4, "commits_measured": 4, "seconds": 12.5, "steps": [],
                  "confirmation": {"before": support.commit_id(7),
                                   "pairs": [[100.0 + n % 3, 200.0 + n % 2] for n in range(12)]}}
        self.assertEqual(server.as_admin("POST", "/api/v1/bisections", report).status, 201)

    def notices(self, server):
        return server.as_admin("GET", "/api/v1/notices").json["notices"]

    def states(self, server):
        return {d["receiver"]: d["state"] for n in self.notices(server) for d in n["deliveries"]}

    def check_signature(self, call):
        head = call["headers"]
        signed = f"{head['Perfci-Delivery']}.{head['Perfci-Timestamp']}.".encode() + call["body"]
        good = hmac.new(self.SECRET.encode(), signed, "sha256").hexdigest()
        self.assertEqual(head["Perfci-Signature"], "sha256=" + good)

    def test_every_receiver_hears_of_it_however_it_stumbles_at_first(self):
        os.chmod(self.secret, 0o644)
        server = self.start("# receivers\n\n"
                            "fine kind=webhook url=HERE/fine?key=1 secret=SECRET project=demo\n"
                            "slow kind=webhook url=HERE/slow secret=SECRET\n"
                            "broken kind=webhook url=HERE/broken secret=SECRET\n"
                            "closing kind=webhook url=HERE/closing secret=SECRET\n"
                            "others kind=webhook url=HERE/others secret=SECRET project=another\n"
                            "chat kind=slack url=HERE/chat\n")
        self.assertIn(f"{self.secret}: world-readable; expected no access for others", server.log())
        self.assertNotIn(self.SECRET, server.log())
        self.blame(server, 1)
        support.until("all have it", lambda: not self.notices(server))
        counts = {p: len(self.receiver.to(p)) for p in ("/fine", "/slow", "/broken", "/closing", "/others", "/chat")}
        self.assertEqual(counts, {"/fine": 1, "/slow": 2, "/broken": 3, "/closing": 3, "/others": 0, "/chat": 1})
        for path in ("/fine", "/slow", "/broken", "/closing"):
            calls = self.receiver.to(path)
            self.assertEqual(len({c["headers"]["Perfci-Delivery"] for c in calls}), 1, "the same id each time")
            for call in calls:
                self.check_signature(call)
        call, = self.receiver.to("/fine")
        document = json.loads(call["body"])
        self.assertEqual(call["headers"]["Perfci-Event"], "culprit_confirmed")
        self.assertEqual((document["project"], document["commit"]["id"], document["commit"]["subject"]),
                         ("demo", support.commit_id(8), "change 8"))
        self.assertEqual(document["alert"]["benchmark"], self.NAMES[1])
        self.assertAlmostEqual(document["alert"]["rel_change"], 1.0, delta=0.01)
        self.assertEqual(document["alert"]["url"], f"https://perfci.example/alerts/{document['alert']['id']}")
        self.assertEqual(document["repro"], f"perfci repro alert:{document['alert']['id']}")
        text = json.loads(self.receiver.to("/chat")[0]["body"])["text"]
        self.assertIn("norm/f32/&lt;b&gt;&amp;@\u200ball", text)
        self.assertIn("culprit confirmed", text)

    def test_what_cannot_be_delivered_stays_as_a_dead_letter_and_can_be_tried_again(self):
        refusing = socket.socket() # bound without listening: no other test gets the port, and connections are refused
        self.addCleanup(refusing.close)
        refusing.bind(("127.0.0.1", 0))
        port = refusing.getsockname()[1]
        server = self.start("moved kind=webhook url=HERE/moved secret=SECRET\n"
                            "denied kind=webhook url=HERE/denied secret=SECRET\n"
                            "never kind=webhook url=HERE/always-500 secret=SECRET\n"
                            "private kind=webhook url=https://10.255.255.1/hidden-path secret=SECRET\n"
                            f"away kind=webhook url=http://127.0.0.1:{port}/x secret=SECRET\n")
        self.blame(server)
        support.until("all are dead", lambda: set(self.states(server).values()) == {"dead"})
        notice, = self.notices(server)
        shown = {d["receiver"]: (d["tries"], d["reason"]) for d in notice["deliveries"]}
        self.assertEqual({r: t for r, (t, _) in shown.items()},
                         {"moved": 1, "denied": 1, "never": 4, "private": 1, "away": 4})
        self.assertIn("redirect", shown["moved"][1])
        self.assertEqual(self.receiver.to("/elsewhere"), [])
        self.assertIn("401", shown["denied"][1])
        self.assertIn("500", shown["never"][1])
        self.assertIn("address", shown["private"][1])
        self.assertNotIn("hidden-path", shown["private"][1] + server.log())
        self.assertNotIn(self.SECRET, server.log())
        figures = server.call("GET", "/metrics").body.decode()
        self.assertIn("perfci_notices_dead 5\n", figures)
        self.assertIn("perfci_notices_open 1\n", figures)
        self.receiver.script.update({"/moved": [204], "/denied": [204], "/always-500": [204]})
        refusing.close()
        later = receiver.Receiver(port=port)
        self.addCleanup(later.close)
        answer = server.as_admin("POST", f"/api/v1/notices/{notice['id']}/send")
        self.assertEqual((answer.status, answer.json), (200, {"deliveries": 5}))
        support.until("all but one are sent", lambda: sorted(self.states(server).values()) == ["dead"] + ["sent"] * 4)
        self.check_signature(later.to("/x")[0])
        # a notice that cannot be delivered is closed by hand
        self.assertEqual(server.as_admin("DELETE", f"/api/v1/notices/{notice['id']}").status, 204)
        self.assertEqual(self.notices(server), [])

    def test_what_is_being_sent_stays_with_its_server_and_is_soon_another_ones_when_that_is_killed(self):
        self.receiver.script["/slow"] = ["hang", "hang", 204]
        server = self.start("slow kind=webhook url=HERE/slow secret=SECRET\n", "--notify-timeout", "60", "--lease", "4s")
        job = lambda what: support.sql(server.database, f"SELECT {what} FROM jobs WHERE kind = 'notify'").strip()
        until_s = lambda: float(job("extract(epoch FROM lease_until)") or 0)
        self.blame(server)
        support.until("it is being sent", lambda: len(self.receiver.to("/slow")) == 1)
        begun = until_s()
        support.until("the call outlives its first lease", lambda: until_s() > begun + 4)
        # another has it, as when a server stood still for longer than a lease: its call ends, and its word does not count
        support.sql(server.database, "UPDATE jobs SET lease_hash = repeat('0', 64), lease_until = now() + interval '1 h'"
                    " WHERE kind = 'notify'")
        support.until("the call was given up", lambda: self.receiver.left == 1)
        self.assertNotIn("notice_retry", server.log(), "it was the receiver's time that ended it")
        self.assertEqual((job("state || tries || lease_hash"), len(self.receiver.to("/slow"))), ("leased1" + "0" * 64, 1))
        support.sql(server.database, "UPDATE jobs SET lease_until = now() WHERE kind = 'notify'")
        support.until("it is sent again", lambda: len(self.receiver.to("/slow")) == 2)
        server.kill()
        server.start()
        # the lease expires without help of the test
        support.until("it is sent", lambda: not self.notices(server))
        ids = [c["headers"]["Perfci-Delivery"] for c in self.receiver.to("/slow")]
        self.assertEqual(ids, [ids[0]] * 3)
        self.assertEqual(job("state || tries"), "done3")

    def test_the_culprit_has_one_comment_that_is_edited_and_none_before_it_is_confirmed(self):
        server = self.start("forge kind=github url=HERE repo=me/kernels secret=TOKEN\n")
        self.assertEqual(self.receiver.calls, [])
        self.blame(server)
        support.until("the comment is there", lambda: not self.notices(server))
        self.assertEqual(len(self.receiver.comments), 1)
        text = self.receiver.comments[0]["body"]
        self.assertTrue(text.startswith("<!-- perfci:culprit -->\n"), text)
        self.assertIn("changed 1 measurement,", text)
        self.assertIn("perfci repro alert:", text)
        self.blame(server, 1)
        support.until("it was edited", lambda: not self.notices(server))
        self.assertEqual(len(self.receiver.comments), 1)
        text = self.receiver.comments[0]["body"]
        self.assertIn("changed 2 measurements,", text)
        self.assertIn("`norm/f32/<b>&@all`", text)  # inert: a code span
        self.assertEqual([c["method"] for c in self.receiver.calls], ["GET", "GET", "POST", "GET"] + ["GET", "GET", "PATCH"])
        self.assertEqual({c["path"] for c in self.receiver.calls},
                         {"/user", f"/repos/me/kernels/commits/{support.commit_id(8)}/comments", "/repos/me/kernels/comments/5"})

    def test_the_comment_of_an_exact_change_carries_its_explanation(self):
        server = self.start("forge kind=github url=HERE repo=me/kernels secret=TOKEN\n")
        folder = pathlib.Path(os.environ["PERFCI_SOURCE_DIR"]) / "tests/data/explain"
        for n in range(1, 13):
            document = json.loads((folder / ("good.json" if n < 8 else "bad.json")).read_text(encoding="utf-8"))
            document.update(id=f"{100 + n:032x}", project="demo", commit=support.commit_id(n), started_at=f"2026-01-02T00:{n:02d}:00Z",
                            finished_at=f"2026-01-02T00:{n:02d}:10Z")
            self.assertEqual(server.as_admin("POST", "/api/v1/runs", document).status, 201)
        alert = support.until("an alert of the cycles", lambda: next(
            (a for a in server.call("GET", "/api/v1/alerts").json["alerts"] if a["metric"] == "cycles"), None))
        cycles = [[m["samples"][0] for m in json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))["measurements"]
                   if m["metric"] == "cycles"][0] for name in ("good", "bad")]
        cycles = [value[0] if isinstance(value, list) else value for value in cycles]
        report = {"project": "demo", "metric": "cycles", "benchmark": alert["benchmark"], "backend": alert["backend"], "good": support.commit_id(1),
                  "bad": support.commit_id(12), "verdict": "found", "runs": 9, "builds": 4, "commits_measured": 4, "seconds": 12.5, "steps": [],
                  "culprits": [{"commits": [support.commit_id(8)], "probability": 0.99, "rel_change": 3.2, "rel_low": 3.2, "rel_high": 3.3}],
                  "confirmation": {"before": support.commit_id(7), "pairs": [cycles] * 12}}
        self.assertEqual(server.as_admin("POST", "/api/v1/bisections", report).status, 201)
        support.until("the comment is there", lambda: self.receiver.comments and not self.notices(server))
        text = self.receiver.comments[0]["body"]
        explanation = server.as_admin("GET", f"/api/v1/alerts/{alert['id']}/explanation").json
        first, plain = explanation["contributions"][0], lambda word: word.replace("_", "\\_")
        self.assertIn(f"<details><summary>Explanation of {plain(alert['benchmark'])}: limiter before {explanation['limiter']['before']}, "
                      f"after {explanation['limiter']['after']}</summary>", text)
        self.assertIn(f"| {plain(first['resource'])} | {plain(first['phase'])} | {first['value']:+.0f} cycles | {100 * first['value'] / explanation['delta']:.1f} % |", text)
        self.assertEqual(text.count("<details>"), text.count("</details>"))
        self.assertIn("<details><summary>Evidence, and how to see it again</summary>", text)

    def reload(self, server):
        before = server.log().count('reloaded"')
        server.process.send_signal(signal.SIGHUP)
        support.until("it was read again", lambda: server.log().count('reloaded"') > before)

    def test_receivers_change_without_a_restart_and_a_wrong_file_changes_nothing(self):
        here = f"http://127.0.0.1:{self.receiver.port}"
        server = self.start("first kind=webhook url=HERE/first secret=SECRET\n")
        self.blame(server)
        support.until("the first has it", lambda: not self.notices(server))
        self.write("receivers", f"first kind=webhook url={here}/moved-there secret={self.secret}\n"
                   f"second kind=slack url={here}/second\n")
        self.reload(server)
        self.assertIn('"event":"settings_reloaded"', server.log())
        # a file with a fault on its second line
        self.write("receivers", f"\nfirst kind=mail url={here}/x\n")
        self.reload(server)
        fault, = [line for line in server.log().splitlines() if "not_reloaded" in line]
        self.assertIn("receivers:2: expected kind=", fault)
        self.blame(server, 1)
        support.until("both have it", lambda: not self.notices(server))
        self.assertEqual({p: len(self.receiver.to(p)) for p in ("/first", "/moved-there", "/second", "/x")},
                         {"/first": 1, "/moved-there": 1, "/second": 1, "/x": 0})

    def test_the_settings_file_may_name_the_first_receiver_and_take_the_last_away(self):
        settings = self.write("settings", "")
        server = self.start(None, "--settings", settings)
        receivers = self.write("receivers", f"chat kind=slack url=http://127.0.0.1:{self.receiver.port}/chat\n")
        self.write("settings", f"PERFCI_NOTIFY={receivers}\n")
        self.reload(server)
        self.blame(server)
        support.until("the chat has it", lambda: not self.notices(server))
        self.assertEqual(len(self.receiver.to("/chat")), 1)
        self.write("settings", "")
        self.reload(server)
        self.blame(server, 1)
        support.until("it waits for who reads it", lambda: len(self.notices(server)) == 1)
        self.assertEqual(self.notices(server)[0]["deliveries"], [])
        self.assertEqual(len(self.receiver.to("/chat")), 1)

    def test_a_wrong_file_of_receivers_is_refused_at_start_with_its_line(self):
        short = self.write("short", "too short\n")
        url = cluster.database()
        for line, said in ((f"a kind=webhook url=http://example.com/x secret={self.secret}", "expected https"),
                           (f"a kind=webhook url=https://u:p@example.com/ secret={self.secret}", "no user or password"),
                           (f"a kind=webhook url=https://h/ secret={short}", "under 16 bytes"),
                           ("a kind=webhook url=https://h/ secret=/nowhere", "/nowhere"),
                           ("a kind=webhook url=https://h/", "expected secret=FILE"),
                           (f"a kind=mail url=https://h/ secret={self.secret}", "kind=webhook, kind=slack, kind=github or kind=email"),
                           (f"a kind=github repo=x secret={self.secret}", "OWNER/NAME"),
                           (f"A! kind=slack url=https://h/", "receiver's name"),
                           ("a kind=slack url=https://h/ colour=red", 'unknown word "colour"'),
                           ("a kind=slack url=https://h/\na kind=slack url=https://h/", "another receiver"),
                           ("# nobody", "names no receiver")):
            path = self.write("wrong", "\n" + line + "\n")
            done = subprocess.run([support.BIN / "perfci-server", "--database", url, "--listen", "127.0.0.1:0", "--notify", path],
                                  capture_output=True, text=True, timeout=support.DEADLINE_S, check=False)
            self.assertEqual(done.returncode, 2, line)
            self.assertIn(said, done.stderr)
            self.assertEqual(len(done.stderr.strip().splitlines()), 1, done.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=1)
