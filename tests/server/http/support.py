"""Shared by the tests of the running server: a private cluster, a server process, requests.

Nothing here sleeps to order things: conditions are polled with a generous deadline.
"""
import concurrent.futures
import http.client
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "support"))
import waiting  # noqa: E402

BIN = pathlib.Path(os.environ["PERFCI_BIN_DIR"])
SOURCE = pathlib.Path(os.environ.get("PERFCI_SOURCE_DIR", pathlib.Path(__file__).parents[3]))
TESTS = pathlib.Path(os.environ["PERFCI_TEST_DIR"])
DEADLINE_S = 240
SECRETS = set()  # tokens that were issued, without their prefix


def until(what, condition, seconds=DEADLINE_S):
    """Polls until condition() is true and returns its value."""
    return waiting.until(what, condition, seconds)


class Cluster:
    """A PostgreSQL of our own; it ends with this process, however that ends. It begins as a copy of the build's prepared one
    (tests/support/prepared.h), whose identifier all copies have; `own`: one with an identifier of its own."""

    def __init__(self, own=False):
        self.process = subprocess.Popen([TESTS / "pfc-cluster"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                        env={**os.environ, "PERFCI_TEST_CLUSTER": "own"} if own else None)
        self.url = self._line()
        self.count = 0
        self.urls = []

    def _line(self):
        line = self.process.stdout.readline().strip()
        if not line:
            raise AssertionError("the test cluster ended")
        return line

    def hold_no_token(self):
        """A dump of everything holds no token that was issued in this process's tests."""
        if not SECRETS or not self.urls:
            return
        with concurrent.futures.ThreadPoolExecutor(3) as pool:
            # what a test has stopped or dropped cannot be asked any more: nothing comes out then
            dumps = list(pool.map(lambda url: subprocess.run(["pg_dump", "--data-only", "--inserts", "-d", url], capture_output=True,
                                                             stdin=subprocess.DEVNULL, timeout=DEADLINE_S, check=False).stdout, self.urls))
        found = [secret[:8] for secret in SECRETS for dump in dumps if secret.encode() in dump]
        assert not found, f"tokens in the database: {found}"

    def order(self, word):
        self.process.stdin.write(word + "\n")
        self.process.stdin.flush()
        return self._line()

    def database(self, migrated=False):
        """The connection string of a new database: empty, as a server finds it on its first day, or with the newest schema."""
        self.count += 1
        self.urls.append(self.order(f"{'migrated' if migrated else 'database'} test{self.count}"))
        return self.urls[-1]

    def close(self, dumped=True):
        """dumped: looks for tokens in all that was stored, which is not for gigabytes."""
        if dumped:
            self.hold_no_token()
        self.process.stdin.close()
        self.process.wait(timeout=DEADLINE_S)
        self.process.stdout.close()


def sql(url, text):
    """The output of psql for the statement."""
    done = subprocess.run(["psql", "-XAtq", "-v", "ON_ERROR_STOP=1", "-d", url, "-c", text], capture_output=True,
                          text=True, timeout=120, stdin=subprocess.DEVNULL, check=False)
    if done.returncode:
        raise AssertionError(f"psql ended with {done.returncode}: {done.stderr.strip()}\nit was given: {text}")
    return done.stdout


class Answer:
    def __init__(self, status, headers, body):
        self.status, self.headers, self.body = status, headers, body

    @property
    def json(self):
        return json.loads(self.body)

    def __repr__(self):
        return f"<{self.status} {self.body[:400]!r}>"


class Server:
    """perfci-server on a free port of 127.0.0.1."""

    def __init__(self, database, *flags, ready=True, environment=None, before=None):
        self.database, self.flags, self.environment, self.before = database, flags, environment or {}, before
        self.dir = tempfile.mkdtemp(prefix="pfc-server-")
        self.log_path = os.path.join(self.dir, "log")
        self.port = 0
        self.start(ready)

    def start(self, ready=True):
        """Starts again on the same port, as a supervisor would."""
        env = {k: v for k, v in os.environ.items() if not k.startswith(("PERFCI_", "PG"))}
        env["PERFCI_DATABASE_URL"] = self.database
        env["PERFCI_DATABASE_UNSAFE"] = "1"  # the test cluster writes nothing to disk that it need not
        env.update(self.environment)
        endpoint = os.path.join(self.dir, "endpoint")
        if os.path.exists(endpoint):
            os.unlink(endpoint)
        with open(self.log_path, "ab") as log:
            self.process = subprocess.Popen(
                [BIN / "perfci-server", "--listen", f"127.0.0.1:{self.port}", "--data", self.dir,
                 "--bootstrap-token-file", self.token_path, *self.flags],
                env=env, stdin=subprocess.DEVNULL, stdout=log, stderr=log, preexec_fn=self.before)
        try:
            self.port = int(until("endpoint written", lambda: self._endpoint(endpoint)).rsplit(":", 1)[1])
            if ready:
                until("ready", self._is_ready)
        except BaseException:
            self.process.kill()  # the caller does not have the object yet and cannot close it
            self.process.wait()
            raise

    def _alive(self):
        if self.process.poll() is not None:
            raise AssertionError(f"the server ended with {self.process.returncode}: {self.log()}")
        return True

    def _endpoint(self, path):
        """A server that ends on its own may have listened before."""
        return pathlib.Path(path).read_text() if os.path.exists(path) else self._alive() and None

    def _is_ready(self):
        try:
            return self._alive() and self.call("GET", "/readyz").status == 200
        except ConnectionError:  # it may have ended since: then the next call says why
            return False

    @property
    def token_path(self):
        return os.path.join(self.dir, "admin.token")

    @property
    def admin(self):
        return pathlib.Path(self.token_path).read_text().strip()

    def log(self):
        return pathlib.Path(self.log_path).read_text(errors="replace")

    def call(self, method, path, body=None, token=None, headers=None, raw=None):
        """One request on a connection of its own. `body` is sent as JSON unless it is bytes, `raw` as it is."""
        head = dict(headers or {})
        if token:
            head["Authorization"] = "Bearer " + token
        data = body if isinstance(body, bytes) else json.dumps(body).encode() if body is not None else raw
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=DEADLINE_S)
        try:
            connection.request(method, path, body=data, headers=head)
            reply = connection.getresponse()
            answer = Answer(reply.status, dict((k.lower(), v) for k, v in reply.getheaders()), reply.read())
            SECRETS.update(t.decode() for t in re.findall(rb'"token":"pfc_([0-9a-f]{64})"', answer.body))
            return answer
        finally:
            connection.close()

    def as_admin(self, method, path, body=None, **more):
        return self.call(method, path, body, token=self.admin, **more)

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait(timeout=DEADLINE_S)

    def stop(self):
        """SIGTERM; returns the exit status."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        return self.process.wait(timeout=DEADLINE_S)

    def close(self):
        if os.path.exists(self.token_path):
            SECRETS.add(self.admin.removeprefix("pfc_"))
        status = self.stop()
        text = self.log()
        if any(secret in text for secret in SECRETS):
            raise AssertionError("a token is in the log: " + text[-3000:])
        shutil.rmtree(self.dir, ignore_errors=True)
        if "Sanitizer" in text or "runtime error:" in text:
            raise AssertionError(text)
        return status


def sign_in(server, token):
    """The header of a browser that signed in with the token."""
    answer = server.call("POST", "/api/v1/session", token=token)
    assert answer.status == 204, answer
    return {"Cookie": "theme=dark; " + answer.headers["set-cookie"].split(";")[0]}


def commit_id(n):
    return f"{n:040x}"


# Members of the report of a bisection that its budget stopped.
BUDGET = {"stopped": "budget", "budget_runs": 9, "candidates": 3, "probability_none": 0.01, "expected_more_runs": 6,
          "likeliest": {"commit": commit_id(8), "probability": 0.5},
          "difference": {"rel_change": 0.018, "rel_low": -0.01, "rel_high": 0.053, "margin": 0.025, "within": False, "more_runs": 14}}


def commits(first, last):
    """A line of commits, oldest first; the ids count up from 1."""
    return {"commits": [{"id": commit_id(n), "parents": [commit_id(n - 1)] if n > 1 else [],
                         "author": "Ada", "time": f"2026-01-01T00:{n // 60:02d}:{n % 60:02d}Z",
                         "subject": f"change {n}", "paths": [f"src/file{n}.c"]}
                        for n in range(first, last + 1)]}


def moved_machine(server, project):
    """A project in which everything on one of two machines is slower from commit 16 on; returns the event."""
    works = ["gemm/a", "gemm/b", "attention/a", "attention/b", "norm/a", "norm/b"]
    server.as_admin("POST", "/api/v1/projects", {"name": project})
    assert server.as_admin("POST", f"/api/v1/projects/{project}/commits", commits(1, 30)).status == 200
    for n in range(1, 31):
        for host in ("mover", "steady"):
            value = 110.0 if host == "mover" and n >= 16 else 100.0
            run = run_document(0, n, project=project, id=os.urandom(16).hex(),
                               machine={"name": host, "class": "class-" + host,
                                        "fingerprint": {"cpu": "test", "kernel": "6.5" if value > 100 else "6.1"}})
            run["measurements"] = [{**run["measurements"][0], "benchmark": work, "samples": [
                [value * (1 + 0.001 * ((7 * n + 3 * b + 5 * s + k) % 11 - 5)) for s in range(4)] for b in range(3)]}
                for k, work in enumerate(works)]
            assert server.as_admin("POST", "/api/v1/runs", run).status == 201
    # it is there with the fourth series, and grows
    return until("the machine's event", lambda: next((
        e for e in server.call("GET", f"/api/v1/environment?project={project}&open=1").json["events"]
        if e["series"] == len(works)), None))


def session_document(n, runs, anchor, base, commits):
    """Session number n of these runs, which it changes: each is visited once a block, in the order of the list and back."""
    session = {"id": f"{n:032x}", "anchor": commit_id(anchor), "base": commit_id(base)}
    for place, run in enumerate(runs):
        run["session"] = session
        for m in run["measurements"]:
            m["visits"] = [[b, len(runs) - 1 - place if b % 2 else place] for b in range(len(m["samples"]))]
    return {**session, "machine_class": "test-cpu", "machine": "host", "started_at": "2026-01-02T00:00:00Z",
            "finished_at": "2026-01-02T00:20:00Z", "budget_s": 1800, "spent_s": 1200, "blocks": len(runs[0]["measurements"][0]["samples"]),
            "note": "the anchor was rebuilt", "commits": commits}


def run_document(n, commit, value=100.0, project="demo", **more):
    """Run number n: one benchmark, 3 processes of 4 samples near `value`, the same for the same n."""
    blocks = [[value * (1 + 0.001 * ((7 * n + 3 * b + s) % 5)) for s in range(4)] for b in range(3)]
    document = {"schema": "perfci.run/1", "id": f"{n:032x}", "project": project, "commit": commit_id(commit),
                "suite": "quick", "suite_hash": "ab" * 32, "started_at": "2026-01-02T00:00:00Z",
                "finished_at": "2026-01-02T00:01:00Z",
                "machine": {"name": "host", "class": "test-cpu", "fingerprint": {"cpu": "test", "compiler": "cc 1"}},
                "measurements": [{"benchmark": "gemm/f32/m64n64k64", "metric": "time_ns", "backend": "cpu-scalar",
                                  "unit": "ns", "direction": "lower", "samples": blocks}]}
    document.update(more)
    return document
