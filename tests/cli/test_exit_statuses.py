"""Every exit status of every command. A row is a command, the status, when it ends so, and a call that shows it. Help texts and
docs/ are read, too: a status that they promise and that has no row fails the test."""

import contextlib
import json
import os
import re
import shutil
import socket
import subprocess
import sys

import support
from exit_answers import (
    BASE, COUNTS, CULPRIT, DIFFERS, DROP, FLAT, LOST, MEASURE, NEW_STEP, NIGHT, NOISY, REMOTE, SEARCHED, STEP,
    comparison, run_document, series)
from stub import Stub

# Documents that speak of a command's exit status.
DOCS = {"docs/how-to/find-a-commit.md": "bisect", "docs/tutorial/first-hour.md": "bisect", "docs/reference/formats.md": "run", "docs/explanation/nights.md": "nightly"}
# Statuses that no text promises, of `perfci` itself and of what only these commands do.
OWN = {"": {0, 2, 5}, "repro": {0, 1, 2, 4, 5}, "up": {0, 2, 5}, "check": {5}, "compare": {5}, "bisect": {5}, "comment": {0, 2, 5},
       "nightly": {0}, "run": {0, 5}, "suite": {5}}
PARTS = {"accel": ["run"], "trace": ["export", "check"]}
TRACE = os.path.join(support.ROOT, "tests/data/trace/launch.pct")
GOOD_RUN, BAD_RUN = (os.path.join(support.ROOT, "tests/data/explain", name) for name in ("good.json", "bad.json"))


class Statuses(support.Case):
    def setUp(self):
        super().setUp()
        self.stub = Stub(dict(BASE))
        self.addCleanup(self.stub.close)
        self.closed = f"http://127.0.0.1:{support.free_port()}"
        self.env.update(PERFCI_URL=self.stub.url, COUNTER=self.path("counter"), GIT_AUTHOR_NAME="a", GIT_AUTHOR_EMAIL="a@x",
                        GIT_COMMITTER_NAME="a", GIT_COMMITTER_EMAIL="a@x", PERFCI_DATABASE_URL="dbname=x")
        self.made = None

    def forget(self):
        """Nothing of an earlier row is left but the repository."""
        for name in os.listdir(self.dir):
            path = self.path(name)
            if os.path.isdir(path) and name != "repo":
                shutil.rmtree(path)
            elif name != "repo":
                os.unlink(path)
        self.stub.answers = dict(BASE)
        self.env["PERFCI_DATABASE_URL"] = "dbname=x"

    # ---- what calls need ----

    def repo(self, measure=MEASURE, more=""):
        """A repository with the commits slow~1 (100), slow (120), same (120) and fast (90) on a branch, whose perfci.yaml says so."""
        if not self.made:
            self.made = self.path("repo")
            os.mkdir(self.made)
            self.git("init", "-q", "-b", "main", cwd=self.made)
            for n, (value, tag) in enumerate(((100, "base"), (120, "slow"), (120, "same"), (90, "fast"))):
                self.write("repo/value", f"{value}\n")
                self.write("repo/n", f"{n}\n")
                self.git("add", "value", "n", cwd=self.made)
                self.git("commit", "-qm", tag, cwd=self.made)
                self.git("tag", tag, cwd=self.made)
        self.write("repo/perfci.yaml", f"project: p\nbranch: main\nmetric: latency\nunit: ms\nmeasure: {json.dumps(measure)}\n{more}")
        return self.made

    def here(self, *args, measure=MEASURE, more="", **kinds):
        return self.perfci(*args, cwd=self.repo(measure, more), **kinds)

    def check(self, head, *args, base="base", **kinds):
        """HEAD is `head`, which left the branch `main` at `base`."""
        repo = self.repo(**{k: kinds.pop(k) for k in ("measure", "more") if k in kinds})
        self.git("checkout", "-q", "--detach", head, cwd=repo)
        self.git("branch", "-qf", "main", base, cwd=repo)
        return self.perfci("check", *args, cwd=repo, **kinds)

    def files(self, a, b, *args):
        names = [self.write(f"{name}.json", json.dumps(doc)) for name, doc in (("a", a), ("b", b))]
        return self.perfci("compare", *names, *args)

    def stored(self, *args, **more):
        self.stub.answers[("GET", "/api/v1/compare")] = json.loads(comparison("regression", differs=DIFFERS, stored=True, **more))
        return self.perfci("compare", "--stored", "1", "2", "--project", "p", *args)

    def bisect(self, *values, more=()):
        for i, v in enumerate(values):
            self.write(f"values/c{i}", f"{v}\n")
        ids = self.write("ids", "".join(f"c{i}\n" for i in range(len(values))))
        return self.perfci("bisect", "--commits", ids, "--no-checkout", "--measure",
                           'v=$(cat "values/$PERFCI_COMMIT") || exit 1; [ "$v" != broken ] || exit 125; ' + NOISY % '"$v"', *more)

    def remote(self, *args, **answer):
        self.stub.answers[("GET", "/api/v1/bisections/3")] = {**SEARCHED, **answer}
        return self.perfci(*REMOTE, *args)

    def night(self, status="measured", verdict=None, alerts=(), broken=(), lag=0, job="done", judged=True, wait="60s"):
        """A round by jobs of two new commits; what became of the newest one and what the service says."""
        repo = self.repo(measure="cat value")
        base, first, last = [self.git("rev-parse", tag, cwd=repo) for tag in ("slow", "same", "fast")]
        done = [{"commit": first, "status": "measured"}, {"commit": last, "status": status, "reason": "why"}]
        session = {"id": "e" * 32, "branch": "main", "commits": done}
        verdicts = [{**done[0], "verdict": "same", "within": 0.01}, {**done[1], **({"verdict": verdict, "worst": NIGHT} if verdict else {})}]
        listed = [{"alerts": []}, {"alerts": list(alerts)}]
        sessions = [{"sessions": []}, {"sessions": [session]}]
        self.stub.answers.update({
            ("GET", "/api/v1/projects/p/runs"): {"runs": [{"commit": base, "id": "r1", "run_id": 1}]},
            ("POST", "/api/v1/projects/p/commits"): {"new": 0}, ("POST", "/api/v1/jobs"): {"id": 5},
            ("GET", "/api/v1/jobs/5"): {"id": 5, "state": job, "session": "e" * 32, "run_ids": []},
            ("GET", "/api/v1/projects/p/sessions"): lambda: sessions.pop(0) if len(sessions) > 1 else sessions[0],
            ("GET", "/api/v1/projects/p/sessions/" + "e" * 32): {**session, "commits": verdicts},
            ("GET", "/api/v1/alerts"): lambda: listed.pop(0) if len(listed) > 1 else listed[0],
            ("GET", "/api/v1/stats"): {"detection_lag_s": lag},
            ("GET", f"/api/v1/projects/p/commits/{last}"): {"broken": list(broken)},
            ("GET", f"/api/v1/projects/p/commits/{first}"): {"broken": []}})
        return self.perfci("nightly", "--jobs", "--wait", wait, cwd=repo)

    def comment(self, text, *args):
        return self.perfci("comment", "--dry-run", *args, text=text)

    def programs(self, **scripts):
        """An environment in which PostgreSQL's programs are these scripts, and no others are found."""
        folder = self.path("fakes")
        os.makedirs(folder, exist_ok=True)
        for name in os.listdir(folder):
            os.unlink(os.path.join(folder, name))
        for name, script in scripts.items():
            self.write(f"fakes/{name}", f"#!/bin/sh\n{script}\n", 0o755)
        return {"PATH": folder}

    def admin(self, *args, env=None, **scripts):
        return self.perfci("admin", *args, env={**self.programs(**scripts), **(env or {})})

    def store_check(self, wrong, version=None, there="t"):
        newest = version or max(int(name[:4]) for name in os.listdir(os.path.join(support.ROOT, "schema/migrations")))
        return self.admin("check", psql=f"case \"$*\" in *'SELECT to_regclass'*) echo {there};; *'SELECT version, name'*) printf '{newest}\\tx\\n';; "
                                        f"*) printf 'first\\t0\\nsecond\\t{wrong}\\nthird\\t0\\n';; esac")

    def restore(self, version, there=0):
        dump = self.write("a.dump", "x")
        return self.admin("restore", dump, pg_restore=f"printf '{version}\\tname\\n'", psql=f"echo {there}")

    def beside(self, program, script, *args, **kinds):
        """perfci in a folder of its own, with this program beside it."""
        os.makedirs(self.path("bin"), exist_ok=True)
        with contextlib.suppress(FileExistsError):
            os.link(support.PERFCI, self.path("bin/perfci")) if os.stat(support.PERFCI).st_dev == os.stat(self.dir).st_dev else \
                shutil.copy(support.PERFCI, self.path("bin/perfci"))
        self.write(f"bin/{program}", f"#!/bin/sh\n{script}\n", 0o755)
        return subprocess.run([self.path("bin/perfci"), *args], cwd=kinds.get("cwd", self.dir), env=self.env, text=True, check=False,
                              stdin=subprocess.DEVNULL, capture_output=True, timeout=60)

    @contextlib.contextmanager
    def stack(self, *names, **more):
        """A data folder whose members run, as far as `status` and `up` can tell."""
        sleepers = [subprocess.Popen(["sleep", "600"]) for _ in names]
        record = {"url": self.stub.url, "port": int(self.stub.url.rsplit(":", 1)[1]), **more}
        try:
            for name, p in zip(names, sleepers):
                support.wait_for(lambda p=p: os.path.basename(os.readlink(f"/proc/{p.pid}/exe")) != os.path.basename(sys.executable), "sleep")
                with open(f"/proc/{p.pid}/stat", encoding="ascii") as f:
                    ticks = int(f.read().rsplit(")", 1)[1].split()[19])
                record[name] = {"pid": p.pid, "start_ticks": ticks, "exe": os.path.basename(os.readlink(f"/proc/{p.pid}/exe"))}
            self.write("data/stack.json", json.dumps(record))
            yield self.path("data")
        finally:
            for p in sleepers:
                p.kill()
                p.wait()

    def with_stack(self, names, *args, **more):
        with self.stack(*names, **more) as data:
            return self.perfci(*args, "--data", data)

    def full_output(self, *args, text=""):
        with open("/dev/full", "w", encoding="ascii") as full:
            return subprocess.run([support.PERFCI, *args], stdout=full, stderr=subprocess.PIPE, input=text, text=True, env=self.env, cwd=self.dir,
                                  check=False)

    def taken_port(self):
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            taken.listen()
            return self.perfci("up", "--detach", "--port", str(taken.getsockname()[1]), "--data", self.path("new"))

    def plain(self, *args, **kinds):
        return self.perfci(*args, **kinds)

    def away(self, *args, **kinds):
        """Where no service answers."""
        return self.perfci(*args, env={"PERFCI_URL": self.closed}, **kinds)

    def refused(self, path, *args, status=403):
        self.stub.answers[path] = (status, {"error": {"message": "no"}})
        return self.perfci(*args)


def explained_run(**change):
    """The document of BAD_RUN with its cycles alone, changed."""
    with open(BAD_RUN, encoding="utf-8") as f:
        run = json.load(f)
    cycles = next(m for m in run["measurements"] if m["metric"] == "cycles")
    return json.dumps({**run, "measurements": [{**cycles, **change}]})


ROWS = [
    # perfci itself
    ("", 0, "help", lambda t: t.plain("--help")),
    ("", 0, "version", lambda t: t.plain("--version")),
    ("", 0, "help of a command", lambda t: t.plain("help", "run")),
    ("", 2, "no command", lambda t: t.plain()),
    ("", 2, "an unknown command", lambda t: t.plain("meausre")),
    ("", 5, "standard output takes nothing", lambda t: t.full_output("suite", "list")),
    ("", 5, "standard output takes nothing, and the verdict is 0", lambda t: t.full_output("config", "show")),

    # the service on this machine
    ("up", 0, "it runs already", lambda t: t.with_stack(["postgres", "server"], "up", "--no-runner", "--detach")),
    ("up", 0, "it runs already on the port that is asked for", lambda t: t.with_stack(
        ["postgres", "server", "runner"], "up", "--detach", "--port", t.stub.url.rsplit(":", 1)[1])),
    ("up", 2, "it runs on another port", lambda t: t.with_stack(["postgres", "server"], "up", "--no-runner", "--port", "1")),
    ("up", 2, "a port that is none", lambda t: t.plain("up", "--port", "65536")),
    ("up", 5, "the port is in use", lambda t: t.taken_port()),
    ("up", 5, "no PostgreSQL", lambda t: t.plain("up", "--detach", "--port", "0", "--data", t.path("new"), env={"PERFCI_PG_BIN": "/nowhere"})),
    ("up", 5, "no data folder can be made there", lambda t: t.plain("up", "--detach", "--data", os.path.join(t.write("file", ""), "data"))),
    ("down", 0, "no service was started", lambda t: t.plain("down", "--data", t.path("new"))),
    ("down", 0, "it is stopped", lambda t: t.with_stack(["server"], "down")),
    ("down", 0, "what is not there is deleted", lambda t: t.plain("down", "--delete", "--data", t.path("new"))),
    ("down", 2, "no data folder", lambda t: t.plain("down", "--delete", "--data", t.dir)),
    ("down", 2, "a record that cannot be read", lambda t: t.plain("down", "--data", os.path.dirname(t.write("data/stack.json", "{")))),
    ("status", 0, "the service answers", lambda t: t.with_stack(["postgres", "server"], "status")),
    ("status", 5, "no service was started", lambda t: t.plain("status", "--data", t.path("new"))),
    ("status", 5, "its PostgreSQL is gone", lambda t: t.with_stack(["server"], "status", cluster=t.path("data/pg"))),
    ("status", 0, "a server with a database of its own", lambda t: t.with_stack(["server"], "status")),
    ("status", 5, "the server is gone", lambda t: t.with_stack(["postgres"], "status")),
    ("status", 5, "the server is not ready", lambda t: t.refused(("GET", "/readyz"), status=503) and t.with_stack(["server"], "status")),
    ("status", 2, "a record that cannot be read", lambda t: t.plain("status", "--data", os.path.dirname(t.write("data/stack.json", "{")))),
    ("doctor", 0, "warnings alone", lambda t: t.plain("doctor", "--quick")),
    ("doctor", 5, "no service", lambda t: t.away("doctor", "--quick")),
    ("doctor", 5, "the token is refused", lambda t: t.refused(("GET", "/api/v1/projects"), "doctor", "--quick")),
    ("doctor", 2, "an argument", lambda t: t.plain("doctor", "quick")),
    ("config", 0, "settings", lambda t: t.plain("config", "show")),
    ("config", 2, "a wrong perfci.yaml", lambda t: t.here("config", "show", more="no_such_key: 1\n")),

    # measuring
    ("run", 0, "a result", lambda t: t.plain("run", "--", "echo", "1")),
    ("run", 2, "no such revision", lambda t: t.here("run", "--commit", "nowhere")),
    ("run", 4, "no result", lambda t: t.plain("run", "--", "true")),
    ("run", 4, "the build fails", lambda t: t.here("run", more="build: exit 3\n")),
    ("run", 5, "the time is over", lambda t: t.plain("run", "--timeout", "50ms", "--", "sleep", "60")),
    ("run", 5, "no quiet machine", lambda t: t.beside("perfci-bench", "exit 5", "run", "--suite", "quick", "--wait-quiet", "1s")),
    ("run", 5, "no service to push to", lambda t: t.check("base") and t.here("run", "--commit", "base", "--repeats", "1", "--push",
                                                                            env={"PERFCI_URL": t.closed})),
    ("run", 0, "git-bisect, good", lambda t: t.plain("run", "--git-bisect", "--", "echo", "1")),
    ("run", 125, "git-bisect, no result", lambda t: t.plain("run", "--git-bisect", "--", "true")),
    ("run", 125, "git-bisect, the time is over", lambda t: t.plain("run", "--git-bisect", "--timeout", "50ms", "--", "sleep", "60")),
    ("run", 125, "git-bisect, no such revision", lambda t: t.here("run", "--git-bisect", "--commit", "nowhere")),
    ("compare", 0, "the same", lambda t: t.files(run_document(100), run_document(100))),
    ("compare", 0, "an improvement", lambda t: t.files(run_document(100), run_document(90))),
    ("compare", 0, "an improvement of a throughput", lambda t: t.files(run_document(100, "higher"), run_document(110, "higher"))),
    ("compare", 0, "a regression that is secondary beside an equal one", lambda t: t.files(*[
        {**run_document(100), "measurements": [run_document(100)["measurements"][0],
                                               {**run_document(level)["measurements"][0], "metric": "wall", "extra": {"role": "secondary"}}]}
        for level in (100, 120)])),
    ("compare", 1, "a regression", lambda t: t.files(run_document(100), run_document(110))),
    ("compare", 1, "a regression of a throughput", lambda t: t.files(run_document(100, "higher"), run_document(90, "higher"))),
    ("compare", 1, "stored, other machines, across", lambda t: t.stored("--across", across=True)),
    ("compare", 2, "no such side", lambda t: t.plain("compare", "a.json", "b.json")),
    ("compare", 2, "one side", lambda t: t.plain("compare", "a.json")),
    ("compare", 3, "too few values", lambda t: t.files(run_document(100, n=2), run_document(110, n=2))),
    ("compare", 3, "nothing in common", lambda t: t.files(run_document(100), run_document(100, metric="other"))),
    ("compare", 3, "all was skipped", lambda t: t.files(run_document(100), run_document(100, status="skipped", reason="no GPU"))),
    ("compare", 3, "stored, other machines", lambda t: t.stored()),
    ("compare", 4, "B is broken", lambda t: t.files(run_document(100), run_document(100, status="broken"))),
    ("compare", 4, "A is broken", lambda t: t.files(run_document(100, status="broken"), run_document(100))),
    ("compare", 4, "one is broken beside a regression", lambda t: t.files(*[
        {**run_document(100), "measurements": [run_document(level)["measurements"][0],
                                               {**run_document(1, status=status)["measurements"][0], "metric": "other"}]}
        for level, status in ((100, "ok"), (120, "broken"))])),
    ("compare", 5, "no service", lambda t: t.away("compare", "--stored", "1", "2", "--project", "p")),
    ("compare", 5, "no folder to save in", lambda t: t.here("compare", "base", "slow", "--rounds", "1", "--save",
                                                           os.path.join(t.write("file", ""), "below"))),
    ("compare", 0, "git-bisect, an improvement", lambda t: t.files(run_document(100), run_document(90), "--git-bisect")),
    ("compare", 1, "git-bisect, a regression", lambda t: t.files(run_document(100), run_document(110), "--git-bisect")),
    ("compare", 125, "git-bisect, not decided", lambda t: t.files(run_document(100, n=2), run_document(110, n=2), "--git-bisect")),
    ("compare", 125, "git-bisect, broken", lambda t: t.files(run_document(100), run_document(1, status="broken"), "--git-bisect")),
    ("compare", 125, "git-bisect, no such side", lambda t: t.plain("compare", "a.json", "b.json", "--git-bisect")),
    ("compare", 125, "git-bisect, no service", lambda t: t.away("compare", "--stored", "1", "2", "--project", "p", "--git-bisect")),
    ("check", 0, "HEAD is part of the base branch", lambda t: t.check("base", base="slow")),
    ("check", 0, "git-bisect, HEAD is part of the base branch", lambda t: t.check("base", "--git-bisect", base="slow")),
    ("check", 0, "an improvement", lambda t: t.check("fast", "--rounds", "6")),
    ("check", 1, "a regression", lambda t: t.check("slow", "--rounds", "6")),
    ("check", 2, "no base branch", lambda t: t.check("slow", "--base", "nowhere")),
    ("check", 3, "too few rounds", lambda t: t.check("same", "--rounds", "1", base="slow")),
    ("check", 4, "no result", lambda t: t.check("slow", measure="true")),
    ("check", 5, "the time is over", lambda t: t.check("slow", "--timeout", "50ms", measure="sleep 60")),
    ("check", 1, "git-bisect, a regression", lambda t: t.check("slow", "--rounds", "6", "--git-bisect")),
    ("check", 125, "git-bisect, no result", lambda t: t.check("slow", "--git-bisect", measure="true")),
    ("check", 125, "git-bisect, too few rounds", lambda t: t.check("same", "--rounds", "1", "--git-bisect", base="slow")),
    ("bisect", 0, "no regression", lambda t: t.bisect(*[100] * 8, more=["--delta", "0.15"])),
    ("bisect", 1, "a culprit", lambda t: t.bisect(*[100] * 4, *[120] * 4)),
    ("bisect", 2, "an end that is not in the list", lambda t: t.bisect(100, 120, more=["--good", "c9"])),
    ("bisect", 3, "the budget is spent", lambda t: t.bisect(*[100] * 8, *[120] * 8, more=["--max-runs", "4"])),
    ("bisect", 0, "an improvement, lower is better", lambda t: t.bisect(*[120] * 4, *[100] * 4, more=["--lower-is-better"])),
    ("bisect", 0, "an improvement, higher is better", lambda t: t.bisect(*[100] * 4, *[120] * 4, more=["--higher-is-better"])),
    ("bisect", 1, "a culprit, higher is better", lambda t: t.bisect(*[120] * 4, *[100] * 4, more=["--higher-is-better"])),
    ("bisect", 1, "a set of commits", lambda t: t.bisect(100, 100, "broken", "broken", 120, 120)),
    ("bisect", 2, "swapped ends", lambda t: t.bisect(100, 100, 120, more=["--good", "c2", "--bad", "c0"])),
    ("bisect", 4, "the good commit is broken", lambda t: t.bisect("broken", 100, 120)),
    ("bisect", 4, "the bad commit is broken", lambda t: t.bisect(100, 120, "broken")),
    ("bisect", 0, "a dry run", lambda t: t.bisect(100, 100, 120, more=["--dry-run"])),
    ("bisect", 0, "remote, no regression", lambda t: t.remote(verdict="no-regression")),
    ("bisect", 0, "remote, a dry run", lambda t: t.remote("--dry-run")),
    ("bisect", 1, "remote, a culprit", lambda t: t.remote(verdict="found", culprits=[CULPRIT])),
    ("bisect", 1, "remote, a culprit in spite of a lost job", lambda t: t.remote(verdict="found", culprits=[CULPRIT], failure=LOST)),
    ("bisect", 2, "remote, refused", lambda t: t.refused(("POST", "/api/v1/bisections"), *REMOTE)),
    ("bisect", 2, "remote, a command of its own", lambda t: t.remote("--measure", "true")),
    ("bisect", 3, "remote, not decided", lambda t: t.remote()),
    ("bisect", 3, "remote, a job was lost, others were measured", lambda t: t.remote(failure=LOST, counts={**COUNTS, "measured": 1})),
    ("bisect", 4, "remote, the build fails", lambda t: t.remote(failure={**LOST, "infrastructure": False})),
    ("bisect", 5, "remote, no runner", lambda t: t.remote(failure=LOST)),
    ("bisect", 5, "remote, no service", lambda t: t.away(*REMOTE)),
    ("nightly", 0, "all the same", lambda t: t.night(verdict="same")),
    ("nightly", 0, "faster", lambda t: t.night(verdict="faster")),
    ("nightly", 0, "a new alert that is an improvement", lambda t: t.night(verdict="faster", alerts=[{"id": 9, "direction": "improvement"}])),
    ("nightly", 0, "left out on purpose", lambda t: t.night(status="not_measured")),
    ("nightly", 1, "slower", lambda t: t.night(verdict="slower")),
    ("nightly", 1, "a new alert", lambda t: t.night(verdict="same", alerts=[{"id": 9, "direction": "regression"}])),
    ("nightly", 1, "slower, and a broken benchmark", lambda t: t.night(verdict="slower", broken=[{"benchmark": "b", "reason": "r"}])),
    ("nightly", 2, "no such anchor", lambda t: t.here("nightly", "--anchor", "nowhere")),
    ("nightly", 3, "undecided", lambda t: t.night(verdict="undecided")),
    ("nightly", 4, "the newest commit is broken", lambda t: t.night(status="broken")),
    ("nightly", 4, "a benchmark is broken", lambda t: t.night(verdict="undecided", broken=[{"benchmark": "b", "reason": "r"}])),
    ("nightly", 4, "an alert of a broken benchmark is no regression", lambda t: t.night(
        verdict="same", broken=[{"benchmark": "b", "reason": "r"}], alerts=[{"id": 9, "kind": "broken", "direction": "regression"}])),
    ("nightly", 5, "not judged in time", lambda t: t.night(verdict="undecided", lag=3, wait="0s")),
    ("nightly", 5, "the job was cancelled", lambda t: t.night(status="gone", job="cancelled")),
    ("nightly", 5, "no service", lambda t: t.here("nightly", env={"PERFCI_URL": t.closed})),
    *[("capacity", status, f"{n} points", lambda t, n=n: t.plain("capacity", "--commits=1", "--series=1", f"--points={n}")) for n, status in ((1, 0), (2, 2))],
    ("triage", 0, "nothing is on record", lambda t: t.here("triage", "--store", t.path("history"))),
    ("triage", 2, "no store", lambda t: t.plain("triage")),
    ("triage", 2, "nothing of this number", lambda t: t.here("triage", "--store", t.path("history"), "noise", "7", "--reason", "r")),
    ("init", 0, "written, not tried", lambda t: t.check("base") and os.unlink(t.path("repo/perfci.yaml")) or t.perfci("init", "--no-run", cwd=t.made)),
    ("init", 2, "there is one", lambda t: t.here("init")),
    ("init", 4, "the trial fails", lambda t: t.repo() and t.write("repo/Makefile", "bench:\n\tfalse\n") and t.here("init", "--force")),

    # files
    ("suite", 0, "list", lambda t: t.plain("suite", "list")),
    ("suite", 0, "a right suite", lambda t: t.plain("suite", "check", "quick")),
    ("suite", 2, "a wrong suite", lambda t: t.plain("suite", "check", t.write("s.yaml", "benchmarks: [\n"))),
    ("suite", 2, "a wrong suite before a right one", lambda t: t.plain("suite", "check", t.write("s.yaml", "benchmarks: [\n"), "quick")),
    ("suite", 5, "a folder of that name", lambda t: t.plain("suite", "from-model", "bert-base", "--out", t.dir)),
    ("import", 0, "shown", lambda t: t.plain("import", "--dry-run", t.write("a.json", json.dumps(run_document(1))))),
    ("import", 0, "stored", lambda t: t.plain("import", "--project", "p", t.write("a.json", json.dumps(run_document(1))))),
    ("import", 2, "no results", lambda t: t.plain("import", "--dry-run", t.write("a.txt", "words\n"))),
    ("import", 2, "no such project", lambda t: t.plain("import", "--project", "q", t.write("a.json", json.dumps(run_document(1))))),
    ("import", 5, "no service", lambda t: t.away("import", "--project", "p", t.write("a.json", json.dumps(run_document(1))))),
    ("push", 0, "stored", lambda t: t.plain("push", "--project", "p", t.write("a.json", json.dumps(run_document(1))))),
    ("push", 2, "no such file", lambda t: t.plain("push", "--project", "p", "a.json")),
    ("push", 2, "too large for the service", lambda t: t.refused(("POST", "/api/v1/runs"), "push", "--project", "p", t.write(
        "a.json", json.dumps(run_document(1))), status=413)),
    ("push", 5, "no service", lambda t: t.away("push", "--project", "p", t.write("a.json", json.dumps(run_document(1))))),
    ("detect", 0, "no change", lambda t: t.plain("detect", text=series(FLAT))),
    ("detect", 0, "an improvement", lambda t: t.plain("detect", text=series(DROP))),
    ("detect", 0, "a rise where higher is better", lambda t: t.plain("detect", "--higher-is-better", text=series(STEP))),
    ("detect", 0, "a regression that is provisional", lambda t: t.plain("detect", text=series(NEW_STEP))),
    ("detect", 1, "a regression", lambda t: t.plain("detect", text=series(STEP))),
    ("detect", 1, "one beside an improvement", lambda t: t.plain("detect", text=series(STEP, DROP))),
    ("detect", 1, "a fall where higher is better", lambda t: t.plain("detect", "--higher-is-better", text=series(DROP))),
    ("detect", 2, "a line that cannot be used", lambda t: t.plain("detect", text=series(FLAT) + "{}\n")),
    ("detect", 2, "a line that cannot be used beside a regression", lambda t: t.plain("detect", text=series(STEP) + "{}\n")),
    ("detect", 2, "no such file", lambda t: t.plain("detect", "none.json")),
    ("detect", 2, "no such file beside a regression", lambda t: t.plain("detect", t.write("s.json", series(STEP)), "none.json")),
    ("accel", 0, "a kernel", lambda t: t.plain("accel", "run", "softmax", "--rows", "4", "--cols", "8")),
    ("accel", 0, "chips", lambda t: t.plain("accel", "chips")),
    ("accel", 0, "counters", lambda t: t.plain("accel", "counters")),
    ("accel", 0, "a batch", lambda t: t.plain("accel", "run", "softmax", "--batch", "-", text='{"rows": 4, "cols": 8}\n')),
    ("accel", 2, "no operation", lambda t: t.plain("accel")),
    ("accel", 2, "a parameter is missing", lambda t: t.plain("accel", "run", "softmax", "--rows", "4")),
    ("accel", 2, "one line of a batch", lambda t: t.plain("accel", "run", "softmax", "--batch", "-", text='{"rows": 4, "cols": 8}\n{}\n')),
    ("accel", 2, "no such batch", lambda t: t.plain("accel", "run", "--batch", "none")),
    *[("trace", status, why, lambda t, args=args: t.plain("trace", *args)) for status, why, args in (
        (0, "an export", ("export", TRACE)), (0, "no fault", ("check", TRACE)), (0, "the schema", ("schema",)),
        (2, "no part", ()), (2, "an unknown part", ("shrink",)), (2, "no file", ("check",)), (2, "two files", ("export", TRACE, TRACE)),
        (2, "an unknown format", ("export", TRACE, "--format", "xml")), (5, "no such trace", ("check", "none")), (5, "no trace", ("export", __file__)),
        (5, "a full disk", ("export", TRACE, "--out", "/dev/full")))],
    ("trace", 1, "a fault", lambda t: t.plain("trace", "check", t.write("cut.json", '{"traceEvents": [')),),

    # explanations of run documents
    *[("explain", status, why, lambda t, args=args: t.plain("explain", *args)) for status, why, args in (
        (0, "two runs", (GOOD_RUN, BAD_RUN)), (0, "one run", ("--run", BAD_RUN)), (0, "a suite", ("--run", BAD_RUN, "--suite")),
        (2, "one side", (BAD_RUN,)), (2, "three sides", (GOOD_RUN, BAD_RUN, BAD_RUN)), (2, "two ways at once", ("--run", BAD_RUN, "--alert", "1")),
        (2, "no such file", ("none.json", BAD_RUN)), (2, "an unknown form", ("--run", BAD_RUN, "--format", "pdf")),
        (2, "no such benchmark", ("--run", BAD_RUN, "--benchmark", "none")), (2, "no such rules", ("--run", BAD_RUN, "--rules", "none")),
        (2, "an alert that is no number", ("--alert", "x")), (2, "no folder to write to", ("--run", BAD_RUN, "--out", "/dev/full/x")))],
    ("explain", 3, "nothing to judge by", lambda t: t.plain("explain", "--run", t.write("bare.json", explained_run(extra={})))),
    ("explain", 4, "no value", lambda t: t.plain("explain", "--run", t.write("broken.json", explained_run(status="broken", samples=[], reason="why")))),
    *[("report", status, why, lambda t, args=args: t.plain("report", *args)) for status, why, args in (
        (0, "nothing worse", (BAD_RUN, GOOD_RUN)), (0, "the same", (GOOD_RUN, GOOD_RUN)), (1, "worse", (GOOD_RUN, BAD_RUN)),
        (2, "one side", (GOOD_RUN,)), (2, "three sides", (GOOD_RUN, BAD_RUN, BAD_RUN)), (2, "no such file", (GOOD_RUN, "none.json")),
        (2, "no folder to write to", (GOOD_RUN, BAD_RUN, "--out", "/dev/full/x")))],

    # the Model Context Protocol
    ("mcp", 0, "the end of the input", lambda t: t.plain("mcp", text="")), ("mcp", 2, "an argument", lambda t: t.plain("mcp", "stray")),
    ("mcp", 5, "a full disk", lambda t: t.full_output("mcp", text='{"jsonrpc": "2.0", "id": 1, "method": "ping"}\n')),

    # a comparison in a pull request
    *[("comment", status, f"{why}, by --exit-status", lambda t, doc=doc: t.comment(doc, "--exit-status")) for status, why, doc in (
        (0, "the same", comparison("same")), (0, "an improvement", comparison("improvement", "same")), (1, "a regression", comparison("regression")),
        (1, "a regression beside an open one", comparison("inconclusive", "regression")), (3, "not decided", comparison("inconclusive", "same")),
        (3, "nothing", comparison()), (4, "broken", comparison("broken", "regression")), (0, "nothing to do", comparison(nothing="HEAD is part of it")),
        (3, "stored, other machines", comparison("regression", differs=DIFFERS, stored=True)),
        (1, "stored, other machines, across", comparison("regression", differs=DIFFERS, stored=True, across=True)),
        (1, "other machines, not stored", comparison("regression", differs=DIFFERS)),
        *[(status, "no comparison", json.dumps({"error": {"status": status, "message": "why"}})) for status in (2, 3, 4, 5)])],
    *[("comment", status, f"an impossible status {given}", lambda t, given=given: t.comment(
        json.dumps({"error": {"status": given, "message": "why"}}), "--exit-status")) for status, given in ((2, 0), (2, 1), (2, 6))],
    ("comment", 0, "without --exit-status", lambda t: t.comment(comparison("regression"))),
    ("comment", 2, "no comparison", lambda t: t.comment("[]")),
    ("comment", 2, "no pull request", lambda t: t.plain("comment", "--repo", "a/b", text=comparison("same"))),
    ("comment", 5, "no GitHub, in spite of --exit-status", lambda t: t.plain(
        "comment", "--repo", "a/b", "--pr", "1", "--exit-status", "--api-url", t.closed, env={"GITHUB_TOKEN": "x"}, text=comparison("same"))),
    ("comment", 5, "no GitHub beside a regression", lambda t: t.plain(
        "comment", "--repo", "a/b", "--pr", "1", "--exit-status", "--api-url", t.closed, env={"GITHUB_TOKEN": "x"}, text=comparison("regression"))),

    # what the service knows
    *[(command, 0, "an answer", lambda t, args=args: t.plain(*args)) for command, args in (
        ("series", ["series", "--project", "p"]), ("alerts", ["alerts"]), ("alerts", ["alerts", "7"]), ("alerts", ["alerts", "issue", "7"]), ("jobs", ["jobs"]),
        ("jobs", ["jobs", "cancel", "7"]), ("jobs", ["jobs", "retry", "7"]), ("notices", ["notices"]),
        *[("groups", ["groups", *args]) for args in ([], ["--direction", "improvement"], ["3"], ["set", "3", "--state", "noise"], ["split", "3", "7"], ["merge", "3", "4"])], ("notices", ["notices", "send", "7"]),
        ("notices", ["notices", "close", "7"]), ("events", ["events"]), ("audit", ["audit"]), ("coverage", ["coverage", "--project", "p"]),
        ("roofline", ["roofline", "--project", "p"]), ("why", ["why", "7"]), ("accept", ["accept", "7"]), ("replay", ["replay", "--show", "--project", "p"]), ("token", ["token", "list"]),
        ("token", ["token", "create", "--scope", "read"]), ("token", ["token", "rotate", "3"]), ("token", ["token", "revoke", "3"]),
        ("project", ["project", "list"]), ("project", ["project", "create", "q"]), ("project", ["project", "delete", "p", "--yes"]),
        ("repro", ["repro", "7", "--print"]), ("runner", ["runner", "list"]),
        ("schedule", ["schedule", "list", "--project", "p"]), ("schedule", ["schedule", "add", "n", "--cron", "@daily", "--project", "p"]),
        ("schedule", ["schedule", "run", "n", "--project", "p"]), ("schedule", ["schedule", "remove", "n", "--project", "p"]),
        *[("suppress", ["suppress", *args, "--project", "p"]) for args in (
            ["list"], ["show", "3"], ["end", "3"], ["preview", "--metric", "m"],
            ["add", "--owner", "o", "--reason", "r", "--days", "3", "--metric", "m"])])],
    *[(args[0], 2, "not found or refused", lambda t, args=args: t.plain(*args)) for args in (
        ["series", "99"], ["alerts", "99"], ["jobs", "99"], ["jobs", "retry", "99"], ["jobs", "retry"], ["groups", "99"], ["groups", "x"],
        ["groups", "3", "4"], ["groups", "set", "3"], ["groups", "set", "--accept"], ["groups", "split", "3"], ["groups", "merge", "3"],
        ["groups", "--all", "--state", "noise"], ["groups", "--direction", "improvement", "--owner", "o"], ["notices", "send", "99"], ["notices", "close", "99"],
        ["notices", "send"], ["notices", "7"], ["notices", "send", "7", "8"], ["events", "99"], ["audit", "stray"], ["coverage", "--project", "q"], ["why", "99"],
        ["roofline", "--project", "q"], ["roofline", "stray"], ["accept", "99"], ["accept"], ["accept", "1", "2"], ["replay", "--show", "--project", "q"], ["token", "revoke", "99"],
        ["token", "create"], ["project", "delete", "q", "--yes"], ["project", "delete", "p"], ["project", "create", "No Name"],
        ["repro", "99", "--print"], ["repro", "alert:7/1", "--print"], ["runner"], ["runner", "drain"], ["runner", "drain", "rack-99"],
        ["schedule"], ["schedule", "add", "n", "--project", "p"], ["schedule", "run", "q", "--project", "p"],
        *[["suppress", *args, "--project", "p"] for args in (
            [], ["list", "3"], ["show"], ["show", "x"], ["show", "99"], ["end", "99"], ["preview"], ["add", "--metric", "m"],
            ["add", "--owner", "o", "--reason", "r", "--days", "3"], ["list", "--metric", "m"], ["preview", "--metric", "m", "--days", "3"],
            ["preview", "--param", "dtype"])])],
    *[(args[0], 5, "no service", lambda t, args=args: t.away(*args)) for args in (
        ["series", "--project", "p"], ["alerts"], ["groups"], ["jobs"], ["notices"], ["notices", "send", "7"], ["events"], ["audit"], ["coverage", "--project", "p"], ["roofline", "--project", "p"],
        ["why", "7"], ["accept", "7"], ["explain", "--alert", "7"], ["explain", "--run", "7"], ["report", "7", "8"],
        ["replay", "--show", "--project", "p"], ["token", "list"], ["project", "list"], ["repro", "7"], ["runner", "list"], ["schedule", "list", "--project", "p"],
        ["suppress", "list", "--project", "p"])],
    *[("jobs", status, f"the service answers {code}", lambda t, code=code: t.refused(("GET", "/api/v1/jobs"), "jobs", status=code))
      for status, code in ((2, 400), (2, 401), (2, 403), (2, 409), (2, 413), (5, 500), (5, 502), (5, 503))],
    ("repro", 0, "its compare", lambda t: t.here("repro", "7", measure="echo 1")),
    ("repro", 1, "its compare", lambda t: t.here("repro", "7", measure="cat value")),
    ("repro", 4, "its compare", lambda t: t.here("repro", "7", measure="true")),
    ("repro", 5, "its compare", lambda t: t.here("repro", "7", measure="sleep 60", more="timeout: 50ms\n")),
    ("repro", 0, "its run", lambda t: t.here("repro", "bisection:4/1")),
    ("repro", 4, "its run", lambda t: t.here("repro", "bisection:4/1", measure="true")),

    # the database
    ("admin", 0, "backup", lambda t: t.admin("backup", t.path("b"), pg_dump='for f; do :; done; : > "$f"')),
    ("admin", 5, "backup: pg_dump fails", lambda t: t.admin("backup", t.path("b"), pg_dump="exit 1")),
    ("admin", 2, "backup: no pg_dump", lambda t: t.admin("backup", t.path("b"))),
    ("admin", 0, "restore", lambda t: t.restore(1)),
    ("admin", 2, "restore: not of perfci", lambda t: t.restore(0)),
    ("admin", 2, "restore: of a newer perfci", lambda t: t.restore(9999)),
    ("admin", 2, "restore: the database is not empty", lambda t: t.restore(1, there=1)),
    ("admin", 2, "restore: no such file", lambda t: t.admin("restore", t.path("none"))),
    ("admin", 0, "check: all holds", lambda t: t.store_check(0)),
    ("admin", 5, "check: something does not hold", lambda t: t.store_check(1)),
    ("admin", 2, "check: of an older perfci", lambda t: t.store_check(0, version=1)),
    ("admin", 2, "check: of a newer perfci", lambda t: t.store_check(0, version=9999)),
    ("admin", 2, "check: nothing of perfci", lambda t: t.store_check(0, there="f")),
    ("admin", 5, "check: no answer", lambda t: t.admin("check", psql="exit 2")),
    ("admin", 2, "no database", lambda t: t.plain("admin", "check", "--data", t.path("new"), env={"PERFCI_DATABASE_URL": ""})),
    ("admin", 2, "a password in the arguments", lambda t: t.admin("check", env={"PERFCI_DATABASE_URL": "dbname=x password=y"})),
    ("admin", 5, "no PostgreSQL runs", lambda t: t.with_stack(["server"], "admin", "check") if t.env.pop("PERFCI_DATABASE_URL") else None),
    ("admin", 0, "migrate", lambda t: t.beside("perfci-server", "exit 0", "admin", "migrate")),
    ("admin", 2, "migrate: refused", lambda t: t.beside("perfci-server", "echo no >&2; exit 2", "admin", "migrate")),
    ("admin", 5, "migrate: fails", lambda t: t.beside("perfci-server", "echo no >&2; exit 1", "admin", "migrate")),
]
SECTION = re.compile(r"(?:[Ee]xit(?: status(?:es)?|s)?|then end with)\b(?! status of)(.*?)(?=\.(?:\s|$)|\s--?[a-z]|$)")


def promised(text):
    """The statuses that a text speaks of; paragraphs are joined, as they are wrapped anywhere."""
    found = set()
    for paragraph in re.split(r"\n\s*\n", text):
        for sentence in SECTION.findall(" ".join(paragraph.split())):
            found |= {int(n) for n in re.findall(r"(?<![\w.-])(?:[0-5]|125)(?![\w%]| %|\.\d)", sentence)}
    return found


class Table(Statuses):
    def commands(self):
        listed = self.perfci("--help").stdout.partition("Commands:\n")[2].partition("\n\n")[0]
        return [line.split()[0] for line in listed.splitlines()]

    def test_every_status_that_a_text_promises_has_a_row(self):
        rows = {}
        for command, status, _, _ in ROWS:
            rows.setdefault(command, set()).add(status)
        commands = self.commands()
        self.assertEqual(set(rows), {"", *commands})
        wanted = {command: set(own) for command, own in OWN.items()}
        for command in commands:
            helps = [self.perfci(command, "--help").stdout] + [self.perfci(command, part, "--help").stdout for part in PARTS.get(command, ())]
            text = "\n\n".join(helps)
            service = {5} if "--url=" in text and command not in ("config", "mcp") else set()  # mcp tells its client
            wanted.setdefault(command, set()).update({0, 2}, service, promised(text.partition("Examples:")[0] if command not in PARTS else text))
        for name in sorted(os.listdir(os.path.join(support.ROOT, "docs"))):
            if not name.endswith(".md"):
                continue
            with open(os.path.join(support.ROOT, "docs", name), encoding="utf-8") as f:
                statuses = promised(f.read())
            if statuses:
                self.assertIn("docs/" + name, DOCS, f"speaks of the statuses {statuses}, of which command?")
                wanted[DOCS["docs/" + name]] |= statuses
        self.assertEqual({c: s - rows[c] for c, s in wanted.items() if s - rows[c]}, {})
        # The reading itself: it finds what is written today.
        self.assertLessEqual({1, 3, 4, 5}, promised(self.perfci("nightly", "--help").stdout))
        self.assertLessEqual({0, 1, 3, 4, 125}, promised(self.perfci("compare", "--help").stdout))
        self.assertLessEqual({4, 5, 125}, promised(self.perfci("run", "--help").stdout))


def add_tests():
    for command in sorted({row[0] for row in ROWS}):
        def test(self, command=command):
            for _, status, why, call in [row for row in ROWS if row[0] == command]:
                with self.subTest(why):
                    self.forget()
                    self.expect(call(self), status)

        setattr(Table, f"test_{command or 'perfci'}_ends_with_each_of_its_statuses", test)


add_tests()

if __name__ == "__main__":
    support.main()
