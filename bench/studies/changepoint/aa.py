#!/usr/bin/env python3
"""How often the detector alarms where nothing can have changed.

Measures one build on this machine again and again (perfci-bench, short kernels), takes every round
for a commit, pipes the series into `perfci detect` and prints the rate: every confirmed change is a
false alarm. Each series is also judged at every length, as the service does while points arrive.
Rounds whose canary moved are left out, as in the service.

    bench/studies/changepoint/aa.py [--bin DIR] [--points 2000] [--seconds 450] [--out ROUNDS.jsonl]
    bench/studies/changepoint/aa.py --measure --out ROUNDS.jsonl [--seconds 80]   # a quiet machine is wanted for this alone;
                                                                     # called again it goes on from the rounds kept
    bench/studies/changepoint/aa.py --in ROUNDS.jsonl                             # judge kept rounds, on a machine as busy as it likes

2,000 points are 100 rounds of 20 kernels: about four minutes on an idle machine, and half a minute to
judge. Every round is written as it ends: what a kill or Ctrl-C leaves is gone on with.
"""

import argparse
import json
import math
import os
import statistics
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
SURE = 7  # standard errors: core/changepoint/fdr.h, pfc_alert_justified
SHORTEST = 4  # points: fewer are never judged


def fail(text):
    print(f"aa.py: {text}", file=sys.stderr)
    sys.exit(5)


def program(folder, name):
    path = os.path.join(folder, name)
    if not os.access(path, os.X_OK):
        fail(f"{path} is missing: build first, or name its folder with --bin")
    return path


def clean_points(rounds):
    return sum(len(r["points"]) for r in rounds if not r["infra"])


def measure(bench, rounds, points, seconds, keep):
    """Adds rounds until `points` points are there or the time is over; keep(round) stores each."""
    begin, before = time.monotonic(), clean_points(rounds)
    with tempfile.TemporaryDirectory(prefix="perfci-aa-") as folder:
        suite, out = os.path.join(folder, "aa.yaml"), os.path.join(folder, "run.json")
        with open(suite, "w", encoding="utf-8") as f:
            f.write(SUITE)
        while clean_points(rounds) < points:
            spent = time.monotonic() - begin
            if spent > seconds:
                print(f"aa.py: {seconds:g} s are over with {clean_points(rounds)} of {points} points; the same command goes on", file=sys.stderr)
                break
            done = subprocess.run([bench, "--suite", suite, "--out", out, "--quiet"], capture_output=True, text=True, check=False)
            if done.returncode != 0:
                fail(f"perfci-bench ended with {done.returncode}: {done.stderr.strip()[-300:]}")
            with open(out, encoding="utf-8") as f:
                rounds.append(read_round(json.load(f)))
            keep(rounds[-1])
            now, spent = clean_points(rounds), time.monotonic() - begin
            left = (points - now) * spent / (now - before) if now > before else float("nan")
            print(f"aa.py: round {len(rounds)}, {now} of {points} points, {spent:.0f} s, {max(left, 0):.0f} s to go", file=sys.stderr)


def read_round(run):
    points = []
    for m in run["measurements"]:
        if m["metric"] != "time_ns" or m.get("exact") or m["benchmark"] == "canary" or not m.get("samples"):
            continue  # rates are the same measurements over again
        samples = [v for block in m["samples"] for v in (block if isinstance(block, list) else [block])]
        points.append({"id": f"{m['benchmark']} {m['metric']} {m['backend']}", "unit": m["unit"],
                       "higher_is_better": m["direction"] == "higher", "repeats": samples})
    if not points:
        fail("perfci-bench measured nothing")
    return {"t": time.time(), "infra": bool(run.get("infra")), "points": points}


def series_of(rounds):
    """Series by name: {"id", "unit", "higher_is_better", "points"}, a point a round."""
    series = {}
    for r in rounds:
        if r["infra"]:
            continue
        for p in r["points"]:
            one = series.setdefault(p["id"], {k: p[k] for k in ("id", "unit", "higher_is_better")} | {"points": []})
            ordered = sorted(p["repeats"])
            middle = (ordered[(len(ordered) - 1) // 2] + ordered[len(ordered) // 2]) / 2
            one["points"].append({"t": r["t"], "v": middle, "repeats": p["repeats"]})
    return series


def read_kept(path, missing_is_empty):
    """Rounds of a file, and how many of its bytes are whole rounds: a killed run may leave a torn line."""
    rounds, whole = [], 0
    try:
        with open(path, "rb") as f:
            for line in f:
                if not line.endswith(b"\n"):
                    break
                r = json.loads(line)
                if not isinstance(r["points"], list) or not isinstance(r["infra"], bool):
                    raise ValueError("that is no round")
                rounds.append(r)
                whole += len(line)
    except FileNotFoundError as fault:
        if not missing_is_empty:
            fail(f"{path}: {fault.strerror}; --out writes such a file")
    except (OSError, ValueError, KeyError, TypeError) as fault:
        fail(f"{path}, line {len(rounds) + 1}: {fault}; expected the rounds that --out wrote")
    return rounds, whole


def open_kept(path, whole):
    try:
        f = open(path, "ab")
        f.truncate(whole)
    except OSError as fault:
        fail(f"{path}: {fault.strerror}")

    def keep(r):
        f.write(json.dumps(r).encode() + b"\n")
        f.flush()
        os.fsync(f.fileno())

    return keep


def detect(perfci, documents):
    text = "".join(json.dumps(d) + "\n" for d in documents)
    done = subprocess.run([perfci, "detect", "--json"], input=text, capture_output=True, text=True, check=False)
    if done.returncode not in (0, 1):
        fail(f"perfci detect ended with {done.returncode}: {done.stderr.strip()[-300:]}")
    return [json.loads(line) for line in done.stdout.splitlines()]


def sureness(c, points):
    """Standard errors left in a history of so many points: core/changepoint/fdr.h, pfc_fdr_sureness."""
    z = -statistics.NormalDist().inv_cdf(max(c["p"], 1e-16) / 2)
    if c["p"] <= 1e-16:
        width = math.log1p(c["rel_high"]) - math.log1p(c["rel_low"]) if c["rel_low"] > -1 else c["rel_high"] - c["rel_low"]
        if not width > 0:
            return math.inf
        z = max(z, abs(math.log1p(c["rel_change"]) if c["rel_low"] > -1 else c["rel_change"]) / width * 2 * 1.96)
    alike, freedom = min(1.64 / math.sqrt(points), 0.6), max(points - 4, 1)
    z /= math.sqrt((1 + alike) / (1 - alike))
    return math.sqrt(freedom * math.log1p(z * z / freedom))


def firm(changes, points):
    """Those that the service would open an alert for, were they regressions: confirmed, or clear with five points."""
    ends = [c["index"] for c in changes[1:]] + [points]
    return [c for c, end in zip(changes, ends) if c["status"] == "confirmed" or end - c["index"] >= 20
            or (end - c["index"] >= 5 and sureness(c, end) >= SURE)]


def report(perfci, rounds):
    items = list(series_of(rounds).values())
    points = sum(len(s["points"]) for s in items)
    moved = sum(r["infra"] for r in rounds)
    if not items:
        fail(f"nothing to judge: the canary moved in all {moved} rounds; the machine is too busy" if moved else "nothing was measured")
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
    print(f"A/A: {len(items)} series, {points} points of one build in {len(rounds) - moved} rounds; "
          f"{moved} more rounds left out, because the canary moved")
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
    args.add_argument("--seconds", type=float, default=450, help="measure no longer than this, now")
    args.add_argument("--measure", action="store_true", help="measure and keep, judge later")
    args.add_argument("--out", help="keep the rounds there, JSON lines; rounds that are there already count")
    args.add_argument("--in", dest="kept", help="rounds kept by --out: judge these instead of measuring")
    o = args.parse_args()
    if o.measure and not o.out:
        args.error("--measure: expected --out FILE, where to keep the rounds")
    if o.kept and (o.measure or o.out):
        args.error("--in judges kept rounds; it goes with neither --measure nor --out")
    perfci = program(o.bin, "perfci")
    rounds, whole = read_kept(o.kept or o.out, bool(o.out)) if o.kept or o.out else ([], 0)
    if not o.kept:
        keep = open_kept(o.out, whole) if o.out else lambda r: None
        try:
            measure(program(o.bin, "perfci-bench"), rounds, o.points, o.seconds, keep)
        except KeyboardInterrupt:
            print(f"aa.py: stopped with {clean_points(rounds)} points", file=sys.stderr)
    if not o.measure:
        report(perfci, rounds)


if __name__ == "__main__":
    main()
