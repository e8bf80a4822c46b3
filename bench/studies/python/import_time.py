#!/usr/bin/env python3
"""The cost of `import perfci`: new interpreters, with and without the import in turn, after a first one of each.

usage: import_time.py [--pairs N] [--python FILE]
Prints the medians of the processes' times and of the import alone as the interpreter's own clocks have it, elapsed and of the processor.
"""
import argparse
import os
import pathlib
import statistics
import subprocess
import tempfile
import time

FOLDER = pathlib.Path(__file__).resolve().parents[3] / "deploy" / "python"
IMPORT = ("import time; begun, cpu = time.perf_counter(), time.process_time(); import perfci; "
          "print(time.perf_counter() - begun, time.process_time() - cpu)")


def took(python, code, env):
    begun = time.perf_counter()
    done = subprocess.run([python, "-c", code], env=env, capture_output=True, text=True, check=True)
    return time.perf_counter() - begun, [float(word) for word in done.stdout.split()]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--pairs", type=int, default=50)
    parser.add_argument("--python", default="/usr/bin/python3")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as cache:
        env = {**os.environ, "PYTHONPATH": str(FOLDER), "PYTHONPYCACHEPREFIX": cache}
        sides = {"without": [], "with": []}
        inside, cpu = [], []
        for pair in range(options.pairs + 1):
            for name, code in (("without", "pass"), ("with", IMPORT)):
                whole, own = took(options.python, code, env)
                if pair:
                    sides[name].append(whole)
                    inside += own[:1]
                    cpu += own[1:]
    medians = {name: 1e3 * statistics.median(values) for name, values in sides.items()}
    print(f"python_import_ms {1e3 * statistics.median(inside):.1f} (least {1e3 * min(inside):.1f}, largest {1e3 * max(inside):.1f}) cpu_ms {1e3 * statistics.median(cpu):.1f} "
          f"process_without_ms {medians['without']:.1f} process_with_ms {medians['with']:.1f} pairs {options.pairs}")


main()
