"""The first hour as docs/tutorial/first-hour.md prints it: three projects, each with one real slowdown of 5 %, at most five commands.

The commands are read from the page, so that page and test cannot differ. The slow commit does 5 % more work. Here
the benchmarks' clock counts that work, give or take 0.3 %, so that what else the machine does cannot change the
answer (MIX_CLOCK=steps). With MIX_CLOCK=real in the environment they read the real clock: for a stopwatch, on a quiet
machine. The time that each journey took is printed, never judged.
"""

import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

ROOT = os.environ.get("PERFCI_SOURCE_DIR") or os.path.abspath(os.path.join(os.path.dirname(__file__), "../.."))
BIN = os.environ.get("PERFCI_BIN_DIR") or os.path.join(ROOT, "build/dev/bin")
PAGE = os.path.join(ROOT, "docs/tutorial/first-hour.md")
MOST_COMMANDS = 5
COMMITS, PLANTED = 11, 7  # commits after v1.0, and which of them is slow
# The interpreter of the distribution, whose packages the tests install.
PATH = os.pathsep.join([BIN, "/usr/bin", "/bin", "/usr/sbin", "/sbin"])

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


def commands_of(heading):
    """The lines of this section of the page that are typed."""
    with open(PAGE, encoding="utf-8") as page:
        section = page.read().split(f"\n## {heading}\n")[1].split("\n## ")[0]
    return re.findall(r"(?m)^    (perfci .*)$", section)


class Journey(unittest.TestCase):
    def setUp(self):
        self.dir = tempfile.mkdtemp(prefix="pfc-journey-")
        self.addCleanup(shutil.rmtree, self.dir, ignore_errors=True)
        self.repo = os.path.join(self.dir, "mix")
        os.mkdir(self.repo)
        self.env = {k: v for k, v in os.environ.items() if not k.startswith(("PERFCI_", "GIT_", "PYTEST", "PYTHON"))}
        self.env.update(HOME=self.dir, PATH=PATH, GIT_CONFIG_NOSYSTEM="1", GIT_CONFIG_GLOBAL="/dev/null",
                        XDG_CACHE_HOME=os.path.join(self.dir, "cache"),
                        MIX_CLOCK=os.environ.get("MIX_CLOCK", "steps"), PYTHONDONTWRITEBYTECODE="1")

    def git(self, *words):
        return subprocess.run(["git", "-c", "user.name=A", "-c", "user.email=a@example.org", *words], cwd=self.repo, env=self.env,
                              check=True, capture_output=True, text=True).stdout.strip()

    def write(self, name, text):
        path = os.path.join(self.repo, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)

    def history(self, files, code, text, rounds):
        """v1.0, then commits that touch the notes, the code without effect, or, once, the work; the slow one's id."""
        self.git("init", "-q", "-b", "main")
        for name, content in files.items():
            self.write(name, content)
        slow = None
        for n in range(COMMITS + 1):
            work = rounds if n < PLANTED else rounds + rounds // 20
            if n % 3:
                self.write("NOTES", f"note {n}\n")
            if n % 3 != 1 or n == PLANTED:
                self.write(code, text % {"note": f"Version {n}.", "rounds": work})
            self.git("add", "-A")
            self.git("commit", "-q", "-m", f"change {n}")
            if n == 0:
                self.git("tag", "v1.0")
            elif n == PLANTED:
                slow = self.git("rev-parse", "HEAD")
        return slow

    def travel(self, heading, slow):
        """Types the page's commands; the last one must name the slow commit, confirmed."""
        commands = commands_of(heading)
        self.assertTrue(2 <= len(commands) <= MOST_COMMANDS, commands)
        begun = time.monotonic()
        said = ""
        for command in commands:
            status = 1 if " bisect " in command else 0
            done = subprocess.run(shlex.split(command), cwd=self.repo, env=self.env, capture_output=True, text=True,
                                  stdin=subprocess.DEVNULL, check=False, timeout=900)
            said += f"$ {command}\n{done.stderr}{done.stdout}"
            self.assertEqual(done.returncode, status, said)
        print(f"{said}{heading}: {len(commands)} commands, {time.monotonic() - begun:.1f} s", file=sys.stderr)
        named = re.findall(r"(?m)^([0-9a-f]{12}) ", done.stdout)
        self.assertEqual(named, [slow[:12]], said)
        self.assertIn("confirmed", done.stdout, said)
        # Earlier data is unchanged.
        self.assertEqual(self.git("status", "--porcelain", "--untracked-files=no"), "")

    def test_a_cpp_project(self):
        slow = self.history({"CMakeLists.txt": CMAKE, "bench.cc": GOOGLE, "clock.h": CLOCK_H, ".gitignore": "build/\n"}, "mix.h", MIX_H, 40000)
        self.travel("C++: CMake and Google Benchmark", slow)

    def test_a_python_project(self):
        known = subprocess.run(["python3", "-c", "import pytest_benchmark"], env=self.env, capture_output=True, check=False)
        if known.returncode:
            self.skipTest("python3-pytest-benchmark is not installed")
        slow = self.history({"test_mix.py": PYTEST, "mix_clock.py": CLOCK_PY, "pytest.ini": PYTEST_INI}, "mix.py", MIX_PY, 10000)
        self.travel("Python: pytest-benchmark", slow)

    def test_a_project_that_prints_text(self):
        slow = self.history({"Makefile": MAKEFILE, "bench.c": TEXT, "clock.h": CLOCK_H, ".gitignore": "bench_text\n"}, "mix.h", MIX_H, 40000)
        self.travel("Any program that prints text in Go's format", slow)


if __name__ == "__main__":
    unittest.main(verbosity=2)
