#!/usr/bin/env python3
"""Makes the demonstration repository: a small GEMM library with a real slowdown in one commit, and in another one
worse tiles for the simulated accelerator.

Usage: make_demo.py DIR [--seed N] [--json]

The history has 25 commits with fixed authors and dates. Which block depth makes the slow commit is
measured here, on this machine: several depths are built and timed in turns, and the one whose
slowdown is closest to 15 % (and between 10 and 20 %) is planted at a place that the seed decides.
So are the tiles, which take 19 % more cycles on every machine. Prints the id of the slow commit.
"""

import argparse
import json
import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
BASE_DEPTH = 32
CANDIDATES = (20, 18, 16, 14, 13, 12, 11, 10, 9, 8, 7, 6)
NEUTRAL_DEPTHS = (30, 28)
LOW, TARGET, HIGH = 0.10, 0.15, 0.20
AUTHORS = (("Ada Moreno", "ada"), ("Kenji Watt", "kenji"), ("Ruth Okafor", "ruth"))
FIRST_DATE = 1760000000  # 2025-10-09, an arbitrary fixed day
ROUNDS = 7


def run(argv, cwd, env=None):
    done = subprocess.run(argv, cwd=cwd, env=env, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"make_demo.py: {' '.join(argv)} failed in {cwd}: {done.stderr.strip()[-400:]}")
    return done.stdout


def edit(folder, name, old, new):
    path = os.path.join(folder, name)
    with open(path, encoding="utf-8") as file:
        text = file.read()
    if old not in text:
        sys.exit(f"make_demo.py: {name} has no line {old!r}")
    with open(path, "w", encoding="utf-8") as file:
        file.write(text.replace(old, new, 1))


def append(folder, name, text):
    with open(os.path.join(folder, name), "a", encoding="utf-8") as file:
        file.write(text)


def set_depth(folder, depth):
    path = os.path.join(folder, "tune.h")
    with open(path, encoding="utf-8") as file:
        lines = file.readlines()
    with open(path, "w", encoding="utf-8") as file:
        for line in lines:
            file.write(f"#define KC {depth}\n" if line.startswith("#define KC ") else line)


def speeds_of(folder, depths):
    """Median speed of each depth; all are built first, then run in turns."""
    programs = {}
    for depth in depths:
        build = os.path.join(folder, f"kc{depth}")
        shutil.copytree(os.path.join(HERE, "template"), build)
        set_depth(build, depth)
        run(["make", "-s", "bench"], build)
        programs[depth] = build
    values = {depth: [] for depth in depths}
    for _ in range(ROUNDS):
        for depth, build in programs.items():
            out = json.loads(run(["./bench"], build))
            values[depth].append(out["metrics"]["gemm_tflops"])
    return {depth: statistics.median(found) for depth, found in values.items()}


def choose_depths(log):
    """(slow depth, its slowdown, neutral depth), measured on this machine."""
    with tempfile.TemporaryDirectory(prefix="perfci-demo-") as folder:
        speed = speeds_of(folder, (BASE_DEPTH,) + CANDIDATES + NEUTRAL_DEPTHS)
    base = speed[BASE_DEPTH]
    slowdown = {depth: 1.0 - speed[depth] / base for depth in speed}
    for depth in sorted(speed, reverse=True):
        log(f"  depth {depth:3d}: {speed[depth] * 1000:.3f} GFLOP/s, {-slowdown[depth]:+.1%}")
    fitting = [depth for depth in CANDIDATES if LOW <= slowdown[depth] <= HIGH]
    if not fitting:
        sys.exit("make_demo.py: no block depth is 10 to 20 % slower on this machine")
    slow = min(fitting, key=lambda depth: abs(slowdown[depth] - TARGET))
    neutral = min(NEUTRAL_DEPTHS, key=lambda depth: abs(slowdown[depth]))
    if abs(slowdown[neutral]) > 0.01:
        neutral = None
    return slow, slowdown[slow], neutral


def set_tiles(folder):
    """Narrow, wide tiles instead of square ones: more bytes are loaded for each product."""
    edit(folder, "tiles.schedule", "m = 256\nn = 256\nk = 512\n", "m = 128\nn = 512\nk = 256\n")


def harmless_steps(neutral):
    """Commits that look as if they could be slow, and are not."""
    steps = [
        ("gemm: say why the columns are packed",
         lambda d: edit(d, "gemm.c", "/* b by columns:", "/* b by columns, once a call:")),
        ("bench: check the result before timing",
         lambda d: append(d, "README.md", "\nThe result is checked before anything is timed.\n")),
        ("tune: allow wider matrices",
         lambda d: edit(d, "tune.h", "#define MAX_N 256", "#define MAX_N 320")),
        ("gemm: name the packing loop's rows",
         lambda d: edit(d, "gemm.c", "static void pack_b(", "static void pack_columns(") or
         edit(d, "gemm.c", "pack_b(n, k, b);", "pack_columns(n, k, b);")),
        ("build: make the warnings stricter",
         lambda d: edit(d, "Makefile", "-Wall", "-Wall -Wextra")),
        ("tune: allow deeper matrices",
         lambda d: edit(d, "tune.h", "#define MAX_K 256", "#define MAX_K 320")),
        ("docs: how to measure", lambda d: append(d, "README.md", "\nMeasure on a quiet machine.\n")),
        ("dot: name the running total",
         lambda d: edit(d, "dot.c", "    float total = *sum;", "    float running = *sum;") or
         edit(d, "dot.c", "        total +=", "        running +=") or
         edit(d, "dot.c", "    *sum = total;", "    *sum = running;")),
        ("gemm: say what the depth is",
         lambda d: edit(d, "gemm.c", "size_t depth = k - p < KC ? k - p : KC;",
                        "size_t depth = k - p < KC ? k - p : KC; /* the last one may be shorter */")),
        ("dot: promise that the operands are apart",
         lambda d: edit(d, "dot.h", "const float *a, const float *b, float *sum);",
                        "const float *restrict a, const float *restrict b, float *restrict sum);")),
        ("docs: list the limits",
         lambda d: append(d, "README.md", "\nLimits: see `tune.h`.\n")),
        ("gemm: describe the accumulation order",
         lambda d: edit(d, "dot.h", "in that order in every build.", "first to last.")),
        ("docs: what the reference is for",
         lambda d: append(d, "README.md", "\nSpeeds are given against a fixed reference.\n")),
        ("build: keep the objects' rules together",
         lambda d: append(d, "Makefile", "\n# Objects depend on their headers above.\n")),
        ("tune: comment the block depth",
         lambda d: edit(d, "tune.h", "/* Depth of one dot product", "/* The depth of one dot product")),
        ("gemm: align the packed columns",
         lambda d: edit(d, "gemm.c", "static float columns[MAX_N * MAX_K];",
                        "static float columns[MAX_N * MAX_K] __attribute__((aligned(64)));")),
        ("docs: thank the reviewers", lambda d: append(d, "README.md", "\nThanks to all reviewers.\n")),
        ("gemm: state that c is added to",
         lambda d: edit(d, "gemm.h", "/* c (m x n) +=", "/* Adds to c (m x n) +=")),
        ("build: clean without noise",
         lambda d: append(d, "Makefile", "# `make clean` removes what was built.\n")),
        ("docs: a line on threads", lambda d: append(d, "README.md", "\nNot thread-safe.\n")),
        ("bench: keep the inputs small",
         lambda d: append(d, "README.md", "\nInputs fit the second-level cache.\n")),
        ("docs: licence", lambda d: append(d, "README.md", "\nLicence: Apache-2.0.\n")),
    ]
    if neutral is not None:
        steps[12] = (f"tune: block depth {neutral}", lambda d: set_depth(d, neutral))
    return steps


def commit(folder, number, subject):
    name, user = AUTHORS[number % len(AUTHORS)]
    date = f"{FIRST_DATE + number * 86400} +0000"
    env = dict(os.environ, GIT_AUTHOR_NAME=name, GIT_AUTHOR_EMAIL=f"{user}@example.org",
               GIT_COMMITTER_NAME=name, GIT_COMMITTER_EMAIL=f"{user}@example.org",
               GIT_AUTHOR_DATE=date, GIT_COMMITTER_DATE=date,
               GIT_CONFIG_NOSYSTEM="1", GIT_CONFIG_GLOBAL="/dev/null")
    run(["git", "add", "-A"], folder, env)
    run(["git", "commit", "-q", "-m", subject], folder, env)
    return run(["git", "rev-parse", "HEAD"], folder).strip()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("dir", help="folder to make; must not exist")
    parser.add_argument("--seed", type=int, help="decides where the slow commit stands")
    parser.add_argument("--json", action="store_true", help="print facts as JSON")
    args = parser.parse_args()
    if os.path.exists(args.dir):
        sys.exit(f"make_demo.py: {args.dir} exists already: expected a path that does not exist")

    def log(text):
        print(text, file=sys.stderr, flush=True)

    log("demo: measuring block depths on this machine")
    slow, slowdown, neutral = choose_depths(log)
    rng = random.Random(args.seed)
    shutil.copytree(os.path.join(HERE, "template"), args.dir)
    append(args.dir, ".gitignore", "*.o\nbench\n")
    run(["git", "init", "-q", "-b", "main", "."], args.dir)
    steps = harmless_steps(neutral)
    planted_at = rng.randrange(8, len(steps) - 6)
    if steps[planted_at][0].startswith("tune: block depth"):
        planted_at += 1
    tiles_at = rng.choice([at for at in range(4, len(steps) - 2) if at != planted_at])
    first = commit(args.dir, 0, "tinygemm: small matrix products")
    planted = tiles = None
    number = 1
    for index, (subject, change) in enumerate(steps):
        if index == planted_at:
            set_depth(args.dir, slow)
            planted = commit(args.dir, number, "tune: smaller blocks for small caches")
            number += 1
        if index == tiles_at:
            set_tiles(args.dir)
            tiles = commit(args.dir, number, "tiles: wider tiles, fewer columns of them")
            number += 1
        if planted is not None and subject.startswith("tune: block depth"):
            continue  # would undo the slowdown
        change(args.dir)
        head = commit(args.dir, number, subject)
        number += 1
    log(f"demo: {number} commits, depth {slow} ({slowdown:.1%} slower) planted in {planted[:12]}, "
        f"tiles in {tiles[:12]}")
    if args.json:
        print(json.dumps({"planted": planted, "planted_tiles": tiles, "slowdown": slowdown, "first": first, "head": head,
                          "commits": number}))
    else:
        print(planted)


if __name__ == "__main__":
    main()
