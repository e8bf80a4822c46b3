"""Generated situations of a service: series that step, drift, break or stay, under one or two toolchains and machines.

A situation is one benchmark of one project. Each one is drawn by a seed, posted through the API as a runner does, and
judged by the service itself; nothing is written into the database directly.
"""

import hashlib
import random

SHAPES = ("steady", "worse", "better", "exact", "broken", "repaired", "worse", "steady", "broken_exact", "small")
CHANGES = ("none", "compiler", "none", "harness", "none", "kernel", "none", "compiler", "none", "machine")
STATES = ("untriaged", "acknowledged", "investigating", "wont_fix", "noise", "infrastructure", "fixed", "backed_out")
HISTORY = 18
START = 1_760_000_000
DAY = 86_400


def sha(*words):
    return hashlib.sha1(" ".join(str(w) for w in words).encode()).hexdigest()


def instant(seconds):
    import datetime
    return datetime.datetime.fromtimestamp(seconds, datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


class Project:
    """One generated project: its commits, what changes under it, and one situation per benchmark."""

    def __init__(self, index, seed=1):
        self.name = f"case{index:02d}"
        self.rng = random.Random(f"{seed}:{index}")
        self.drift = index % 10 == 6
        self.change = CHANGES[index % len(CHANGES)]
        self.length = 44 if self.drift else HISTORY
        self.spacing = 3 * DAY if self.drift else DAY // 4
        self.higher = index % 3 == 1
        self.changed_at = self.rng.randrange(8, 12)
        self.commits = [sha(self.name, i) for i in range(self.length)]
        self.situations = [self._situation(k) for k in range(10)]

    def _situation(self, k):
        shape = "drift" if self.drift and k < 4 else SHAPES[k]
        # All of a project step together in half of the projects: groups of several series need that.
        at = self.changed_at if self.change in ("compiler", "harness") or k % 2 else self.rng.randrange(7, 13)
        exact = shape in ("exact", "broken_exact")
        return {"benchmark": f"gemm/{('f32', 'bf16')[k % 2]}/m{2 ** (4 + k)}n64k{2 ** (3 + k % 4)}", "shape": shape, "at": at,
                "exact": exact, "size": self.rng.choice((0.03, 0.06, 0.11, 0.25)), "base": 1000.0 * (k + 1),
                "reason": f"result differs from the reference at [{k}, 3]: expected 1.5, got nan <b>&amp;</b>"}

    def commits_body(self):
        return {"branch": "main", "commits": [
            {"id": c, "parents": [self.commits[i - 1]] if i else [], "author": ("Ada", "Grace", "Edsger")[i % 3],
             "time": instant(START + i * self.spacing), "subject": f"{self.name}: change number {i}",
             "paths": [f"src/part{i % 4}.c"]} for i, c in enumerate(self.commits)]}

    def fingerprint(self, i):
        late = i >= self.changed_at
        found = {"cpu": "Generated CPU", "kernel": "6.1.0", "compiler": "gcc 12.2.0", "harness": "aa" * 8}
        if late and self.change == "compiler":
            found["compiler"] = "gcc 13.1.0"
        if late and self.change == "harness":
            found["harness"] = "bb" * 8
        if late and self.change == "kernel":
            found["kernel"] = "6.6.0"
        if late and self.change == "machine":
            found["cpu"] = "Another CPU"
        return found

    def _level(self, s, i):
        worse = -1 if self.higher and not s["exact"] else 1
        if s["shape"] == "worse" and i >= s["at"]:
            return s["base"] * (1 + worse * s["size"])
        if s["shape"] == "better" and i >= s["at"]:
            return s["base"] * (1 - worse * s["size"])
        if s["shape"] == "small" and i >= s["at"]:
            return s["base"] * (1 + worse * 0.004)
        if s["shape"] == "drift":
            return s["base"] * (1 + worse * 0.0025 * i)
        if s["exact"] and i >= s["at"]:
            return s["base"] + 1
        return s["base"]

    def _measurement(self, s, i):
        tells = {"benchmark": s["benchmark"], "metric": "cycles" if s["exact"] else "gemm_gflops" if self.higher else "time_ns",
                 "backend": "accel:generated" if s["exact"] else "cpu-avx2",
                 "unit": "cycles" if s["exact"] else "GFLOP/s" if self.higher else "ns",
                 "direction": "higher" if self.higher and not s["exact"] else "lower", "exact": s["exact"]}
        if (s["shape"] in ("broken", "broken_exact") and i >= s["at"]) or (s["shape"] == "repaired" and s["at"] <= i < s["at"] + 2):
            return {**tells, "status": "broken", "reason": s["reason"]}
        level = self._level(s, i)
        if s["exact"]:
            return {**tells, "samples": [[level]]}
        night = self.rng.gauss(0, 0.002)
        return {**tells, "samples": [[level * (1 + night + self.rng.gauss(0, 0.002)) for _ in range(3)] for _ in range(3)]}

    def run_body(self, i):
        started = START + i * self.spacing + 1800
        return {"schema": "perfci.run/1", "id": sha(self.name, "run", i)[:32], "project": self.name, "commit": self.commits[i],
                "branch": "main", "suite": "generated", "suite_hash": "ab" * 32, "started_at": instant(started),
                "finished_at": instant(started + 60),
                "machine": {"name": "bench-1", "class": "generated", "fingerprint": self.fingerprint(i)},
                "measurements": [self._measurement(s, i) for s in self.situations]}
