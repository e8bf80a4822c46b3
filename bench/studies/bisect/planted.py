#!/usr/bin/env python3
"""planted.py [--sizes 1,2,5,10] [--cases 10] [--seed 1] [--ways auto,single,paired] [--minutes M] [--show] [-- FLAG...]

Real slowdowns, really found: for every size and case a repository of 24 commits of a small GEMM (deploy/demo: 37 KiB of operands a
side, so in the first two cache levels), with a slowdown of that many percent planted in one of them: dot products that are computed
again. `perfci bisect` builds and measures, confirms, and names. Prints a line a case and a line a size: named rightly, runs, builds,
minutes. --ways: several look at the same repository one after the other, so that they share what the machine is like: "auto" (as it
comes), "single" (--no-paired) and "paired" (--paired). --minutes: no case is begun after so many. Flags after -- go to `perfci bisect`. PERFCI: the program (default: the release
build beside this script). The cost of a planted change is measured first, by interleaved runs, and printed."""

import argparse
import importlib.util
import json
import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
PERFCI = os.environ.get("PERFCI") or os.path.join(ROOT, "build/release/bin/perfci")
DOTS = 48 * 48  # of one product, see the template's bench.c
PAIRS = 15
WAYS = {"auto": [], "single": ["--no-paired"], "paired": ["--paired"]}

RELINK = """
# Another layout: a pad in front of the code, the objects in another order. Loops stay aligned: whether the hot one straddles a
# fetch block is worth 30 % here, more than any commit, and is the compiler's to settle.
relink: gemm.o dot.o
\techo ".text; .skip $$(( PERFCI_BUILD * 69 % 128 * 64 ))" | $(CC) -c -x assembler - -o pad.o
\tset -- gemm.o dot.o; [ $$((PERFCI_BUILD % 2)) = 0 ] || set -- dot.o gemm.o; \\
\t$(CC) $(CFLAGS) -o bench pad.o "$$@" bench.o -lm
"""


def load_demo():
    spec = importlib.util.spec_from_file_location("make_demo", os.path.join(ROOT, "deploy/demo/make_demo.py"))
    demo = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(demo)
    return demo


demo = load_demo()


def plant(folder, dots):
    """As many dot products are computed again, into a row that no code reads."""
    demo.edit(folder, "gemm.c", "void gemm(size_t m,", "static float again[MAX_N];\n\nvoid gemm(size_t m,")
    demo.edit(folder, "gemm.c", "    pack_", f"    for (size_t i = 0; i < {dots}; i++)\n        for (size_t p = 0; p < k; p += KC)\n"
              "            dot_add(k - p < KC ? k - p : KC, a + i % m * k + p, columns + i / m * k + p, &again[i % MAX_N]);\n    pack_")
    with open(os.path.join(folder, "gemm.c"), encoding="utf-8") as f:
        text = f.read()
    # The loop belongs behind the packing it reads.
    start, end = text.index("    for (size_t i = 0; i < %d;" % dots), text.index("    pack_", text.index("void gemm("))
    loop, rest = text[start:end], text[end:]
    line = rest.index("\n") + 1
    with open(os.path.join(folder, "gemm.c"), "w", encoding="utf-8") as f:
        f.write(text[:start] + rest[:line] + loop + rest[line:])


def start(folder):
    shutil.copytree(os.path.join(ROOT, "deploy/demo/template"), folder)
    demo.append(folder, ".gitignore", "*.o\nbench\n")
    demo.edit(folder, "Makefile", "-Wall", "-Wall -falign-functions=64 -falign-loops=64")
    demo.append(folder, "Makefile", RELINK)
    demo.append(folder, "perfci.yaml", "relink: make -s relink\n")


def value(folder):
    return json.loads(demo.run(["./bench"], folder))["metrics"]["gemm_tflops"]


def cost_of(percent, scratch):
    """The measured cost of the planted change: medians of interleaved runs."""
    plain, slow = os.path.join(scratch, "plain"), os.path.join(scratch, "slow")
    start(plain), start(slow)
    plant(slow, round(DOTS * percent / 100))
    for folder in (plain, slow):
        demo.run(["make", "-s", "bench"], folder)
    pairs = [(value(plain), value(slow)) for _ in range(PAIRS)]
    for folder in (plain, slow):
        shutil.rmtree(folder)
    return 1 - statistics.median(b / a for a, b in pairs)


def make_repo(folder, percent, rng):
    """Returns (first, planted): ids."""
    start(folder)
    demo.run(["git", "init", "-q", "-b", "main", "."], folder)
    steps = demo.harmless_steps(None)
    at = rng.randrange(len(steps))
    first = demo.commit(folder, 0, "tinygemm: small matrix products")
    planted = None
    for i, (subject, change) in enumerate(steps):
        if i == at:
            plant(folder, round(DOTS * percent / 100))
            planted = demo.commit(folder, i + 1, "gemm: sum some dots again")
        change(folder)
        demo.commit(folder, i + 2, subject)
    return first, planted


def bisect(folder, first, flags):
    env = {k: v for k, v in os.environ.items() if not k.startswith("PERFCI_")}
    done = subprocess.run([PERFCI, "bisect", "--repo", folder, "--good", first, "--bad", "main", "--metric", "gemm_tflops", "--work",
                           folder + ".work", "--json", "-q", *flags], env=env, capture_output=True, text=True)
    if done.returncode not in (0, 1, 3):
        sys.exit(f"planted.py: perfci bisect: {done.stderr.strip()}")
    return json.loads(done.stdout)


def one_look(folder, first, planted, flags):
    began = time.monotonic()
    doc = bisect(folder, first, flags)
    took = time.monotonic() - began
    named = [c["commits"] for c in doc["culprits"]]
    log = demo.run(["git", "log", "--format=%H %s"], folder)
    subjects = dict(line.split(" ", 1) for line in log.splitlines())
    # Nothing built or measured is left to the next way.
    shutil.rmtree(folder + ".work", ignore_errors=True)
    shutil.rmtree(os.path.join(folder, ".git/perfci"), ignore_errors=True)
    return {"pairs": "pairs" in doc["evidence"], "found": named == [[planted]], "false": [subjects[i] for c in named for i in c if i != planted], "verdict": doc["verdict"],
            "runs": doc["runs"], "builds": doc["builds"], "seconds": took, "doc": doc}


def one_case(scratch, percent, seed, ways, flags):
    folder = os.path.join(scratch, "repo")
    first, planted = make_repo(folder, percent, random.Random(f"{seed}/{percent}"))
    # Whoever comes first in one case comes last in the next.
    looks = {way: one_look(folder, first, planted, WAYS[way] + flags) for way in (ways if seed % 2 else ways[::-1])}
    shutil.rmtree(folder)
    return looks


def say_case(case, way, row):
    print(f"  case {case}, {way}: {'found' if row['found'] else row['verdict'] + ' ' + '; '.join(row['false'])}, {row['runs']} runs"
          f"{' in pairs' if row['pairs'] else ''}, {row['builds']} builds, {row['seconds']:.1f} s", flush=True)


def say_size(size, way, rows):
    mean = lambda key: statistics.mean(r[key] for r in rows)
    print(f"{size} %, {way}: found {sum(r['found'] for r in rows)} of {len(rows)}, blamed falsely {sum(bool(r['false']) for r in rows)}, "
          f"in pairs {sum(r['pairs'] for r in rows)}, runs {mean('runs'):.1f} ({max(r['runs'] for r in rows)} at most), builds "
          f"{mean('builds'):.1f}, {sum(r['seconds'] for r in rows) / 60:.1f} min in all", flush=True)


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--sizes", default="1,2,5,10"), ap.add_argument("--cases", type=int, default=10)
    ap.add_argument("--seed", type=int, default=1), ap.add_argument("--minutes", type=float, default=1e9)
    ap.add_argument("--ways", default="auto")
    ap.add_argument("--show", action="store_true", help="the evidence of each case that is not found")
    ap.add_argument("flags", nargs="*")
    a = ap.parse_args()
    if not os.access(PERFCI, os.X_OK):
        sys.exit(f"planted.py: {PERFCI} was not built")
    ways = a.ways.split(",")
    for way in ways:
        if way not in WAYS:
            ap.error(f"--ways: expected some of {', '.join(WAYS)}, got {way}")
    end = time.monotonic() + 60 * a.minutes
    with tempfile.TemporaryDirectory(prefix="perfci-planted-") as scratch:
        for size in a.sizes.split(","):
            percent = float(size)
            print(f"{size} %: the plant costs {100 * cost_of(percent, scratch):.2f} %", flush=True)
            rows = {way: [] for way in ways}
            for case in range(a.cases):
                if time.monotonic() >= end:
                    break
                for way, row in one_case(scratch, percent, a.seed * 1000 + case, ways, a.flags).items():
                    rows[way].append(row)
                    say_case(case, way, row)
                    if a.show and not row["found"]:
                        print(json.dumps(row["doc"]["evidence"], indent=1))
            for way in ways:
                if rows[way]:
                    say_size(size, way, rows[way])


if __name__ == "__main__":
    main()
