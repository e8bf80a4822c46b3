"""The history behind the walk of a morning: 200 series of kernels over 1,000 commits, with what a sheriff meets in them.

Everything is drawn by a seed and posted through the API as a runner does. One commit slows down the wide bf16 products on
two backends, one the long f32 attentions; an improvement, a slowdown that a later commit takes back, and a benchmark whose
result is wrong belong to it, too. Names and texts include those that break pages: 200 bytes long, markup, controls.
The commits are in a real repository, whose command measures the series that a search is ordered for. The commits around
SLOW_ROWS have no run, so that a search has a range.
"""

import json
import os
import random
import subprocess
import sys

from situations import instant, sha
from stack import DEADLINE_S, clean_environment, git

PROJECT = "kernels"
COMMITS = 1000
START = 1_760_000_000
HOUR = 3600
BACKENDS = ("cpu-avx2", "cpu-avx512")
SLOW, SLOW_LONG, SLOW_ROWS, FASTER, WORSE, REPAIRED, BROKEN = 700, 880, 940, 600, 450, 520, 991
NOT_MEASURED = range(933, 948)
ROWS_FACTOR = 1.12
HOSTILE = "<img src=x onerror=alert(1)> \u202egnp.exe\u202c & \"quotes\""
REASON = "result differs from the reference at [0, 3]: expected 1.5, got nan <b>&amp;</b>"
LONG_NAME = "sort/" + "a-name-of-two-hundred-bytes-" * 6 + "n" + "1" * 26
SUBJECTS = {
    SLOW: "gemm: reload the scale inside the inner loop",
    SLOW_LONG: "attention: one pass more over long rows",
    SLOW_ROWS: "rmsnorm: convert each row twice",
    FASTER: "rmsnorm: two rows at once",
    WORSE: "layernorm: read the weights for each row",
    REPAIRED: "layernorm: keep the weights in registers",
    BROKEN: "softmax: a shorter exponential",
    COMMITS - 2: HOSTILE,
}


def _shapes():
    """(kernel, parameters) of each benchmark."""
    for dtype in ("f32", "bf16"):
        for n in (128, 512, 1024, 2048, 3072):
            for k in (256, 1024, 2048, 4096, 8192):
                yield "gemm", {"dtype": dtype, "m": 512, "n": n, "k": k}
        for s in (128, 512, 1024, 2048, 4096):
            for d in (64, 128):
                yield "attention", {"dtype": dtype, "s": s, "d": d}
        for kernel in ("layernorm", "rmsnorm", "softmax"):
            for c in (256, 512, 1024, 2048, 4096):
                yield kernel, {"dtype": dtype, "r": 512, "c": c}


def _name(kernel, params):
    shape = "".join(f"{key}{value}" for key, value in params.items() if key != "dtype")
    return f"{kernel}/{params['dtype']}/{shape}"


class Series:
    def __init__(self, kernel, params, backend, base):
        self.kernel, self.params, self.backend, self.base = kernel, params, backend, base
        self.name = _name(kernel, params) if params else LONG_NAME

    def slow(self):
        return self.kernel == "gemm" and self.params["dtype"] == "bf16" and self.params["k"] >= 4096

    def slow_long(self):
        return self.kernel == "attention" and self.params["dtype"] == "f32" and self.params["s"] >= 2048

    def slow_rows(self):
        return self.kernel == "rmsnorm"

    def broken(self, i):
        return i >= BROKEN and self.kernel == "softmax" and self.params == {"dtype": "bf16", "r": 512, "c": 4096}

    def level(self, i):
        factor = 1.0
        if self.slow() and i >= SLOW:
            factor *= 1.08
        if self.slow_long() and i >= SLOW_LONG:
            factor *= 1.05
        if self.kernel == "rmsnorm" and i >= FASTER:
            factor *= 0.94
        if self.slow_rows() and i >= SLOW_ROWS:
            factor *= ROWS_FACTOR
        if self.kernel == "layernorm" and WORSE <= i < REPAIRED:
            factor *= 1.06
        return self.base * factor


def all_series():
    """200 of them: the shapes on both backends, but for one in whose place the long name stands."""
    rng = random.Random(3)
    made = [Series(kernel, params, backend, 1000.0 * rng.uniform(1, 200)) for kernel, params in _shapes() for backend in BACKENDS]
    made[-1] = Series("sort", {}, BACKENDS[0], 52_000.0)
    return made


def _author(i):
    return ("Mara Lindqvist", "Tom\u00e1s Ribeiro", "Ada")[i % 3]


def _subject(i):
    return SUBJECTS.get(i, f"change number {i}")


def _path(i):
    return f"kernels/{('gemm', 'attention', 'norm')[i % 3]}/part{i % 7}.c"


# The command of the repository: the series of SLOW_ROWS at the level of the tree. Each launch is one step further along the
# commit's own sequence, so that the values depend on nothing but the commit.
MEASURE = """import json, os, random
commit = os.environ["PERFCI_COMMIT"]
path = os.path.join(os.environ["PFC_TEST_COUNTERS"], commit)
with open(path, "a") as file:
    file.write("x")
rng = random.Random(commit + str(os.path.getsize(path)))
with open("run.json") as file:
    run = json.load(file)
with open("scale.txt") as file:
    scale = float(file.read())
for m in run["measurements"]:
    m["samples"] = [[round(m["samples"][0][0] * scale * (1 + rng.gauss(0, 0.004)), 2)] for _ in range(5)]
print(json.dumps(run))
"""
SETTINGS = f"project: {PROJECT}\nbranch: main\nbuild: test -e scale.txt\nmeasure: python3 measure.py\ntimeout: 2m\n"


def make_repository(folder):
    """A bare repository with the whole history, by one call of Git; the ids, oldest first."""
    os.makedirs(folder)
    git(folder, "init", "-q", "--bare", "-b", "main")
    rows = [s for s in all_series() if s.slow_rows()]
    run = run_body(0, rows, random.Random(1), "0" * 40)
    for measurement, s in zip(run["measurements"], rows):
        measurement["samples"] = [[s.level(SLOW_ROWS - 1)]]
    files = {"measure.py": MEASURE, "perfci.yaml": SETTINGS, "scale.txt": "1.0\n", "run.json": json.dumps({k: v for k, v in run.items() if k not in ("project", "commit", "branch")})}
    stream = []

    def data(text):
        raw = text.encode()
        return b"data %d\n%s\n" % (len(raw), raw)

    for i in range(COMMITS):
        stamp = f"{_author(i)} <author@example.org> {START + i * HOUR} +0000\n".encode()
        stream += [b"commit refs/heads/main\nauthor ", stamp, b"committer ", stamp, data(_subject(i) + "\n")]
        if i == SLOW_ROWS:
            files["scale.txt"] = f"{ROWS_FACTOR}\n"
        files[_path(i)] = f"/* {_subject(i)} */\n"
        for name, text in files.items():
            stream += [f"M 100644 inline {name}\n".encode(), data(text)]
        files = {}
    subprocess.run(["git", "-C", folder, "fast-import", "--quiet"], input=b"".join(stream), env=clean_environment(HOME=folder), timeout=DEADLINE_S, check=True)
    return git(folder, "rev-list", "--reverse", "--first-parent", "main").split()


def commits_bodies(ids, part=500):
    for first in range(0, COMMITS, part):
        yield {"branch": "main", "commits": [
            {"id": ids[i], "parents": [ids[i - 1]] if i else [], "author": _author(i), "time": instant(START + i * HOUR),
             "subject": _subject(i), "paths": [_path(i)]} for i in range(first, min(first + part, COMMITS))]}


def run_body(i, series, rng, commit):
    started = START + i * HOUR + 1800
    night = rng.gauss(0, 0.001)
    measurements = []
    for s in series:
        tells = {"benchmark": s.name, "metric": "time_ns", "backend": s.backend, "unit": "ns", "direction": "lower",
                 **({"params": {key: str(value) for key, value in s.params.items()}} if s.params else {})}
        if s.broken(i):
            measurements.append({**tells, "status": "broken", "reason": REASON})
            continue
        level = s.level(i) * (1 + night)
        measurements.append({**tells, "samples": [[round(level * (1 + rng.gauss(0, 0.004)), 2)] for _ in range(5)]})
    return {"schema": "perfci.run/1", "id": sha(PROJECT, "run", i)[:32], "project": PROJECT, "commit": commit, "branch": "main",
            "suite": "night", "suite_hash": "ab" * 32, "started_at": instant(started), "finished_at": instant(started + 900),
            "machine": {"name": "bench-1", "class": "generated", "fingerprint": {"cpu": "Generated CPU", "compiler": "gcc 12.2.0"}},
            "measurements": measurements}


def post(api, ids, repository):
    """Posts the whole history; `api(path, method, body, status)` as of Stack."""
    series, rng = all_series(), random.Random(7)
    assert len(series) == 200, len(series)
    api("/projects", "POST", {"name": PROJECT, "repo_url": "file://" + repository}, status=201)
    for body in commits_bodies(ids):
        api(f"/projects/{PROJECT}/commits", "POST", body)
    for i in range(COMMITS):
        body = run_body(i, series, rng, ids[i])
        if i not in NOT_MEASURED:
            api("/runs", "POST", body, status=201)
        if i % 100 == 99:
            print(f"{i + 1} of {COMMITS} runs posted", file=sys.stderr)
