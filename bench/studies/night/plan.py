"""The plan of a history, by its number: its commits, their nights, and the planted changes."""

import random

SIZES = (1.0, 2.0, 3.0, 5.0, 10.0)
COMMITS = (60, 120)


def cut(count, nights, rng):
    """Commits after the first one, cut into nights of about the same length; [(first, last)] with both included."""
    edges = [1]
    for night in range(1, nights):
        middle = 1 + (count - 1) * night / nights
        edges.append(max(edges[-1] + 2, round(middle + rng.uniform(-0.2, 0.2) * (count - 1) / nights)))
    edges.append(count)
    return [(edges[i], edges[i + 1] - 1) for i in range(nights)]


def history(number, args, kernels):
    """{"commits", "nights": [(first, last)], "plants": {index: {"percent", "kernels"}}}. Sizes follow each other from history to
    history, so that each has the same number of cases; every second history has two plants."""
    rng = random.Random(f"plan/{args.seed}/{number}")
    count = rng.randint(*args.commits)
    nights = cut(count, args.nights, rng)
    sizes = args.sizes
    many = args.plants if args.plants is not None else 1 + number % 2
    plants = {}
    while len(plants) < many:
        index = rng.randrange(1, count)
        if index in plants:
            continue
        percent = sizes[(number // 2 + len(plants) * (1 + number // (2 * len(sizes)))) % len(sizes)]
        touched = rng.choice((1, 1, 1, 2, 3))
        plants[index] = {"percent": percent, "kernels": rng.sample(list(kernels), min(touched, len(kernels)))}
    return {"commits": count, "nights": nights, "plants": plants}
