"""A project whose commits are measured by one of many suites each, and a server whose processor time is read: for the
studies of many series."""

import os
import random
import sys

import judging
from situations import instant, sha

sys.path.insert(0, os.path.join(os.environ["PERFCI_SOURCE_DIR"], "tests", "server", "http"))
import support  # noqa: E402

DAY_S = 86400


class Watched:
    """A server on the cluster, with its processor time and the database's."""

    def __init__(self, url, folder, workers, token=None):
        self.folder, self.server = folder, support.Server(url, "--workers", workers)
        self.token = token or self.server.admin

    def api(self, path, method="GET", body=None, status=200):
        answer = self.server.call(method, "/api/v1" + path, body, token=self.token)
        if answer.status != status:
            raise SystemExit(f"{method} {path}: {answer}")
        return answer.json

    def processor_s(self):
        return judging.processor_s(self.folder) + judging.processor_s(self.server.dir)


class Fleet:
    """Commit i is measured by suite i % suites, which has series / suites series. The commits of a day are `day` many."""

    def __init__(self, api, project, series, suites, day=100_000):
        self.api, self.project, self.suites, self.width = api, project, suites, series // suites
        self.spacing_s = DAY_S / day
        self.rng = random.Random(23)
        self.levels = [1000.0 * self.rng.uniform(1, 100) for _ in range(self.width * suites)]
        self.done = self.named = 0
        api("/projects", "POST", {"name": project}, status=201)

    def sha(self, i):
        return sha(self.project, i)

    def time(self, i):
        return judging.START + int(i * self.spacing_s)

    def commits(self, count):
        """Names the next `count` commits, in requests of a thousand."""
        end = self.named + count
        while self.named < end:
            first, last = self.named, min(self.named + 1000, end)
            self.api(f"/projects/{self.project}/commits", "POST", {"branch": "main", "commits": [
                {"id": self.sha(i), "parents": [self.sha(i - 1)] if i else [], "author": "Ada", "time": instant(self.time(i)),
                 "subject": f"change number {i}"} for i in range(first, last)]})
            self.named = last

    def document(self, i):
        suite = i % self.suites
        return {
            "schema": "perfci.run/1", "id": sha(self.project, "run", i)[:32], "project": self.project, "commit": self.sha(i),
            "branch": "main", "suite": f"suite-{suite}", "suite_hash": "ab" * 32, "started_at": instant(self.time(i) + 600),
            "finished_at": instant(self.time(i) + 660),
            "machine": {"name": "bench-1", "class": "generated", "fingerprint": {"cpu": "Generated CPU"}},
            "measurements": [{"benchmark": f"s{suite}/k{k}", "metric": "time_ns", "backend": "cpu", "unit": "ns", "direction": "lower",
                              "samples": [[round(self.levels[suite * self.width + k] * (1 + self.rng.gauss(0, 0.005)), 3)]
                                          for _ in range(3)]}
                             for k in range(self.width)]}

    def run(self):
        self.api("/runs", "POST", self.document(self.done), status=201)
        self.done += 1
