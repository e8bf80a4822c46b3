"""Measures how long it takes to append commits, by the length of the history.

history.py [--fresh N] [--stored N ...] [--append N] [--rounds N] [--strict]

For each length: a project with so many commits in one line, stored by SQL, in a private cluster with fsync. Then, by the
API, blocks of `append` commits: a chain that follows the last one; the same with a merged side branch of three commits
in every hundred; commits that a run has named before, which are stubs until then; and a chain on another branch that
starts from the middle of the first; and once, 1,000 commits that come before all, which move all of them. Before these,
in the empty database, `fresh` commits in blocks of `append`: no table has statistics then. After them, the same in a new
project, of which the statistics know nothing. Printed: seconds of each, the median and the maximum of the rounds. With
--strict it ends with 1 when an appended block takes more than 2 s.
"""
import argparse
import datetime
import hashlib
import http.client
import json
import os
import sys
import time

sys.path.insert(0, os.path.join(os.environ["PERFCI_SOURCE_DIR"], "tests/server/http"))
import support  # noqa: E402
from unknown import document, fill  # noqa: E402

BEGIN = datetime.datetime(2027, 6, 1, tzinfo=datetime.timezone.utc)
BEFORE_ALL = datetime.datetime(2000, 1, 1, tzinfo=datetime.timezone.utc)
BEFORE = 1000
LIMIT_S = 2.0


class Line:
    """Makes commits, each with an id and a time of its own."""

    def __init__(self, project, last, begin=BEGIN):
        self.project, self.last, self.begin, self.made = project, last, begin, 0

    def commit(self, parents, at=None):
        self.made += 1
        at = self.made if at is None else at
        return {"id": hashlib.sha1(f"{self.project} {self.made}".encode()).hexdigest(), "parents": parents, "author": "Ada",
                "time": (self.begin + datetime.timedelta(seconds=at)).strftime("%Y-%m-%dT%H:%M:%SZ"), "subject": f"change {self.made}"}

    def chain(self, count, merge_every=0):
        commits = []
        while len(commits) < count:
            parents = [self.last]
            if merge_every and len(commits) % merge_every == merge_every - 4:
                side = self.last
                for _ in range(3):
                    commits.append(self.commit([side]))
                    side = commits[-1]["id"]
                parents.append(side)
            commits.append(self.commit(parents))
            self.last = commits[-1]["id"]
        return commits


class Api:
    def __init__(self, server):
        self.port = server.port
        self.head = {"Authorization": "Bearer " + server.admin, "Content-Type": "application/json"}

    def post(self, path, body, status):
        """Seconds until the answer."""
        text = body if isinstance(body, bytes) else json.dumps(body).encode()
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=3600)  # an idle one is closed meanwhile
        start = time.perf_counter()
        connection.request("POST", path, text, self.head)
        answer = connection.getresponse()
        got = answer.read()
        connection.close()
        if answer.status != status:
            raise SystemExit(f"{path}: {answer.status} {got[:300]!r}")
        return time.perf_counter() - start


def middle(times):
    return sorted(times)[len(times) // 2]


def measure(api, url, args, stored):
    project = f"history{stored}"
    api.post("/api/v1/projects", {"name": project}, 201)
    fill(url, project, stored)
    line, path = Line(project, f"{stored:040x}"), f"/api/v1/projects/{project}/commits"
    faults = 0
    support.sql(url, "SELECT pg_stat_statements_reset()") if args.explain else None

    def block(commits, branch="main"):
        return api.post(path, {"branch": branch, "commits": commits}, 200)

    def named():
        line.made += 7200
        commits = line.chain(args.append)
        for commit in (commits[0], commits[-1]):
            run = json.loads(document(0, project))
            at = BEGIN + datetime.timedelta(seconds=line.made + 3600)  # it was measured after it was made
            run.update(commit=commit["id"], started_at=at.strftime("%Y-%m-%dT%H:%M:%SZ"),
                       finished_at=(at + datetime.timedelta(seconds=60)).strftime("%Y-%m-%dT%H:%M:%SZ"))
            api.post("/api/v1/runs", json.dumps(run).encode(), 201)
        return block(commits)

    def forked(k):
        other = Line(f"{project} {k}", f"{stored // 2:040x}")
        return block(other.chain(args.append), f"release{k}")

    for what, act in (("a chain", lambda k: block(line.chain(args.append))),
                      ("a chain with merges", lambda k: block(line.chain(args.append, 100))),
                      ("a chain, ends named by runs", lambda k: named()),
                      ("a chain on another branch", forked)):
        times = [act(k) for k in range(args.rounds)]
        print(f"{stored:>9} {what:32} {middle(times):8.2f} {max(times):8.2f}", flush=True)
        faults += middle(times) > LIMIT_S
        if args.explain:
            print(support.sql(url, "SELECT calls, round(total_exec_time + total_plan_time), left(regexp_replace(query, E'\\s+', ' ', 'g'), 130) "
                                   "FROM pg_stat_statements ORDER BY total_exec_time + total_plan_time DESC LIMIT 2; SELECT pg_stat_statements_reset()"))
    first = Line(f"{project} before", f"{10 ** 9:040x}", BEFORE_ALL)
    seconds = block(first.chain(BEFORE))
    print(f"{stored:>9} {f'{BEFORE} commits before all':32} {seconds:8.2f} {seconds:8.2f}", flush=True)
    return faults


def first_history(api, args, project, stored, what):
    """The history of a new project."""
    line, times = Line(project, None), []
    api.post("/api/v1/projects", {"name": project}, 201)
    for _ in range(0, args.fresh, args.append):
        commits = line.chain(args.append)
        if not times:
            commits[0]["parents"] = []
        times.append(api.post(f"/api/v1/projects/{project}/commits", {"branch": "main", "commits": commits}, 200))
    if times:
        print(f"{stored:>9} {f'{args.fresh}, {what}':32} {middle(times):8.2f} {max(times):8.2f}", flush=True)
    return bool(times) and middle(times) > LIMIT_S


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--fresh", type=int, default=60000, help="commits of a new project; 0: none")
    parser.add_argument("--stored", type=int, nargs="+", default=[1000, 1000000])
    parser.add_argument("--append", type=int, default=5000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--strict", action="store_true", help="end with 1 beyond 2 s")
    parser.add_argument("--explain", action="store_true", help="also print the statements that took longest")
    args = parser.parse_args()
    os.environ.update(PERFCI_TEST_BUFFERS="128MB", PERFCI_TEST_FSYNC="1")
    cluster = support.Cluster()
    if args.explain:
        support.sql(cluster.database(), "ALTER SYSTEM SET shared_preload_libraries = pg_stat_statements")
        cluster.order("halt")
        cluster.order("resume")
    url = cluster.database()
    if args.explain:
        support.sql(url, "CREATE EXTENSION pg_stat_statements")
    server = support.Server(url, "--workers", "1")
    try:
        api = Api(server)
        print(f"{'stored':>9} {'appending ' + str(args.append):32} {'median s':>8} {'max s':>8}", flush=True)
        faults = first_history(api, args, "fresh", 0, "without statistics")
        faults += sum(measure(api, url, args, stored) for stored in args.stored)
        faults += first_history(api, args, "new", max(args.stored), "in a new project")
    finally:
        server.close()
        cluster.close(dumped=False)
    return 1 if faults and args.strict else 0


if __name__ == "__main__":
    sys.exit(main())
