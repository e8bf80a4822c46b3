"""The canary of each machine: GET /projects/{p}/canaries."""
import unittest

import support


def setUpModule():
    global cluster, server
    cluster = support.Cluster()
    unittest.addModuleCleanup(cluster.close)
    server = support.Server(cluster.database(migrated=True), "--public-read")
    unittest.addModuleCleanup(server.close)


class Canaries(unittest.TestCase):
    def test_each_machine_has_its_own_newest_first(self):
        """Two machines of one class, one of them with a second fingerprint; other benchmarks and projects are left out."""
        for name in ("p", "q"):
            server.as_admin("POST", "/api/v1/projects", {"name": name, "branch": "main"})
            server.as_admin("POST", f"/api/v1/projects/{name}/commits", {**support.commits(1, 5), "branch": "main"})
        values = (("p", "a", "1", 100.0), ("p", "b", "1", 200.0), ("p", "a", "2", 110.0), ("p", "b", "1", 210.0), ("q", "a", "1", 900.0))
        for n, (project, name, kernel, value) in enumerate(values, 1):
            run = support.run_document(n, n, project=project, infra=n == 4, started_at=f"2026-01-02T0{n}:00:00Z", finished_at=f"2026-01-02T0{n}:01:00Z",
                                       machine={"name": name, "class": "twins", "fingerprint": {"kernel": kernel}})
            first = run["measurements"][0]
            run["measurements"] = [first, {**first, "benchmark": "canary", "metric": "canary_ns", "samples": [[value]]}]
            self.assertEqual(server.as_admin("POST", "/api/v1/runs", run).status, 201)
        rows = server.call("GET", "/api/v1/projects/p/canaries").json["canaries"]
        self.assertEqual([(r["machine"], r["metric"], r["median"], r["infra"]) for r in rows],
                         [("a", "canary_ns", [110.0, 100.0], [False, False]), ("b", "canary_ns", [210.0, 200.0], [True, False])])
        self.assertEqual({r["machine_class"] for r in rows}, {"twins"})
        self.assertEqual(rows[0]["time"], ["2026-01-02T03:00:00.000Z", "2026-01-02T01:00:00.000Z"])
        self.assertEqual(server.call("GET", "/api/v1/projects/none/canaries").status, 404)


if __name__ == "__main__":
    unittest.main(verbosity=2)
