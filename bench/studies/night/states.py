"""The machine's speed at each visit: fast, then slower by 5 to 12 % for 25 to 100 visits (5 to 20 commits at five visits each), then
fast for as long, and so on. By seed; the position is the visit's number, so that a state may begin and end inside a lease."""

import array
import random

SLOWER = (1.05, 1.12)
VISITS = (25, 100)


def make(seed, length):
    rng = random.Random(f"states/{seed}")
    speeds = array.array("d")
    slow = rng.random() < 0.5
    while len(speeds) < length:
        factor = rng.uniform(*SLOWER) if slow else 1.0
        speeds.extend([factor] * rng.randint(*VISITS))
        slow = not slow
    return speeds[:length]


def write(path, seed, length):
    with open(path, "wb") as file:
        make(seed, length).tofile(file)


def write_trace(path, trace, seed, length):
    """A contiguous stretch of the recorded runs from a place that the seed decides; at the end it goes on at the start."""
    runs = trace["runs"]
    start = random.Random(f"trace/{seed}").randrange(len(runs))
    out = array.array("d")
    for i in range(length):
        out.extend(runs[(start + i) % len(runs)])
    with open(path, "wb") as file:
        out.tofile(file)
