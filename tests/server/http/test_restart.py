"""kill -9 in the middle: what was answered is there afterwards, what was not can be sent again."""
import concurrent.futures
import http.client
import unittest

import support


def setUpModule():
    global cluster
    cluster = support.Cluster()


def tearDownModule():
    cluster.close()


class Restart(unittest.TestCase):
    def setUp(self):
        self.server = support.Server(cluster.database(), "--public-read")
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


if __name__ == "__main__":
    unittest.main(verbosity=1)
