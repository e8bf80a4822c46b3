#!/usr/bin/env python3
"""bound.py SCENARIO.json...: fewest runs on average by which any search could name the culprits, one of them and all.

Burnashev and Zigangirov (1974): to name one of N commits with error e takes at least (1 - e) log2 N / C + ln(1/e) / D runs; C is what
one run tells about its side at most (two levels d standard deviations apart, Gaussian noise), D = d * d / 2 what tells two neighbours
apart for good. *one*: the cheapest of the true steps alone. *all*: every step is given the places of the others and the twentieth of the
range that it lies in, so a run tells about one step only, and the sum is a true bound, if a low one. *apart*: each step over the whole
range, nothing given: what searches one after the other would take at least, with all levels known."""

import json
import math
import sys

ERROR = 0.01


def capacity(d):
    """Bits of one run about its side, both sides as likely."""
    points, low, width, bits = 4000, -8.0, (d + 16.0) / 4000, 0.0
    for i in range(points + 1):
        y = low + i * width
        p, q = math.exp(-y * y / 2), math.exp(-(y - d) ** 2 / 2)
        mix = (p + q) / 2
        bits += sum(x * math.log2(x / mix) for x in (p, q) if x > 0) / 2 * width
    return bits / math.sqrt(2 * math.pi)


def runs(n, d):
    return (1 - ERROR) * math.log2(max(n, 1)) / capacity(d) + math.log(1 / ERROR) / (d * d / 2)


def steps_of(s):
    """Sizes of the true culprits in standard deviations of one run."""
    values = [c["value"] for c in s["commits"]]
    place = {c["id"]: i for i, c in enumerate(s["commits"])}
    sizes = []
    for members in s["truth"]["sets"]:
        first, last = place[members[0]], place[members[-1]]
        sizes.append(abs(math.log(values[last] / values[first - 1])) / s["noise"]["cv"])
    return sizes


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    print(f"{'':28} {'limit':>6} {'one':>6} {'all':>6} {'apart':>6}  steps, standard deviations")
    for path in sys.argv[1:]:
        with open(path, encoding="utf-8") as f:
            s = json.load(f)
        n, sizes = len(s["commits"]) - 1, steps_of(s)
        if not sizes:
            continue
        print(f"{s['name']:28} {s['limits']['mean_runs']:6.1f} {min(runs(n, d) for d in sizes):6.1f} "
              f"{sum(runs(n / 20, d) for d in sizes):6.1f} {sum(runs(n, d) for d in sizes):6.1f}  "
              f"{', '.join(f'{d:.1f}' for d in sizes)}")


if __name__ == "__main__":
    main()
