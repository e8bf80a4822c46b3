"""Fills a running service with series for the dashboard's benchmark, through the API that runners use.

Usage: ingest.py --url URL --token-file FILE [--project NAME] [--series N] [--commits N] [--seed S]

Posts N commits on one branch and a run document for each, with one measurement a series. Series are combinations of
kernel, type and shape; levels, noise and steps are drawn by the seed. One run in 97 lacks a kernel (a gap), one in 101 has a
broken one. Repeated calls are harmless: documents have ids that follow from the seed.
"""

import argparse
import datetime
import hashlib
import http.client
import json
import math
import random
import sys
import threading
import time
import urllib.parse

KERNELS = ("gemm", "attention", "norm", "softmax", "conv")
TYPES = ("f32", "f16", "bf16", "int8")
START = 1_700_000_000
THREADS = 8


def sha(*parts):
    return hashlib.sha1(" ".join(map(str, parts)).encode()).hexdigest()


def instant(unix_s):
    return datetime.datetime.fromtimestamp(unix_s, datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


class Api:
    """One connection of one thread."""

    def __init__(self, url, token):
        self.at = urllib.parse.urlsplit(url)
        self.token = token
        self.conn = None

    def post(self, path, body):
        for attempt in range(20):
            try:
                if self.conn is None:
                    self.conn = http.client.HTTPConnection(self.at.hostname, self.at.port, timeout=600)
                self.conn.request("POST", "/api/v1" + path, json.dumps(body), {
                    "Content-Type": "application/json", "Authorization": "Bearer " + self.token})
                answer = self.conn.getresponse()
                text = answer.read()
            except (OSError, http.client.HTTPException):
                self.conn = None
                time.sleep(0.2)
                continue
            if answer.status == 503 or answer.status == 429:
                time.sleep(0.2 + 0.1 * attempt)
                continue
            if answer.status not in (200, 201, 409):
                sys.exit(f"ingest.py: POST {path}: {answer.status}: {text[:300].decode(errors='replace')}")
            return
        sys.exit(f"ingest.py: POST {path}: no answer in 20 attempts")


class Series:
    """Levels of one series, which change at a few commits."""

    def __init__(self, number, seed, commits):
        rng = random.Random(seed * 1_000_003 + number)
        self.kernel = KERNELS[number % len(KERNELS)]
        self.dtype = TYPES[number // len(KERNELS) % len(TYPES)]
        shape = number // (len(KERNELS) * len(TYPES))
        self.k = 256 << shape % 6
        self.m = 512 << shape // 6
        self.name = f"{self.kernel}/{self.dtype}/m{self.m}k{self.k}"
        self.noise = rng.choice((0.002, 0.005, 0.01))
        self.level = math.exp(rng.uniform(math.log(2e4), math.log(5e6)))
        self.steps = {rng.randrange(commits // 10, commits): rng.choice((-0.08, -0.04, 0.03, 0.06, 0.1)) for _ in range(3)}
        self.rng = rng

    def levels(self, commits):
        level, out = self.level, []
        for n in range(commits):
            level *= 1 + self.steps.get(n, 0)
            out.append(level)
        return out


def run_document(args, n, commit, series, levels):
    rng = random.Random(args.seed * 7_919 + n)
    started = START + 600 * n
    measurements = []
    for s, level in zip(series, levels):
        if n % 97 == 96 and s.kernel == KERNELS[n % len(KERNELS)]:
            continue
        one = {"benchmark": s.name, "metric": "time_ns", "backend": "cpu-avx2", "unit": "ns", "direction": "lower",
               "params": {"dtype": s.dtype, "m": str(s.m), "k": str(s.k)}}
        if n % 101 == 100 and s.kernel == KERNELS[n % len(KERNELS)] and s.dtype == "bf16":
            one.update(status="broken", reason="build failed: kernel.c:12: error: unknown type name")
        else:
            one["samples"] = [[round(level[n] * math.exp(rng.gauss(0, s.noise)), 2)] for _ in range(3)]
        measurements.append(one)
    return {
        "schema": "perfci.run/1", "id": sha("run", args.seed, n)[:32], "project": args.project, "commit": commit, "branch": "main",
        "suite": "web", "suite_hash": "ab" * 32, "started_at": instant(started), "finished_at": instant(started + 300),
        "machine": {"name": "bench-1", "class": "generated", "fingerprint": {"cpu": "Generated CPU"}},
        "measurements": measurements,
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--url", required=True)
    parser.add_argument("--token-file", required=True)
    parser.add_argument("--project", default="web")
    parser.add_argument("--series", type=int, default=200)
    parser.add_argument("--commits", type=int, default=5000)
    parser.add_argument("--seed", type=int, default=20)
    args = parser.parse_args()
    with open(args.token_file, encoding="utf-8") as file:
        token = file.read().strip()
    commits = [sha(args.project, args.seed, n) for n in range(args.commits)]
    series = [Series(n, args.seed, args.commits) for n in range(args.series)]
    levels = [s.levels(args.commits) for s in series]
    api = Api(args.url, token)
    api.post("/projects", {"name": args.project})
    for first in range(0, args.commits, 500):
        part = range(first, min(first + 500, args.commits))
        api.post(f"/projects/{args.project}/commits", {"branch": "main", "commits": [
            {"id": commits[n], "parents": [commits[n - 1]] if n else [], "author": "Ada", "time": instant(START + 600 * n),
             "subject": f"kernels: change number {n}", "paths": ["kernels/gemm.c"]} for n in part]})
    begin, lock, done, numbers = time.monotonic(), threading.Lock(), [0], iter(range(args.commits))

    def work():
        mine = Api(args.url, token)
        while True:
            with lock:
                n = next(numbers, None)
            if n is None:
                return
            mine.post("/runs", run_document(args, n, commits[n], series, levels))
            with lock:
                done[0] += 1
                if done[0] % 500 == 0:
                    print(f"[{done[0]}/{args.commits}] runs, {time.monotonic() - begin:.0f} s", file=sys.stderr, flush=True)

    threads = [threading.Thread(target=work, daemon=True) for _ in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    print(f"{args.commits} runs with {args.series} series each in {time.monotonic() - begin:.0f} s")


if __name__ == "__main__":
    main()
