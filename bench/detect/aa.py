#!/usr/bin/env python3
"""How often the detector alarms where nothing can have changed.

Measures one build on this machine again and again (perfci-bench, short kernels), takes every round
for a commit, pipes the series into `perfci detect` and prints the rate: every confirmed change is a
false alarm. Each series is also judged at every length, as the service does while points arrive.

    bench/detect/aa.py [--bin DIR] [--points 2000] [--seconds 270] [--out FILE.jsonl]
    bench/detect/aa.py --in FILE.jsonl          # judge kept rounds again, without measuring
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time

SUITE = """suite: aa
settings: {processes: 1, min_samples: 15, max_samples: 40, max_seconds: 0.05, warmup_seconds: 0.01, interval_rel: 0.005}
groups:
  small:
    - {m: 64, n: 64, k: 64}
    - {m: 128, n: 128, k: 128}
    - {m: 1, n: 512, k: 256}
    - {m: 128, n: 256, k: 64}
    - {m: 96, n: 96, k: 96}
    - {m: 256, n: 64, k: 64}
benchmarks:
  - {op: gemm, dtype: f32, group: small, backends: [cpu-avx2, cpu-avx512]}
  - {op: attention, dtype: f32, shapes: [{h: 2, s: 128, d: 64}, {h: 2, s: 128, d: 64, causal: true}], backends: [cpu-avx2, cpu-avx512]}
  - {op: layernorm, dtype: f32, shapes: [{rows: 32, cols: 1024}], backends: [cpu-scalar, cpu-avx2, cpu-avx512]}
  - {op: rmsnorm, dtype: f32, shapes: [{rows: 32, cols: 1024}], backends: [cpu-scalar, cpu-avx2, cpu-avx512]}
  - {op: softmax, dtype: f32, shapes: [{rows: 32, cols: 1024}], backends: [cpu-scalar, cpu-avx2, cpu-avx512]}
"""
CLEAR_P = 2.6e-12  # seven standard errors: core/stats/fdr.h, pfc_alert_firm
SHORTEST = 4  # points: fewer are never judged


def fail(text):
    print(f"aa.py: {text}", file=sys.stderr)
    sys.exit(5)


def program(folder, name):
    path = os.path.join(folder, name)
    if not os.access(path, os.X_OK):
        fail(f"{path} is missing: build first, or name its folder with --bin")
    return path


def measure(bench, points, seconds):
    """Series by name: {"id", "unit", "higher_is_better", "points"}, a point a round."""
    series, begin = {}, time.monotonic()
    with tempfile.TemporaryDirectory(prefix="perfci-aa-") as folder:
        suite, out = os.path.join(folder, "aa.yaml"), os.path.join(folder, "run.json")
        with open(suite, "w", encoding="utf-8") as f:
            f.write(SUITE)
        rounds = 0
        while sum(len(s["points"]) for s in series.values()) < points:
            if time.monotonic() - begin > seconds:
                print(f"aa.py: {seconds:g} s are over after {rounds} rounds", file=sys.stderr)
                break
            done = subprocess.run([bench, "--suite", suite, "--out", out, "--quiet"], capture_output=True, text=True, check=False)
            if done.returncode != 0:
                fail(f"perfci-bench ended with {done.returncode}: {done.stderr.strip()[-300:]}")
            with open(out, encoding="utf-8") as f:
                add_round(series, json.load(f))
            rounds += 1
    return series


def add_round(series, run):
    now = time.time()
    for m in run["measurements"]:
        if m["metric"] != "time_ns" or m.get("exact") or m["benchmark"] == "canary" or not m.get("samples"):
            continue  # rates are the same measurements over again
        samples = [v for block in m["samples"] for v in (block if isinstance(block, list) else [block])]
        ordered = sorted(samples)
        name = f"{m['benchmark']} {m['metric']} {m['backend']}"
        one = series.setdefault(name, {"id": name, "unit": m["unit"], "higher_is_better": m["direction"] == "higher", "points": []})
        middle = (ordered[(len(ordered) - 1) // 2] + ordered[len(ordered) // 2]) / 2
        one["points"].append({"t": now, "v": middle, "repeats": samples})


def detect(perfci, documents):
    text = "".join(json.dumps(d) + "\n" for d in documents)
    done = subprocess.run([perfci, "detect", "--json"], input=text, capture_output=True, text=True, check=False)
    if done.returncode not in (0, 1):
        fail(f"perfci detect ended with {done.returncode}: {done.stderr.strip()[-300:]}")
    return [json.loads(line) for line in done.stdout.splitlines()]


def firm(changes, points):
    """Those that the service would open an alert for, were they regressions: confirmed, or clear with five points."""
    ends = [c["index"] for c in changes[1:]] + [points]
    return [c for c, end in zip(changes, ends) if c["status"] == "confirmed" or end - c["index"] >= 20
            or (end - c["index"] >= 5 and c["p"] <= CLEAR_P)]


def report(perfci, series):
    items = list(series.values())
    points = sum(len(s["points"]) for s in items)
    whole = detect(perfci, items)
    confirmed = sum(c["status"] == "confirmed" for a in whole for c in a["changes"])
    provisional = sum(c["status"] != "confirmed" for a in whole for c in a["changes"])
    hit = sum(any(c["status"] == "confirmed" for c in a["changes"]) for a in whole)
    alarmed = [firm(a["changes"], len(s["points"])) for a, s in zip(whole, items)]
    prefixes = [dict(s, points=s["points"][:n]) for s in items for n in range(SHORTEST, len(s["points"]) + 1)]
    ever = set()
    for answer in detect(perfci, prefixes):
        for c in answer["changes"]:
            if c["status"] == "confirmed":
                ever.add(answer["id"])
    print(f"A/A: {len(items)} series, {points} points of one build")
    print(f"false alarms on the whole series: {confirmed} confirmed ({1000 * confirmed / points:.2f} per 1,000 points), "
          f"{provisional} provisional; series hit: {hit} ({100 * hit / len(items):.1f} %)")
    print(f"firm enough for an alert, up or down: {sum(map(len, alarmed))} ({1000 * sum(map(len, alarmed)) / points:.2f} per 1,000 points); "
          f"series hit: {sum(map(bool, alarmed))} ({100 * sum(map(bool, alarmed)) / len(items):.1f} %)")
    print(f"judged after every point: {len(ever)} series had a confirmed change at some time ({100 * len(ever) / len(items):.1f} %)")
    for answer in whole:
        for c in answer["changes"]:
            print(f"  {answer['id']}: {100 * c['rel_change']:+.2f} % at {c['index']}, {c['status']}, p {c['p']:.1e}")


def main():
    here = os.path.dirname(os.path.abspath(__file__))
    args = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    args.add_argument("--bin", default=os.path.join(here, "../../build/release/bin"), help="folder of perfci and perfci-bench")
    args.add_argument("--points", type=int, default=2000, help="series-points to measure")
    args.add_argument("--seconds", type=float, default=270, help="measure no longer than this")
    args.add_argument("--out", help="keep the series there, JSON lines")
    args.add_argument("--in", dest="kept", help="series kept by --out: judge these instead of measuring")
    o = args.parse_args()
    perfci = program(o.bin, "perfci")
    if o.kept:
        try:
            with open(o.kept, encoding="utf-8") as f:
                series = {d["id"]: d for d in map(json.loads, f)}
        except (OSError, ValueError, KeyError) as fault:
            fail(f"{o.kept}: {fault}")
    else:
        series = measure(program(o.bin, "perfci-bench"), o.points, o.seconds)
    if not series:
        fail("nothing was measured")
    if o.out:
        with open(o.out, "w", encoding="utf-8") as f:
            f.writelines(json.dumps(s) + "\n" for s in series.values())
    report(perfci, series)


if __name__ == "__main__":
    main()
