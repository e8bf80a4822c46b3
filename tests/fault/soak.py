"""A soak: runs posted by several clients, some of them twice, to a private service that is killed
without warning in every second round; after each round the counts must be exact.

soak.py --rounds N      N rounds
soak.py --minutes N     as many rounds as fit
"""
import argparse
import concurrent.futures
import http.client
import os
import random
import sys
import time

sys.path.insert(0, os.path.join(os.environ["PERFCI_SOURCE_DIR"], "tests/server/http"))
import support  # noqa: E402

RUNS_A_ROUND = 60
CLIENTS = 4
COMMITS = 40


class Soak:
    def __init__(self, seed):
        self.random = random.Random(seed)
        self.cluster = support.Cluster()
        self.server = support.Server(self.cluster.database(migrated=True), "--public-read")
        self.token = self.server.admin
        self.answers = {}  # run number -> what the server said about it first
        self.last = 0
        for method, path, body in (("POST", "/api/v1/projects", {"name": "demo"}),
                                   ("POST", "/api/v1/projects/demo/commits", support.commits(1, COMMITS))):
            answer = self.server.call(method, path, body, token=self.token)
            want(answer.status in (200, 201), answer)

    def post(self, n):
        """The stored run's document; None when the server died under the request."""
        value = 100.0 if n % COMMITS < COMMITS // 2 else 120.0
        try:
            answer = self.server.call("POST", "/api/v1/runs", support.run_document(n, 1 + n % COMMITS, value),
                                      token=self.token)
        except (OSError, http.client.HTTPException):
            return None
        if answer.status == 503:
            return None
        want(answer.status in (200, 201), answer)
        return answer.json

    def post_all(self, numbers, kill):
        """Posts with several clients; with `kill` the server dies in the midst of it."""
        after = self.random.randrange(1, len(numbers) // 2)
        with concurrent.futures.ThreadPoolExecutor(CLIENTS) as pool:
            pending = [(n, pool.submit(self.post, n)) for n in numbers]
            if kill:
                support.until("some answers", lambda: sum(p.done() for _, p in pending) >= after)
                self.server.kill()
            results = [(n, p.result(timeout=support.DEADLINE_S)) for n, p in pending]
        if kill:
            self.server.start()
        return results

    def note(self, results):
        """Keeps first answers, holds later ones to them, and returns the numbers without one."""
        for n, answer in results:
            if answer is not None:
                want(self.answers.setdefault(n, answer) == answer, f"run {n} is another one: {answer}")
        return [n for n, answer in results if answer is None and n not in self.answers]

    def round(self, kill):
        numbers = list(range(self.last + 1, self.last + RUNS_A_ROUND + 1))
        self.last += RUNS_A_ROUND
        twice = self.random.sample(numbers, RUNS_A_ROUND // 5)
        left = self.note(self.post_all(numbers + twice, kill))
        for n in left:
            support.until(f"run {n} is taken", lambda n=n: not self.note([(n, self.post(n))]))
        figures = self.server.call("GET", "/api/v1/stats").json
        want((figures["runs"], figures["measurements"]) == (self.last, self.last), figures)
        return len(left)

    def finish(self):
        """Every run is in the one series, and the server stops in order."""
        support.until("all runs are judged", lambda: [s["points"] for s in self.server.call(
            "GET", "/api/v1/projects/demo/series").json.get("series", [])] == [self.last])
        status = self.server.close()
        want(status == 0, f"the server ended with {status}")
        self.cluster.close()


def want(condition, what):
    if not condition:
        raise AssertionError(str(what))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=0)
    parser.add_argument("--minutes", type=float, default=0)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    if args.rounds <= 0 and args.minutes <= 0:
        parser.error("expected --rounds or --minutes")
    soak = Soak(args.seed)
    end = time.monotonic() + 60 * args.minutes
    rounds = kills = repeated = 0
    try:
        while rounds < args.rounds or time.monotonic() < end:
            kill = rounds % 2 == 1
            repeated += soak.round(kill)
            rounds += 1
            kills += kill
        soak.finish()
    finally:
        if soak.server.process.poll() is None:  # a failed soak leaves nothing behind either
            soak.server.kill()
    print(f"{soak.last} runs in {rounds} rounds, {kills} kills, {repeated} posted again, none lost, none twice")


if __name__ == "__main__":
    main()
