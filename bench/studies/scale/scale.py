"""Storing and reading with 10^6 series: how the rate and the times go with what is stored.

scale.py [--series N] [--months N ...] [--requests N] [--runs N] [--rounds N] [--buffers SIZE] [--storing] [--strict]

A private PostgreSQL with fsync. fill.sql fills a database with `series` series and 10 measurements of each a month: first
one month, then, in a copy, the others of `months` (3 by default: 3 x 10^7 measurements with 10^6 series; 10 makes 10^8
and takes 40 GB). Then:

- storing by the API: runs of 8 measurements, each of other series, into the month with 10^7 measurements; beside it, in
  turns, runs of the same 8 series into an empty database. The indexes of the month's partition must be at least twice
  the shared buffers.
- reading, in turns from the two filled databases: the window of a series' newest month, the whole series, an alert, the
  newest alerts, pages of the list of series. Times of single requests; processor time of server and database together.

Each figure is followed by its ratio. With --storing the reading is left out, and one month is filled. With --strict it
ends with 1 when storing has less than half of the rate, or a p95 of a window, an alert or the list is above 1.5 times
that of the smaller database.
"""
import argparse
import http.client
import json
import os
import random
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.environ["PERFCI_SOURCE_DIR"], "bench/studies/service"))
sys.path.insert(0, os.path.join(os.environ["PERFCI_SOURCE_DIR"], "tests/server/http"))
import judging  # noqa: E402
import posting  # noqa: E402
import support  # noqa: E402

FILL = os.path.join(os.path.dirname(os.path.abspath(__file__)), "fill.sql")
COMMITS = 10  # of a month
CLIENTS, MEASURED = 16, 8
LEAST_RATE, MOST_TIME = 0.5, 1.5
INDEXES = """SELECT sum(pg_relation_size(i.indexrelid)), pg_size_bytes(current_setting('shared_buffers'))
             FROM pg_index i WHERE i.indrelid = ('measurements_' || to_char(now(), 'YYYYMM'))::regclass"""


def psql(url, *args):
    subprocess.run(["psql", "-XAtq", "-v", "ON_ERROR_STOP=1", "-d", url, *args], check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)


def other_database(url, name):
    return " ".join(f"dbname={name}" if part.startswith("dbname=") else part for part in url.split())


def fill(url, args, most):
    """The series, the commits of `most` months, and the newest month."""
    support.Server(url, "--workers", "0").close()  # makes the schema
    psql(url, "-v", f"series={args.series}", "-v", f"months={most}", "-v", f"commits={COMMITS}", "-f", FILL)
    add_months(url, most - 1, most)


def add_months(url, first, over):
    begin = time.monotonic()
    for month in reversed(range(first, over)):
        psql(url, "-c", f"SELECT fill_month({month}, {COMMITS})")
    psql(url, "-c", "VACUUM")
    print(f"filled {over - first} months in {time.monotonic() - begin:.0f} s", flush=True)


class Side:
    """A server on one of the databases."""

    def __init__(self, name, url, project):
        self.name, self.project = name, project
        self.server = support.Server(url, "--workers", "0", "--public-read")
        self.folder = os.path.dirname(support.sql(url, "SHOW data_directory").strip())
        self.times, self.spent = {}, {}

    def processor_s(self):
        """Of this server and of PostgreSQL, which the sides share: they are used in turns."""
        return judging.processor_s(self.folder) + judging.processor_s(self.server.dir)

    def close(self):
        self.server.close()


# ---- storing ----

def document(side, rng, series, first):
    """A run of MEASURED series among those of one group of 1,000, as fill.sql names them."""
    group, names = rng.randrange(series // 1000 or 1), []
    for n in rng.sample(range(min(series, 1000)), MEASURED):
        names.append(f"group{group:03d}/gemm/f32/m{64 * (n % 1000 + 1)}n64k64")
    run = support.run_document(0, first, project=side.project, id=f"{rng.getrandbits(128):032x}",
                               machine={"name": "host", "class": "fill-cpu", "fingerprint": {"cpu": "test"}})
    run["measurements"] = [{**run["measurements"][0], "benchmark": name, "backend": "cpu-avx2"} for name in names]
    return json.dumps(run).encode()


def store(side, documents):
    """Runs a second, and milliseconds of processor time a run."""
    spent = side.processor_s()
    ends = posting.post(side.server, documents, CLIENTS)
    return len(ends) / max(ends), 1e3 * (side.processor_s() - spent) / len(ends)


def middle(values):
    return sorted(values)[len(values) // 2]


def compare_storing(url, args, rng):
    """Ratio of the median rates: filled database by empty one."""
    indexes, buffers = (int(n) for n in support.sql(url, INDEXES).strip().split("|"))
    print(f"storing: indexes of the month {indexes / 2**20:.0f} MiB, shared buffers {buffers / 2**20:.0f} MiB", flush=True)
    if indexes < 2 * buffers:
        raise SystemExit("the indexes are less than twice the shared buffers: more --series, or less --buffers")
    empty_url = other_database(url, "empty")
    psql(other_database(url, "postgres"), "-c", "CREATE DATABASE empty")
    few, many = Side("8 series", empty_url, "few"), Side(f"{args.series} series", url, "fill")
    try:
        few.server.as_admin("POST", "/api/v1/projects", {"name": "few"})
        few.server.as_admin("POST", "/api/v1/projects/few/commits", {**support.commits(1, COMMITS), "branch": "main"})
        one_group = [document(few, random.Random(1), 1000, COMMITS)]
        names = json.loads(one_group[0])["measurements"]
        rates, spent = {few: [], many: []}, {few: [], many: []}
        last = int(support.sql(url, "SELECT count(*) FROM branch_commits").strip())
        print(f"  {'into':>16} {'runs/s':>8} {'ms a run':>9}   of {args.runs} runs of {MEASURED} measurements, {CLIENTS} clients")
        for k in range(args.rounds + 1):
            for side in ((few, many) if k % 2 else (many, few)):
                documents = [document(side, rng, args.series, COMMITS if side is few else last)
                             for _ in range(args.runs if k else 100)]
                if side is few:
                    documents = [json.dumps({**json.loads(d), "measurements": names}).encode() for d in documents]
                rate, ms = store(side, documents)
                if k == 0:
                    continue  # connects, prepares, makes the series
                rates[side].append(rate)
                spent[side].append(ms)
                print(f"  {side.name:>16} {rate:8.0f} {ms:9.3f}", flush=True)
    finally:
        few.close()
        many.close()
    ratio = middle(rates[many]) / middle(rates[few])
    print(f"storing: {ratio:.2f} of the rate with 8 series (at least {LEAST_RATE}), {middle(spent[many]) / middle(spent[few]):.2f} times"
          " the processor time", flush=True)
    return ratio


# ---- reading ----

def pages(side, args, commits, rng):
    """Of each sort: as many paths as there are requests, and whether its p95 has a limit."""
    n, p = args.requests, side.project
    series = [rng.randrange(1, args.series + 1) for _ in range(n)]
    first = commits - COMMITS + 1
    return {
        "window, newest 10 commits": ([f"/api/v1/series/{s}?points=10&from={first:040x}&to={commits:040x}" for s in series], True),
        "window, all of the series": ([f"/api/v1/series/{s}?points=2000" for s in series], False),
        "one alert": ([f"/api/v1/alerts/{1 + s % (args.series // 100)}" for s in series], True),
        "newest alerts": ([f"/api/v1/alerts?project={p}&limit=100"] * n, True),
        "list of series, a page": ([f"/api/v1/projects/{p}/series?spark=10&limit=250&cursor={s}" for s in series], True),
        "list, one metric of a group": ([f"/api/v1/projects/{p}/series?spark=10&limit=250&benchmark=group{s % (args.series // 1000 or 1):03d}"
                                         f"/gemm/f32/m{64 * (s % 1000 + 1)}n64k64" for s in series], True),
        "list by words": ([f"/api/v1/projects/{p}/series?spark=10&limit=250&q=group{s % (args.series // 1000 or 1):03d}" for s in series[:args.slow]], True),
        "list by change": ([f"/api/v1/projects/{p}/series?spark=10&limit=250&sort=change"] * args.slow, True),
    }


def ask(side, what, paths):
    connection = http.client.HTTPConnection("127.0.0.1", side.server.port, timeout=600)
    spent = side.processor_s()
    for path in paths:
        begin = time.perf_counter()
        connection.request("GET", path)
        answer = connection.getresponse()
        body = answer.read()
        side.times.setdefault(what, []).append(1e3 * (time.perf_counter() - begin))
        if answer.status != 200:
            raise SystemExit(f"{what}: {path}: {answer.status} {body[:300]!r}")
    side.spent[what] = side.spent.get(what, 0.0) + side.processor_s() - spent
    connection.close()


def p95(times):
    return sorted(times)[int(0.95 * (len(times) - 1))]


def compare_reading(small_url, large_url, args, points, rng):
    """The worst ratio of those p95 that have a limit."""
    commits = int(support.sql(small_url, "SELECT max(position) FROM branch_commits").strip())
    sides = [Side("small", small_url, "fill"), Side("large", large_url, "fill")]
    worst = 0.0
    try:
        print(f"reading {points[0]:.0e} and {points[1]:.0e} measurements, load average {os.getloadavg()[0]:.0f}")
        print(f"  {'page':28} {'asked':>5} {'p50 ms':>8} {'':>8} {'p95 ms':>8} {'':>8} {'ratio':>6} {'CPU ms':>8} {'':>8} {'ratio':>6}")
        state = rng.getstate()
        for what in pages(sides[0], args, commits, random.Random(1)):
            rng.setstate(state)
            paths, limited = pages(sides[0], args, commits, rng)[what]
            if not paths:
                continue
            for side in sides:  # connects and prepares
                ask(side, "first", paths[:1])
            block = max(1, len(paths) // args.rounds)
            for k in range(0, len(paths), block):
                for side in sides if k // block % 2 else reversed(sides):
                    ask(side, what, paths[k:k + block])
            a, b = (s.times[what] for s in sides)
            cpu = [1e3 * s.spent[what] / len(s.times[what]) for s in sides]
            ratio = p95(b) / p95(a)
            worst = max(worst, ratio) if limited else worst
            print(f"  {what:28} {len(a):5} {middle(a):8.1f} {middle(b):8.1f} {p95(a):8.1f} {p95(b):8.1f} {ratio:6.2f} {cpu[0]:8.2f} {cpu[1]:8.2f}"
                  f" {cpu[1] / max(cpu[0], 1e-9):6.2f}", flush=True)
    finally:
        for side in sides:
            side.close()
    print(f"reading: the worst ratio of a p95 with a limit is {worst:.2f} (at most {MOST_TIME})", flush=True)
    return worst


def compare_databases(small, args, rng):
    """Reads from the filled database and from a copy with further months; False: a ratio is above its limit."""
    fine, most = True, max(args.months)
    large, filled = other_database(small, "large"), 1
    psql(other_database(small, "postgres"), "-c", f"CREATE DATABASE large TEMPLATE {dict(p.split('=') for p in small.split())['dbname']}"
                                                  " STRATEGY file_copy")
    for months in sorted(args.months):
        add_months(large, most - months, most - filled)
        filled = months
        psql(large, "-c", "CHECKPOINT")
        fine &= compare_reading(small, large, args, [args.series * COMMITS, args.series * COMMITS * months], rng) <= MOST_TIME
    return fine


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--series", type=int, default=1000000, help="a multiple of 1,000")
    parser.add_argument("--months", type=int, nargs="+", default=[3], help="that the larger database has, one after the other")
    parser.add_argument("--requests", type=int, default=200, help="of each page and database")
    parser.add_argument("--slow", type=int, default=8, help="of pages that look at all series")
    parser.add_argument("--runs", type=int, default=2000, help="stored in a round")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--buffers", default="384MB", help="PostgreSQL's shared buffers")
    parser.add_argument("--storing", action="store_true", help="alone, without the larger database")
    parser.add_argument("--strict", action="store_true")
    parser.add_argument("--databases", nargs=2, metavar="URL", help="filled already: the smaller and the larger one; storing is left out")
    args = parser.parse_args()
    if args.series % 1000 or args.series < 1000:
        parser.error("--series: expected a multiple of 1,000")
    rng, fine, cluster = random.Random(7), True, None
    if args.databases:
        compare_reading(*args.databases, args, [args.series * COMMITS, args.series * COMMITS * args.months[-1]], rng)
        return 0
    os.environ.update(PERFCI_TEST_BUFFERS=args.buffers, PERFCI_TEST_FSYNC="1")
    try:
        cluster = support.Cluster()
        small, most = cluster.database(), 1 if args.storing else max(args.months)
        support.sql(small, "ALTER SYSTEM SET max_wal_size = '4GB'")
        support.sql(small, "SELECT pg_reload_conf()")
        fill(small, args, most)
        if not args.storing:
            fine &= compare_databases(small, args, rng)
        fine &= compare_storing(small, args, rng) >= LEAST_RATE
    finally:
        if cluster:
            cluster.close(dumped=False)
    return 0 if fine or not args.strict else 1


if __name__ == "__main__":
    sys.exit(main())
