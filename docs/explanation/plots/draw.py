#!/usr/bin/env python3
"""Draws the plots of docs/explanation/change-points.md: simulated series with the answers of `perfci detect`.

usage: docs/explanation/plots/draw.py [PERFCI]      (default: build/release/bin/perfci)

Standard library only; the same series and the same answers give the same files. The answers are
shown by shapes and words, not by colours alone; colours follow the reader's light or dark theme.
"""

import json
import math
import os
import random
import statistics
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(HERE)))
WIDTH, EDGE = 720, 34
LIKE = 400  # series of a kind, to say how often one is taken for a change

STYLE = """<style>
svg { font-family: system-ui, "Segoe UI", Helvetica, Arial, sans-serif; font-size: 11px }
.paper { fill: #fff } .halo { stroke: #fff; stroke-width: 4; paint-order: stroke } text { fill: #1f2328 } .soft { fill: #59636e } .title { font-size: 13px }
.points, .axis, .level { fill: none } .points { stroke: #57606a; stroke-width: 4; stroke-linecap: round }
.axis { stroke: #8c959f } .level { stroke: #0969da; stroke-width: 2 } .rule { stroke: #8c959f; stroke-dasharray: 4 3 }
.place { fill: #cf222e; fill-opacity: .22 } .watching { fill: none; stroke: #6e7781; stroke-width: 1.5 }
.provisional { fill: #bc4c00 } .confirmed { fill: #1a7f37 } .spike { fill: none; stroke: #59636e; stroke-width: 1.5 }
.wrong { fill: #cf222e } .quiet { fill: #eaeef2 } .missed { fill: none; stroke: #1a7f37; stroke-width: 2 }
@media (prefers-color-scheme: dark) {
.paper { fill: #0d1117 } .halo { stroke: #0d1117 } text { fill: #e6edf3 } .soft { fill: #9198a1 } .points { stroke: #9198a1 }
.axis, .rule { stroke: #656c76 } .level { stroke: #4493f8 } .place { fill: #f85149; fill-opacity: .35 }
.watching, .spike { stroke: #9198a1 } .provisional { fill: #f0883e } .confirmed { fill: #3fb950 }
.wrong { fill: #f85149 } .quiet { fill: #21262d } .missed { stroke: #3fb950 }
}
</style>"""


class Perfci:
    def __init__(self, path):
        self.path = path

    def ask(self, many, *flags):
        """Answers for a list of series of values."""
        lines = "\n".join(json.dumps({"id": str(k), "points": [{"t": 3600 * i, "v": v} for i, v in enumerate(values)]})
                          for k, values in enumerate(many))
        done = subprocess.run([self.path, "detect", "--json", *flags], input=lines, capture_output=True, text=True,
                              check=False)
        if done.returncode not in (0, 1):
            raise SystemExit(f"draw.py: {self.path} detect ended with {done.returncode}: {done.stderr.strip()}")
        return [json.loads(line) for line in done.stdout.splitlines()]

    def changes(self, values):
        return self.ask([values])[0]["changes"]

    def prefixes(self, values, first):
        """The answers when the series ends after `first` points, after one more, and so on."""
        return self.ask([values[:n] for n in range(first, len(values) + 1)], "--explain")


class Drawing:
    def __init__(self, name, height):
        self.name, self.height, self.parts = name, height, []

    def add(self, text):
        self.parts.append(text)

    def text(self, x, y, text, kind="", anchor="start"):
        self.add(f'<text x="{x:.0f}" y="{y:.0f}"' + (f' class="{kind}"' if kind else "") +
                 (f' text-anchor="{anchor}"' if anchor != "start" else "") + f">{text}</text>")

    def line(self, x1, y1, x2, y2, kind):
        self.add(f'<path class="{kind}" d="M{x1:.1f} {y1:.1f}L{x2:.1f} {y2:.1f}"/>')

    def mark(self, x, y, said):
        """A ring: watched. A triangle: provisional. A square: confirmed. A cross: a spike."""
        shapes = {"watching": f"M{x - 4:.1f} {y:.1f}a4 4 0 1 0 8 0a4 4 0 1 0 -8 0",
                  "provisional": f"M{x:.1f} {y - 5:.1f}l5 9h-10z", "confirmed": f"M{x - 4:.1f} {y - 4:.1f}h8v8h-8z",
                  "spike": f"M{x - 4:.1f} {y - 4:.1f}l8 8m0 -8l-8 8"}
        if said in shapes:
            self.add(f'<path class="{said}" d="{shapes[said]}"/>')

    def legend(self, x, y, entries):
        for said, words in entries:
            self.mark(x, y - 4, said)
            self.text(x + 9, y, words, "soft")
            x += 24 + 6.0 * len(words)

    def write(self):
        with open(os.path.join(HERE, self.name + ".svg"), "w", encoding="utf-8") as out:
            out.write(f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {self.height}" width="{WIDTH}" '
                      f'height="{self.height}">\n{STYLE}\n<rect class="paper" width="100%" height="100%"/>\n')
            out.write("\n".join(self.parts) + "\n</svg>\n")


class Panel:
    """A series between two heights of a drawing."""

    def __init__(self, drawing, values, title, top=0, height=150, span=None):
        self.d, self.values, self.top, self.bottom = drawing, values, top + EDGE, top + height - 8
        self.low, self.high = span or (min(values), max(values))
        drawing.text(EDGE, top + 18, title, "title")
        drawing.line(EDGE, self.bottom + 6, WIDTH - EDGE, self.bottom + 6, "axis")
        steps = "".join(f"M{self.x(i):.1f} {self.y(v):.1f}h0" for i, v in enumerate(values))
        drawing.add(f'<path class="points" d="{steps}"/>')

    def x(self, i):
        return EDGE + 4 + (WIDTH - 2 * EDGE - 8) * i / (len(self.values) - 1)

    def y(self, v):
        return self.bottom - (self.bottom - self.top) * (v - self.low) / (self.high - self.low)

    def answer(self, changes):
        starts = [0] + [c["index"] for c in changes] + [len(self.values)]
        for a, b in zip(starts, starts[1:]):
            level = self.y(statistics.median(self.values[a:b]))
            self.d.line(self.x(a), level, self.x(b - 1), level, "level")
        for c in changes:
            low, high = self.x(c["index_low"] - 0.5), self.x(c["index_high"] + 0.5)
            self.d.add(f'<rect class="place" x="{low:.1f}" y="{self.top - 8}" width="{high - low:.1f}" '
                       f'height="{self.bottom - self.top + 14}"/>')
            words = f'{c["rel_change"]:+.1%} ({c["rel_low"]:+.1%} to {c["rel_high"]:+.1%}), {c["status"]}'
            if high + 6 * len(words) < WIDTH:
                self.d.text(high + 4, self.top + 2, words, "halo")
            else:
                self.d.text(low - 4, self.top + 2, words, "halo", "end")
        if not changes:
            self.d.text(WIDTH - EDGE, self.top - 16, "perfci detect: no change", "", "end")


def noise(seed, n, spread=0.01):
    rng = random.Random(seed)
    return [100 * math.exp(rng.gauss(0, spread)) for _ in range(n)], rng


def one(perfci, name, values, title, said=""):
    d = Drawing(name, 170)
    Panel(d, values, title).answer(perfci.changes(values))
    d.text(EDGE, 165, said, "soft")
    d.text(WIDTH - EDGE, 165, f"{len(values)} commits, oldest first", "soft", "end")
    d.write()


def summary_of_detection(perfci, make):
    """How often a change is reported in series like a simulated one."""
    like = [{c["status"] for c in answer["changes"]} for answer in perfci.ask([make(1000 + k) for k in range(LIKE)])]
    return (f"of {LIKE} like it, with other noise: {sum('confirmed' in s for s in like)} told to have a confirmed change, "
            f"{sum(s == {'provisional'} for s in like)} a provisional one")


def no_change(perfci, name, title, make, seed):
    one(perfci, name, make(seed), title, summary_of_detection(perfci, make))


def spikes(seed):
    v, rng = noise(seed, 120)
    return [x * (1.12 if rng.random() < 0.05 else 1) for x in v]


def wave(seed):
    v, _ = noise(seed, 240)
    return [x * (1 + 0.03 * math.sin(2 * math.pi * i / 24)) for i, x in enumerate(v)]


def two_speeds(seed):
    v, rng = noise(seed, 200)
    out, slow = [], False
    for x in v:
        slow = slow != (rng.random() < 0.1)
        out.append(x * (1.08 if slow else 1))
    return out


def said_of(answer, at):
    """The status that one answer gives the point `at`: a word for Drawing.mark, or nothing."""
    for c in answer["changes"]:
        if abs(c["index"] - at) <= 2:
            return c["status"]
    for r in answer["explain"]:
        if abs(r["index"] - at) <= 2 and not r["kept"]:
            return "watching" if r["reason"].startswith("watching") else "spike" if "spike" in r["reason"] else ""
    return ""


def spike_or_change(perfci):
    v, _ = noise(6, 72)
    d = Drawing("spike_or_change", 370)
    for k, (title, slow) in enumerate((("One slow point (the 61st): what is said of it after each new point", [60]),
                                       ("The same slow point, and it stays: a new level", range(60, 72)))):
        values = [x * (1.08 if i in slow else 1) for i, x in enumerate(v)]
        panel = Panel(d, values, title, 175 * k, 150)
        for n, answer in enumerate(perfci.prefixes(values, 61), 61):
            d.mark(panel.x(n - 1), panel.bottom + 16, said_of(answer, 60))
    d.legend(EDGE + 6, 362, (("watching", "watching: too few points to tell"), ("spike", "it was a spike"),
                             ("provisional", "a change, provisional"), ("confirmed", "a change, confirmed")))
    d.write()


def drift(seed):
    return [x * (1 + 0.0003 * i) for i, x in enumerate(noise(seed, 200)[0])]


def drift_or_step(perfci):
    d = Drawing("drift_or_step", 330)
    step = [x * (1 + 0.06 * (i >= 110)) for i, x in enumerate(noise(5, 200)[0])]
    for k, (title, values) in enumerate((("Six per cent slower, bit by bit: no commit did it", drift(5)),
                                         ("Six per cent slower at one commit", step))):
        Panel(d, values, title, 174 * k, 150).answer(perfci.changes(values))
    d.text(EDGE, 165, summary_of_detection(perfci, drift), "soft")
    d.write()


def evidence(perfci):
    """p of a step after each new point, for three sizes: the median of many series."""
    before, after, runs, floor = 100, 24, 41, 16.0
    d = Drawing("evidence", 262)
    left, top, bottom = 110, 58, 206

    def x(n):
        return left + (WIDTH - left - EDGE - 70) * (n - 1) / (after - 1)

    def y(p):
        return top + (bottom - top) * min(floor, -math.log10(p)) / floor

    d.text(EDGE, 18, "A step after 100 quiet points: how unlikely chance has become with each point of the new level", "title")
    d.text(EDGE, 36, f"the middle one of {runs} series; its mark: what most of them say", "soft")
    for p, words in ((1, "nothing said"), (1e-4, "1 in 10,000"), (1e-8, "1 in 10^8"), (1e-12, "1 in 10^12"),
                     (1e-16, "the scale ends")):
        d.line(left, y(p), WIDTH - EDGE, y(p), "rule")
        d.text(left - 10, y(p) + 4, words, "soft", "end")
    for size, words in ((0.02, "2 sigma"), (0.03, "3 sigma"), (0.05, "5 sigma")):
        said = [[] for _ in range(after)]
        for seed in range(runs):
            v, _ = noise(100 + seed, before + after)
            for n, answer in enumerate(perfci.prefixes([z * (1 + size * (i >= before)) for i, z in enumerate(v)], before + 1)):
                found = [c for c in answer["changes"] if abs(c["index"] - before) <= 3]
                said[n].append((found[0]["p"], found[0]["status"]) if found else (1.0, "watching"))
        shown = [(x(n), y(statistics.median(p for p, _ in s)), statistics.mode(word for _, word in s))
                 for n, s in enumerate(said, 1)]
        d.add('<path class="axis" d="M' + "L".join(f"{a:.1f} {b:.1f}" for a, b, _ in shown) + '"/>')
        for mark in shown:
            d.mark(*mark)
        first = next((s for s in shown if s[1] > top + 1), shown[-1])
        d.text(first[0] + 8, first[1] - 4, words, "halo")
    for n in (1, 5, 10, 15, 20, after):
        d.text(x(n), bottom + 18, str(n), "soft", "middle")
    d.text(WIDTH - EDGE - 70, 254, "points of the new level so far", "soft", "end")
    d.legend(left, 254, (("watching", "nothing yet"), ("provisional", "provisional"), ("confirmed", "confirmed")))
    d.write()


def many(perfci):
    """1,000 series at one commit that slowed 20 of them: asked one by one, and together."""
    count, planted, points, at, q = 1000, 20, 60, 52, 0.05
    rng = random.Random(7)
    series = [[100 * math.exp(rng.gauss(0, 0.01)) * (1.03 if k < planted and i >= at else 1) for i in range(points)]
              for k in range(count)]
    alone = set()
    for k, values in enumerate(series):
        a, b = values[:at], values[at:]
        se = math.sqrt(statistics.variance(values) * (1 / len(a) + 1 / len(b)))
        if (statistics.mean(b) - statistics.mean(a)) / se > 1.645:
            alone.add(k)
    # As the service does: p at any of the series' places, then Benjamini and Hochberg's rule over all series measured.
    found = sorted((min(1.0, points * c["p"]), int(answer["id"])) for answer in perfci.ask(series)
                   for c in answer["changes"]
                   if c["direction"] == "regression" and c["index_low"] <= at <= c["index_high"])
    kept = max((k for k, (p, _) in enumerate(found, 1) if p <= q * k / count), default=0)
    together = {k for _, k in found[:kept]}
    d = Drawing("many", 206)
    for column, (alarms, words) in enumerate(((alone, "Each series alone, 1 false alarm in 20 allowed"),
                                              (together, "perfci detect, and the rule across series"))):
        left, top, cell = EDGE + 340 * column, 50, 6
        d.text(left, 18, words, "title")
        wrong = sum(k >= planted for k in alarms)
        d.text(left, 38, f"{len(alarms)} alarms, {wrong} of them wrong, {planted - len(alarms) + wrong} missed")
        order = random.Random(1).sample(range(count), count)
        shapes = {"quiet": "", "wrong": "", "confirmed": "", "missed": ""}
        for spot, k in enumerate(order):
            kind = (("confirmed" if k in alarms else "missed") if k < planted else "wrong" if k in alarms else "quiet")
            shapes[kind] += f"M{left + cell * (spot % 50)} {top + cell * (spot // 50)}h5v5h-5z"
        for kind, path in shapes.items():
            if path:
                d.add(f'<path class="{kind}" d="{path}"/>')
    x = EDGE
    for kind, words in (("quiet", "did not change, nothing said"), ("wrong", "did not change, alarm"),
                        ("confirmed", "slower, alarm"), ("missed", "slower, nothing said")):
        d.add(f'<path class="{kind}" d="M{x} 188h8v8h-8z"/>')
        d.text(x + 13, 196, words, "soft")
        x += 30 + 6 * len(words)
    d.write()


def main():
    perfci = Perfci(sys.argv[1] if len(sys.argv) > 1 else os.path.join(ROOT, "build", "release", "bin", "perfci"))
    v, _ = noise(1, 120)
    one(perfci, "step", [x * (1.03 if i >= 80 else 1) for i, x in enumerate(v)], "A step of three sigma, planted at the 81st commit")
    no_change(perfci, "spikes", "Spikes: single slow runs", spikes, 3)
    no_change(perfci, "wave", "A daily wave, a run an hour", wave, 3)
    no_change(perfci, "states", "A machine with two speeds", two_speeds, 4)
    spike_or_change(perfci)
    drift_or_step(perfci)
    evidence(perfci)
    many(perfci)


if __name__ == "__main__":
    main()
