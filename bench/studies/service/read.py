"""How long pages take with 10^7 measurements stored, and what 564 idle listeners cost.

read.py [--database URL] [--commits N] [--series N] [--requests N] [--unpacked]

Without --database it starts a private cluster (of the tests, without fsync) and fills it (fill.sql: a run a commit
that measures all series); with it, a filled one is read. Then: the window of 2,000 buckets of a whole series, a
comparison of two commits, the page of recent alerts, each asked for another series or commit every time, one after
the other; the server's resident memory; and 64 runners that wait for a job and 500 event streams at once.
"""
import argparse
import http.client
import os
import socket
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.environ["PERFCI_SOURCE_DIR"], "tests/server/http"))
import support  # noqa: E402

RUNNERS, STREAMS = 64, 500
BUFFERS = "128MB"  # what `perfci up` gives its database
FILL = os.path.join(os.path.dirname(os.path.abspath(__file__)), "fill.sql")


def psql(url, *args):
    subprocess.run(["psql", "-XAtq", "-d", url, *args], check=True, stdin=subprocess.DEVNULL)


def ask(url, sql):
    return subprocess.run(["psql", "-XAtqc", sql, "-d", url], check=True, stdin=subprocess.DEVNULL, capture_output=True, text=True).stdout


def pack(url):
    """A server with workers packs what long series are read from (they do it every half hour)."""
    begin = time.monotonic()
    server = support.Server(url, "--workers", "1")
    try:
        support.until("long series are packed", lambda: ask(
            url, "SELECT count(*) FROM series s WHERE points >= 500 AND NOT EXISTS ("
                 "SELECT 1 FROM series_chunks c WHERE c.project_id = s.project_id AND c.series_id = s.id)").strip() == "0", 3600)
    finally:
        server.close()
    print(f"packed: {ask(url, 'SELECT sum(points) FROM series_chunks').strip()} points, "
          f"{ask(url, 'SELECT pg_size_pretty(pg_total_relation_size($$series_chunks$$))').strip()}, "
          f"in {time.monotonic() - begin:.0f} s", flush=True)


def status_of(server, field):
    with open(f"/proc/{server.process.pid}/status", encoding="ascii") as file:
        return int(next(line for line in file if line.startswith(field)).split()[1])


def measure(server, what, paths, limit_ms):
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=600)
    times, size = [], 0
    for path in paths:
        begin = time.perf_counter()
        connection.request("GET", path)
        answer = connection.getresponse()
        body = answer.read()
        times.append(1000 * (time.perf_counter() - begin))
        size = len(body)
        if answer.status != 200:
            raise SystemExit(f"{what}: {answer.status} {body[:300]!r}")
    connection.close()
    first, times = times[0], sorted(times[1:])
    print(f"{what:34} {len(times):5} {first:9.1f} {times[len(times) // 2]:8.1f} {times[int(0.95 * (len(times) - 1))]:8.1f} "
          f"{limit_ms:6} {size / 1024:8.0f} {status_of(server, 'VmRSS') / 1024:8.1f}", flush=True)


def read_pages(server, args):
    print(f"{'page':34} {'asked':>5} {'first ms':>9} {'p50 ms':>8} {'p95 ms':>8} {'limit':>6} {'KiB':>8} {'RSS MiB':>8}")
    series = [s["id"] for s in server.call("GET", "/api/v1/projects/fill/series?limit=1000").json["series"]]
    n = args.requests
    measure(server, "series, 2,000 buckets", [f"/api/v1/series/{series[k % len(series)]}?points=2000" for k in range(n + 1)], 100)
    pairs = [(args.commits * (k + 1) // (n + 3), 10) for k in range(n + 1)]
    measure(server, "compare two commits", [f"/api/v1/compare?project=fill&a={a:040x}&b={a + d:040x}" for a, d in pairs], 100)
    measure(server, "recent alerts", ["/api/v1/alerts?project=fill&limit=100"] * (n + 1), 20)
    alerts = [a["id"] for a in server.call("GET", "/api/v1/alerts?project=fill&limit=1000").json["alerts"]]
    commits = [f"{a:040x}" for a, _ in pairs]
    part = max(1, args.commits // 10)
    for what, paths in (
            # what the dashboard asks for
            ("series, 5,000 buckets", [f"/api/v1/series/{series[k % len(series)]}?points=5000" for k in range(n + 1)]),
            ("series, a tenth of its line", [f"/api/v1/series/{series[k % len(series)]}?points=5000&from={a:040x}&to={a + part:040x}"
                                             for k, a in ((k, 1 + (args.commits - part - 1) * k // (n + 1)) for k in range(n + 1))]),
            ("series, 500 commits of it", [f"/api/v1/series/{series[k % len(series)]}?points=5000&from={a:040x}&to={min(a + 500, args.commits):040x}"
                                           for k, (a, _) in enumerate(pairs)]),
            ("series list with 60 medians", ["/api/v1/projects/fill/series?spark=60&limit=250"]),
            ("headline series", ["/api/v1/projects/fill/series?headline=1&spark=60"]),
            ("series found by words", ["/api/v1/projects/fill/series?q=gemm+m64&spark=60&limit=250"]),
            ("open alerts by worth", ["/api/v1/alerts?project=fill&state=open&sort=worth&limit=8"]),
            ("open alerts, 200", ["/api/v1/alerts?project=fill&state=open&limit=200"]),
            ("alerts that are noise (none)", ["/api/v1/alerts?project=fill&state=noise&limit=200"]),
            ("one alert", [f"/api/v1/alerts/{alerts[k % len(alerts)]}" for k in range(n + 1)]),
            ("its suspects", [f"/api/v1/alerts/{alerts[k % len(alerts)]}/suspects" for k in range(n + 1)]),
            ("one commit with its values", [f"/api/v1/projects/fill/commits/{c}" for c in commits]),
            ("commits, newest 100", ["/api/v1/projects/fill/commits?limit=100"]),
            ("newest runs", ["/api/v1/projects/fill/runs?limit=8"]),
            ("one run", [f"/api/v1/runs/{1 + int(c, 16)}" for c in commits]),
            ("jobs", ["/api/v1/jobs?project=fill&limit=100"]),
            ("runners", ["/api/v1/runners"]),
            ("bisections", ["/api/v1/bisections?project=fill&limit=100"]),
            ("machines that moved", ["/api/v1/environment?project=fill&open=1&limit=50"]),
            ("projects", ["/api/v1/projects"]),
            ("one project", ["/api/v1/projects/fill"]),
            ("machines", ["/api/v1/machines"]),
            # what others ask for
            ("commits, 1,000 of all", ["/api/v1/projects/fill/commits?limit=1000"]),
            ("coverage, 50 commits", ["/api/v1/projects/fill/coverage?limit=1000"]),
            ("coverage, 500 commits", ["/api/v1/projects/fill/coverage?commits=500&limit=1000"]),
            ("replay of a series", [f"/api/v1/series/{s}/replay" for s in series[:n + 1]]),
            ("stats", ["/api/v1/stats"]),
            ("stats of a project", ["/api/v1/stats?project=fill"]),
            ("metrics, at most a second old", ["/metrics"])):
        measure(server, what, paths * (n + 1) if len(paths) == 1 else paths, 100)


def connect(server, head):
    s = socket.create_connection(("127.0.0.1", server.port), timeout=support.DEADLINE_S)
    s.sendall(head)
    return s


def hear(stream, until):
    text = b""
    while until not in text:
        part = stream.recv(65536)
        if not part:
            raise SystemExit("a stream ended")
        text += part


def idle(server):
    """All at once on one server: threads and memory before and after, and that each of them receives the event."""
    token = server.admin
    threads, rss = status_of(server, "Threads"), status_of(server, "VmRSS")
    streams = [connect(server, b"GET /api/v1/events HTTP/1.1\r\nHost: localhost\r\n\r\n") for _ in range(STREAMS)]
    for s in streams:
        hear(s, b": open")
    body = b'{"runner":"idle","machine_class":"idle"}'
    ask = (f"POST /api/v1/jobs/lease?wait=30 HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\n"
           f"Content-Length: {len(body)}\r\n\r\n").encode() + body
    runners = [connect(server, ask) for _ in range(RUNNERS)]
    support.until("all runners wait", lambda: f"perfci_http_waiting {RUNNERS}\n".encode() in server.call("GET", "/metrics").body)
    print(f"idle: {RUNNERS} runners wait, {STREAMS} streams are open: threads {threads} before, {status_of(server, 'Threads')} now; "
          f"RSS {rss / 1024:.1f} MiB before, {status_of(server, 'VmRSS') / 1024:.1f} now")
    begin = time.perf_counter()
    made = server.as_admin("POST", "/api/v1/jobs", {"project": "fill", "kind": "measure", "commit": os.urandom(20).hex(),
                                                   "labels": {"machine_class": "nobody"}})
    if made.status != 201:
        raise SystemExit(made)
    for s in streams:
        hear(s, b"event: job")
    print(f"idle: one job's news reached {STREAMS} streams within {1000 * (time.perf_counter() - begin):.0f} ms")
    for s in runners:
        hear(s, b"HTTP/1.1 204")
    for s in streams + runners:
        s.close()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--database")
    parser.add_argument("--commits", type=int, default=100000)
    parser.add_argument("--series", type=int, default=100)
    parser.add_argument("--unpacked", action="store_true", help="read series from their measurements alone")
    parser.add_argument("--requests", type=int, default=40)
    args = parser.parse_args()
    os.environ.setdefault("PERFCI_TEST_BUFFERS", BUFFERS)
    cluster = None if args.database else support.Cluster()
    database = args.database or cluster.database()
    server = support.Server(database, "--public-read", "--workers", "0")
    try:
        if cluster:
            begin = time.monotonic()
            psql(database, "-v", f"commits={args.commits}", "-v", f"series={args.series}", "-f", FILL)
            print(f"filled: {args.commits * args.series:,} measurements in {time.monotonic() - begin:.0f} s", flush=True)
        if not args.unpacked:
            pack(database)
        read_pages(server, args)
        idle(server)
    finally:
        server.close()
        if cluster:
            cluster.close(dumped=False)


if __name__ == "__main__":
    main()
