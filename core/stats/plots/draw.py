#!/usr/bin/env python3
"""Draws the plots of core/stats/README.md: made series, and what `perfci detect` says of them.

usage: core/stats/plots/draw.py [PERFCI]      (default: build/release/bin/perfci)

Standard library only; the same series and the same answer give the same files.
"""

import json
import math
import os
import random
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(HERE)))
WIDTH, HEIGHT, EDGE = 720, 190, 34


def detect(perfci, values):
    points = [{"t": 3600 * i, "v": v} for i, v in enumerate(values)]
    done = subprocess.run([perfci, "detect", "--json"], input=json.dumps({"id": "x", "points": points}),
                          capture_output=True, text=True, check=False)
    if done.returncode not in (0, 1):
        raise SystemExit(f"draw.py: {perfci} detect ended with {done.returncode}: {done.stderr.strip()}")
    return json.loads(done.stdout)["changes"]


class Plot:
    def __init__(self, values, title):
        self.values, self.low, self.high = values, min(values), max(values)
        self.parts = [f'<text x="{EDGE}" y="18" font-size="13">{title}</text>']

    def x(self, i):
        return EDGE + (WIDTH - 2 * EDGE) * i / (len(self.values) - 1)

    def y(self, v):
        return HEIGHT - EDGE - (HEIGHT - 2.2 * EDGE) * (v - self.low) / (self.high - self.low)

    def line(self, x1, y1, x2, y2, colour, width=1.0):
        self.parts.append(f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{colour}" '
                          f'stroke-width="{width}"/>')

    def points(self):
        for i, v in enumerate(self.values):
            self.parts.append(f'<circle cx="{self.x(i):.1f}" cy="{self.y(v):.1f}" r="2" fill="#456"/>')

    def answer(self, changes):
        starts = [0] + [c["index"] for c in changes] + [len(self.values)]
        for a, b in zip(starts, starts[1:]):
            level = sorted(self.values[a:b])[(b - a) // 2]
            self.line(self.x(a), self.y(level), self.x(b - 1), self.y(level), "#06c", 2.0)
        for c in changes:
            low, high = self.x(c["index_low"] - 0.5), self.x(c["index_high"] + 0.5)
            self.parts.append(f'<rect x="{low:.1f}" y="{EDGE}" width="{high - low:.1f}" height="{HEIGHT - 2 * EDGE}" '
                              'fill="#c30" fill-opacity="0.25"/>')
            self.parts.append(f'<text x="{high + 3:.1f}" y="{EDGE + 10}" font-size="11">{c["rel_change"]:+.1%}, '
                              f'{c["status"]}</text>')
        if not changes:
            self.parts.append(f'<text x="{WIDTH - EDGE}" y="18" font-size="12" text-anchor="end">no change</text>')

    def write(self, name):
        self.line(EDGE, HEIGHT - EDGE, WIDTH - EDGE, HEIGHT - EDGE, "#999")
        self.parts.append(f'<text x="{WIDTH - EDGE}" y="{HEIGHT - 14}" font-size="11" text-anchor="end">'
                          f'{len(self.values)} points, in order</text>')
        with open(os.path.join(HERE, name + ".svg"), "w", encoding="utf-8") as out:
            out.write(f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}" '
                      'font-family="sans-serif">\n<rect width="100%" height="100%" fill="#fff"/>\n')
            out.write("\n".join(self.parts) + "\n</svg>\n")


def noise(seed, n, spread=0.01):
    rng = random.Random(seed)
    return [math.exp(rng.gauss(0, spread)) for _ in range(n)], rng


def step():
    v, _ = noise(1, 120)
    return [100 * x * (1.03 if i >= 80 else 1) for i, x in enumerate(v)]


def spikes():
    v, rng = noise(2, 120)
    return [100 * x * (1.12 if rng.random() < 0.05 else 1) for x in v]


def wave():
    v, _ = noise(3, 240)
    return [100 * x * (1 + 0.03 * math.sin(2 * math.pi * i / 24)) for i, x in enumerate(v)]


def states():
    v, rng = noise(4, 200)
    out, slow = [], False
    for x in v:
        slow = slow != (rng.random() < 0.1)
        out.append(100 * x * (1.08 if slow else 1))
    return out


def drift():
    v, _ = noise(5, 200)
    return [100 * x * (1 + 0.0004 * i) for i, x in enumerate(v)]


def last_points(perfci):
    """The same step with more and more points after it: what is said when."""
    v, _ = noise(6, 72)
    values = [100 * x * (1.05 if i >= 60 else 1) for i, x in enumerate(v)]
    plot = Plot(values, "A step of five sigma at the 61st point: what is said after each new point")
    plot.points()
    for n in range(61, 73):
        said = [c["status"] for c in detect(perfci, values[:n]) if abs(c["index"] - 60) <= 2]
        colour = {"provisional": "#e90", "confirmed": "#090"}.get(said[0] if said else "", "#bbb")
        plot.parts.append(f'<rect x="{plot.x(n - 1) - 4:.1f}" y="{HEIGHT - EDGE + 3}" width="8" height="8" '
                          f'fill="{colour}"/>')
    plot.parts.append(f'<text x="{EDGE}" y="{HEIGHT - 12}" font-size="11">grey: nothing yet, orange: provisional, '
                      'green: confirmed</text>')
    plot.write("last_points")


def main():
    perfci = sys.argv[1] if len(sys.argv) > 1 else os.path.join(ROOT, "build", "release", "bin", "perfci")
    for make, title in ((step, "A step of three sigma"), (spikes, "Spikes"), (wave, "A daily wave"),
                        (states, "A machine with two speeds"), (drift, "A slow drift")):
        values = make()
        plot = Plot(values, title)
        plot.points()
        plot.answer(detect(perfci, values))
        plot.write(make.__name__)
    last_points(perfci)


if __name__ == "__main__":
    main()
