#!/usr/bin/env python3
"""make_scenarios.py SEED DIR [--only TEXT] [--copies N] [--apart SHARE]: made histories with known culprits.

37 kinds (sizes, steps, noise, layout, broken builds, priors, hints, several steps, none); where the steps lie, what does not
build, which files are touched and how builds differ follows from SEED alone. perfci-bisect-bench --data DIR reads them, and so does
drive.py. Constants of the planner are chosen on other seeds than those that are reported."""

import argparse
import json
import os
import random

GAUSS = {"kind": "gaussian", "cv": 0.01}
STICKY = {"kind": "bimodal", "cv": 0.01, "gap": 0.03, "switch": 0.1, "stationary": 0.3}
DRIFT = {"kind": "drift", "cv": 0.01, "step": 0.001}


def kind(name, group, n, step, limit, **more):
    return dict({"name": name, "group": group, "n": n, "steps": [step] if step else [], "hint": step or 0.02, "noise": GAUSS,
                 "limit": limit}, **more)


KINDS = [
    kind("gauss-n8-d2", "core", 8, 0.02, 42),
    kind("gauss-n64-d2", "core", 64, 0.02, 43),
    kind("gauss-n64-d4", "core", 64, 0.04, 21),
    kind("gauss-n256-d2", "core", 256, 0.02, 46),
    kind("gauss-n1024-d2", "core", 1024, 0.02, 56),
    kind("gauss-n1024-d4", "core", 1024, 0.04, 27),
    kind("gauss-n4096-d2", "core", 4096, 0.02, 59),
    kind("cv05-n256-d2", "core", 256, 0.01, 55, noise={"kind": "gaussian", "cv": 0.005}),
    kind("cv5-n256-d2", "core", 256, 0.1, 49, noise={"kind": "gaussian", "cv": 0.05}),
    kind("first-commit-n256-d2", "core", 256, 0.02, 78, at=[1]),
    kind("last-commit-n256-d2", "core", 256, 0.02, 46, at=[256]),
    kind("throughput-n256-d2", "core", 256, -0.0196, 52, higher=True),
    kind("gauss-n64-d1", "small", 64, 0.01, 161),
    kind("gauss-n256-d1", "small", 256, 0.01, 169),
    kind("lognormal-n256-d2", "tails", 256, 0.02, 35, noise={"kind": "lognormal", "cv": 0.01}),
    kind("outlier-n256-d2", "tails", 256, 0.02, 55, noise={"kind": "outlier", "cv": 0.01}),
    kind("bimodal-n256-d2", "machine", 256, 0.02, 137, noise=STICKY),
    kind("bimodal-n64-d4", "machine", 64, 0.04, 41, noise=STICKY),
    kind("drift-n256-d2", "machine", 256, 0.02, 108, noise=DRIFT),
    kind("drift-n1024-d4", "machine", 1024, 0.04, 56, noise=DRIFT),
    kind("layout05-n256-d2", "layout", 256, 0.02, 62, layout=0.005),
    kind("layout1-n256-d4", "layout", 256, 0.04, 29, layout=0.01),
    kind("broken10-n256-d2", "broken", 256, 0.02, 41, broken=0.1),
    kind("broken30-n256-d2", "broken", 256, 0.02, 45, broken=0.3),
    kind("broken-run20-n256-d2", "broken", 256, 0.02, 46, broken_rows=4),
    kind("flaky-run-n256-d2", "broken", 256, 0.02, 53, flaky=0.05),
    kind("null-n256", "null", 256, 0, 32),
    kind("null-n64-d1", "null", 64, 0, 119, hint=0.01),
    kind("two-n256-d3-d2", "many", 256, 0, 38, steps=[0.02, 0.03], hint=0.03),
    kind("three-n1024-d4", "many", 1024, 0, 51, steps=[0.02, 0.02, 0.04], hint=0.04),
    kind("updownup-n256-d3", "many", 256, 0, 30, steps=[0.03, -0.0291, 0.03], hint=0.03),
    kind("gain-after-n256", "many", 256, 0, 31, steps=[-0.01, 0.03], hint=0.03),
    kind("touch10-n1024-d2", "prior", 1024, 0.02, 52, touch=0.1),
    kind("touch2-n4096-d2", "prior", 4096, 0.02, 40, touch=0.02),
    kind("touch10-wrong-n256-d2", "prior", 256, 0.02, 56, touch=0.1, misled=True),
    kind("hint-high-n256-d2", "hint", 256, 0.02, 49, hint=0.032),
    kind("hint-low-n256-d2", "hint", 256, 0.02, 54, hint=0.012),
]


def broken_set(k, n, rng):
    """Indices of the commits that do not build; the ends always do."""
    if "broken_rows" in k:
        rows = [rng.randrange(1, n - 21) for _ in range(k["broken_rows"])]
        return {i for r in rows for i in range(r, r + 20)}
    return set(rng.sample(range(1, n), round(k.get("broken", 0) * n)))


def touched(k, n, at, rng):
    """The commits that touch the benchmark: the guilty one too, but where the prior is to mislead."""
    if "touch" not in k:
        return set()
    some = set(rng.sample([i for i in range(1, n + 1) if i not in at], round(k["touch"] * n)))
    return some if k.get("misled") else some | set(at)


def places(k, n, rng, apart):
    """Where the steps are: several keep a share of the range between them."""
    if "at" in k:
        return k["at"]
    while True:
        at = sorted(rng.randint(1, n) for _ in k["steps"])
        if all(b - a >= int(n * apart) for a, b in zip(at, at[1:])):
            return at


def make(k, seed, apart):
    rng = random.Random(f"{seed}/{k['name']}")
    n = k["n"]
    at = places(k, n, rng, apart)
    broken = broken_set(k, n, rng)
    files = touched(k, n, at, rng)
    value, commits, sets = 100.0, [], []
    for i in range(n + 1):
        if i in at:
            step = k["steps"][at.index(i)]
            value *= 1 + step
            if step * k["hint"] > 0:
                first, last = i, i
                while first - 1 in broken:
                    first -= 1
                while last in broken:
                    last += 1
                sets.append([f"c{j:04}" for j in range(first, last + 1)])
        c = {"id": f"c{i:04}", "value": round(value, 6)}
        if i in broken:
            c["build"] = "fail"
        if "layout" in k:
            c["layout"] = round(rng.gauss(0, k["layout"]), 6)
        if "touch" in k:
            c["files"] = ["kernels/gemm.c"] if i in files else ["docs/notes.md"]
        commits.append(c)
    return {"format": 1, "name": k["name"], "group": k["group"], "seed": f"{seed}-{k['name']}", "unit": "us",
            "higher_is_better": k.get("higher", False), "benchmark_files": ["kernels/gemm.c"], "good": commits[0]["id"],
            "bad": commits[-1]["id"], "delta_hint": k["hint"], "noise_hint": k["noise"]["cv"], "layout_hint": k.get("layout", 0.0),
            "flaky_run": k.get("flaky", 0.0), "noise": k["noise"], "limits": {"mean_runs": k["limit"]}, "truth": {"sets": sets},
            "commits": commits}


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("seed"), ap.add_argument("dir"), ap.add_argument("--only", default="")
    ap.add_argument("--copies", type=int, default=1, help="histories of each kind")
    ap.add_argument("--apart", type=float, default=0.05, help="share of the range that several steps keep between them (default 0.05)")
    a = ap.parse_args()
    os.makedirs(a.dir, exist_ok=True)
    for k in KINDS:
        for copy in range(a.copies if a.only in k["name"] else 0):
            name = k["name"] if copy == 0 else f"{k['name']}-{copy}"
            made = make(k, a.seed if copy == 0 else f"{a.seed}.{copy}", a.apart)
            with open(os.path.join(a.dir, name + ".json"), "w", encoding="ascii") as f:
                json.dump(dict(made, name=name), f)


if __name__ == "__main__":
    main()
