"""The token of a lease stores the results of that lease's job alone; a runner's own token leases and stores nothing."""
import unittest

import support

PROJECTS = ("demo", "other")


def setUpModule():
    global cluster, server, url
    cluster = support.Cluster()
    url = cluster.database()
    server = support.Server(url)
    for name in PROJECTS:
        assert server.as_admin("POST", "/api/v1/projects", {"name": name}).status == 201


def tearDownModule():
    server.close()
    cluster.close()


class Leases(unittest.TestCase):
    places = iter(range(1, 10_000))

    def setUp(self):
        made = server.as_admin("POST", "/api/v1/tokens", {"scopes": ["runner"]}).json
        self.runner_id, self.runner = made["id"], made["token"]

    def lease(self, commit, **more):
        """A job of its own machine class, leased."""
        place = f"class-{next(self.places)}"
        made = server.as_admin("POST", "/api/v1/jobs", {"project": "demo", "kind": "measure", "commit": support.commit_id(commit),
                                                        "labels": {"machine_class": place}, **more})
        self.assertEqual(made.status, 201, made)
        answer = server.call("POST", "/api/v1/jobs/lease", {"runner": "r", "machine_class": place}, token=self.runner)
        self.assertEqual(answer.status, 200, answer)
        job = answer.json["job"]
        self.assertRegex(job["token"], "^pfl_[0-9a-f]{64}$")
        support.SECRETS.add(job["token"].removeprefix("pfl_"))
        return job

    def run_of(self, job, number, **more):
        return support.run_document(number, int(job["commit"], 16), **{"job_id": job["id"], "job_fence": job["fence"], **more})

    def post(self, document, token):
        return server.call("POST", "/api/v1/runs", document, token=token)

    def test_it_stores_the_results_of_its_job(self):
        job = self.lease(1)
        self.assertEqual(self.post(self.run_of(job, 101), job["token"]).status, 201)
        self.assertEqual(self.post(self.run_of(job, 102, job_id=0, job_fence=0), job["token"]).status, 201, "of a job that was stopped")
        self.assertEqual(server.call("POST", "/api/v1/projects/demo/sources", {"commit": job["commit"], "files": ["a.c"]},
                                     token=job["token"]).status, 200)
        path = f"/api/v1/jobs/{job['id']}"
        self.assertEqual(server.call("POST", path + "/heartbeat", {"lease": job["lease"]}, token=job["token"]).status, 200)
        self.assertEqual(server.call("POST", path + "/complete", {"lease": job["lease"], "status": "done"}, token=job["token"]).status, 200)
        audit = server.as_admin("GET", "/api/v1/audit?limit=50").json["audit"]
        self.assertIn(f"runner r, job {job['id']}", [entry["actor"] for entry in audit])

    def test_forged_results_are_refused(self):
        job, foreign = self.lease(2), self.lease(3)
        other = self.run_of(job, 201)
        for name, document in (
                ("another commit", support.run_document(202, 4, job_id=job["id"], job_fence=job["fence"])),
                ("another commit, of no job", support.run_document(203, 4)),
                ("another job's commit", self.run_of(foreign, 204)),
                ("another job's number", self.run_of(job, 205, job_id=foreign["id"])),
                ("another lease of the job", self.run_of(job, 206, job_fence=job["fence"] + 1)),
                ("another branch", {**other, "branch": "release"}),
                ("another project", {**other, "project": "other"})):
            with self.subTest(name):
                self.assertEqual(self.post(document, job["token"]).status, 404 if "project" in name else 403, name)
        for name, path, body in (
                ("sources of another commit", "/api/v1/projects/demo/sources", {"commit": support.commit_id(4), "files": ["a.c"]}),
                ("owners of another commit", "/api/v1/projects/demo/codeowners", {"commit": support.commit_id(4)}),
                ("rules of owners", "/api/v1/projects/demo/owners", {"rules": ""}),
                ("sources of another project", "/api/v1/projects/other/sources", {"commit": job["commit"], "files": ["a.c"]}),
                ("another job's end", f"/api/v1/jobs/{foreign['id']}/complete", {"lease": foreign["lease"], "status": "done"}),
                ("another job's heartbeat", f"/api/v1/jobs/{foreign['id']}/heartbeat", {"lease": foreign["lease"]}),
                ("another job's release", f"/api/v1/jobs/{foreign['id']}/release", {"lease": foreign["lease"]}),
                ("a job", "/api/v1/jobs", {"project": "demo", "kind": "measure", "commit": support.commit_id(5)}),
                ("a lease", "/api/v1/jobs/lease", {"runner": "r", "machine_class": "x"}),
                ("commits", "/api/v1/projects/demo/commits", {"branch": "main", "commits": []}),
                ("a token", "/api/v1/tokens", {"scopes": ["read"]}),
                ("a session of a browser", "/api/v1/session", None)):
            with self.subTest(name):
                self.assertEqual(server.call("POST", path, body, token=job["token"]).status, 404 if "another project" in name else 403, name)
        for path in ("/api/v1/jobs", "/api/v1/projects/demo/runs", "/api/v1/tokens", "/api/v1/audit"):
            self.assertEqual(server.call("GET", path, token=job["token"]).status, 403, path)
        self.assertEqual(support.sql(url, "SELECT count(*) FROM runs WHERE run_id LIKE '%02__' OR run_id LIKE '%0cb'").strip(), "0")

    def test_sessions_of_other_commits_are_refused(self):
        a, b, c = (support.commit_id(n) for n in (11, 12, 13))
        blocks = {"commits": [b], "base": a, "budget_s": 60}
        place = f"class-{next(self.places)}"
        self.assertEqual(server.as_admin("POST", "/api/v1/jobs", {"project": "demo", "kind": "nightly", "commit": b, "blocks": blocks,
                                                                  "labels": {"machine_class": place}}).status, 201)
        job = server.call("POST", "/api/v1/jobs/lease", {"runner": "r", "machine_class": place, "labels": {"tasks": "blocks"}},
                          token=self.runner).json["job"]
        document = {"id": "5" * 32, "anchor": a, "base": a, "machine_class": place, "machine": "r", "started_at": "2026-01-02T00:00:00Z",
                    "finished_at": "2026-01-02T00:20:00Z", "budget_s": 60, "spent_s": 50, "blocks": 3,
                    "commits": [{"commit": c, "status": "measured"}]}
        path = "/api/v1/projects/demo/sessions"
        self.assertEqual(server.call("POST", path, document, token=job["token"]).status, 403)
        document["commits"][0]["commit"] = b
        self.assertEqual(server.call("POST", path, {**document, "branch": "x"}, token=job["token"]).status, 403)
        self.assertEqual(server.call("POST", path, document, token=job["token"]).status, 201)

    def test_a_runners_own_token_stores_nothing(self):
        job = self.lease(6)
        for path, body in (("/api/v1/runs", self.run_of(job, 301)), ("/api/v1/projects/demo/commits", {"branch": "main", "commits": []}),
                           ("/api/v1/projects/demo/sources", {"commit": job["commit"], "files": ["a.c"]})):
            self.assertEqual(server.call("POST", path, body, token=self.runner).status, 403, path)

    def test_it_outlives_the_lease_by_a_week_and_no_revocation(self):
        job = self.lease(7)
        path = f"/api/v1/jobs/{job['id']}/release"
        self.assertEqual(server.call("POST", path, {"lease": job["lease"]}, token=self.runner).status, 200)
        self.assertEqual(self.post(self.run_of(job, 401), job["token"]).status, 201, "the lease ended, the result waited in a spool")
        self.assertEqual(server.call("POST", path, {"lease": job["lease"]}, token=job["token"]).status, 409)
        for age, status in (("6 days 23 hours", 201), ("7 days 1 minute", 401)):
            late = self.lease(8)
            support.sql(url, f"UPDATE lease_tokens SET issued_at = now() - interval '{age}' WHERE job_id = {late['id']}")
            self.assertEqual(self.post(self.run_of(late, 402 if status == 201 else 403), late["token"]).status, status, age)
        revoked = self.lease(9)
        self.assertEqual(server.as_admin("DELETE", f"/api/v1/tokens/{self.runner_id}").status, 204)
        self.assertEqual(self.post(self.run_of(revoked, 404), revoked["token"]).status, 401)
        forged = "pfl_" + "0" * 64
        self.assertEqual(self.post(self.run_of(revoked, 405), forged).status, 401)


if __name__ == "__main__":
    unittest.main()
