#!/usr/bin/env python3
"""Cost of one measurement for the service: bytes by table, bytes of log, processor time of storing and of judging.

For each shape SERIES:RUNS:SAMPLES a private PostgreSQL (of the tests, without fsync) and a server without workers store
RUNS runs, one commit each, that measure all series with SAMPLES samples. Then a server with workers judges them, and
STEPS further runs arrive, each judged before the next. All series of a study are as long as each other, so that all need
their history at the same points, at every 256th among them (core/changepoint/online/steady.h): with fewer STEPS the figure
depends on where they begin. Figures: bytes of tables and of their indexes by the rows in
them (pg_table_size and pg_indexes_size, partitions included), bytes of write-ahead log (the test cluster writes no
images of full pages, a real one does), processor time of the server and of every PostgreSQL process, by points.

usage: sizes.py [SERIES:RUNS:SAMPLES ...] [--steps N] [--changing SHARE] [--capacity] [--measure] [--strict] [--copied]

With --capacity the disk and processor time that `perfci capacity` computes for the shape are printed beside them, with
--measure by the constants that it takes on this machine first. `changing` of the series change their level at the first
of the STEPS runs; before it none does. With --strict it ends with 1 when the disk is more than 20 % or a processor figure more
than 30 % off. With --copied only the first run is posted; SQL inserts the others, so that there is no figure of storing, and one
of judging for all of the history at once: for 10^7 measurements and more.
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
LOOK_RUNS = 50  # the test cluster has no autovacuum: done by us after so many runs, by the thresholds that are its defaults
TABLES_DUE = """SELECT concat_ws(' ', CASE WHEN dead THEN 'VACUUM' END, CASE WHEN changed THEN 'ANALYZE' END) || ' ' || name
FROM (SELECT s.relid::regclass::text AS name, s.n_mod_since_analyze > 50 + 0.1 * greatest(c.reltuples, 0) AS changed,
             s.n_dead_tup > 50 + 0.2 * greatest(c.reltuples, 0)
             OR s.n_ins_since_vacuum > 1000 + 0.2 * greatest(c.reltuples, 0) AS dead
      FROM pg_stat_user_tables s JOIN pg_class c ON c.oid = s.relid AND c.relkind = 'r') t WHERE dead OR changed"""
SIZES = """SELECT p.relname, sum(pg_table_size(x.oid)), sum(pg_indexes_size(x.oid))
FROM pg_class p CROSS JOIN LATERAL (
    SELECT p.oid UNION SELECT t.relid FROM pg_partition_tree(p.oid) AS t) AS x (oid)
WHERE p.relnamespace = 'public'::regnamespace AND p.relkind IN ('r', 'p') AND NOT p.relispartition
GROUP BY p.relname HAVING sum(pg_total_relation_size(x.oid)) > %d ORDER BY 2 DESC"""
MOST_DISK, MOST_PROCESSOR = 0.2, 0.3
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
        rows = points if name == "measurements" else int(support.sql(url, f"SELECT count(*) FROM {name}"))
        print(f"  {name:24} {rows:9} rows {int(table) / max(rows, 1):9.1f} {int(indexes) / max(rows, 1):8.1f} bytes a row, table and indexes")
        total += int(table) + int(indexes)
    print(f"  of {points} points: {total / points:.1f} bytes a point, all tables above {SMALL} bytes together", flush=True)
    return total


def log_since(url, place):
    return int(support.sql(url, f"SELECT pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '{place}')::bigint"))


def capacity(series, runs, samples, changing, measure):
    """The answer of the calculator for a day with this many runs: bytes a point, and milliseconds."""
    done = subprocess.run([os.path.join(os.environ["PERFCI_BIN_DIR"], "perfci"), "capacity", "--json", f"--commits={runs}",
                           f"--series={series}", f"--samples={samples}", f"--changing={changing}", *(["--measure"] if measure else [])],
                          check=True, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    return json.loads(done.stdout)


def copy(url, fill, runs):
    """All runs but the first one, in the order in which they would have been posted."""
    support.until("the first run has a level", lambda: int(support.sql(url, "SELECT count(last_median) FROM series")) == fill.series)
    subprocess.run(["psql", "-XAtq", "-v", "ON_ERROR_STOP=1", "-d", url, "-c", judging.COPIED.format(points=runs, steps=0)],
                   check=True, stdin=subprocess.DEVNULL)
    fill.done, fill.bases = runs, fill.medians


class Errors:
    """Figures of `perfci capacity` beside the measured ones."""

    def __init__(self):
        self.too_large = []

    def show(self, shape, **figures):
        shares = {name: said / measured - 1 for name, (said, measured) in figures.items()}
        print("  perfci capacity: " + ", ".join(f"{name.replace('_', ' ')} {100 * share:+.0f} %" for name, share in shares.items()), flush=True)
        self.too_large += [f"{shape}: {name.replace('_', ' ')} {100 * share:+.0f} %" for name, share in shares.items()
                           if abs(share) > (MOST_DISK if name == "disk" else MOST_PROCESSOR)]


def disk_said(series, runs, samples, args):
    """Bytes that the calculator says without those of series_chunks, which a worker packs half an hour later; its answer."""
    said = capacity(series, runs, samples, args.changing, args.measure)
    return said["disk_bytes_a_day"] - runs * series * said["costs"]["chunk_bytes"] + series * said["costs"]["series_bytes"], said


def measure(series, runs, samples, args, errors):
    steps, compared = args.steps, args.capacity or args.measure or args.strict
    print(f"{series} series, {runs} runs, {samples} samples", flush=True)
    cluster = support.Cluster()
    watched = None
    try:
        url = cluster.database()
        # in its command line, unlike the folder of the data, which it is given relative to this one
        folder = os.path.dirname(support.sql(url, "SHOW data_directory").strip())
        watched = Watched(url, folder, "1" if args.copied else "0")
        fill = Fill(watched.api, "sizes", series, args.changing)
        fill.samples, fill.first_step = samples, runs
        fill.commits(runs + steps)
        before, log = watched.processor_s(), support.sql(url, "SELECT pg_current_wal_insert_lsn()").strip()
        for k in range(1, 2 if args.copied else runs + 1):
            fill.run()
            if k % LOOK_RUNS == 0:
                for statement in support.sql(url, TABLES_DUE).splitlines():
                    support.sql(url, statement)
        if args.copied:
            copy(url, fill, runs)
        points = runs * series
        waited_ms = (watched.processor_s() - before) / points * 1e3
        written = log_since(url, log)
        print(f"  storing: {waited_ms:.4f} ms a point, {written / points:.0f} bytes of log a point", flush=True)
        watched.server.close()
        token, watched = watched.token, None

        subprocess.run(["psql", "-XAtq", "-d", url, "-c", "VACUUM ANALYZE"], check=True, stdin=subprocess.DEVNULL)
        if steps == 0:
            bytes_said = disk_said(series, runs, samples, args)[0]
            errors.show(f"{series}:{runs}:{samples}", disk=(bytes_said, sizes(url, points)))
            return
        watched = Watched(url, folder, "1", token)
        fill.api = watched.api
        before, begin = watched.processor_s(), time.monotonic()
        judging.judged(watched.api)
        judge_ms = (watched.processor_s() - before) / points * 1e3
        waited_ms += judge_ms
        print(f"  judging what has waited: {judge_ms:.4f} ms a point, {time.monotonic() - begin:.0f} s", flush=True)
        before, log = watched.processor_s(), support.sql(url, "SELECT pg_current_wal_insert_lsn()").strip()
        for _ in range(steps):
            fill.run()
            judging.judged(watched.api)
        both_ms = (watched.processor_s() - before) / (steps * series) * 1e3
        print(f"  storing and judging run by run: {both_ms:.4f} ms a point, {log_since(url, log) / (steps * series):.0f} bytes of log a point")
        points_all = (runs + steps) * series
        total = sizes(url, points_all)
        if compared:
            bytes_said, said = disk_said(series, runs + steps, samples, args)
            # what is judged here is behind `runs` points of each series
            ms_said = said["processor_ms_a_point"] + said["costs"]["earlier_ms"] * max(0, min(runs, EARLIER_MOST) - EARLIER)
            if args.measure:
                print("  constants: " + ", ".join(f"{name} {value:.3g}" for name, value in said["measured"]["replaced"].items()))
            waiting = {} if args.copied else {"processor_of_runs_that_waited": (said["processor_ms_a_point_waiting"], waited_ms)}
            errors.show(f"{series}:{runs}:{samples}", disk=(bytes_said, total), processor_run_by_run=(ms_said, both_ms), **waiting)
    finally:
        if watched:
            watched.server.close()
        cluster.close(dumped=False)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("shapes", nargs="*", metavar="SERIES:RUNS:SAMPLES", help=f"default: {' '.join(SHAPES)}")
    parser.add_argument("--steps", type=int, default=20, help="runs that are judged one by one; 0: nothing is judged, disk alone")
    parser.add_argument("--changing", type=float, default=0.0, help="share of the series that change at the first of these")
    parser.add_argument("--measure", action="store_true", help="as --capacity, with constants of this machine")
    parser.add_argument("--capacity", action="store_true", help="print what `perfci capacity` says beside it")
    parser.add_argument("--strict", action="store_true", help="as --capacity, and ends with 1 when it is too far off")
    parser.add_argument("--copied", action="store_true", help="SQL inserts all runs but the first one")
    args = parser.parse_args()
    errors = Errors()
    os.environ.setdefault("PERFCI_TEST_BUFFERS", "128MB")  # as `perfci up` has
    for shape in args.shapes or SHAPES:
        measure(*(int(n) for n in shape.split(":")), args, errors)
    if args.strict and errors.too_large:
        raise SystemExit("sizes.py: more than allowed: " + "; ".join(errors.too_large))


if __name__ == "__main__":
    main()
