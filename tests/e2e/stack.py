"""The real programs for end-to-end tests: a service of its own, repositories made on the spot."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../support"))
import waiting  # noqa: E402

BIN = os.environ["PERFCI_BIN_DIR"]
ROOT = os.environ["PERFCI_SOURCE_DIR"]
DEADLINE_S = 300


def clean_environment(**extra):
    """Ours without the caller's perfci, Git and terminal settings."""
    env = {
        key: value
        for key, value in os.environ.items()
        if not key.startswith(("PERFCI_", "GIT_", "PG")) and key not in ("TERM", "XDG_CONFIG_HOME")
    }
    env.update(GIT_CONFIG_NOSYSTEM="1", GIT_CONFIG_GLOBAL="/dev/null", NO_COLOR="1", **extra)
    return env


def wait_for(what, question, deadline_s=DEADLINE_S):
    """Asks until the answer is true; the deadline only bounds a test that has failed already."""
    return waiting.until(what, question, deadline_s)


class Stack:
    """`perfci up` in a folder of its own, on a free port."""

    def __init__(self, runner=True):
        os.umask(0o022)  # a strict one of the caller would close data folders to the database's user
        self.dir = tempfile.mkdtemp(prefix="pfc-e2e-", dir="/tmp")
        os.chmod(self.dir, 0o755)  # the database may run as another user
        self.data = os.path.join(self.dir, "data")
        self.counters = os.path.join(self.dir, "counters")
        os.mkdir(self.counters)
        self.env = clean_environment(
            HOME=self.dir, PERFCI_DATA=self.data, PFC_TEST_COUNTERS=self.counters,
            PERFCI_SANDBOX="off",  # jobs count their launches outside of their tree
        )
        self.runner = runner
        self.url = None

    def perfci(self, *args, status=0, cwd=None, **env):
        """Runs the command; `status` is what it must end with (None: any, or a tuple)."""
        done = subprocess.run(
            [os.path.join(BIN, "perfci"), *args], capture_output=True, text=True, cwd=cwd or self.dir,
            env=dict(self.env, **env), stdin=subprocess.DEVNULL, timeout=600,
        )
        wanted = status if isinstance(status, tuple) else (status,)
        if status is not None and done.returncode not in wanted:
            raise AssertionError(
                f"perfci {' '.join(args)}: status {done.returncode}, expected {status}\n"
                f"stdout: {done.stdout[-3000:]}\nstderr: {done.stderr[-3000:]}\n{self.logs()}"
            )
        return done

    def up(self):
        args = ["up", "--detach", "--port", "0"] + ([] if self.runner else ["--no-runner"])
        self.perfci(*args)
        with open(os.path.join(self.data, "endpoint.json"), encoding="utf-8") as file:
            self.url = json.load(file)["url"]
        return self

    def down(self):
        subprocess.run(
            [os.path.join(BIN, "perfci"), "down", "--data", self.data], capture_output=True,
            env=self.env, stdin=subprocess.DEVNULL, timeout=300, check=False,
        )
        shutil.rmtree(self.dir, ignore_errors=True)

    def __enter__(self):
        try:
            return self.up()
        except BaseException:
            self.down()
            raise

    def __exit__(self, *_):
        self.down()

    def token(self, name="admin.token"):
        with open(os.path.join(self.data, name), encoding="utf-8") as file:
            return file.read().strip()

    def api(self, path, method="GET", body=None, status=200, token=True):
        """One request; the decoded answer. `path` starts behind /api/v1, or is from the root."""
        full = self.url + (path if path.startswith("//") else "/api/v1" + path).replace("//", "/", 1)
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(full, data=data, method=method)
        request.add_header("Content-Type", "application/json")
        if token:
            request.add_header("Authorization", "Bearer " + self.token())
        try:
            with urllib.request.urlopen(request, timeout=DEADLINE_S) as answer:
                got, text = answer.status, answer.read()
        except urllib.error.HTTPError as error:
            got, text = error.code, error.read()
        if got != status:
            raise AssertionError(f"{method} {path}: {got}, expected {status}: {text[:500]!r}\n{self.logs()}")
        return json.loads(text) if text else None

    def hold(self, launch):
        """The measuring command stays in its launch of this number, until it is killed or the hold is taken back (None)."""
        path = os.path.join(self.counters, "hold")
        if launch is None:
            os.unlink(path)
            return
        with open(path + ".new", "w", encoding="utf-8") as file:
            file.write(str(launch))
        os.rename(path + ".new", path)

    def launches(self):
        path = os.path.join(self.counters, "all")
        return os.path.getsize(path) if os.path.exists(path) else 0

    def logs(self):
        parts = []
        for name in ("server", "runner", "postgres"):
            path = os.path.join(self.data, "logs", name + ".log")
            if os.path.exists(path):
                with open(path, encoding="utf-8", errors="replace") as file:
                    parts.append(f"--- {name}.log\n{file.read()[-2500:]}")
        return "\n".join(parts)


# A command whose number depends on the commit's content and a seeded wobble alone, so that the whole
# path can be tested for its answers and not for this machine's mood.
MEASURE = """#!/usr/bin/env python3
import json, os, random, time
level = float(open("level.txt").read())
# Every call of a commit is one step further along that commit's own sequence.
commit = os.environ["PERFCI_COMMIT"]
counters = os.environ.get("PFC_TEST_COUNTERS", ".counters")  # an isolated job has none: then in its tree
os.makedirs(counters, exist_ok=True)
path = os.path.join(counters, commit)
with open(path, "a") as file:
    file.write("x")
rng = random.Random(commit + str(os.path.getsize(path)))
# A test may hold the runner inside a block: in the launch whose number, of all, is in the file `hold`, until that is gone.
everything = os.path.join(counters, "all")
with open(everything, "a") as file:
    file.write("x")
hold = os.path.join(counters, "hold")
while os.path.exists(hold) and open(hold).read() == str(os.path.getsize(everything)):
    time.sleep(0.02)
print(json.dumps({"metrics": {"gemm_tflops": level * (1 + 0.004 * rng.gauss(0, 1))}}))
"""


def git(repo, *args, date=None):
    env = clean_environment(HOME=repo)
    if date is not None:
        stamp = f"{date} +0000"
        env.update(GIT_AUTHOR_DATE=stamp, GIT_COMMITTER_DATE=stamp)
    done = subprocess.run(["git", "-C", repo, *args], capture_output=True, text=True, env=env,
                          stdin=subprocess.DEVNULL, timeout=DEADLINE_S)
    if done.returncode != 0:
        raise AssertionError(f"git {' '.join(args)}: {done.stderr}")
    return done.stdout.strip()


def make_repository(folder, levels, broken=()):
    """A repository with one commit a level; commits in `broken` do not build. Ids, oldest first."""
    os.makedirs(folder)
    git(folder, "init", "-q", "-b", "main")
    git(folder, "config", "user.name", "Test")
    git(folder, "config", "user.email", "test@example.org")
    with open(os.path.join(folder, "measure.py"), "w", encoding="utf-8") as file:
        file.write(MEASURE)
    with open(os.path.join(folder, "perfci.yaml"), "w", encoding="utf-8") as file:
        file.write("project: tiny\nbranch: main\nbuild: test ! -e broken\n"
                   "measure: python3 measure.py\nmetric: gemm_tflops\nunit: TFLOP/s\n"
                   "better: higher\ntimeout: 2m\n")
    ids = []
    for index, level in enumerate(levels):
        with open(os.path.join(folder, "level.txt"), "w", encoding="utf-8") as file:
            file.write(f"{level}\n")
        with open(os.path.join(folder, "notes.txt"), "a", encoding="utf-8") as file:
            file.write(f"change {index}\n")
        marker = os.path.join(folder, "broken")
        if index in broken:
            with open(marker, "w", encoding="utf-8") as file:
                file.write("x\n")
        elif os.path.exists(marker):
            os.unlink(marker)
        git(folder, "add", "-A")
        git(folder, "commit", "-q", "-m", f"change {index}", date=1760000000 + index * 3600)
        ids.append(git(folder, "rev-parse", "HEAD"))
    return ids
