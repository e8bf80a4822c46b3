#!/usr/bin/env python3
"""Processor time of judging one new point in the service, by the length of the series.

A project with SERIES series is filled with runs, everything is judged, and the tables are analysed. Then further runs
arrive, one commit after the other, one every SECONDS. The figure is the processor time of the server and of every PostgreSQL process together, from
before the first of these runs until the last one is judged, by the new points: storing them is part of it. `batches`:
how many transactions of judging there were; fewer than runs means that some runs were judged together, because the
machine was too slow for the rhythm. `history`: share of the series' judgements that needed the history.

usage: judging.py [--series N] [--points N ...] [--runs N] [--steps SHARE] [--every SECONDS] [--most MS]

With --most it ends with 1 when a point costs more.
PERFCI_BIN_DIR and PERFCI_SOURCE_DIR name the build and the source, as for the tests.
"""

import argparse
import glob
import math
import os
import random
import re
import subprocess
import sys
import time
import urllib.request

sys.path.insert(0, os.path.join(os.environ["PERFCI_SOURCE_DIR"], "tests", "e2e"))
from situations import instant, sha  # noqa: E402
from stack import Stack, wait_for  # noqa: E402

START, HOUR = 1_760_000_000, 3600
COPIED_FROM = 500  # points of a series; more are inserted by SQL


def processor_s(data):
    """Of the server of this data folder and of its database, exited processes included."""
    tick = os.sysconf("SC_CLK_TCK")
    stats = {}
    for path in glob.glob("/proc/[0-9]*/stat"):
        try:
            with open(path, encoding="utf-8", errors="replace") as file:
                head, _, rest = file.read().rpartition(")")
            with open(os.path.join(os.path.dirname(path), "cmdline"), encoding="utf-8", errors="replace") as file:
                command = file.read().replace("\0", " ")
        except OSError:
            continue
        fields = rest.split()
        stats[int(head.split()[0])] = (int(fields[1]), command, [int(x) for x in fields[11:15]])
    ours = {pid for pid, (_, command, _) in stats.items() if data in command and "python" not in command}
    grown = True
    while grown:
        more = {pid for pid, (parent, _, _) in stats.items() if parent in ours} - ours
        ours |= more
        grown = bool(more)
    # utime + stime of the living, and of the children that have ended of those.
    return sum(sum(stats[pid][2]) for pid in ours) / tick


class Fill:
    def __init__(self, api, project, series, steps):
        self.api, self.project, self.series = api, project, series
        self.rng = random.Random(11)
        self.bases = [1000.0 * self.rng.uniform(1, 100) for _ in range(series)]
        self.stepping = self.rng.sample(range(series), int(series * steps))
        self.done = 0
        api("/projects", "POST", {"name": project}, status=201)

    def sha(self, i):
        return sha(self.project, i)

    def commits(self, count):
        for first in range(self.done, self.done + count, 1000):
            last = min(first + 1000, self.done + count)
            self.api(f"/projects/{self.project}/commits", "POST", {"branch": "main", "commits": [
                {"id": self.sha(i), "parents": [self.sha(i - 1)] if i else [], "author": "Ada", "time": instant(START + i * HOUR),
                 "subject": f"change number {i}"} for i in range(first, last)]})

    def changed(self, i):
        """Whether the stepping series are on their other level at commit i."""
        return i % 400 >= 200

    def blocks(self, level):
        return [[round(level * (1 + self.rng.gauss(0, 0.005)), 3)] for _ in range(3)]

    def run(self):
        i = self.done
        levels = list(self.bases)
        for s in self.stepping:
            levels[s] *= 1.05 if self.changed(i) else 1.0
        started = START + i * HOUR + 600
        posted = [self.blocks(level) for level in levels]
        self.medians = [sorted(sample for block in blocks for sample in block)[1] for blocks in posted]
        self.api("/runs", "POST", {
            "schema": "perfci.run/1", "id": sha(self.project, "run", i)[:32], "project": self.project, "commit": self.sha(i),
            "branch": "main", "suite": "judging", "suite_hash": "ab" * 32, "started_at": instant(started),
            "finished_at": instant(started + 60),
            "machine": {"name": "bench-1", "class": "generated", "fingerprint": {"cpu": "Generated CPU"}},
            "measurements": [{"benchmark": f"k/{s}", "metric": "time_ns", "backend": "cpu", "unit": "ns", "direction": "lower",
                              "samples": blocks}
                             for s, blocks in enumerate(posted)]}, status=201)
        self.done += 1


def judged(api):
    wait_for("all runs are judged", lambda: all(not api(f"/jobs?kind=detect&state={s}&limit=1")["jobs"] for s in ("queued", "leased")),
             deadline_s=3600)


def sql(stack, text):
    subprocess.run(["psql", "-X", "-q", "-v", "ON_ERROR_STOP=1", "-h", os.path.join(stack.data, "run"), "-U", "perfci", "-d", "perfci", "-c", text],
                   check=True, stdin=subprocess.DEVNULL, env=stack.env)


# Copies of the first run at the commits 1 .. points - 1 of the history, with other values: as if they had been posted.
COPIED = """
INSERT INTO runs (project_id, run_id, header_hash, commit_id, branch, suite, suite_hash, machine_id, infra, started_at, finished_at)
SELECT r.project_id, md5(c.sha), r.header_hash, c.id, r.branch, r.suite, r.suite_hash, r.machine_id, false,
       c.time + interval '600 s', c.time + interval '660 s'
FROM (SELECT * FROM runs ORDER BY id LIMIT 1) r
JOIN branch_commits b ON b.project_id = r.project_id AND b.branch = r.branch AND b.commit_id <> r.commit_id
JOIN commits c ON c.project_id = r.project_id AND c.id = b.commit_id
WHERE b.position <= (SELECT min(position) FROM branch_commits) + {points} - 1 ORDER BY b.position;
INSERT INTO measurements (project_id, series_id, run_id, commit_id, n, median, low, high, min, samples, blocks)
SELECT v.project_id, s.id, v.id, v.commit_id, 3, l.x, l.x, l.x, l.x, ARRAY[l.x * 0.998, l.x, l.x * 1.003], '{{1,1,1}}'
FROM runs v JOIN series s ON s.project_id = v.project_id
JOIN branch_commits b ON b.project_id = v.project_id AND b.branch = v.branch AND b.commit_id = v.commit_id
CROSS JOIN LATERAL (SELECT s.last_median * CASE WHEN s.id % 10 < 10 * {steps} AND b.position % 400 >= 200 THEN 1.05 ELSE 1 END
                           * (1 + 0.005 * random_normal) AS x
                    FROM (SELECT sqrt(-2 * ln(1 - random())) * cos(2 * pi() * random()) + 0 * s.id AS random_normal) n) l
WHERE v.id > (SELECT min(id) FROM runs)
ORDER BY v.id, s.id;
INSERT INTO jobs (project_id, kind, branch) SELECT id, 'detect', 'main' FROM projects;
ANALYZE"""


def counters(stack):
    """Batches, judged series, and those of them that needed no history, since the server started."""
    request = urllib.request.Request(stack.url + "/metrics", headers={"Authorization": "Bearer " + stack.token()})
    with urllib.request.urlopen(request, timeout=60) as answer:
        text = answer.read().decode()
    return [int(re.search(rf"^perfci_detection_{name}_total (\d+)$", text, re.M)[1])
            for name in ("batches", "series", "series_passed")]


def measure(series, points, runs, steps, every):
    with Stack(runner=False) as stack:
        fill = Fill(stack.api, "judged", series, steps)
        if points > COPIED_FROM:
            fill.commits(COPIED_FROM)
            sql(stack, "ANALYZE")
            fill.done = COPIED_FROM
            fill.commits(points + runs - COPIED_FROM)
            fill.done = 0
            fill.run()
            judged(stack.api)
            fill.bases = fill.medians  # the level of the copies: else each series would change where they end
            sql(stack, COPIED.format(points=points, steps=steps))
            fill.done = points
        else:
            fill.commits(points + runs)
        for _ in range(points - fill.done):
            fill.run()
        judged(stack.api)
        sql(stack, "VACUUM ANALYZE")  # as autovacuum does within minutes; a plan without statistics is another one
        old = counters(stack)
        before, start = processor_s(stack.data), time.monotonic()
        for k in range(runs):
            time.sleep(max(0.0, start + k * every - time.monotonic()))
            fill.run()
        time.sleep(every)
        judged(stack.api)
        used = processor_s(stack.data) - before
        batches, series_judged, passed = (new - was for new, was in zip(counters(stack), old))
        return used / (runs * series) * 1e3, batches, 1 - passed / max(series_judged, 1)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--series", type=int, default=200)
    parser.add_argument("--points", type=int, nargs="+", default=[100, 1000])
    parser.add_argument("--runs", type=int, default=50)
    parser.add_argument("--steps", type=float, default=0.1, help="share of series that change their level every 200 points")
    parser.add_argument("--every", type=float, default=0.5, help="seconds from one run to the next")
    parser.add_argument("--most", type=float, default=math.inf, metavar="MS", help="end with 1 when a new point costs more")
    args = parser.parse_args()
    print("series  points  runs  batches  history   ms of processor a new point")
    most = 0.0
    for points in args.points:
        ms, batches, history = measure(args.series, points, args.runs, args.steps, args.every)
        print(f"{args.series:6} {points:7} {args.runs:5} {batches:8} {history:7.1%} {ms:29.3f}", flush=True)
        most = max(most, ms)
    if most > args.most:
        print(f"judging.py: expected at most {args.most:g} ms a new point, got {most:.3f} ms")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
