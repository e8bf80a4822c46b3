"""Measures how fast runs of unknown commits are stored.

unknown.py [--runs N] [--clients N] [--stored N ...] [--rounds N] [--ratio X] [--workers N]

Each run names another commit, a second younger than the one before, and so makes it known. The clients take
the next run from one list, so what they send comes in nearly, but not quite, in the order of time: as from
several machines that measure as a team commits. In projects that have `stored` commits in a
line already, all older, in turns. PostgreSQL syncs to the disk. Prints runs a second, of every quarter, too: a rate
that falls from quarter to quarter grows with the history. Then positions are compared with the order of time.
"""
import argparse
import datetime
import hashlib
import json
import os
import statistics
import subprocess
import sys

sys.path.insert(0, os.path.join(os.environ["PERFCI_SOURCE_DIR"], "tests/server/http"))
import support  # noqa: E402
from posting import post  # noqa: E402

BEGIN = datetime.datetime(2026, 1, 2, tzinfo=datetime.timezone.utc)
LINE = """
INSERT INTO branches (project_id, name) SELECT id, 'main' FROM projects WHERE name = '{0}';
INSERT INTO commits (project_id, sha, parents, time)
SELECT p.id, lpad(to_hex(n), 40, '0'), CASE WHEN n > 1 THEN ARRAY[lpad(to_hex(n - 1), 40, '0')] ELSE '{{}}' END,
       timestamptz '2025-01-01Z' + n * interval '30 seconds'
FROM projects p, generate_series(1, {1}) AS n WHERE p.name = '{0}' ORDER BY n;
INSERT INTO branch_commits (project_id, branch, commit_id, position)
SELECT c.project_id, 'main', c.id, row_number() OVER (ORDER BY c.time)
FROM commits c JOIN projects p ON p.id = c.project_id WHERE p.name = '{0}';
ANALYZE commits, branch_commits;
"""
MISPLACED = """
SELECT count(*) FILTER (WHERE position IS DISTINCT FROM due), count(*) FROM (
    SELECT b.position, row_number() OVER (ORDER BY c.time) AS due
    FROM branch_commits b JOIN commits c ON c.project_id = b.project_id AND c.id = b.commit_id
    JOIN projects p ON p.id = b.project_id WHERE p.name = '{0}') AS l
"""


def document(n, project):
    at = [(BEGIN + datetime.timedelta(seconds=s)).strftime("%Y-%m-%dT%H:%M:%SZ") for s in (n, n + 60)]
    run = support.run_document(n, 0, project=project, id=os.urandom(16).hex(), started_at=at[0], finished_at=at[1])
    run["commit"] = hashlib.sha1(f"{project} {n}".encode()).hexdigest()
    return json.dumps(run).encode()


def fill(url, project, stored):
    for statement in LINE.format(project, stored).split(";\n"):
        if statement.strip():
            done = subprocess.run(["psql", "-XAtq", "-v", "ON_ERROR_STOP=1", "-d", url, "-c", statement], capture_output=True, text=True,
                                  stdin=subprocess.DEVNULL, check=False)
            if done.returncode:
                raise SystemExit(done.stderr)


def prepare(server, url, stored):
    project = f"stored{stored}"
    if server.as_admin("POST", "/api/v1/projects", {"name": project}).status != 201:
        raise SystemExit("the project could not be made")
    if stored:
        fill(url, project, stored)
    # the first run makes the series and the machine known
    post(server, [document(0, project)], 1)


def measure(server, url, args, stored, first):
    """Runs from number `first` on; runs a second, and how many positions are wrong."""
    project = f"stored{stored}"
    ends = post(server, [document(n, project) for n in range(first, first + args.runs)], args.clients)
    quarter = len(ends) // 4
    parts = [quarter / (ends[(k + 1) * quarter - 1] - (ends[k * quarter - 1] if k else 0)) for k in range(4)]
    wrong, members = support.sql(url, MISPLACED.format(project)).strip().split("|")
    print(f"{stored:>9} {args.clients:>7} {args.runs:>6} {len(ends) / ends[-1]:>9.0f}   " + " ".join(f"{p:6.0f}" for p in parts) +
          f"   {wrong} of {members} misplaced", flush=True)
    return len(ends) / ends[-1], int(wrong)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=2000)
    parser.add_argument("--clients", type=int, default=8)
    parser.add_argument("--stored", type=int, nargs="+", default=[0, 50000])
    parser.add_argument("--rounds", type=int, default=1, help="measurements of each history, in turns")
    parser.add_argument("--workers", default="1")
    parser.add_argument("--ratio", type=float, default=0.0, help="end with 1 when the last history has less of the rate of the first")
    args = parser.parse_args()
    os.environ.setdefault("PERFCI_TEST_FSYNC", "1")
    os.environ.setdefault("PERFCI_TEST_BUFFERS", "128MB")
    cluster = support.Cluster()
    url = cluster.database()
    server = support.Server(url, "--workers", args.workers)
    wrong, rates = 0, {stored: [] for stored in args.stored}
    try:
        for stored in args.stored:
            prepare(server, url, stored)
        support.sql(url, "CHECKPOINT")
        print(f"{'stored':>9} {'clients':>7} {'runs':>6} {'runs/s':>9}   by quarter")
        for k in range(args.rounds):
            for stored in args.stored if k % 2 == 0 else reversed(args.stored):
                rate, misplaced = measure(server, url, args, stored, 1 + k * args.runs)
                rates[stored].append(rate)
                wrong += misplaced
    finally:
        server.close()
        cluster.close(dumped=False)
    ratio = statistics.median(rates[args.stored[-1]]) / statistics.median(rates[args.stored[0]])
    print(f"median rate with {args.stored[-1]} stored: {ratio:.2f} of that with {args.stored[0]}")
    return 1 if wrong or ratio < args.ratio else 0


if __name__ == "__main__":
    sys.exit(main())
