"""The cost of a lease in a crowd: many waiting jobs that fit no runner, many runners that wait for a job.

crowd.py [--jobs N] [--runners N] [--new N] [--strict]

Starts a private cluster with fsync and a server on it, queues the jobs that fit no runner (five sorts in turn: one
label that all of them share, a label of its own, the same beside either of two labels that all runners have, another
machine class), and lets the runners wait by long polls. Then one new job after the other is posted, some for any runner, some
for one of them, some for none. Printed: the time from posting a job to the answer at a runner, the time of a lease
that need not wait, statements of leases in the database for each new job, and the processor time of waiting. With --strict
it ends with 1 when a lease takes more than 50 ms at p99, or a new job more than 3 tries of a lease.
"""
import argparse
import http.client
import json
import os
import selectors
import socket
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.environ["PERFCI_SOURCE_DIR"], "tests/server/http"))
import support  # noqa: E402

WAIT_S = 30
# Statements of a lease request and of a new job, by the text that marks each in schema/queries.
MARKS = {"seen": "INSERT INTO runners AS r", "question": "INSERT INTO lease_questions AS q", "release": "q.heard_from > $4))\nRETURNING id",
         "lease": "lease_hash = $6, tries", "token": "VALUES ($1, $2::bigint, $3::bigint, $4::bigint, $5::bigint, $6)", "notify": "SELECT pg_notify(",
         "insert": "INSERT INTO jobs (project_id", "read": "WITH page AS MATERIALIZED", "look": "WITH alive AS MATERIALIZED"}


def fill(database, jobs):
    for first in range(1, jobs + 1, 10000):
        support.sql(database, f"""
            INSERT INTO jobs (project_id, kind, priority, sha, labels, dedupe)
            SELECT (SELECT id FROM projects WHERE name = 'demo'), 'measure', 40 + n % 7, lpad(to_hex(n), 40, '0'),
                   CASE n % 5 WHEN 0 THEN '{{"gpu": "none"}}'::jsonb
                              WHEN 1 THEN jsonb_build_object('ticket', n::text)
                              WHEN 2 THEN jsonb_build_object('tasks', 'blocks', 'ticket', n::text)
                              WHEN 3 THEN jsonb_build_object('gpu', 'h100', 'ticket', n::text)
                              ELSE '{{"machine_class": "elsewhere"}}' END, 'crowd' || n
            FROM generate_series({first}, {min(first + 9999, jobs)}) AS n""")
    support.sql(database, "ANALYZE jobs")


def request(method, path, body, token):
    text = json.dumps(body).encode()
    return (f"{method} {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\nContent-Type: application/json\r\n"
            f"Content-Length: {len(text)}\r\n\r\n").encode() + text


class Runners(threading.Thread):
    """Connections that ask for a job and ask again when there was none; leased(job id, time, runner) for each answer."""

    def __init__(self, server, count, leased):
        super().__init__(daemon=True)
        self.server, self.leased, self.over = server, leased, False
        self.selector, self.asked = selectors.DefaultSelector(), [0] * count
        self.token = server.admin
        for n in range(count):
            # Addresses of their own, as machines have.
            connection = socket.create_connection(("127.0.0.1", server.port), timeout=60,
                                                  source_address=(f"127.1.{n // 200}.{1 + n % 200}", 0))
            self.selector.register(connection, selectors.EVENT_READ, n)
            self.ask(connection, n)

    def ask(self, connection, n):
        self.asked[n] += 1  # also of its lease: one more request under the name of a job in hand would return that job
        connection.sendall(request("POST", f"/api/v1/jobs/lease?wait={WAIT_S}", {
            "runner": f"r{n}", "machine_class": "crowd", "labels": {"tasks": "blocks", "gpu": "h100", "host": f"r{n}"},
            "lease": f"{n:08x}{self.asked[n]:08x}{os.getpid():016x}", "asked": 1}, self.token))

    def run(self):
        while not self.over:
            for key, _ in self.selector.select(0.2):
                text = key.fileobj.recv(65536)
                at = time.perf_counter()
                status = text[9:12]
                if status == b"200":
                    while not text.rstrip().endswith(b"}}"):
                        text += key.fileobj.recv(65536)
                    job = json.loads(text.partition(b"\r\n\r\n")[2])["job"]
                    self.leased(job["id"], at, key.data, job)
                elif status != b"204":
                    raise SystemExit(f"runner {key.data}: {text[:300]!r}")
                self.ask(key.fileobj, key.data)


def seconds_of(pid):
    """Processor time of a process and of its children that it has waited for."""
    with open(f"/proc/{pid}/stat", encoding="ascii") as file:
        return sum(int(x) for x in file.read().rpartition(")")[2].split()[11:15]) / os.sysconf("SC_CLK_TCK")


def postgres_seconds(database):
    pids = support.sql(database, "SELECT pid FROM pg_stat_activity WHERE pid <> pg_backend_pid()").split()
    return sum(seconds_of(pid) for pid in pids)


def statements(database):
    """How often each was executed, and the milliseconds of all executions; "at": when, in seconds."""
    asked = " UNION ALL ".join(f"SELECT '{name}', coalesce(sum(calls), 0), coalesce(sum(total_exec_time + total_plan_time), 0) FROM pg_stat_statements "
                               f"WHERE strpos(query, $q${mark}$q$) > 0" for name, mark in MARKS.items())
    rows = support.sql(database, "SELECT 'at', 0, extract(epoch FROM clock_timestamp()) UNION ALL " + asked).splitlines()
    found = {name: (int(calls), float(ms)) for name, calls, ms in (row.split("|") for row in rows)}
    return {**found, "at": found["at"][1]}


def between(before, after, n):
    """Each statement's executions and mean milliseconds, for each of n."""
    return ", ".join(f"{name} {(after[name][0] - before[name][0]) / n:.2f} ({(after[name][1] - before[name][1]) / max(1, after[name][0] - before[name][0]):.2f} ms)"
                     for name in MARKS if after[name][0] - before[name][0] >= 0.5 * n)


def quantile(times, q):
    times = sorted(times)
    return times[min(len(times) - 1, int(q * len(times)))] if times else float("nan")


FAULTS = []


def limit(what, value, most):
    if value > most:
        FAULTS.append(f"{what}: {value:.1f}, expected at most {most}")


def line(what, times):
    print(f"{what:44} {len(times):5} {quantile(times, 0.5):8.1f} {quantile(times, 0.99):8.1f} {max(times):8.1f}", flush=True)


def post(server, connection, body):
    connection.request("POST", "/api/v1/jobs", json.dumps(body), {"Authorization": "Bearer " + server.admin, "Content-Type": "application/json"})
    answer = connection.getresponse()
    text = answer.read()
    if answer.status != 201:
        raise SystemExit(f"POST /jobs: {answer.status} {text[:300]!r}")
    return json.loads(text)["id"]


def crowd(server, database, args):
    got, arrived = {}, threading.Condition()

    def leased(job_id, at, runner, job):
        with arrived:
            got[job_id] = (at, runner, job)
            arrived.notify_all()

    runners = Runners(server, args.runners, leased)
    runners.start()
    support.until("all wait", lambda: f"perfci_http_waiting {args.runners}\n".encode() in server.call("GET", "/metrics").body, 600)
    time.sleep(2)
    before = (time.monotonic(), seconds_of(server.process.pid), postgres_seconds(database), statements(database))
    time.sleep(args.idle)
    after = (time.monotonic(), seconds_of(server.process.pid), postgres_seconds(database), statements(database))
    wall = after[0] - before[0]
    print(f"waiting alone: server {100 * (after[1] - before[1]) / wall:.1f} %, PostgreSQL {100 * (after[2] - before[2]) / wall:.1f} % of a processor; "
          f"statements a second: {between(before[3], after[3], wall)}", flush=True)
    waiting = (after[3]["lease"][0] - before[3]["lease"][0]) / (after[3]["at"] - before[3]["at"])
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=600)
    print(f"{'time, ms':44} {'n':>5} {'p50':>8} {'p99':>8} {'max':>8}")
    for what, labels in (("new job for any runner, until its lease", lambda k: {}),
                         ("new job for one runner, until its lease", lambda k: {"host": f"r{(k * 37) % args.runners}"}),
                         ("new job for no runner, posting it", lambda k: {"gpu": "none"})):
        times, counts = [], statements(database)
        for k in range(args.new):
            start = time.perf_counter()
            job = post(server, connection, {"project": "demo", "kind": "measure", "commit": os.urandom(20).hex(), "labels": labels(k),
                                           "priority": 90})
            if "no runner" in what:
                times.append(1000 * (time.perf_counter() - start))
                continue
            with arrived:
                if not arrived.wait_for(lambda j=job: j in got, 60):
                    raise SystemExit(f"job {job} was not leased within 60 s")
            at, runner, leased_job = got[job]
            if labels(k) and labels(k)["host"] != f"r{runner}":
                raise SystemExit(f"job {job} went to runner {runner}")
            times.append(1000 * (at - start))
            complete(server, connection, leased_job)
        line(what, times)
        now = statements(database)
        wall = now["at"] - counts["at"]
        tries = (now["lease"][0] - counts["lease"][0] - waiting * wall) / args.new
        limit(f"{what}: tries of a lease", tries, 3)
        print(f"  for each: {max(0.0, tries):.2f} tries of a lease beside those of waiting alone; all statements: "
              f"{between(counts, now, args.new)}", flush=True)
    runners.over = True
    runners.join()
    return connection


def complete(server, connection, job):
    connection.request("POST", f"/api/v1/jobs/{job['id']}/complete", json.dumps({"lease": job["lease"], "status": "failed", "reason": "no work"}),
                       {"Authorization": "Bearer " + server.admin, "Content-Type": "application/json"})
    answer = connection.getresponse()
    text = answer.read()
    if answer.status not in (200, 409):
        raise SystemExit(f"complete: {answer.status} {text[:300]!r}")


def at_once(server, database, connection, args):
    """Leases of jobs that wait already, by one runner without a long poll, and questions that find nothing."""
    for what, there in (("lease of a job that waits", True), ("question that finds none", False)):
        times, counts = [], statements(database)
        for k in range(args.new):
            if there:
                post(server, connection, {"project": "demo", "kind": "measure", "commit": os.urandom(20).hex(), "labels": {"host": "direct"}})
            start = time.perf_counter()
            connection.request("POST", "/api/v1/jobs/lease", json.dumps({
                "runner": "direct", "machine_class": "crowd", "labels": {"tasks": "blocks", "gpu": "h100", "host": "direct"}, "lease": f"{k:08x}{there:08x}ffffffff{os.getpid():08x}",
                "asked": 1}), {"Authorization": "Bearer " + server.admin, "Content-Type": "application/json"})
            answer = connection.getresponse()
            text = answer.read()
            times.append(1000 * (time.perf_counter() - start))
            if answer.status != (200 if there else 204):
                raise SystemExit(f"lease: {answer.status} {text[:300]!r}")
            if there:
                complete(server, connection, json.loads(text)["job"])
        line(what, times)
        limit(f"{what}: ms at p99", quantile(times, 0.99), 50)
        print(f"  for each, all statements: {between(counts, statements(database), args.new)}", flush=True)


def pages(server, database, connection, args):
    """The queue as a person reads it."""
    last = support.sql(database, "SELECT max(id) FROM jobs").strip()
    for what, path in (("page of the queue", "/api/v1/jobs?limit=100"), ("one job, with its expected wait", f"/api/v1/jobs/{last}")):
        times, counts = [], statements(database)
        for _ in range(max(1, args.new // 10)):
            start = time.perf_counter()
            connection.request("GET", path, headers={"Authorization": "Bearer " + server.admin})
            answer = connection.getresponse()
            answer.read()
            times.append(1000 * (time.perf_counter() - start))
            if answer.status != 200:
                raise SystemExit(f"{path}: {answer.status}")
        line(what, times)
        print(f"  for each, all statements: {between(counts, statements(database), max(1, args.new // 10))}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--jobs", type=int, default=100000)
    parser.add_argument("--runners", type=int, default=1000)
    parser.add_argument("--new", type=int, default=200)
    parser.add_argument("--idle", type=float, default=WAIT_S)
    parser.add_argument("--strict", action="store_true", help="end with 1 beyond the limits")
    args = parser.parse_args()
    os.environ.update(PERFCI_TEST_BUFFERS="128MB", PERFCI_TEST_FSYNC="1")
    cluster = support.Cluster()
    support.sql(cluster.database(), "ALTER SYSTEM SET shared_preload_libraries = pg_stat_statements")
    cluster.order("halt")
    cluster.order("resume")
    database = cluster.database()
    support.sql(database, "CREATE EXTENSION pg_stat_statements")
    support.sql(database, "ALTER SYSTEM SET pg_stat_statements.track_planning = on")
    support.sql(database, "SELECT pg_reload_conf()")
    server = support.Server(database, "--workers", "1", "--connections", str(2 * args.runners + 200), "--waiting-per-token", "0")
    try:
        support.until("project", lambda: server.as_admin("POST", "/api/v1/projects", {"name": "demo"}).status == 201)
        fill(database, args.jobs)
        print(f"{args.jobs:,} jobs that fit no runner, {args.runners:,} runners that wait", flush=True)
        connection = crowd(server, database, args)
        at_once(server, database, connection, args)
        pages(server, database, connection, args)
    finally:
        server.close()
        cluster.close(dumped=False)
    if FAULTS:
        print("beyond the limits: " + "; ".join(FAULTS), flush=True)
    return 1 if FAULTS and args.strict else 0


if __name__ == "__main__":
    sys.exit(main())
