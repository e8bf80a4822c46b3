"""Alerts that no single commit caused: a slow drift, a change of toolchain. API, CLI text and JSON say the same."""
import datetime
import json
import math
import os
import random
import subprocess
import unittest

import support


def setUpModule():
    global cluster, server
    cluster = support.Cluster()
    server = support.Server(cluster.database(migrated=True), "--public-read")


def tearDownModule():
    server.close()
    cluster.close()


def perfci(*words, status=0):
    """stdout and stderr of a command against the server."""
    env = {k: v for k, v in os.environ.items() if not k.startswith("PERFCI_")}
    words = [support.BIN / "perfci", *words, "--url", f"http://127.0.0.1:{server.port}"]
    done = subprocess.run(words, capture_output=True, text=True, timeout=120, stdin=subprocess.DEVNULL, check=False,
                          cwd=server.dir, env={**env, "PERFCI_TOKEN": server.admin})
    if done.returncode != status:
        raise AssertionError(f"{words}: status {done.returncode}, expected {status}: {done.stderr}")
    return done.stdout, done.stderr


def project(name, last, tags=None):
    """A line of commits, a day apart; tags: {commit: [names]}."""
    day = datetime.datetime(2026, 1, 1)
    line = support.commits(1, last)["commits"]
    for n, commit in enumerate(line, 1):
        commit["time"] = (day + datetime.timedelta(days=n)).strftime("%Y-%m-%dT%H:%M:%SZ")
    server.as_admin("POST", "/api/v1/projects", {"name": name})
    posted = server.as_admin("POST", f"/api/v1/projects/{name}/commits", {"commits": line})
    assert posted.status == 200, posted
    for n, names in (tags or {}).items():  # made later, as tags are: known commits are posted again
        posted = server.as_admin("POST", f"/api/v1/projects/{name}/commits", {"commits": [{**line[n - 1], "tags": names}]})
        assert posted.status == 200, posted


def measure(name, n, value, fingerprint=None, noise=0.02, code=None):
    """Three processes of four samples; the same noise for the same commit."""
    run = support.run_document(0, n, value, name, id=os.urandom(16).hex())
    rng = random.Random(n * 17)
    run["measurements"][0]["samples"] = [[value * (1 + noise * rng.gauss(0, 1)) for _ in range(4)] for _ in range(3)]
    if code:
        run["measurements"][0]["extra"] = {"object": code}
    if fingerprint:
        run["machine"]["fingerprint"] = {"cpu": "test", **fingerprint}
    posted = server.as_admin("POST", "/api/v1/runs", run)
    assert posted.status == 201, posted


def the_alert(name):
    """The only one, once nothing waits to be judged: what is said of an alert comes after its series' points."""
    support.until(f"{name} judged", lambda: not server.as_admin("GET", f"/api/v1/stats?project={name}").json["detection_lag_s"])
    alerts = server.call("GET", f"/api/v1/alerts?project={name}").json["alerts"]
    assert len(alerts) == 1, alerts
    return alerts[0]


class Drift(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        # Tags that are no releases are ends of comparisons, and no reference of a drift.
        project("drifts", 70, {21: ["v1.1"], 35: ["candidate", "v1.2", "v1.2.0"], 40: ["nightly-40"], 50: ["latest"], 68: ["v1.3"]})
        for n in range(1, 71):
            measure("drifts", n, 100 * math.pow(1.003, n / 7))
        cls.alert = the_alert("drifts")
        cls.id = str(cls.alert["id"])

    def test_it_has_a_range_a_slope_and_a_reference_and_no_commit(self):
        a, d = self.alert, self.alert["drift"]
        self.assertEqual((a["kind"], a["commit"], a["culprit"]), ("drift", None, None))
        self.assertEqual((d["first"], d["last"], d["commits"]), (support.commit_id(1), support.commit_id(70), 69))
        self.assertAlmostEqual(d["weeks"], 69 / 7, places=6)
        # 0.3 % a week, as it was made; compounded over its weeks, and its commits, it is the total
        self.assertAlmostEqual(d["rel_per_week"], 0.003, delta=0.0004)
        self.assertAlmostEqual((1 + d["rel_per_week"]) ** d["weeks"] - 1, a["rel_change"], places=9)
        self.assertAlmostEqual((1 + d["rel_per_commit"]) ** 69 - 1, a["rel_change"], places=9)
        self.assertLess(d["rel_per_week_low"], d["rel_per_week"])
        self.assertLess(d["rel_per_week"], d["rel_per_week_high"])
        # v1.3 has two points behind it: too few; medians of ten points are five commits from either end
        r = d["reference"]
        self.assertEqual((r["tag"], r["commit"]), ("v1.2", support.commit_id(35)))
        self.assertTrue(r["rel_low"] < math.pow(1.003, 35 / 7) - 1 < r["rel_high"], r)  # the same noise every time
        self.assertTrue(r["rel_low"] < r["rel_change"] < r["rel_high"])

    def test_tags_are_shown_and_move(self):
        commit = server.call("GET", f"/api/v1/projects/drifts/commits/{support.commit_id(35)}").json
        self.assertEqual((commit["tags"], commit["releases"]), (["candidate", "v1.2", "v1.2.0"], ["v1.2", "v1.2.0"]))
        other = server.call("GET", f"/api/v1/projects/drifts/commits/{support.commit_id(40)}").json
        self.assertEqual((other["tags"], other["releases"]), (["nightly-40"], []))
        compared = server.call("GET", "/api/v1/compare?project=drifts&a=nightly-40&b=refs/tags/latest").json
        self.assertEqual([(compared[side]["kind"], compared[side]["commit"]) for side in "ab"],
                         [("tag", support.commit_id(40)), ("tag", support.commit_id(50))])
        line = support.commits(1, 2)["commits"]
        project("moved-tags", 2, {1: ["v1.0", "v1"]})
        server.as_admin("POST", "/api/v1/projects/moved-tags/commits", {"commits": [{**line[1], "tags": ["v1"]}]})
        listed = server.call("GET", "/api/v1/projects/moved-tags/commits").json["commits"]
        self.assertEqual([c["tags"] for c in listed], [["v1"], ["v1.0"]])
        self.assertEqual([c["releases"] for c in listed], [["v1"], ["v1.0"]])
        for wrong in (["v1 0"], ["v1\u001b[0m"], [""], ["v" * 201], ["v1"] * 17):
            refused = server.as_admin("POST", "/api/v1/projects/moved-tags/commits", {"commits": [{**line[1], "tags": wrong}]})
            self.assertEqual(refused.status, 400, wrong)
            self.assertIn("tags", refused.json["error"]["field"])

    def test_without_suspects_why_says_so(self):
        reply = server.call("GET", f"/api/v1/alerts/{self.id}/suspects").json
        self.assertEqual((reply["kind"], reply["suspects"], reply["culprit"]), ("drift", [], None))
        self.assertEqual((reply["title"], reply["drift"]), (self.alert["title"], self.alert["drift"]))
        out, _ = perfci("why", self.id)
        self.assertEqual(out, f"alert {self.id}: {reply['reason']}\n")
        self.assertIn("no single culprit", out)
        for fact in (support.commit_id(1)[:12], support.commit_id(70)[:12], "over 69 commits in 9.9 weeks", " a week", "since v1.2: +",
                     f'"perfci repro alert:{self.id}"'):
            self.assertIn(fact, out)
        self.assertEqual(json.loads(perfci("why", self.id, "--json")[0]), reply)

    def test_the_list_names_the_range_and_not_the_newest_commit(self):
        out, _ = perfci("alerts", self.id)
        self.assertIn(self.alert["title"], out)
        self.assertRegex(self.alert["title"], r"^drift: \+[23]\.\d % \(\+\d\.\d % to \+\d\.\d %\) over 69 commits in 9\.9 weeks,"
                                              r" \+0\.\d+ % a week; since v1\.2: \+\d\.\d %$")

    def test_nothing_blames_a_commit_of_it(self):
        path = f"/api/v1/alerts/{self.id}"
        refused = server.as_admin("PATCH", path, {"culprit": support.commit_id(30)})
        self.assertEqual((refused.status, refused.json["error"]["field"]), (409, "culprit"))
        refused = server.as_admin("POST", "/api/v1/bisections", {"project": "drifts", "mode": "remote", "alert_id": int(self.id)})
        self.assertEqual((refused.status, refused.json["error"]["field"]), (409, "alert_id"))
        self.assertIn("no single culprit", refused.json["error"]["message"])
        report = {"project": "drifts", "metric": "time_ns", "benchmark": "gemm/f32/m64n64k64", "good": support.commit_id(1),
                  "bad": support.commit_id(70), "verdict": "found", "runs": 9, "builds": 9, "commits_measured": 9, "seconds": 1.0,
                  "culprits": [{"commits": [support.commit_id(30)], "probability": 0.99, "rel_change": 0.03, "rel_low": 0.02, "rel_high": 0.04}]}
        made = server.as_admin("POST", "/api/v1/bisections", report)
        self.assertEqual((made.status, made.json["alert_id"]), (201, None))
        self.assertIsNone(server.call("GET", path).json["culprit"])


class Found(unittest.TestCase):
    """A finished search of the alert has named another commit than the place of the step."""

    def test_every_output_names_the_commit_that_a_search_found(self):
        project("found", 40)
        for n in range(1, 41):
            measure("found", n, 100 if n < 21 else 115, noise=0.005)
        alert = the_alert("found")
        path, place, named = f"/api/v1/alerts/{alert['id']}", support.commit_id(21), support.commit_id(20)
        self.assertEqual((alert["suspect"]["commit"], alert["suspect"]["bisection_id"]), (place, None))
        search = support.sql(server.database, "INSERT INTO bisections (project_id, alert_id, metric, good, bad, mode, state, verdict, culprits, runs,"
                             " builds, commits_measured, seconds, actor) SELECT project_id, id, 'time_ns', 'g', 'b', 'remote', 'done', 'found',"
                             f" '[{{\"commits\": [\"{named}\"]}}]', 9, 9, 9, 1, 'ann' FROM alerts WHERE id = {alert['id']} RETURNING id").split()[0]
        commit = server.call("GET", f"/api/v1/projects/found/commits/{named}").json
        suspect = {"commit": named, "subject": commit["subject"], "author": commit["author"], "named": False, "bisection_id": int(search)}
        group = f"/api/v1/groups/{alert['group_id']}"
        self.assertEqual(server.call("GET", path).json["suspect"], suspect)
        self.assertEqual(server.call("GET", group).json["lead"]["suspect"], suspect)
        self.assertEqual(server.call("GET", "/api/v1/groups?project=found").json["groups"][0]["lead"]["suspect"], suspect)
        self.assertIn(f"{named[:7]} {commit['subject']} ({commit['author']}), found by search #{search}, not confirmed", perfci("alerts", str(alert["id"]))[0])
        self.assertIsNone(server.call("GET", path).json["culprit"])
        self.assertEqual([e["culprit"] for e in server.call("GET", path).json["history"]], [None])
        server.as_admin("PATCH", path, {"state": "investigating", "culprit": place})
        server.as_admin("PATCH", path, {"culprit": ""})
        server.as_admin("PATCH", path, {"culprit": place})
        self.assertEqual([e["culprit"] for e in server.call("GET", path).json["history"]], [None, place, "", place])
        self.assertEqual([e["culprit"] for e in server.call("GET", group).json["history"]], [place, "", place, None])
        self.assertEqual(server.call("GET", "/api/v1/projects/found/quality").json["total"]["culprit"]["n"], 1)
        self.assertEqual(server.call("GET", path).json["suspect"], {**server.call("GET", path).json["suspect"], "commit": place, "named": True, "bisection_id": None})


class Seen(unittest.TestCase):
    def test_settings_that_were_not_seen_are_not_overwritten(self):
        project("seen", 2)
        path = "/api/v1/projects/seen/detector"
        for query, change, status in (("?seen=0", 0.02, 200), ("?seen=0", 0.03, 409), ("?seen=2", 0.03, 409), ("?seen=1", 0.03, 200), ("", 0.04, 200),
                                      ("?seen=-1", 0.05, 400), ("?seen=x", 0.05, 400)):
            answer = server.as_admin("POST", path + query, {"rules": [{"min_change": change}]})
            self.assertEqual(answer.status, status, (query, answer))
            if status == 400:
                self.assertEqual(answer.json["error"]["field"], "seen")
        self.assertEqual(server.call("GET", path).json["version"], 3)


class Boundary(unittest.TestCase):
    """15 % at commit 21, where something else than the commit changed, too."""

    def alert_of(self, name, before, now, **more):
        project(name, 40)
        for n in range(1, 41):
            measure(name, n, 100 if n < 21 else 115, before if n < 21 else now, noise=0.005, **more)
        return the_alert(name)

    def test_a_new_compiler_is_the_toolchain_and_no_commit(self):
        a = self.alert_of("toolchain", {"compiler": "gcc 12.2.0", "flags": "-O2"}, {"compiler": "gcc 13.1.0", "flags": "-O3"})
        title = "toolchain: compiler gcc 12.2.0 -> 13.1.0, flags -O2 -> -O3"
        self.assertEqual((a["kind"], a["title"], a["culprit"], a["suspect"]), ("toolchain", title, None, None))
        self.assertEqual(a["boundary"], [{"name": "compiler", "before": "gcc 12.2.0", "now": "gcc 13.1.0"},
                                         {"name": "flags", "before": "-O2", "now": "-O3"}])
        suspects = server.call("GET", f"/api/v1/alerts/{a['id']}/suspects").json
        self.assertEqual((suspects["kind"], suspects["suspects"][0]["kind"], suspects["suspects"][0]["field"]),
                         ("toolchain", "toolchain", "compiler"))
        out, _ = perfci("why", str(a["id"]))
        self.assertEqual(out.splitlines()[0], f"alert {a['id']}: {title}, no commit")
        row = next(line for line in perfci("alerts", "--project", "toolchain", "--csv")[0].splitlines() if line.startswith(f"{a['id']},"))
        self.assertIn("toolchain", row)
        self.assertIn(title, row)
        self.assertIn(title, perfci("alerts", str(a["id"]))[0])
        notices = [n for n in server.as_admin("GET", "/api/v1/notices?project=toolchain").json["notices"] if n["alert_id"] == a["id"]]
        self.assertEqual([n["kind"] for n in notices], ["regression", "toolchain"])  # announced, then blamed on no commit
        self.assertEqual([(n["kind"], n["text"]) for n in notices[1:]], [("toolchain", title + "; 1 series, no commit's")])
        # who has a better word: a person, or fresh pairs
        named = server.as_admin("PATCH", f"/api/v1/alerts/{a['id']}", {"culprit": support.commit_id(21)})
        self.assertEqual((named.status, named.json["kind"], named.json["boundary"], named.json["suspect"]["commit"]),
                         (200, "step", None, support.commit_id(21)))
        back = server.as_admin("PATCH", f"/api/v1/alerts/{a['id']}", {"culprit": ""}).json
        self.assertEqual((back["kind"], back["title"]), ("toolchain", title))

    def test_another_harness_is_the_harness(self):
        a = self.alert_of("harness", {"compiler": "cc", "harness": "aa"}, {"compiler": "cc", "harness": "bb"})
        self.assertEqual((a["kind"], a["title"], a["suspect"]), ("harness", "harness: harness aa -> bb", None))

    def test_a_commit_stays_the_commits(self):
        cc = {"compiler": "gcc 12.2.0", "kernel": "6.1"}
        for name, now in (("same", cc), ("kernel", {**cc, "kernel": "6.5"})):
            a = self.alert_of(name, cc, now)
            self.assertEqual((a["kind"], a["boundary"]), ("step", None), name)
            self.assertEqual(a["suspect"]["commit"], support.commit_id(21), name)
            notices = server.as_admin("GET", f"/api/v1/notices?project={name}").json["notices"]
            self.assertEqual([n["kind"] for n in notices], ["regression"], name)


class Withheld(unittest.TestCase):
    """A change without an alert says why, the same in every answer that lists it."""

    def test_a_new_compiler_that_makes_the_same_code_is_no_cause(self):
        project("same-code", 40)
        for n in range(1, 41):
            measure("same-code", n, 100 if n < 21 else 115, {"compiler": "gcc 12.2.0" if n < 21 else "gcc 13.1.0"}, 0.005, "00ff")
        support.until("judged", lambda: not server.as_admin("GET", "/api/v1/stats?project=same-code").json["detection_lag_s"])
        self.assertEqual(server.call("GET", "/api/v1/alerts?project=same-code").json["alerts"], [])
        change = server.call("GET", "/api/v1/projects/same-code/series").json["series"][0]["change"]
        self.assertEqual((change["commit"], change["why_no_alert"]["code"]), (support.commit_id(21), "identical"))

    def test_an_improvement_says_so_everywhere(self):
        project("faster", 24)
        for n in range(1, 25):
            document = support.run_document(7000 + n, n, 100.0 if n < 12 else 50.0, project="faster")
            self.assertEqual(server.as_admin("POST", "/api/v1/runs", document).status, 201)
        listed = lambda: server.call("GET", "/api/v1/projects/faster/series").json["series"][0]
        support.until("a change", lambda: listed()["change"])
        series = server.call("GET", f"/api/v1/series/{listed()['id']}").json
        commit = server.call("GET", f"/api/v1/projects/faster/commits/{support.commit_id(12)}").json
        why = {"code": "improvement", "sentence": "no alert: it is an improvement"}
        for change in (listed()["change"], series["series"]["change"], series["changes"][0], commit["changes"][0]):
            self.assertIsNone(change["alert_id"])
            self.assertEqual(change["why_no_alert"], why)
        self.assertEqual(commit["changes"][0]["series_id"], series["series"]["id"])


if __name__ == "__main__":
    unittest.main()
