"""Notices of groups and recoveries, receivers that take a part of them, mail, the Atom feed, and `perfci notices`."""
import base64
import datetime
import email
import email.policy
import json
import os
import subprocess
import tempfile
import unittest
import xml.etree.ElementTree

import receiver
import support

ATOM = "{http://www.w3.org/2005/Atom}"


def setUpModule():
    global cluster
    cluster = support.Cluster()


def tearDownModule():
    cluster.close()


class Notices(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="pfc-notices-")
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.hears = receiver.Receiver()
        self.addCleanup(self.hears.close)
        self.runs = 0

    def write(self, name, text):
        path = os.path.join(self.folder, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(path, 0o600)
        return path

    def serve(self, lines):
        text = lines.replace("HERE", f"http://127.0.0.1:{self.hears.port}").replace("SECRET", self.write("secret", "sixteen bytes or more"))
        server = support.Server(cluster.database(migrated=True), "--public-read", "--notify", self.write("receivers", text),
                                "--notify-retry", "0.05", "--notify-tries", "3", "--public-url", "https://perfci.example")
        self.addCleanup(server.close)
        self.assertEqual(server.as_admin("POST", "/api/v1/projects", {"name": "demo"}).status, 201)
        self.assertEqual(server.as_admin("POST", "/api/v1/projects/demo/commits", support.commits(1, 24)).status, 200)
        return server

    def measure(self, server, commits, value, names=("gemm/a", "norm/b\u00b2")):
        for n in commits:
            document = support.run_document(n, n, value, id=os.urandom(16).hex())
            document["measurements"] = [{**document["measurements"][0], "benchmark": name} for name in names]
            self.assertEqual(server.as_admin("POST", "/api/v1/runs", document).status, 201)
        support.until("judged", lambda: not server.as_admin("GET", "/api/v1/stats?project=demo").json["detection_lag_s"])

    def states(self, server):
        return {a["state"] for a in server.call("GET", "/api/v1/alerts").json["alerts"]}

    def kinds(self, path):
        return sorted(call["headers"]["Perfci-Event"] for call in self.hears.to(path))

    def test_a_group_and_its_recovery_are_announced_once_to_those_who_ask(self):
        server = self.serve("all kind=webhook url=HERE/all secret=SECRET events=all\n"
                            "back kind=webhook url=HERE/back secret=SECRET events=recovered\n"
                            "culprits kind=webhook url=HERE/culprits secret=SECRET\n"
                            "other kind=webhook url=HERE/other secret=SECRET events=all benchmarks=attention/*\n")
        self.measure(server, range(1, 7), 100.0)
        self.measure(server, range(7, 13), 200.0)
        support.until("the group is announced", lambda: self.hears.to("/all"))
        self.assertEqual(self.kinds("/all"), ["regression"])  # one for two series
        self.measure(server, range(13, 25), 100.0)
        support.until("the recovery is announced", lambda: self.hears.to("/back"))
        self.assertEqual(self.states(server), {"verified_fixed"})
        support.until("both are sent", lambda: not server.as_admin("GET", "/api/v1/notices").json["notices"])
        self.assertEqual(self.kinds("/all"), ["recovered", "regression"])
        self.assertEqual(self.kinds("/back"), ["recovered"])
        self.assertEqual((self.kinds("/culprits"), self.kinds("/other")), ([], []))
        feed = xml.etree.ElementTree.fromstring(server.call("GET", "/api/v1/projects/demo/feed").body)
        entries = feed.findall(f"{ATOM}entry")
        self.assertEqual([e.find(f"{ATOM}category").get("term") for e in entries], ["recovered", "regression"])
        self.assertIn("first measured at " + support.commit_id(7)[:12], entries[1].find(f"{ATOM}title").text)
        self.assertRegex(entries[1].find(f"{ATOM}link").get("href"), r"^/alerts/\d+$")
        self.assertEqual(feed.find(f"{ATOM}updated").text, entries[0].find(f"{ATOM}updated").text)

    def test_a_worse_member_of_an_announced_group_is_a_worsening_and_a_better_one_is_none(self):
        server = self.serve("all kind=webhook url=HERE/all secret=SECRET events=all\n")
        self.measure(server, range(1, 7), 100.0)
        self.measure(server, range(7, 13), 200.0)
        support.until("the group is announced", lambda: self.hears.to("/all"))
        for names, values in ((("faster/c",), (100.0, 25.0)), (("less/d",), (100.0, 150.0))):
            self.measure(server, range(1, 7), values[0], names)
            self.measure(server, range(7, 13), values[1], names)
        self.assertEqual(self.kinds("/all"), ["regression"])
        self.measure(server, range(1, 7), 100.0, ("worse/e",))
        self.measure(server, range(7, 13), 400.0, ("worse/e",))
        support.until("both are sent", lambda: self.kinds("/all") == ["regression", "worsened"])
        text = next(json.loads(c["body"]) for c in self.hears.to("/all") if c["headers"]["Perfci-Event"] == "worsened")
        self.assertRegex(text["text"], r"^worsened from \+100\.\d % to \+300\.\d %: ")
        self.assertEqual((text["alert"]["benchmark"], text["commit"]), ("worse/e", None))

    def test_a_digest_is_one_message_of_two_servers_and_survives_a_kill(self):
        later = (datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(hours=12)).strftime("%H:%M")
        lines = f'team kind=webhook url=HERE/team secret=SECRET events=all digest="daily {later}"\n'
        server = self.serve(lines)
        other = support.Server(server.database, "--public-read", "--notify", os.path.join(self.folder, "receivers"))
        self.addCleanup(other.close)
        self.measure(server, range(1, 7), 100.0, ("gemm/a",))
        self.measure(server, range(7, 13), 200.0, ("gemm/a",))

        def waiting(number):
            found = [d for n in server.as_admin("GET", "/api/v1/notices").json["notices"] for d in n["deliveries"]]
            return [d["state"] for d in found] == ["waiting"] * number and all(d["next_at"] for d in found)

        support.until("one is collected", lambda: waiting(1))
        support.sql(server.database, "INSERT INTO notices (project_id, kind, alert_id, sha, text)"
                                     " SELECT project_id, 'recovered', alert_id, sha, 'recovered' FROM notices")
        support.sql(server.database, """SELECT pg_notify('perfci', '{"type": "notice", "id": 2}')""")
        support.until("both are collected", lambda: waiting(2))
        self.assertEqual(self.hears.to("/team"), [])
        server.kill()
        server.start()
        self.assertTrue(waiting(2))
        self.assertEqual(self.hears.to("/team"), [])
        support.sql(server.database, "UPDATE jobs SET not_before = now() WHERE kind = 'notify'")
        support.sql(server.database, """SELECT pg_notify('perfci', '{"type": "notice", "id": 1}')""")
        support.until("all is sent", lambda: not server.as_admin("GET", "/api/v1/notices").json["notices"])
        call, = self.hears.to("/team")
        document = json.loads(call["body"])
        self.assertEqual(call["headers"]["Perfci-Event"], "digest")
        self.assertEqual(call["headers"]["Perfci-Delivery"], f"digest-{document['digest']}-team")
        self.assertEqual(document["text"], "2 notices: 1 regression, 1 recovered")
        self.assertEqual([n["kind"] for n in document["notices"]], ["regression", "recovered"])

    def test_a_mail_is_readable_tried_again_and_refused_for_good(self):
        login = base64.b64encode(b"\0me\0pass:word").decode()
        later = receiver.Mailbox(("451 later", "250 kept"), login)
        never = receiver.Mailbox(("554 no",))
        for mailbox in (later, never):
            self.addCleanup(mailbox.close)
        server = self.serve(f"team kind=email url=smtp://127.0.0.1:{later.port} from=ci@x.example to=a@x.example,b@y.example "
                            f"secret={self.write('login', 'me:pass:word')} events=regression\n"
                            f"none kind=email url=smtp://127.0.0.1:{never.port} from=ci@x.example to=c@x.example events=regression\n"
                            f"stranger kind=email url=smtp://127.0.0.1:{later.port} from=ci@x.example to=c@x.example events=regression "
                            f"secret={self.write('wrong', 'me:other')}\n")
        self.measure(server, range(1, 7), 100.0)
        self.measure(server, range(7, 13), 200.0)

        def ended():
            found = [d for n in server.as_admin("GET", "/api/v1/notices").json["notices"] for d in n["deliveries"]]
            return found if len(found) == 3 and {d["state"] for d in found} <= {"sent", "dead"} else None

        found = {d["receiver"]: d for d in support.until("all have ended", ended)}
        self.assertEqual((found["team"]["state"], found["team"]["tries"]), ("sent", 2), found)
        self.assertEqual((found["none"]["state"], found["none"]["tries"]), ("dead", 1))
        self.assertEqual(found["none"]["reason"], "receiver none refuses the message (554)")
        self.assertEqual(found["stranger"]["reason"], "receiver stranger refuses the login (535)")
        self.assertEqual(len(later.messages), 2)
        sent = later.messages[1]
        self.assertIn("<ci@x.example>", sent["sender"])
        self.assertEqual([r.split("<")[1].split(">")[0] for r in sent["recipients"]], ["a@x.example", "b@y.example"])
        mail = email.message_from_bytes(sent["body"], policy=email.policy.default)
        self.assertEqual(mail["Subject"].split(":")[0], "[perfci] demo")
        self.assertEqual(mail["Message-ID"], email.message_from_bytes(later.messages[0]["body"], policy=email.policy.default)["Message-ID"])
        self.assertEqual(mail["Auto-Submitted"], "auto-generated")
        self.assertIsNotNone(email.utils.parsedate_to_datetime(mail["Date"]))
        self.assertRegex(mail.get_body().get_content(), r"Alert: +https://perfci.example/alerts/\d+")
        self.assertNotIn("pass:word", server.log())

        # The command lists the deliveries that were given up, and queues them again.
        table = self.perfci(server, "notices")
        self.assertRegex(table, r"none dead after 1 try: receiver none refuses the message \(554\)")
        notice = server.as_admin("GET", "/api/v1/notices").json["notices"][0]["id"]
        self.assertIn("2 deliveries queued again", self.perfci(server, "notices", "send", str(notice)))
        support.until("tried again", lambda: len(never.messages) == 2)
        self.assertIn("closed", self.perfci(server, "notices", "close", str(notice)))
        self.assertIn("every notice is delivered", self.perfci(server, "notices"))
        self.perfci(server, "notices", "send", "0", status=2)
        self.perfci(server, "notices", "send", status=2)
        self.perfci(server, "notices", "forget", "1", status=2)

    def perfci(self, server, *words, status=0):
        """Runs the command and returns its output."""
        environment = {"PATH": os.environ["PATH"], "PERFCI_URL": f"http://127.0.0.1:{server.port}", "PERFCI_TOKEN": server.admin,
                       "HOME": self.folder, "XDG_CONFIG_HOME": self.folder}
        done = subprocess.run([support.BIN / "perfci", *words], env=environment, cwd=self.folder, capture_output=True, text=True,
                              timeout=support.DEADLINE_S, stdin=subprocess.DEVNULL, check=False)
        self.assertEqual(done.returncode, status, done.stderr)
        return done.stdout + done.stderr


if __name__ == "__main__":
    unittest.main()
