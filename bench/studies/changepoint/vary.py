#!/usr/bin/env python3
"""Variations of a labelled corpus, and the detector's score on each. They show
whether a tuned detector overfits the corpus.

usage: bench/studies/changepoint/vary.py --data DIR [--bench PROGRAM] [--seeds N] [--only NAME] [--drops F1]

Steps are taken away and put back by their labelled height. Every variation keeps what a person knows of
a series (its noise, its waves, how large its steps are to that noise) and changes what a detector must not
know: which noise meets which point, where the steps are, how high they are, which way is up and which way is
later.

  noise      what is left of the values without their steps, in another order of blocks of ten points;
             where neighbours belong together (machine states, correlated and real noise) turned round in a
             ring; not of waves and drifts, which either would tear
  moved      the same residuals under steps at other places
  scaled     the same residuals under steps of 0.7 to 1.4 times their height
  louder     residuals times 1.25
  mirrored   values turned over: up is down, and the direction of "better" too
  reversed   the last point first
  halves     both halves, separately
  thinned    a fifth of the points left out

"noise" and "mirrored" apply to series that are cut later and later, too; the others leave those out, as they
have no delay. A table in Markdown goes to stdout; --drops adds the categories that lose so much F1.
"""
import argparse
import json
import math
import pathlib
import random
import statistics
import subprocess
import sys
import tempfile

TORN = ("seasonal", "drift", "long", "annot", "sap", "tcpd", "real_step")
STICKY = ("bimodal", "ar1", "wall", "nat", "ci")
BLOCK = 10


def read(folder):
    files = sorted(folder.glob("*.json")) or sorted((folder / "series").glob("*.json"))
    return [json.loads(f.read_text()) for f in files]


def known(point):
    return point["v"] is not None and math.isfinite(point["v"])


def positive(series):
    values = [p["v"] for p in series["points"] if known(p)]
    return len(values) >= 6 and min(values) > 0 and all(r > 0 for p in series["points"] for r in p.get("repeats") or [])


def steps(series):
    """Places of changes that are steps of a known height, or None where a series has others."""
    good = all(c["kind"] in ("step", "blip_start", "blip_end") and c.get("magnitude") for c in series["changes"])
    return [c["index"] for c in series["changes"]] if good else None


def heights_of(series):
    """Of the levels, as ratios to the first."""
    out = [1.0]
    for c in series["changes"]:
        out.append(out[-1] * (1.0 + c["magnitude"]))
    return out


def levels_of(starts, heights, n):
    edges = [0, *starts, n]
    return [h for h, a, b in zip(heights, edges, edges[1:]) for _ in range(b - a)]


def times(point, factor, t):
    """The point with its values times a factor, at another time."""
    out = {**point, "t": t}
    if known(point):
        out["v"] = point["v"] * factor
    if point.get("repeats"):
        out["repeats"] = [r * factor for r in point["repeats"]]
    return out


def rebuilt(series, source, levels):
    """Point i has what point source[i] has beside its level, at levels[i]."""
    old = levels_of(steps(series), heights_of(series), len(series["points"]))
    points = [times(series["points"][k], levels[i] / old[k], series["points"][i]["t"]) for i, k in enumerate(source)]
    return {**series, "points": points}


def shuffled(n, sticky, rng):
    if sticky:
        turn = rng.randrange(n)
        return [(i + turn) % n for i in range(n)]
    blocks = [list(range(i, min(n, i + BLOCK))) for i in range(0, n, BLOCK)]
    rng.shuffle(blocks)
    return [i for block in blocks for i in block]


def noise(series, rng):
    if not movable(series) or any(word in series["category"] for word in TORN):
        return []
    n = len(series["points"])
    sticky = any(word in series["category"] for word in STICKY)
    return [rebuilt(series, shuffled(n, sticky, rng), levels_of(steps(series), heights_of(series), n))]


def noise_of_group(cuts, rng):
    """A series that is cut later and later: the longest, with its noise in another order, cut again."""
    longest = max(cuts, key=lambda s: len(s["points"]))
    made = noise({**longest, "category": ""}, rng)
    return [{**s, "points": made[0]["points"][: len(s["points"])]} for s in cuts] if made else []


def relevelled(series, starts, heights):
    """The same noise under levels that begin at `starts`."""
    levels = levels_of(starts, heights, len(series["points"]))
    out = rebuilt(series, range(len(levels)), levels)
    ratios = [b / a - 1.0 for a, b in zip(heights, heights[1:])]
    changes = [{**c, "index": at, "magnitude": m} for c, at, m in zip(series["changes"], starts, ratios)]
    return {**out, "changes": changes}


def exact(series):
    """Counters and whole numbers: a factor would leave neither."""
    values = [p["v"] for p in series["points"] if known(p)]
    equal = sum(a == b for a, b in zip(values, values[1:]))
    return equal > len(values) / 4


def movable(series):
    return steps(series) is not None and positive(series) and not series.get("ignore") and not exact(series)


def moved(series, rng):
    if not movable(series) or not series["changes"]:
        return []
    edges = [0, *steps(series), len(series["points"])]
    lengths = [b - a for a, b in zip(edges, edges[1:])]
    # Levels trade up to a quarter of their points with the next; short ones keep theirs.
    for k in range(len(lengths) - 1):
        most = min(lengths[k], lengths[k + 1]) // 4 if min(lengths[k], lengths[k + 1]) >= 12 else 0
        by = rng.randint(-most, most)
        lengths[k] += by
        lengths[k + 1] -= by
    starts = [sum(lengths[: k + 1]) for k in range(len(lengths) - 1)]
    return [relevelled(series, starts, heights_of(series))]


def scaled(series, rng):
    if not movable(series) or not series["changes"]:
        return []
    heights = heights_of(series)
    out = [1.0]
    for a, b in zip(heights, heights[1:]):
        out.append(out[-1] * (b / a) ** rng.uniform(0.7, 1.4))
    return [relevelled(series, steps(series), out)]


def louder(series, _rng):
    if not movable(series):
        return []
    levels = levels_of(steps(series), heights_of(series), len(series["points"]))
    middle = statistics.median(p["v"] / level for p, level in zip(series["points"], levels) if known(p))
    points = []
    for p, level in zip(series["points"], levels):
        at, p = level * middle, dict(p)
        if known(p):
            p["v"] = at * (p["v"] / at) ** 1.25
        if p.get("repeats"):
            p["repeats"] = [at * (r / at) ** 1.25 for r in p["repeats"]]
        points.append(p)
    return [{**series, "points": points}]


def mirrored(series, _rng):
    if not positive(series):
        return []
    middle = statistics.median(p["v"] for p in series["points"] if known(p))
    points = []
    for p in series["points"]:
        p = dict(p)
        if known(p):
            p["v"] = middle * middle / p["v"]
        if p.get("repeats"):
            p["repeats"] = [middle * middle / r for r in p["repeats"]]
        points.append(p)
    return [{**series, "points": points, "higher_is_better": not series.get("higher_is_better", False)}]


def reversed_(series, _rng):
    n = len(series["points"])
    stamps = [p["t"] for p in series["points"]]
    points = [{**p, "t": t} for p, t in zip(series["points"][::-1], stamps)]
    changes = [{**c, "index": n - c["index"]} for c in series["changes"][::-1]]
    ignore = [[n - 1 - b, n - 1 - a] for a, b in (series.get("ignore") or [])[::-1]]
    return [{**series, "points": points, "changes": changes, "ignore": ignore}]


def cut_out(series, a, b, suffix):
    changes = [{**c, "index": c["index"] - a} for c in series["changes"] if a < c["index"] < b]
    ignore = [[max(0, x - a), y - a] for x, y in series.get("ignore") or [] if y >= a and x < b]
    out = {**series, "id": series["id"] + suffix, "points": series["points"][a:b]}
    return {**out, "changes": changes, "ignore": ignore}


def halves(series, _rng):
    n = len(series["points"])
    if n < 40:
        return []
    # A step too near the cut cannot be found by any detector.
    middle = n // 2
    near = [c["index"] for c in series["changes"] if abs(c["index"] - middle) < 10]
    return [] if near else [cut_out(series, 0, middle, "-a"), cut_out(series, middle, n, "-b")]


def thinned(series, rng):
    n = len(series["points"])
    if n < 20:
        return []
    kept = [i for i in range(n) if rng.random() >= 0.2]

    def place(index):
        return sum(1 for i in kept if i < index)

    changes = [{**c, "index": place(c["index"])} for c in series["changes"]]
    ignore = [[place(a), place(b)] for a, b in series.get("ignore") or []]
    good = [c for c in changes if 0 < c["index"] < len(kept)]
    return [{**series, "points": [series["points"][i] for i in kept], "changes": good, "ignore": ignore}]


VARIATIONS = {
    "as it is": lambda s, _rng: [s],
    "noise": noise,
    "moved": moved,
    "scaled": scaled,
    "louder": louder,
    "mirrored": mirrored,
    "reversed": reversed_,
    "halves": halves,
    "thinned": thinned,
}
WITH_DELAY = ("as it is", "mirrored", "louder")


def vary(corpus, name, seed):
    out, groups = [], {}
    for series in corpus:
        rng = random.Random(f"{seed} {series['id']}")
        if not series.get("group"):
            out += VARIATIONS[name](series, rng)
        elif name in WITH_DELAY:
            out += VARIATIONS[name](series, rng)
        elif name == "noise":
            groups.setdefault(series["group"], []).append(series)
    for group, cuts in sorted(groups.items()):
        out += noise_of_group(cuts, random.Random(f"{seed} {group}"))
    return out


def score(bench, series):
    with tempfile.TemporaryDirectory() as folder:
        for s in series:
            pathlib.Path(folder, s["id"] + ".json").write_text(json.dumps(s))
        text = subprocess.run([bench, "--data", folder, "--score"], check=True, capture_output=True, text=True).stdout
    return json.loads(text)


def mean(rows):
    """Of several seeds, number by number; categories by name."""
    keys = [k for k in rows[0] if k != "categories"]
    out = {k: sum(r[k] for r in rows) / len(rows) for k in keys}
    names = sorted({n for r in rows for n in r["categories"]})
    out["categories"] = {n: statistics.mean(r["categories"][n] for r in rows if n in r["categories"]) for n in names}
    return out


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--data", required=True, type=pathlib.Path)
    ap.add_argument("--bench", default="build/release/bin/perfci-bench-detect")
    ap.add_argument("--seeds", type=int, default=2)
    ap.add_argument("--only", choices=VARIATIONS, action="append")
    ap.add_argument("--drops", type=float)
    args = ap.parse_args()
    corpus = read(args.data)
    if not corpus:
        print(f"not available: no series in {args.data}")
        return 5
    rows = {}
    print("| variation | series | score | F1 m2 | F1 m0 | null/1000 | hit % | worst | delay | found 3 / 5 |")
    print("|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|")
    for name in args.only or VARIATIONS:
        seeds = range(args.seeds) if name in ("noise", "moved", "scaled", "thinned") else [0]
        made = [vary(corpus, name, seed) for seed in seeds]
        r = rows[name] = mean([score(args.bench, m) for m in made])
        # Without series that are cut later and later there is no delay, and so no score.
        cuts = any(s.get("group") for s in made[0])
        tail = f"{r['delay']:.2f} | {r['found_3']:.2f} / {r['found_5']:.2f}" if cuts else "| "
        print(
            f"| {name} | {len(made[0])} | {format(r['score'], '.1f') if cuts else ''} "
            f"| {r['f1_m2']:.3f} | {r['f1_m0']:.3f} | "
            f"{r['null_per_1000']:.2f} | {r['null_hit'] * 100:.1f} | {r['null_worst']:.2f} | {tail} |"
        )
        sys.stdout.flush()
    if args.drops is not None and "as it is" in rows:
        usual = rows["as it is"]["categories"]
        for name, row in rows.items():
            for category, f1 in row["categories"].items():
                if category in usual and usual[category] - f1 >= args.drops:
                    print(f"{name}: {category} {usual[category]:.2f} -> {f1:.2f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
