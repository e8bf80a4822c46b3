#!/usr/bin/env python3
"""Cost of one measurement for the service: bytes by table, bytes of log, processor time of storing and of judging.

For each shape SERIES:RUNS:SAMPLES a private PostgreSQL (of the tests, without fsync) and a server without workers store
RUNS runs, one commit each, that measure all series with SAMPLES samples. Then a server with workers judges them, and
STEPS further runs arrive, each judged before the next. Figures: bytes of tables and of their indexes by the rows in
them (pg_table_size and pg_indexes_size, partitions included), bytes of write-ahead log (the test cluster writes no
images of full pages, a real one does), processor time of the server and of every PostgreSQL process, by points.

usage: sizes.py [SERIES:RUNS:SAMPLES ...] [--steps N] [--changing SHARE] [--capacity] [--measure]

With --capacity the disk and processor time that `perfci capacity` computes for the shape are printed beside them, with
--measure by the constants that it takes on this machine first. `changing` of the series change their level at the first
of the STEPS runs; before it none does.
PERFCI_BIN_DIR, PERFCI_SOURCE_DIR and PERFCI_TEST_DIR name the build and the source, as for the tests.
"""

import argparse
import json
import os
import subprocess
import time

import judging
from fleet import Watched, support

SHAPES = ["100:150:3", "100:150:12", "100:150:50", "100:150:200", "20:150:12", "500:150:12"]
EARLIER, EARLIER_MOST = 150, 1500  # PFC_CAPACITY_EARLIER and its limit, in cli/capacity/capacity.h
VACUUM_RUNS = 50  # the test cluster has no autovacuum: done by us after so many runs
SIZES = """SELECT p.relname, sum(pg_table_size(x.oid)), sum(pg_indexes_size(x.oid))
FROM pg_class p CROSS JOIN LATERAL (
    SELECT p.oid UNION SELECT t.relid FROM pg_partition_tree(p.oid) AS t) AS x (oid)
WHERE p.relnamespace = 'public'::regnamespace AND p.relkind IN ('r', 'p') AND NOT p.relispartition
GROUP BY p.relname HAVING sum(pg_total_relation_size(x.oid)) > %d ORDER BY 2 DESC"""
SMALL = 50_000  # bytes: tables below it are printed as one


class Fill(judging.Fill):
    """As that of judging.py, with any number of samples, in one block."""

    samples = 3
    first_step = 0

    def changed(self, i):
        return i >= self.first_step

    def blocks(self, level):
        return [[round(level * (1 + self.rng.gauss(0, 0.005)), 3) for _ in range(self.samples)]]


def lines(url, statement):
    return [line.split("|") for line in support.sql(url, statement).splitlines()]


def sizes(url, points):
    """Prints a row a table; the bytes of all of them."""
    total = 0
    for name, table, indexes in lines(url, SIZES % SMALL):
        rows = int(support.sql(url, f"SELECT count(*) FROM {name}"))
        print(f"  {name:24} {rows:9} rows {int(table) / max(rows, 1):9.1f} {int(indexes) / max(rows, 1):8.1f} bytes a row, table and indexes")
        total += int(table) + int(indexes)
    print(f"  of {points} points: {total / points:.1f} bytes a point, all tables above {SMALL} bytes together", flush=True)
    return total


def capacity(series, runs, samples, changing, measure):
    """The answer of the calculator for a day with this many runs: bytes a point, and milliseconds."""
    done = subprocess.run([os.path.join(os.environ["PERFCI_BIN_DIR"], "perfci"), "capacity", "--json", f"--commits={runs}",
                           f"--series={series}", f"--samples={samples}", f"--changing={changing}", *(["--measure"] if measure else [])],
                          check=True, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    return json.loads(done.stdout)


def measure(series, runs, samples, args):
    steps, compared = args.steps, args.capacity or args.measure
    print(f"{series} series, {runs} runs, {samples} samples", flush=True)
    cluster = support.Cluster()
    watched = None
    try:
        url = cluster.database()
        # in its command line, unlike the folder of the data, which it is given relative to this one
        folder = os.path.dirname(support.sql(url, "SHOW data_directory").strip())
        watched = Watched(url, folder, "0")
        fill = Fill(watched.api, "sizes", series, args.changing)
        fill.samples, fill.first_step = samples, runs
        fill.commits(runs + steps)
        before, log = watched.processor_s(), support.sql(url, "SELECT pg_current_wal_insert_lsn()").strip()
        for k in range(runs):
            fill.run()
            if k % VACUUM_RUNS == VACUUM_RUNS - 1:
                support.sql(url, "VACUUM ANALYZE")
        points = runs * series
        store_ms = (watched.processor_s() - before) / points * 1e3
        written = int(support.sql(url, f"SELECT pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '{log}')::bigint"))
        print(f"  storing: {store_ms:.4f} ms a point, {written / points:.0f} bytes of log a point", flush=True)
        watched.server.close()

        support.sql(url, "VACUUM ANALYZE")
        watched = Watched(url, folder, "1", watched.token)
        fill.api = watched.api
        before, begin = watched.processor_s(), time.monotonic()
        judging.judged(watched.api)
        print(f"  judging what has waited: {(watched.processor_s() - before) / points * 1e3:.4f} ms a point, "
              f"{time.monotonic() - begin:.0f} s", flush=True)
        before = watched.processor_s()
        for _ in range(steps):
            fill.run()
            judging.judged(watched.api)
        both_ms = (watched.processor_s() - before) / (steps * series) * 1e3
        print(f"  storing and judging run by run: {both_ms:.4f} ms a point")
        points_all = (runs + steps) * series
        total = sizes(url, points_all)
        if compared:
            said = capacity(series, runs + steps, samples, args.changing, args.measure)
            # a worker packs series half an hour later
            bytes_said = said["disk_bytes_a_day"] - points_all * said["costs"]["chunk_bytes"] + series * said["costs"]["series_bytes"]
            disk = bytes_said / total - 1
            # what is judged here is behind `runs` points of each series
            ms_said = said["processor_ms_a_point"] + said["costs"]["earlier_ms"] * max(0, min(runs, EARLIER_MOST) - EARLIER)
            if args.measure:
                print("  constants: " + ", ".join(f"{name} {value:.3g}" for name, value in said["measured"]["replaced"].items()))
            print(f"  perfci capacity: disk {100 * disk:+.0f} %, processor {100 * (ms_said / both_ms - 1):+.0f} %")
    finally:
        if watched:
            watched.server.close()
        cluster.close(dumped=False)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("shapes", nargs="*", metavar="SERIES:RUNS:SAMPLES", help=f"default: {' '.join(SHAPES)}")
    parser.add_argument("--steps", type=int, default=20, help="runs that are judged one by one")
    parser.add_argument("--changing", type=float, default=0.0, help="share of the series that change at the first of these")
    parser.add_argument("--measure", action="store_true", help="as --capacity, with constants of this machine")
    parser.add_argument("--capacity", action="store_true", help="print what `perfci capacity` says beside it")
    args = parser.parse_args()
    for shape in args.shapes or SHAPES:
        measure(*(int(n) for n in shape.split(":")), args)


if __name__ == "__main__":
    main()
