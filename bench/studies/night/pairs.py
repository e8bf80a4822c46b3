"""The size of a change, measured: 40 interleaved pairs of two built programs, ABBA and BAAB by seed."""

import json
import math
import os
import random
import statistics
import subprocess

PAIRS = 40


def metrics(command, folder, commit):
    done = subprocess.run(command, shell=True, cwd=folder, check=True, capture_output=True, stdin=subprocess.DEVNULL,
                          env=dict(os.environ, PERFCI_COMMIT=commit))
    return json.loads(done.stdout)["metrics"]


def median_interval(values):
    """(median, low, high): the 95 % interval of the median by order statistics, without any model."""
    ordered = sorted(values)
    n = len(ordered)
    # Largest k with P(Binomial(n, 1/2) < k) <= 0.025.
    k, below = 0, 0.0
    while k < n // 2:
        below += math.comb(n, k) / 2 ** n
        if below > 0.025:
            break
        k += 1
    low = ordered[k - 1] if k else ordered[0]
    high = ordered[n - k] if k else ordered[-1]
    return statistics.median(ordered), low, high


def measure(before, after, command, seed, pairs=PAIRS, commits=("before", "after")):
    """{metric: (rel_change, low, high)} of `after` against `before`, both built folders. A pair is both sides twice, ABBA or BAAB."""
    rng = random.Random(f"pairs/{seed}")
    ratios = {}
    for _ in range(pairs):
        order = (0, 1, 1, 0) if rng.random() < 0.5 else (1, 0, 0, 1)
        sums = ({}, {})
        for side in order:
            for name, value in metrics(command, (before, after)[side], commits[side]).items():
                sums[side][name] = sums[side].get(name, 0.0) + math.log(value)
        for name in sums[0]:
            ratios.setdefault(name, []).append(math.exp((sums[1][name] - sums[0][name]) / 2) - 1)
    return {name: median_interval(values) for name, values in ratios.items()}
