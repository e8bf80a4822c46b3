"""Base of the faults: a service under load, a ledger of its answers, and the conditions that must hold afterwards.

A run counts as acknowledged when its 201 or 200 was read. Afterwards everything that got no answer is
sent again, as a runner's spool would. Then, after each trial, the database itself is read: exactly these
runs are there, each once, under the number that was answered, with all that it measured, and
`perfci admin check` finds nothing wrong. After each fault the same runs are posted once more, in order and
undisturbed, to a second project: what was judged in the first must be what is judged there.
"""
import concurrent.futures
import functools
import glob
import http.client
import json
import os
import random
import signal
import socket
import struct
import subprocess
import sys
import threading

sys.path.insert(0, os.path.join(os.environ["PERFCI_SOURCE_DIR"], "tests/server/http"))
import support  # noqa: E402

COMMITS = 40
CLIENTS = 4
ended = threading.Event()  # set by a signal: answers are no longer awaited


def want(condition, what):
    if not condition:
        raise AssertionError(str(what))


@functools.cache
def programs():
    """The folder of PostgreSQL's programs that the test cluster uses, too."""
    return subprocess.run([support.TESTS / "pfc-cluster", "programs"], check=True, capture_output=True, text=True).stdout.strip()


def sql(url, text):
    done = subprocess.run([os.path.join(programs(), "psql"), "-XAtq", "-v", "ON_ERROR_STOP=1", "-d", url, "-c", text],
                          capture_output=True, text=True, timeout=support.DEADLINE_S, stdin=subprocess.DEVNULL, check=False)
    want(done.returncode == 0, f"{text[:200]}: {done.stderr}")
    return done.stdout.strip()


def process(pid):
    """State and parent; None when there is no such process."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
            state, parent = file.read().rsplit(")", 1)[1].split()[:2]
    except OSError:
        return None
    return state, int(parent)


def kill_database(cluster):
    """kill -9 of the whole of it, then start it again."""
    folder = dict(pair.split("=", 1) for pair in cluster.url.split())["host"]
    with open(os.path.join(folder, "data", "postmaster.pid"), encoding="ascii") as file:
        head = int(file.readline())
    os.kill(head, signal.SIGSTOP)  # so that it starts no other while we look
    pids = [int(path.split("/")[2]) for path in glob.glob("/proc/[0-9]*/stat")]
    pids = [pid for pid in pids if (process(pid) or ("", 0))[1] == head] + [head]
    for pid in pids:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
    # The next one refuses to start while one of them still holds the shared memory.
    support.until("its processes have ended", lambda: all((process(pid) or "Z")[0] == "Z" for pid in pids))
    cluster.order("crash")  # its guard reaps what is dead already
    cluster.order("resume")


# Stored rows and their judgement, without identifiers, which depend on the order of arrival.
ROWS = """
    SELECT r.run_id || m.median || m.samples::text || c.sha AS t FROM measurements m
    JOIN runs r ON r.project_id = m.project_id AND r.id = m.run_id JOIN commits c ON c.id = m.commit_id
    JOIN projects p ON p.id = m.project_id WHERE p.name = '{project}'
    UNION ALL SELECT concat_ws(' ', 'change', c.sha, x.before, x.after, x.rel_low, x.rel_high, x.p, x.regression, x.confirmed, a.state)
    FROM change_points x JOIN commits c ON c.id = x.commit_id JOIN projects p ON p.id = x.project_id
    LEFT JOIN alerts a ON a.project_id = x.project_id AND a.change_point_id = x.id
    WHERE x.gone_at IS NULL AND p.name = '{project}'
    UNION ALL SELECT concat_ws(' ', 'series', s.points, s.last_median, s.spark, s.noise_rel, s.judged)
    FROM series s JOIN projects p ON p.id = s.project_id WHERE p.name = '{project}'"""
STATE = "SELECT md5(string_agg(t, E'\\n' ORDER BY t)) || ' ' || count(*) FROM (" + ROWS + ") AS all_of_it"

# Each table is read once and joined by hashes: the test clusters keep no statistics, and by loops this would be quadratic.
STORED = """SET enable_nestloop = off; SELECT r.run_id, r.id, m.rows, m.samples, q.rows, a.rows
    FROM runs r JOIN projects p ON p.id = r.project_id
    LEFT JOIN (SELECT project_id, run_id, count(series_id) AS rows, sum(cardinality(samples)) AS samples FROM measurements
               GROUP BY project_id, run_id) m ON m.project_id = r.project_id AND m.run_id = r.id
    LEFT JOIN (SELECT project_id, run_id, count(*) AS rows FROM run_parts GROUP BY project_id, run_id) q
              ON q.project_id = r.project_id AND q.run_id = r.id
    LEFT JOIN (SELECT project_id, detail, count(*) AS rows FROM audit WHERE action = 'ingest' GROUP BY project_id, detail) a
              ON a.project_id = r.project_id AND a.detail = r.run_id
    WHERE p.name = '{project}'"""


def state(database, project="demo"):
    return sql(database, STATE.format(project=project))


def odd(database):
    """Some of the rows that one of the two projects has alone."""
    sides = [ROWS.format(project=project) for project in ("demo", "mirror")]
    return [sql(database, f"SELECT left(t, 300) FROM (({a}) EXCEPT ({b})) AS x (t) LIMIT 5") for a, b in (sides, sides[::-1])]


def cut(server, data, read=0):
    """Sends `data`, waits for `read` bytes of the answer, then resets the connection."""
    with socket.create_connection(("127.0.0.1", server.port), timeout=support.DEADLINE_S) as s:
        s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        s.sendall(data)
        if read:
            s.recv(read)


class Ledger:
    """Posts runs to one or several servers and remembers every answer."""

    def __init__(self, database, servers, seed):
        self.database, self.servers = database, servers
        self.random = random.Random(seed)
        self.token = servers[0].admin
        self.answers = {}
        self.last = self.repeated = 0
        self.refused = 0
        self.project("demo")

    def project(self, name):
        for method, path, body in (("POST", "/api/v1/projects", {"name": name}),
                                   ("POST", f"/api/v1/projects/{name}/commits", support.commits(1, COMMITS))):
            want(self.servers[0].call(method, path, body, token=self.token).status in (200, 201), path)

    def document(self, n, **more):
        return support.run_document(n, 1 + n % COMMITS, 100.0 if n % COMMITS < COMMITS // 2 else 120.0, **more)

    def numbers(self, count):
        self.last += count
        return list(range(self.last - count + 1, self.last + 1))

    def note(self, n, answer):
        if answer is None:
            return False
        want(self.answers.setdefault(n, answer) == answer, f"run {n} is another one: {answer}")
        return True

    def post(self, n, server=None):
        """True when it was acknowledged; False when it is to be sent again."""
        want(not ended.is_set(), "ended by a signal")
        server = server or self.servers[n % len(self.servers)]
        try:
            answer = server.call("POST", "/api/v1/runs", self.document(n), token=self.token)
        except (OSError, http.client.HTTPException):
            return False
        if answer.status == 503:  # the only other answer: "not now"
            self.refused += 1
            return False
        want(answer.status in (200, 201), answer)
        return self.note(n, answer.json)

    def post_all(self, numbers, fault=None):
        """Posts with several clients; `fault` is called at a random instant in between."""
        done, at = threading.Semaphore(0), self.random.randrange(1, max(2, len(numbers) // 2))

        def one(n):
            try:
                return self.post(n)
            finally:
                done.release()

        with concurrent.futures.ThreadPoolExecutor(CLIENTS) as pool:
            pending = [pool.submit(one, n) for n in numbers]
            if fault:
                for _ in range(at):
                    want(done.acquire(timeout=support.DEADLINE_S), "no answers")
                fault()
            results = [p.result(timeout=support.DEADLINE_S) for p in pending]
        return [n for n, ok in zip(numbers, results) if not ok]

    def again(self, numbers):
        self.repeated += len(numbers)
        with concurrent.futures.ThreadPoolExecutor(CLIENTS) as pool:
            for done in [pool.submit(support.until, f"run {n} is taken", lambda n=n: self.post(n)) for n in numbers]:
                done.result()

    def trial(self, fault, count=24, recover=None):
        numbers = self.numbers(count)
        left = self.post_all(numbers, fault)
        if recover:
            recover()
        self.again(left)
        self.counts()

    def counts(self):
        """None lost, none doubled, nothing torn, and every check of the store holds."""
        lost = set(range(1, self.last + 1)) - set(self.answers)
        want(not lost, f"never acknowledged: {sorted(lost)[:5]}")
        ids = [a["run_id"] for a in self.answers.values()]
        want(len(ids) == len(set(ids)), "two runs have one number")
        rows = [line.split("|") for line in sql(self.database, STORED.format(project="demo")).splitlines()]
        want({int(r[0], 16): int(r[1]) for r in rows} == {n: a["run_id"] for n, a in self.answers.items()},
             "what is stored is not what was acknowledged")
        odd = [r for r in rows if r[2:] != ["1", "12", "1", "1"]]
        want(not odd and len(rows) == self.last, f"not whole, or twice: {odd[:5]}")
        check(self.database)
        figures = support.until("figures", lambda: (lambda a: a.json if a.status == 200 else None)(
            self.servers[0].call("GET", "/api/v1/stats?project=demo", token=self.token)))
        want((figures["runs"], figures["measurements"]) == (self.last, self.last), f"{figures}, expected {self.last}")

    def judged(self, project="demo"):
        server = self.servers[0]
        # The lease of a killed server expires after minutes, which is too long for a test.
        sql(self.database, "UPDATE jobs SET lease_until = now() WHERE kind = 'detect' AND state = 'leased'")
        support.until("all runs are judged", lambda: [s["points"] for s in server.call(
            "GET", f"/api/v1/projects/{project}/series", token=self.token).json.get("series", [])] == [self.last])
        support.until("no run waits", lambda: sql(
            self.database, "SELECT count(*) FROM jobs WHERE kind = 'detect' AND state <> 'done'") == "0")

    def mirror(self):
        """The same runs undisturbed and in order, judged to the same."""
        self.project("mirror")
        with concurrent.futures.ThreadPoolExecutor(CLIENTS) as pool:
            answers = pool.map(lambda n: self.servers[0].call("POST", "/api/v1/runs", self.document(n, project="mirror"),
                                                              token=self.token).status, range(1, self.last + 1))
            want(set(answers) == {201}, "the mirror takes them")
        self.judged("mirror")
        want(state(self.database) == state(self.database, "mirror"), f"the faults have left another state: {odd(self.database)}")

    def finish(self):
        self.counts()
        self.judged()
        one = self.random.randrange(1, self.last + 1)
        answer = self.servers[0].call("POST", "/api/v1/runs", self.document(one), token=self.token)
        want(answer.status == 200 and answer.json == self.answers[one], f"known, but answered with {answer}")
        other = self.document(one)
        other["measurements"][0]["samples"][0][0] += 1
        answer = self.servers[0].call("POST", "/api/v1/runs", other, token=self.token)
        want(answer.status == 409, f"another body under the same id: {answer}")
        self.mirror()
        check(self.database)


def check(database):
    env = {k: v for k, v in os.environ.items() if not k.startswith(("PERFCI_", "PG"))}
    done = subprocess.run([support.BIN / "perfci", "admin", "check", "--json"], capture_output=True, text=True,
                          timeout=support.DEADLINE_S, stdin=subprocess.DEVNULL, check=False,
                          env={**env, "PERFCI_DATABASE_URL": database})
    want(done.returncode in (0, 5), done.stderr)
    report = json.loads(done.stdout)
    want(report["holds"], [c for c in report["checks"] if c["wrong"]])
    return report
