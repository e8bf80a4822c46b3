"""A year of daily partitions beside twelve monthly ones with the same measurements: what reading and storing cost.

days.py [--series N] [--requests N] [--rounds N] [--explain]

fill.sql fills a database with a year of 30 commits a month in monthly partitions; a copy has the same rows in a partition
for each day. Printed for both: times and processor time of pages, in turns; storing; the memory of a database connection
that has served all of them; `perfci admin check`; thinning of what is older than two months. With --explain, the statements
that took longest in each.
"""
import argparse
import os
import random
import subprocess
import sys
import time

import scale
from scale import support

COMMITS, MONTHS = 30, 12
BY_DAY = """
SET timezone = 'UTC';
CREATE TABLE kept AS SELECT * FROM measurements;
DO $$ DECLARE p record; d date;
BEGIN
    FOR p IN SELECT * FROM measurements_partitions LOOP
        EXECUTE format('ALTER TABLE measurements DETACH PARTITION %I', p.name);
        EXECUTE format('DROP TABLE %I', p.name);
    END LOOP;
    FOR d IN SELECT generate_series(date_trunc('month', now()) - interval '11 months', now() + interval '7 days', interval '1 day') LOOP
        PERFORM measurements_partition(d, d + 1);
    END LOOP;
END $$;
INSERT INTO measurements SELECT * FROM kept;
DROP TABLE kept;
VACUUM ANALYZE;
"""
LONGEST = """SELECT calls, round((total_plan_time / calls)::numeric, 2), round((total_exec_time / calls)::numeric, 2),
                    left(regexp_replace(query, E'\\\\s+', ' ', 'g'), 110) FROM pg_stat_statements
             WHERE dbid = (SELECT oid FROM pg_database WHERE datname = current_database())
             ORDER BY (total_plan_time + total_exec_time) / calls DESC LIMIT 12"""


def memory_mib(url):
    """The largest private memory of a connection to this database."""
    pids = support.sql(url, "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()").split()
    most = 0
    for pid in pids:
        try:
            with open(f"/proc/{pid}/smaps_rollup", encoding="ascii") as file:
                most = max(most, sum(int(line.split()[1]) for line in file if line.startswith(("Private_Dirty", "Private_Clean"))))
        except OSError:
            pass
    return most / 1024


def pages(args, commits, rng):
    n = args.requests
    series = [rng.randrange(1, args.series + 1) for _ in range(n)]
    last = [rng.randrange(12, commits + 1) for _ in range(n)]
    return {
        "window, 10 commits": [f"/api/v1/series/{s}?points=10&from={c - 9:040x}&to={c:040x}" for s, c in zip(series, last)],
        "window, all of the series": [f"/api/v1/series/{s}?points=2000" for s in series],
        "compare two commits": [f"/api/v1/compare?project=fill&a={c - 9:040x}&b={c:040x}" for c in last],
        "one commit with its values": [f"/api/v1/projects/fill/commits/{c:040x}" for c in last],
        "one run": [f"/api/v1/runs/{c}" for c in last],
        "one alert": [f"/api/v1/alerts/{1 + s % max(1, args.series // 100)}" for s in series],
        "list of series, a page": ["/api/v1/projects/fill/series?spark=10&limit=250"] * n,
    }


def compare(sides, urls, args, commits):
    print(f"  {'page':28} {'p50 ms':>8} {'':>8} {'CPU ms':>8} {'':>8} {'ratio':>6}   twelve months, 365 days")
    for what, paths in pages(args, commits, random.Random(5)).items():
        for side in sides:
            scale.ask(side, "first", paths[:1])
        block = max(1, len(paths) // args.rounds)
        for k in range(0, len(paths), block):
            for side in sides if k // block % 2 else reversed(sides):
                scale.ask(side, what, paths[k:k + block])
        cpu = [1e3 * s.spent[what] / len(s.times[what]) for s in sides]
        print(f"  {what:28} {scale.middle(sides[0].times[what]):8.1f} {scale.middle(sides[1].times[what]):8.1f} {cpu[0]:8.2f} {cpu[1]:8.2f}"
              f" {cpu[1] / max(cpu[0], 1e-9):6.2f}", flush=True)
    rng = random.Random(7)
    for k in range(args.rounds + 1):
        for side in sides if k % 2 else reversed(sides):
            rate, ms = scale.store(side, [scale.document(side, rng, args.series, commits) for _ in range(100)])
            if k:
                side.times.setdefault("store", []).append(ms)
    print(f"  {'storing a run of 8':28} {'':8} {'':8} {scale.middle(sides[0].times['store']):8.2f} {scale.middle(sides[1].times['store']):8.2f}"
          f" {scale.middle(sides[1].times['store']) / scale.middle(sides[0].times['store']):6.2f}")
    print(f"  memory of the largest connection: {memory_mib(urls[0]):.0f} and {memory_mib(urls[1]):.0f} MiB", flush=True)


def admin_check(side, url):
    spent = side.processor_s()
    subprocess.run([support.BIN / "perfci", "admin", "check", "--json"], env={**os.environ, "PERFCI_DATABASE_URL": url}, check=False,
                   stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return side.processor_s() - spent


def thin(side, url):
    """By a server with a worker; until no partition is left to do."""
    spent = side.processor_s()
    server = support.Server(url, "--workers", "1", "--retain-raw", "2")
    due = ("SELECT count(*) FROM measurements_partitions p WHERE until <= date_trunc('month', now()) - interval '2 months'"
           " AND NOT EXISTS (SELECT 1 FROM retention r WHERE r.month = p.since)")
    begin = time.monotonic()
    try:
        support.until("all is thinned", lambda: support.sql(url, due).strip() == "0" or time.sleep(0.5), 900)
    finally:
        server.close()
    return side.processor_s() - spent, time.monotonic() - begin


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--series", type=int, default=1000, help="a multiple of 1,000")
    parser.add_argument("--requests", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--explain", action="store_true")
    args = parser.parse_args()
    os.environ.setdefault("PERFCI_TEST_BUFFERS", "128MB")
    cluster, sides = support.Cluster(), []
    try:
        months = cluster.database()
        if args.explain:
            support.sql(months, "ALTER SYSTEM SET shared_preload_libraries = pg_stat_statements")
            cluster.order("halt")
            cluster.order("resume")
            support.sql(months, "ALTER SYSTEM SET pg_stat_statements.track_planning = on")
            support.sql(months, "SELECT pg_reload_conf()")
        support.Server(months, "--workers", "0").close()
        scale.psql(months, "-v", f"series={args.series}", "-v", f"months={MONTHS}", "-v", f"commits={COMMITS}", "-f", scale.FILL)
        for month in range(MONTHS):
            scale.psql(months, "-c", f"SELECT fill_month({month}, {COMMITS})")
        if args.explain:
            support.sql(months, "CREATE EXTENSION pg_stat_statements")
        scale.psql(months, "-c", "VACUUM ANALYZE")
        days = scale.other_database(months, "days")
        scale.psql(scale.other_database(months, "postgres"), "-c", f"CREATE DATABASE days TEMPLATE {dict(p.split('=') for p in months.split())['dbname']}")
        subprocess.run(["psql", "-XAtq", "-v", "ON_ERROR_STOP=1", "-d", days], input=BY_DAY, text=True, check=True)
        counts = [support.sql(u, "SELECT count(*) FROM measurements; SELECT count(*) FROM measurements_partitions").split() for u in (months, days)]
        print(f"{counts[0][0]} and {counts[1][0]} measurements in {counts[0][1]} and {counts[1][1]} partitions, load average {os.getloadavg()[0]:.0f}",
              flush=True)
        sides = [scale.Side("months", months, "fill"), scale.Side("days", days, "fill")]
        compare(sides, [months, days], args, COMMITS * MONTHS)
        if args.explain:
            print(support.sql(days, LONGEST), flush=True)
        check = [admin_check(side, url) for side, url in zip(sides, (months, days))]
        print(f"  perfci admin check: {check[0]:.2f} and {check[1]:.2f} s of processor time, {check[1] / check[0]:.2f}", flush=True)
        done = [thin(side, url) for side, url in zip(sides, (months, days))]
        print(f"  thinning what is older than two months: {done[0][0]:.1f} and {done[1][0]:.1f} s of processor time,"
              f" {done[0][1]:.0f} and {done[1][1]:.0f} s", flush=True)
    finally:
        for side in sides:
            side.close()
        cluster.close(dumped=False)


if __name__ == "__main__":
    sys.exit(main())
