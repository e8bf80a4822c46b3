#!/usr/bin/env python3
"""Writes docs/explanation/night.svg, the picture of docs/explanation/nights.md: docs/explanation/night.py >docs/explanation/night.svg

The values are made: 8 builds, 6 rounds, noise of 0.5 %, a machine that is 8 % slower for 33 visits, 3 % more from the fourth new
commit on. The machine's part is removed as in the text (block means, a change inside a block found by its two halves), so the ratios and
intervals are computed, not drawn by hand."""

import math
import random

BUILDS = ["A", "B", "1", "2", "3", "4", "5", "6"]  # anchor, base, new ones
LEVEL = [0, 0, 0, 0, 0, math.log(1.03), math.log(1.03), math.log(1.03)]
ROUNDS, NOISE, STATE = 6, 0.005, math.log(1.08)
SLOW = range(21, 54)  # visits in the slow state
W, X0, CELL, ROW = 960, 150, 40, 26

rng = random.Random(14)
blocks = []
for _ in range(ROUNDS):
    for _ in range(2):
        blocks.append(rng.sample(range(8), 8))
values = [[LEVEL[b] + (STATE if 8 * r + k in SLOW else 0) + rng.gauss(0, NOISE) for k, b in enumerate(row)] for r, row in enumerate(blocks)]

# The machine at each visit: blocks are cut where the state changes, each piece has a level of its own.
piece = [[2 * r + (8 * r + k in SLOW) for k in range(8)] for r in range(len(blocks))]
effect, level = [0.0] * 8, {}
for _ in range(200):
    for p in {p for row in piece for p in row}:
        at = [values[r][k] - effect[b] for r, row in enumerate(blocks) for k, b in enumerate(row) if piece[r][k] == p]
        level[p] = sum(at) / len(at)
    for b in range(8):
        at = [values[r][row.index(b)] - level[piece[r][row.index(b)]] for r, row in enumerate(blocks)]
        effect[b] = sum(at) / len(at)
quiet = [v for p, v in level.items() if p % 2 == 0]
zero = sum(quiet) / len(quiet)
left = [values[r][k] - effect[b] - level[piece[r][k]] for r, row in enumerate(blocks) for k, b in enumerate(row)]
sigma = math.sqrt(sum(x * x for x in left) / (len(left) - len(level) - 7))
half = 1.99 * sigma * math.sqrt(2 / len(blocks))
ratio = [math.exp(e - effect[0]) for e in effect]

out = []


def text(x, y, words, kind="", anchor="middle", size=13):
    out.append(f'<text x="{x:.1f}" y="{y:.1f}" class="{kind}" text-anchor="{anchor}" font-size="{size}">{words}</text>')


def rect(x, y, w, h, kind, more=""):
    out.append(f'<rect x="{x:.1f}" y="{y:.1f}" width="{w:.1f}" height="{h:.1f}" class="{kind}" {more}/>')


def line(x1, y1, x2, y2, kind):
    out.append(f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" class="{kind}"/>')


def kind_of(b):
    return "anchor" if b == 0 else "base" if b == 1 else "late" if b >= 5 else "new"


# ---- history ----
text(24, 30, "1. The builds of a night", "head", "start", 16)
line(60, 62, 890, 62, "rule")
line(132, 56, 140, 68, "rule"), line(142, 56, 150, 68, "rule")
for i, b in enumerate(BUILDS):
    x = 90 if i == 0 else 210 + (i - 1) * 108
    out.append(f'<circle cx="{x}" cy="62" r="15" class="{kind_of(i)}"/>')
    text(x, 67, b, "cell")
    text(x, 97, "anchor (v1.2)" if i == 0 else "base, judged last" if i == 1 else "+3 % planted" if b == "4" else "new", "bad" if b == "4" else "note", size=12)

# ---- blocks ----
top = 138
text(24, top, "2. Blocks: each build once, in random order; two of them are a round", "head", "start", 16)
bar = X0 + 8 * CELL + 60
text(X0 + 4 * CELL, top + 24, "time within a block \u2192", "note", size=12)
text(bar, top + 24, "level of the block's pieces: the machine", "note", "start", 12)
for r, row in enumerate(blocks):
    y = top + 34 + r * (ROW + 2) + (r // 2) * 8
    if r % 2 == 0:
        text(60, y + ROW + 5, f"round {r // 2 + 1}", "note", size=12)
        out.append(f'<path d="M{X0 - 34} {y + 5} h-8 v{2 * ROW - 8} h8" class="rule" fill="none"/>')
    text(X0 - 14, y + 17, str(r), "note", size=12)
    for k, b in enumerate(row):
        x = X0 + k * CELL
        rect(x + 1, y, CELL - 2, ROW, kind_of(b), 'rx="4"')
        if 8 * r + k in SLOW:
            rect(x + 1, y, CELL - 2, ROW, "slow", 'rx="4"')
        text(x + CELL / 2, y + 18, BUILDS[b], "cell")
    for j, p in enumerate(sorted(set(piece[r]), key=piece[r].index)):
        first = piece[r].index(p)
        n = piece[r].count(p)
        rect(bar, y + first * ROW / 8, 24 + (level[p] - zero) * 2000, n * ROW / 8 - 1, "state" if p % 2 else "quiet")
side = bar + 206
beside = lambda r: top + 34 + r * (ROW + 2) + (r // 2) * 8 + 17
rect(side, beside(0) - 11, 22, 14, "slow", 'rx="3"')
text(side + 30, beside(0), "visits in a slow state", "note", "start", 12)
text(side, beside(2) + 2, "the state begins: block 2 is cut", "note", "start", 12)
text(side, beside(4), "+8 %: the same for all builds", "note", "start", 12)
text(side, beside(4) + 17, "of a block, removed with its level", "note", "start", 12)
text(side, beside(6), "the state ends: block 6 is cut", "note", "start", 12)

# ---- results ----
base_y = top + 34 + 12 * (ROW + 2) + 6 * 8 + 40
text(24, base_y, "3. As measured", "head", "start", 16)
text(500, base_y, "4. Ratio to the anchor, 95 %", "head", "start", 16)


def axis(x, y0, marks, scale):
    for m in marks:
        y = y0 - m * scale
        line(x, y, x + 400, y, "grid")
        text(x - 8, y + 4, f"{m:+d} %" if m else "0", "note", "end", 12)


y0 = base_y + 162
axis(70, y0, (0, 4, 8, 12), 10)
axis(530, y0, (-1, 0, 1, 2, 3, 4), 24)
for b in range(8):
    x = 95 + b * 50
    for r, row in enumerate(blocks):
        k = row.index(b)
        v = 100 * (math.exp(values[r][k]) - 1)
        slow = 8 * r + k in SLOW
        out.append(f'<circle cx="{x + (r - 5.5) * 2.4:.1f}" cy="{y0 - 10 * v:.1f}" r="2.6" class="{"dotslow" if slow else "dot"}"/>')
    text(x, y0 + 40, BUILDS[b], "label")
    x = 555 + b * 50
    v, h = 100 * (ratio[b] - 1), 100 * half
    if b:
        line(x, y0 - 24 * (v - h), x, y0 - 24 * (v + h), "bar")
    out.append(f'<circle cx="{x}" cy="{y0 - 24 * v:.1f}" r="4.5" class="{kind_of(b)} edge"/>')
    text(x, y0 + 40, BUILDS[b], "label")
step = 100 * (ratio[5] / ratio[4] - 1)
text(786, y0 - 24 * 3.4, f"4 against 3: {step:+.1f} % \u00b1 {100 * half:.1f} %: slower", "bad", "end", 12)
height = y0 + 60

print(f"""<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {W} {height:.0f}" width="{W}" height="{height:.0f}" role="img"
 aria-label="A night: its commits, the blocks in which their builds are measured, and the ratios that result">
<title>How a night is measured</title>
<style>
text {{ font-family: system-ui, -apple-system, "Segoe UI", "Liberation Sans", sans-serif; fill: #1f2430; }}
.page {{ fill: #ffffff; }} .head {{ font-weight: 600; }} .note {{ fill: #4d5566; }} .bad {{ fill: #b3261e; font-weight: 600; }}
.label, .cell {{ font-weight: 600; }} .cell {{ fill: #10131a; }}
.anchor {{ fill: #c9b8ee; }} .base {{ fill: #b8c7e8; }} .new {{ fill: #bfe3cf; }} .late {{ fill: #f6c9a8; }}
.slow {{ fill: url(#stripes); }} .quiet {{ fill: #aab2c2; }} .state {{ fill: #d9822b; }}
.rule {{ stroke: #6b7385; stroke-width: 1.5; }} .grid {{ stroke: #d7dbe3; stroke-width: 1; }} .bar {{ stroke: #3b4252; stroke-width: 2; }}
.dot {{ fill: #5b6475; }} .dotslow {{ fill: #d9822b; }} .edge {{ stroke: #3b4252; stroke-width: 1.2; }} .stripe {{ stroke: #8a3b00; stroke-width: 1.6; stroke-opacity: .55; }}
@media (prefers-color-scheme: dark) {{
text {{ fill: #e6e9ef; }} .page {{ fill: #14171d; }} .note {{ fill: #aeb6c4; }} .bad {{ fill: #ff8f86; }} .cell {{ fill: #10131a; }}
.rule {{ stroke: #8b94a7; }} .grid {{ stroke: #333a47; }} .bar {{ stroke: #cfd5e1; }} .dot {{ fill: #aeb6c4; }} .edge {{ stroke: #cfd5e1; }}
.quiet {{ fill: #5b6475; }} }}
</style>
<defs><pattern id="stripes" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)"><line x1="0" y1="0" x2="0" y2="6" class="stripe"/></pattern></defs>
<rect width="{W}" height="{height:.0f}" class="page"/>""")
print("\n".join(out))
print("</svg>")
