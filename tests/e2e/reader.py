#!/usr/bin/env python3
"""Repositories of readers of docs/tutorial/first-hour.md: a history with the tag v1.0 and one slow commit, in C++, Python and text.

Usage: reader.py DIR   makes DIR/cpp, DIR/python and DIR/text; prints a line for each: its name and the id of the slow commit.

The slow commit does 5 % more work. With MIX_CLOCK=steps in the environment the benchmarks' clock counts that work, give or take
0.3 %, so that other load on the machine cannot change the answer; else they read the real clock.
"""

import os
import subprocess
import sys

COMMITS, PLANTED = 11, 7  # commits after v1.0, and which of them is slow
CMAKE = """cmake_minimum_required(VERSION 3.18)
project(mix LANGUAGES CXX)
find_package(benchmark REQUIRED)
add_executable(mix_bench bench.cc)
target_link_libraries(mix_bench benchmark::benchmark_main)
"""
GOOGLE = """#include <benchmark/benchmark.h>

#include "clock.h"

static void BM_Mix(benchmark::State &state)
{
    for (auto _ : state) {
        const double before = now_ns();
        benchmark::DoNotOptimize(mix());
        state.SetIterationTime((now_ns() - before) * 1e-9);
    }
}

static benchmark::internal::Benchmark *const set =
    clock_counts_steps() ? benchmark::RegisterBenchmark("BM_Mix", BM_Mix)->MinTime(0.002)->Repetitions(5)->UseManualTime()
                         : benchmark::RegisterBenchmark("BM_Mix", BM_Mix)->MinTime(0.02)->Repetitions(5);
"""
MIX_H = """/* %(note)s */
static unsigned long steps;

static inline unsigned mix(void)
{
    unsigned x = 1;

    for (unsigned i = 0; i < %(rounds)d; i++)
        x = (x ^ i) * 2654435761u + (x >> 7);
    steps += %(rounds)d;
    return x;
}
"""
CLOCK_H = """#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "mix.h"

static int clock_counts_steps(void)
{
    const char *which = getenv("MIX_CLOCK");

    return which && strcmp(which, "steps") == 0;
}

/* A step is a nanosecond, more or less: in another process another one. */
static double now_ns(void)
{
    struct timespec t;

    if (clock_counts_steps())
        return (double)steps * (1 + ((unsigned)getpid() * 2654435761u % 1000 - 500.0) * 6e-6);
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}
"""
PYTEST = """from mix import mix


def test_mix(benchmark):
    benchmark.pedantic(mix, rounds=25, iterations=1, warmup_rounds=3)
"""
PYTEST_INI = "[pytest]\naddopts = --benchmark-timer=mix_clock.now\n"
MIX_PY = """# %(note)s
steps = 0


def mix():
    global steps
    x = 1
    for i in range(%(rounds)d):
        x = (x ^ i) * 40503 + (x >> 7) & 0xFFFFFFFF
    steps += %(rounds)d
    return x
"""
CLOCK_PY = """import os
import time

import mix

calls = 0


def now():
    global calls
    if os.environ.get("MIX_CLOCK") != "steps":
        return time.perf_counter()
    calls += 1
    return mix.steps * 1e-7 * (1 + (os.getpid() * 2654435761 % 1000 - 500) * 6e-6) + calls * 1e-10
"""
MAKEFILE = """bench_text: bench.c clock.h mix.h
\tcc -O2 -o $@ bench.c

bench: bench_text
\t@./bench_text
.PHONY: bench
"""
TEXT = """#include <stdio.h>

#include "clock.h"

static volatile unsigned sink;

static double once(void)
{
    const double before = now_ns();

    for (int i = 0; i < 20; i++)
        sink = mix();
    return now_ns() - before;
}

static int by_value(const void *a, const void *b)
{
    return (*(const double *)a > *(const double *)b) - (*(const double *)a < *(const double *)b);
}

int main(void)
{
    double ns[25];

    for (int i = 0; i < 25; i++)
        ns[i] = once();
    qsort(ns, 25, sizeof(ns[0]), by_value);
    printf("BenchmarkMix-2\\t%d\\t%.0f ns/op\\n", 20 * 25, ns[12] / 20);
    return 0;
}
"""


# Files of each project, the file that holds the work, its text, and its rounds at v1.0.
PROJECTS = {
    "cpp": ({"CMakeLists.txt": CMAKE, "bench.cc": GOOGLE, "clock.h": CLOCK_H, ".gitignore": "build/\n"}, "mix.h", MIX_H, 40000),
    "python": ({"test_mix.py": PYTEST, "mix_clock.py": CLOCK_PY, "pytest.ini": PYTEST_INI}, "mix.py", MIX_PY, 10000),
    "text": ({"Makefile": MAKEFILE, "bench.c": TEXT, "clock.h": CLOCK_H, ".gitignore": "bench_text\n"}, "mix.h", MIX_H, 40000),
}


def git(repo, *words, env=None):
    return subprocess.run(["git", "-c", "user.name=A", "-c", "user.email=a@example.org", *words], cwd=repo, env=env,
                          check=True, capture_output=True, text=True).stdout.strip()


def write(repo, name, text):
    with open(os.path.join(repo, name), "w", encoding="utf-8") as file:
        file.write(text)


def make(project, repo, env=None):
    """v1.0, then commits that touch the notes, the code without effect, or, once, the work; the slow one's id."""
    files, code, text, rounds = PROJECTS[project]
    os.makedirs(repo)
    git(repo, "init", "-q", "-b", "main", env=env)
    for name, content in files.items():
        write(repo, name, content)
    slow = None
    for n in range(COMMITS + 1):
        work = rounds if n < PLANTED else rounds + rounds // 20
        if n % 3:
            write(repo, "NOTES", f"note {n}\n")
        if n % 3 != 1 or n == PLANTED:
            write(repo, code, text % {"note": f"Version {n}.", "rounds": work})
        git(repo, "add", "-A", env=env)
        git(repo, "commit", "-q", "-m", f"change {n}", env=env)
        if n == 0:
            git(repo, "tag", "v1.0", env=env)
        elif n == PLANTED:
            slow = git(repo, "rev-parse", "HEAD", env=env)
    return slow


def main():
    if len(sys.argv) != 2:
        sys.exit(f"reader.py: expected one folder, got {len(sys.argv) - 1} arguments")
    for project in PROJECTS:
        print(project, make(project, os.path.join(sys.argv[1], project)))


if __name__ == "__main__":
    main()
