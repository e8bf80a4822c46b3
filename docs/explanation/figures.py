#!/usr/bin/env python3
"""Writes the pictures bisection.svg, layout.svg, probability.svg and measuring.svg beside this file.

Values are made by the stated models with a fixed seed; nothing is measured.
"""

import math
import pathlib
import random

HERE = pathlib.Path(__file__).parent
BLUE, RED, GREY, TEXT = "#2f6fb3", "#c33c3c", "#c9d1db", "#1b2430"


class Picture:
    def __init__(self, name, width, height, title):
        self.path, self.parts = HERE / name, []
        self.head = (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
                     f'role="img" aria-label="{title}" font-family="sans-serif" font-size="13">\n'
                     f'<rect width="{width}" height="{height}" fill="#fff"/>\n')

    def text(self, x, y, words, anchor="start", fill=TEXT, size=13):
        self.parts.append(f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{fill}" font-size="{size}">{words}</text>')

    def bar(self, x, y, w, h, fill=BLUE):
        self.parts.append(f'<rect x="{x:.1f}" y="{y:.1f}" width="{w:.1f}" height="{h:.1f}" fill="{fill}"/>')

    def dot(self, x, y, fill=BLUE, r=3.5):
        self.parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{r}" fill="{fill}"/>')

    def line(self, x1, y1, x2, y2, stroke=GREY, width=1):
        self.parts.append(f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{stroke}" stroke-width="{width}"/>')

    def save(self):
        self.path.write_text(self.head + "\n".join(self.parts) + "\n</svg>\n", encoding="utf-8")


def bisection():
    """16 commits, a step of 3 % at commit 10, noise of 2 %; each run goes where the posterior's halves meet."""
    rng, n, culprit, step, noise = random.Random(3), 16, 10, 0.03, 0.02
    log_posterior = [0.0] * n  # place of the step: commit i is the first slow one, i = 1 .. n
    p = Picture("bisection.svg", 760, 470, "Posterior probability of 16 commits after each of eight runs")
    p.text(20, 24, "Posterior probability of each commit after each run (triangle: the commit measured)")
    for run in range(8):
        weights = [math.exp(x - max(log_posterior)) for x in log_posterior]
        total, below, at = sum(weights), 0.0, 0
        while below + weights[at] < total / 2:
            below += weights[at]
            at += 1
        value = (step if at >= culprit else 0.0) + rng.gauss(0, noise)
        for i in range(n):
            mean = step if at >= i else 0.0
            log_posterior[i] -= (value - mean) ** 2 / (2 * noise ** 2)
        weights = [math.exp(x - max(log_posterior)) for x in log_posterior]
        total = sum(weights)
        top = 44 + run * 52
        p.text(20, top + 36, f"run {run + 1}")
        p.line(80, top + 42, 740, top + 42)
        for i, w in enumerate(weights):
            h = 36 * w / total
            p.bar(84 + i * 41, top + 42 - h, 32, h, RED if i == culprit else BLUE)
        p.text(100 + at * 41, top + 53, "▲", "middle", TEXT, 9)
    p.save()


def layout():
    rng = random.Random(7)
    p = Picture("layout.svg", 760, 190, "Speed of two commits under eight layouts each")
    p.text(20, 24, "Time relative to the first commit; one dot for each layout, a line for the mean")
    for row, (name, level) in enumerate((("commit A", 0.0), ("commit B", 0.005))):
        y = 70 + row * 50
        values = [level + rng.gauss(0, 0.015) for _ in range(8)]
        p.text(20, y + 4, name)
        p.line(110, y, 740, y)
        for v in values:
            p.dot(425 + v * 6000, y, RED if row else BLUE)
        mean = sum(values) / len(values)
        p.line(425 + mean * 6000, y - 14, 425 + mean * 6000, y + 14, TEXT, 2)
    for percent in (-4, -2, 0, 2, 4):
        p.text(425 + percent * 60, 168, f"{percent:+d} %" if percent else "0", "middle")
    p.save()


def probability():
    rng = random.Random(11)
    p = Picture("probability.svg", 760, 170, "One hundred searches that each named a commit with probability 0.9")
    p.text(20, 24, "100 searches that each named a commit with probability 0.9: right (blue) and wrong (red)")
    right = [rng.random() < 0.9 for _ in range(100)]
    for i, fine in enumerate(right):
        p.bar(20 + i % 25 * 28, 40 + i // 25 * 28, 22, 22, BLUE if fine else RED)
    p.text(20, 164, f"{sum(right)} right, {100 - sum(right)} wrong")
    p.save()


def measuring():
    rng = random.Random(5)
    p = Picture("measuring.svg", 760, 260, "Samples of five processes with warm-up, and the value of the run")
    p.text(20, 24, "Five processes of one run: dropped warm-up samples (grey), samples (blue), median of the process (line)")
    medians = []
    for row in range(5):
        y, level = 60 + row * 34, 1 + rng.gauss(0, 0.006)
        p.text(20, y + 4, f"process {row + 1}")
        values = [level * (1 + 0.08 * math.exp(-i / 2)) + rng.gauss(0, 0.004) for i in range(24)]
        for i, v in enumerate(values):
            p.dot(110 + i * 14, y - (v - 1) * 300, GREY if i < 6 else BLUE, 3)
        median = sorted(values[6:])[9]
        medians.append(median)
        p.line(110 + 6 * 14, y - (median - 1) * 300, 110 + 23 * 14, y - (median - 1) * 300, TEXT, 1.5)
        p.line(500, y, 740, y)
        p.dot(620 + (median - 1) * 6000, y, TEXT, 4)
    value = sorted(medians)[2]
    p.line(620 + (value - 1) * 6000, 45, 620 + (value - 1) * 6000, 225, RED, 1.5)
    p.text(620 + (value - 1) * 6000, 245, "value of the run: median of the medians", "middle", RED)
    p.save()


for draw in (bisection, layout, probability, measuring):
    draw()
