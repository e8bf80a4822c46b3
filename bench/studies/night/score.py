"""From alerts to figures: which alert is which plant's, and what that makes in all.

An alert is a plant's when it is of one of its kernels, came in the plant's night or later, and names a commit at most NEAR commits
from it or a range that holds it; each kernel of a plant has at most one. Every other alert of a slowdown is false, unless 40 interleaved pairs of
the commits around its place show it (only where programs run: `real`)."""

import math

NEAR = 3  # commits
Z = 1.959963984540054


def wilson(k, n):
    """95 % interval of a share."""
    if n == 0:
        return (0.0, 1.0)
    p = k / n
    middle = (p + Z * Z / (2 * n)) / (1 + Z * Z / n)
    half = Z / (1 + Z * Z / n) * math.sqrt(p * (1 - p) / n + Z * Z / (4 * n * n))
    return (max(0.0, middle - half), min(1.0, middle + half))


def night_of(history, index):
    for night, (first, last) in enumerate(history["nights"]):
        if first <= index <= last:
            return night
    raise ValueError(f"commit {index} is in no night")


def belongs(alert, plant):
    low, high = alert["range"]
    inside = low is not None and high is not None and low <= plant["index"] <= high
    return (alert["kernel"] in plant["kernels"] and alert["night"] >= plant["night"]
            and (inside or abs(alert["index"] - plant["index"]) <= NEAR))


def ends_of(alert):
    """(last commit before the alert's place, its last one): the alert leaves open which commit between them it was."""
    low, high = alert["range"]
    if low is None or high is None or not low <= alert["index"] <= high:
        low = high = alert["index"]
    return max(low - 1, 0), high


def attribute(history):
    """Fills in history["plants"][i]["alerts"] and history["false"]. Alerts in the order in which they came."""
    plants = history["plants"]
    for plant in plants:
        plant["alerts"] = []
    history["false"] = []
    taken = set()
    for alert in sorted(history["alerts"], key=lambda a: (a["night"], a["id"])):
        near = [
            (abs(alert["index"] - plant["index"]), p)
            for p, plant in enumerate(plants)
            if (p, alert["kernel"]) not in taken and belongs(alert, plant)
        ]
        if not near:
            history["false"].append(alert)
            continue
        p = min(near)[1]
        taken.add((p, alert["kernel"]))
        plants[p]["alerts"].append(alert)
    for plant in plants:
        judge_plant(plant)


def judge_plant(plant):
    """Of several kernels the best alert counts: a person reads them as one group."""
    alerts = plant["alerts"]
    first = min((a["night"] for a in alerts), default=None)
    plant["found_night"] = first
    plant["in_night"] = first == plant["night"]
    plant["delay_nights"] = None if first is None else first - plant["night"]
    at_once = [a for a in alerts if a["night"] == first]
    plant["exact_at_once"] = any(a["index"] == plant["index"] for a in at_once)
    plant["off_by"] = min((abs(a["index"] - plant["index"]) for a in at_once), default=None)
    plant["exact_later"] = any(a.get("index_later", a["index"]) == plant["index"] for a in alerts)


def cell(k, n):
    if n == 0:
        return "-"
    low, high = wilson(k, n)
    return f"{k}/{n} = {100 * k / n:.0f} % ({100 * low:.0f}-{100 * high:.0f})"


def share(k, n):
    low, high = wilson(k, n)
    return {"k": k, "n": n, "share": k / n if n else None, "low": low, "high": high}


def of_size(plants):
    found = [p for p in plants if p["found_night"] is not None]
    in_night = [p for p in plants if p["in_night"]]
    measured = sorted(p["measured"] for p in plants if p.get("measured") is not None)
    delays = [p["delay_nights"] for p in found]
    return {
        "plants": len(plants),
        "measured_median": measured[len(measured) // 2] if measured else None,
        "in_night": share(len(in_night), len(plants)),
        "found": share(len(found), len(plants)),
        "delay_nights_mean": sum(delays) / len(delays) if delays else None,
        "exact_at_once": share(sum(p["exact_at_once"] for p in found), len(found)),
        "exact_later": share(sum(p["exact_later"] for p in found), len(found)),
    }


def verdicts(histories):
    """How many commits the sessions called what."""
    counts = {}
    for history in histories:
        for verdict, n in history.get("verdicts", {}).items():
            counts[verdict] = counts.get(verdict, 0) + n
    return counts


def total(histories, sizes):
    """The figures of all histories as one JSON object."""
    for history in histories:
        attribute(history)
    plants = [p for h in histories for p in h["plants"]]
    rounds = sum(len(h["nights"]) for h in histories)
    false = [a for h in histories for a in h["false"] if not a.get("real")]
    real = [a for h in histories for a in h["false"] if a.get("real")]
    two = [h for h in histories if len(h["plants"]) == 2]
    # A plant that nothing can find within the budget is no matter of the two: both of at least 2 %.
    large = [h for h in two if min(p["percent"] for p in h["plants"]) >= 2]
    identical = [(h, i) for h in histories for i in h["identical"]]
    at_identical = [a for h in histories for a in h["false"] if a["index"] in set(h["identical"])]
    new = sum(h["commits"] - 1 for h in histories)
    visits = sum(sum(h["visits"]) for h in histories)
    big = [p for p in plants if p["percent"] >= 3]
    result = {
        "histories": len(histories), "rounds": rounds, "new_commits": new,
        "by_size": {f"{size:g}": of_size([p for p in plants if p["percent"] == size]) for size in sizes},
        "three_and_more": of_size(big),
        "two_plants_both": share(sum(all(p["found_night"] is not None for p in h["plants"]) for h in two), len(two)),
        "two_plants_both_of_2": share(sum(all(p["found_night"] is not None for p in h["plants"]) for h in large), len(large)),
        "false_alerts": len(false), "false_per_100_rounds": 100 * len(false) / rounds if rounds else None,
        "false_rounds": share(len({(a["history"], a["night"]) for a in false}), rounds),
        "real_but_not_planted": len(real),
        "identical_commits": len(identical), "alerts_at_identical": len(at_identical),
        "visits": visits, "visits_per_new_commit": visits / new if new else None,
        "cost_ratio": visits / (5 * new) if new else None,
        "minutes": sum(h["minutes"] for h in histories),
        "verdicts": verdicts(histories),
        "failed_nights": sum(h["failed"] for h in histories),
    }
    quiet = [(h["visits"][n], last - first + 1) for h in histories for n, (first, last) in enumerate(h["nights"])
             if not any(p["night"] == n for p in h["plants"])]
    if quiet:
        result["cost_ratio_nights_without_plant"] = sum(v for v, _ in quiet) / (5 * sum(c for _, c in quiet))
    return result


def row(name, figures):
    measured = figures["measured_median"]
    text = "-" if measured is None else f"{100 * measured:.2f} %"
    delay = figures["delay_nights_mean"]
    cells = [name, str(figures["plants"]), text]
    cells += [cell(figures[key]["k"], figures[key]["n"]) for key in ("in_night", "found")]
    cells.append("-" if delay is None else f"{delay:.2f}")
    cells += [cell(figures[key]["k"], figures[key]["n"]) for key in ("exact_at_once", "exact_later")]
    return "| " + " | ".join(cells) + " |"


def table(result, title):
    """Markdown."""
    lines = [
        f"**{title}**", "",
        "| planted | plants | measured | found in its night | found at all | delay, nights | right commit at once | after verification |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for size, figures in result["by_size"].items():
        if figures["plants"]:
            lines.append(row(f"{size} %", figures))
    if result["three_and_more"]["plants"]:
        lines.append(row("3 % and more", result["three_and_more"]))
    both, both2 = result["two_plants_both"], result["two_plants_both_of_2"]
    quiet = result.get("cost_ratio_nights_without_plant")
    lines += [
        "",
        f"- {result['histories']} histories, {result['rounds']} rounds, {result['new_commits']} new commits; failed rounds: {result['failed_nights']}",
        f"- two plants, both found: {cell(both['k'], both['n'])}; both of 2 % and more: {cell(both2['k'], both2['n'])}",
        f"- false alerts: {result['false_alerts']} in {result['rounds']} rounds ({result['false_per_100_rounds']:.1f} in 100; "
        f"rounds with one: {cell(result['false_rounds']['k'], result['false_rounds']['n'])}); "
        f"alerts at {result['identical_commits']} commits of identical programs: {result['alerts_at_identical']}; "
        f"real but not planted: {result['real_but_not_planted']}",
        f"- cost: {result['visits_per_new_commit']:.1f} visits a new commit, {result['cost_ratio']:.2f} times a night of five repeats"
        + (f" (nights without a plant: {quiet:.2f})" if quiet is not None else "") + f"; {result['minutes']:.0f} minutes in all",
    ]
    if result["verdicts"]:
        lines.append("- verdicts of commits: " + ", ".join(f"{n} {word}" for word, n in sorted(result["verdicts"].items())))
    return "\n".join(lines) + "\n"
