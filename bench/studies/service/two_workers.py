#!/usr/bin/env python3
"""How much faster two servers side by side judge one project than one does.

A private PostgreSQL (of the tests, without fsync) and a server without workers store RUNS runs of one project. Run k
measures the SERIES / SUITES series of suite k % SUITES at a commit of its own. Then one server with one worker judges all of them; in
a second database with the same runs, two servers with one worker each do. Judging begins when all servers answer. Printed
for each: seconds, points a second, processor time a point of all processes together, and how many cores were busy; last
the ratio of the rates. A round is both, in turns; the ratio is the median of the rounds.

usage: two_workers.py [--runs N] [--series N] [--suites N] [--rounds N] [--ratio X]

With --ratio the status is 1 when the ratio is below it. Of value only on a machine without other work: two workers, two
backends and their client share its cores.
PERFCI_BIN_DIR, PERFCI_SOURCE_DIR and PERFCI_TEST_DIR name the build and the source, as for the tests.
"""

import argparse
import os
import statistics
import sys
import time

import judging
from fleet import Fleet, Watched, support

WAITING = "kind = 'detect' AND state IN ('queued', 'leased')"


def judge(series, suites, runs, workers):
    """Seconds, and seconds of processor, until so many servers have judged all of it."""
    cluster = support.Cluster()
    servers = []
    try:
        url = cluster.database()
        folder = os.path.dirname(support.sql(url, "SHOW data_directory").strip())
        store = Watched(url, folder, "0")
        fleet = Fleet(store.api, "two", series, suites)
        fleet.commits(runs)
        for _ in range(runs):
            fleet.run()
        store.server.close()
        support.sql(url, "VACUUM ANALYZE")
        # Held back until every server runs: else the first one would begin alone.
        support.sql(url, f"UPDATE jobs SET state = 'cancelled', finished_at = now() WHERE {WAITING}")
        servers = [Watched(url, folder, "1", token=store.token) for _ in range(workers)]
        before = judging.processor_s(folder) + sum(judging.processor_s(s.server.dir) for s in servers)
        start = time.monotonic()
        support.sql(url, "UPDATE jobs SET state = 'queued', finished_at = NULL WHERE kind = 'detect' AND state = 'cancelled';"
                         " SELECT pg_notify('perfci', job_news(j, p.name)) FROM jobs j JOIN projects p ON p.id = j.project_id"
                         " WHERE j.kind = 'detect' ORDER BY j.id LIMIT 1")
        while int(support.sql(url, f"SELECT count(*) FROM jobs WHERE {WAITING}")):
            time.sleep(0.5)
        took = time.monotonic() - start
        used = judging.processor_s(folder) + sum(judging.processor_s(s.server.dir) for s in servers) - before
        failed = int(support.sql(url, "SELECT count(*) FROM jobs WHERE kind = 'detect' AND state <> 'done'"))
        points = int(support.sql(url, "SELECT sum(points) FROM series"))
        stored = int(support.sql(url, "SELECT count(*) FROM measurements"))
        if failed or points != stored:
            raise SystemExit(f"two_workers.py: {failed} runs are not judged, {points} of {stored} points are")
        return took, used, points
    finally:
        for watched in servers:
            watched.server.close()
        cluster.close()


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--runs", type=int, default=4000)
    parser.add_argument("--series", type=int, default=2000)
    parser.add_argument("--suites", type=int, default=40)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--ratio", type=float, default=0.0)
    args = parser.parse_args()
    ratios = []
    print("servers  seconds  points a second  ms of processor a point  busy cores  load")
    for _ in range(args.rounds):
        rates = []
        for workers in (1, 2):
            took, used, points = judge(args.series, args.suites, args.runs, workers)
            rates.append(points / took)
            print(f"{workers:7} {took:8.1f} {points / took:16.0f} {used / points * 1e3:24.4f} {used / took:11.2f} {os.getloadavg()[0]:5.1f}",
                  flush=True)
        ratios.append(rates[1] / rates[0])
    ratio = statistics.median(ratios)
    print(f"two servers judge {ratio:.2f} times as fast as one")
    return ratio < args.ratio


if __name__ == "__main__":
    sys.exit(main())
