"""Answers that the server keeps: the same as those of a server that keeps none, after whatever changes the data."""
import base64
import gzip
import json
import re
import struct
import unittest

import support

SERIES, RUNS = 200, 105  # over 20,000 points, from which on plots are kept
PLOT = "/api/v1/projects/demo/plot"


def setUpModule():
    global cluster, server, database
    cluster = support.Cluster()
    unittest.addModuleCleanup(cluster.close)
    database = cluster.database(migrated=True)
    server = support.Server(database, "--public-read")
    unittest.addModuleCleanup(server.close)
    for project in ("demo", "other"):
        server.as_admin("POST", "/api/v1/projects", {"name": project, "branch": "main"})
    server.as_admin("POST", "/api/v1/projects/demo/commits", {**support.commits(1, RUNS), "branch": "main"})
    for n in range(1, RUNS + 1):
        post(n, n)
    support.sql(database, "ANALYZE")  # as the database does itself within a minute


def measured(name, value):
    return {"benchmark": name, "metric": "time_ns", "backend": "cpu", "unit": "ns", "direction": "lower",
            "params": {"k": str(len(name))}, "samples": [[value, value * 1.001]]}


def post(n, commit, **more):
    names = [f"gemm/k{s}" for s in range(SERIES)]
    # a step at the middle, so that there is an alert
    document = support.run_document(n, commit, measurements=[measured(name, (100.0 + s) * (1.2 if commit > RUNS // 2 else 1) + n % 7 * 0.1) for s, name in enumerate(names)])
    answer = server.as_admin("POST", "/api/v1/runs", {**document, **more})
    if answer.status != 201:
        raise AssertionError(answer)


def figure(name):
    return int(re.search(rf"^perfci_kept_{name}_total (\d+)", server.call("GET", "/metrics").body.decode(), re.M).group(1))


class Kept(unittest.TestCase):
    def ask(self, query=""):
        """The answer, and whether it was kept before."""
        before = figure("found")
        answer = server.call("GET", PLOT + query)
        self.assertEqual(answer.status, 200, answer)
        return answer, figure("found") > before

    def built(self, query=""):
        """The answer of a server that has kept nothing."""
        fresh = support.Server(database, "--public-read")
        try:
            return fresh.call("GET", PLOT + query).body
        finally:
            fresh.close()

    def expect_new(self, what, query=""):
        answer, kept = self.ask(query)
        self.assertFalse(kept, what)
        self.assertEqual(answer.body, self.built(query), what)
        again, kept = self.ask(query)
        self.assertTrue(kept, what)
        self.assertEqual(again.body, answer.body, what)

    def expect_kept(self, what, query=""):
        answer, kept = self.ask(query)
        self.assertTrue(kept, what)
        self.assertEqual(answer.body, self.built(query), what)

    def test_an_answer_is_kept_until_its_data_changes(self):
        self.expect_new("the first question")
        for query in ("?cells=1000", "?points=7", "?select=gemm", "?group=k", f"?relative={support.commit_id(9)}", f"?from={support.commit_id(3)}",
                      f"?to={support.commit_id(3)}", "?samples=true"):
            with self.subTest(query=query):
                self.assertFalse(self.ask(query)[1], "another question")
        self.assertEqual(server.call("GET", PLOT.replace("demo", "other")).json["matched"], 0)

        support.until("an alert", lambda: server.call("GET", "/api/v1/alerts?project=demo&state=open").json["alerts"])
        support.until("all runs are judged", lambda: not [j for j in server.call("GET", "/api/v1/jobs?project=demo&limit=50").json["jobs"] if j["state"] in ("queued", "leased")])
        self.expect_kept("alerts were raised: a plot shows none")
        alert = server.call("GET", "/api/v1/alerts?project=demo&state=open").json["alerts"][0]
        accepted = {"state": "wont_fix", "reason": "the new level is right", "accept": True}
        self.assertEqual(server.as_admin("PATCH", f"/api/v1/alerts/{alert['id']}", accepted).status, 200)
        self.expect_kept("a level was accepted")
        self.assertEqual(server.as_admin("PATCH", "/api/v1/projects/demo", {"repo_url": "https://example.org/demo.git"}).status, 200)
        self.expect_kept("a setting that plots do not show was changed")

        post(5001, RUNS, started_at="2026-01-03T00:00:00Z", finished_at="2026-01-03T00:01:00Z")
        self.expect_new("a further result of each series")
        broken = {"benchmark": "gemm/k1", "metric": "time_ns", "backend": "cpu", "unit": "ns", "direction": "lower", "status": "broken", "reason": "no build"}
        server.as_admin("POST", "/api/v1/projects/demo/commits", {"branch": "main", "commits": support.commits(1, RUNS + 1)["commits"][-1:]})
        self.expect_new("a commit")
        server.as_admin("POST", "/api/v1/runs", support.run_document(5002, RUNS + 1, measurements=[broken]))
        self.expect_new("a broken result")
        self.assertEqual(self.ask()[0].json["broken"][0]["reason"], "no build")
        server.as_admin("POST", "/api/v1/runs", support.run_document(5003, RUNS + 9, measurements=[measured("gemm/k2", 150.0)]))
        self.expect_new("a result of an unknown commit")
        ninth = {**support.commits(1, RUNS + 9)["commits"][-1], "parents": [support.commit_id(RUNS + 1)]}
        server.as_admin("POST", "/api/v1/projects/demo/commits", {"branch": "main", "commits": [ninth]})
        self.expect_new("the commit became known")
        self.assertEqual(self.ask()[0].json["columns"]["subject"][-1], f"change {RUNS + 9}")
        self.assertEqual(self.ask("?branch=release")[0].json["matched"], 0, "another branch")
        self.expect_kept("and back")

    def test_lines_are_relative_to_the_commit_that_an_end_comes_to(self):
        def bases(end):
            answer = server.call("GET", f"{PLOT}?select=benchmark=gemm/k1&relative={end}")
            self.assertEqual(answer.status, 200, answer)
            return answer.json["lines"][0]["base"]

        commit = {**support.commits(1, 20)["commits"][-1], "tags": ["candidate-20"]}
        self.assertEqual(server.as_admin("POST", "/api/v1/projects/demo/commits", {"branch": "main", "commits": [commit]}).status, 200)
        self.assertEqual(bases("candidate-20"), bases(support.commit_id(20)))
        self.assertEqual(bases("candidate-20~3"), bases(support.commit_id(17)))
        self.assertNotEqual(bases("candidate-20~3"), bases("candidate-20"))
        # A name that moves is another question, also where the answer before was kept.
        self.ask("?relative=candidate-20")
        moved = {**support.commits(1, 30)["commits"][-1], "tags": ["candidate-20"]}
        server.as_admin("POST", "/api/v1/projects/demo/commits", {"branch": "main", "commits": [moved]})
        self.assertEqual(bases("candidate-20"), bases(support.commit_id(30)))
        for end, status in (("no-such-name", 404), ("main~x", 400)):
            refused = server.call("GET", f"{PLOT}?relative={end}")
            self.assertEqual((refused.status, refused.json["error"]["field"]), (status, "relative"))

    def test_each_client_gets_the_coding_it_takes(self):
        plain = self.ask("?points=60")[0]
        packed = server.call("GET", PLOT + "?points=60", headers={"Accept-Encoding": "gzip"})
        self.assertEqual(packed.headers["content-encoding"], "gzip")
        self.assertEqual(gzip.decompress(packed.body), plain.body)
        self.assertNotIn("content-encoding", plain.headers)
        self.assertEqual(plain.headers["cache-control"], "private, no-cache")
        unchanged = server.call("GET", PLOT + "?points=60", headers={"If-None-Match": plain.headers["etag"]})
        self.assertEqual((unchanged.status, unchanged.body), (304, b""))
        self.assertEqual(server.call("HEAD", PLOT + "?points=60").status, 200)

    def test_arrays_hold_the_values_of_the_json(self):
        for query in ("?points=62", "?points=62&select=no-such"):
            with self.subTest(query=query):
                plain = self.ask(query)[0].json
                answer = self.ask(query + "&format=arrays")[0]
                self.assertEqual(answer.headers["content-type"], "application/vnd.perfci.arrays")
                (long,) = struct.unpack_from("<I", answer.body)
                head = json.loads(answer.body[4:4 + long])
                self.assertEqual(long % 4, 0)
                each = 4 * len(plain["columns"]["position"])
                arrays = [answer.body[at:at + each] for at in range(4 + long, len(answer.body), each or 1)]
                named = [line[part] for line in head["lines"] for part in ("median", "low", "high") if line[part] is not None]
                self.assertEqual(named, list(range(len(arrays))), "each array has one name")
                for line in head["lines"]:
                    line.update({part: base64.b64encode(arrays[line[part]]).decode() for part in ("median", "low", "high") if line[part] is not None})
                self.assertEqual(head, plain)

    def test_arrays_are_kept_and_never_compressed(self):
        query = "?points=63&format=arrays"
        self.assertFalse(self.ask(query)[1])
        plain, kept = self.ask(query)
        self.assertTrue(kept)
        self.assertEqual(plain.body, self.built(query))
        self.assertFalse(self.ask("?points=63")[1], "the same in another form")
        packed = server.call("GET", PLOT + query, headers={"Accept-Encoding": "gzip, br"})
        self.assertNotIn("content-encoding", packed.headers)
        self.assertEqual(packed.body, plain.body)
        unchanged = server.call("GET", PLOT + query, headers={"If-None-Match": plain.headers["etag"]})
        self.assertEqual((unchanged.status, unchanged.body), (304, b""))
        self.assertNotEqual(plain.headers["etag"], self.ask("?points=63")[0].headers["etag"])
        refused = server.call("GET", PLOT + "?format=csv")
        self.assertEqual((refused.status, refused.json["error"]["field"]), (400, "format"), refused)

    def test_a_token_of_another_project_gets_nothing_of_it(self):
        self.ask("?points=61")
        token = server.as_admin("POST", "/api/v1/tokens", {"name": "stranger", "scopes": ["read"], "project": "other"}).json["token"]
        self.assertEqual(server.call("GET", PLOT + "?points=61", token=token).status, 404)


if __name__ == "__main__":
    unittest.main()
