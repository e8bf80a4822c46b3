#!/usr/bin/env python3
"""Grades the night end to end: histories with planted slowdowns, `perfci nightly` over six nights of each, and a table of what it
found, where, when, at what cost, and what it reported that was not there. See README.md beside this file."""

import argparse
import concurrent.futures
import json
import os
import shutil
import signal
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.abspath(os.path.join(HERE, "../../.."))
sys.path.insert(0, os.path.join(ROOT, "tests/e2e"))


def sizes(text):
    return tuple(float(word) for word in text.split(","))


def commit_range(text):
    low, _, high = text.partition("-")
    low, high = int(low), int(high or low)
    if not 12 <= low <= high <= 500:
        raise argparse.ArgumentTypeError(f"expected MIN-MAX within 12 and 500, got \"{text}\"")
    return low, high


def arguments():
    parser = argparse.ArgumentParser(prog="run.sh", description=__doc__)
    parser.add_argument("--histories", type=int, default=10, help="how many (default 10)")
    parser.add_argument("--first", type=int, default=0, help="number of the first one (default 0)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--states", action="store_true", help="add machine states: 5 to 12 %% slower for 25 to 100 visits")
    parser.add_argument("--repo", help="adapter of a real repository: repos/NAME.json")
    parser.add_argument("--path", help="where that repository lies (a clone or a git directory)")
    parser.add_argument("--nights", type=int, default=6)
    parser.add_argument("--commits", type=commit_range, default=(60, 120), help="of a history (default 60-120)")
    parser.add_argument("--plants", type=int, choices=(0, 1, 2), help="in each history (default: one and two, alternating; 0: A/A)")
    parser.add_argument("--sizes", type=sizes, default=(1.0, 2.0, 3.0, 5.0, 10.0), help="per cent (default 1,2,3,5,10)")
    parser.add_argument("--budget-factor", type=float, default=2.5, help="of today's night, five visits a commit (default 2.5)")
    parser.add_argument("--repeats", type=int, default=5, help="with --today")
    parser.add_argument("--by", choices=("alerts", "sessions"), default="alerts",
                        help="what counts as reported: alerts (default), or the regressions of sessions")
    parser.add_argument("--today", action="store_true", help="a night without blocks, as before: so many repeats of each commit")
    parser.add_argument("--replay", metavar="TRACE", help="take the times from a recorded trace instead of running the program")
    parser.add_argument("--jobs", type=int, default=1, help="histories at once; only with --replay (default 1)")
    parser.add_argument("--minutes", type=float, help="begin no history after that long; the table is of those that were finished")
    parser.add_argument("--bin", default=os.path.join(ROOT, "build/release/bin"), help="folder of perfci and perfci-server")
    parser.add_argument("--out", help="JSON of all figures and histories")
    parser.add_argument("--keep", action="store_true", help="keep the working folder, and print it")
    args = parser.parse_args()
    if args.jobs > 1 and not args.replay:
        parser.error("--jobs: programs that are measured run alone; expected --replay with it")
    if bool(args.repo) != bool(args.path):
        parser.error("--repo and --path go together")
    return args


def service(args):
    """A private service on a free port, without runner."""
    os.environ["PERFCI_BIN_DIR"] = args.bin
    os.environ["PERFCI_SOURCE_DIR"] = ROOT
    import stack
    return stack.Stack(runner=False)


def one_history(number, lab, source):
    import nights
    plan = source.plan(number, lab.args)
    history = {"number": number, "commits": plan["commits"], "nights": plan["nights"], "adapter": source.adapter,
               "kernel_of": source.kernel_of}
    run = nights.History(lab, history)
    os.makedirs(run.dir)
    history["entries"], history["identical"] = source.write(run.repo, f"{lab.args.seed}/{number}", plan)
    history["plants"] = [dict(want, index=index, commit=history["entries"][index]["commit"], history=number,
                              night=source.night_of(plan, index)) for index, want in sorted(plan["plants"].items())]
    source.measure_plants(history, run, lab)
    run.go()
    source.check_alerts(history, run, lab)
    run.clean()
    history["subjects"] = [entry["subject"] for entry in history.pop("entries")]
    for key in ("adapter", "kernel_of"):
        history.pop(key)
    return history


def say(history, done, of):
    import score
    score.attribute(history)
    words = []
    for plant in history["plants"]:
        where = "not found" if plant["found_night"] is None else (
            ("in its night" if plant["in_night"] else f"{plant['delay_nights']} nights late")
            + (", exact" if plant["exact_at_once"] else f", off by {plant['off_by']}"))
        words.append(f"{plant['percent']:g} % {where}")
    new = history["commits"] - 1
    print(f"[{done}/{of}] history {history['number']}: {'; '.join(words) or 'no plant'}; false alerts {len(history['false'])}; "
          f"{sum(history['visits']) / new:.1f} visits a commit; failed rounds {history['failed']}", file=sys.stderr, flush=True)


def all_histories(lab, source):
    numbers = range(lab.args.first, lab.args.first + lab.args.histories)
    end = time.monotonic() + 60 * lab.args.minutes if lab.args.minutes else None
    out = []

    def begin(number):
        return None if end and time.monotonic() >= end else one_history(number, lab, source)

    with concurrent.futures.ThreadPoolExecutor(lab.args.jobs) as pool:
        todo = [pool.submit(begin, number) for number in numbers]
        for future in concurrent.futures.as_completed(todo):
            history = future.result()
            if history:
                out.append(history)
                say(history, len(out), len(numbers))
    if not out:
        sys.exit("run.sh: no history was finished")
    return sorted(out, key=lambda h: h["number"])


def main():
    args = arguments()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # the service is stopped on the way out
    import nights
    import record
    import score
    import sources
    if not os.access(os.path.join(args.bin, "perfci-server"), os.X_OK):
        sys.exit(f"run.sh: no perfci-server in {args.bin}: build the release preset, or pass --bin")
    trace = None
    if args.replay:
        with open(args.replay, encoding="utf-8") as file:
            trace = json.load(file)
    folder = tempfile.mkdtemp(prefix="perfci-night-")
    begun, load = time.time(), os.getloadavg()[0]
    try:
        with service(args) as running:
            lab = nights.Laboratory(running, args, folder, trace)
            source = sources.open_source(args)
            source.prepare(lab)
            histories = all_histories(lab, source)
    finally:
        if args.keep:
            print(f"kept: {folder}", file=sys.stderr)
        else:
            shutil.rmtree(folder, ignore_errors=True)
    result = score.total(histories, args.sizes)
    result.update(cpu=record.cpu_name(), cores=os.cpu_count(), date=time.strftime("%Y-%m-%d", time.gmtime(begun)),
                  load_before=load, load_after=os.getloadavg()[0], states=args.states, design="blocks" if lab.blocks else "today",
                  budget_factor=args.budget_factor if lab.blocks else None, seed=args.seed, source=source.name,
                  trace=trace and {key: value for key, value in trace.items() if key != "runs"},
                  seconds=time.time() - begun)
    title = (f"{source.name}, {'by sessions, ' if args.by == 'sessions' else ''}{'replayed' if trace else 'live'}, {'with' if args.states else 'without'} added states, "
             + (f"blocks, budget {args.budget_factor:g} times today's night" if lab.blocks else f"one commit after the other, {args.repeats} repeats")
             + f"; {record.cpu_name()}, {os.cpu_count()} cores, load {load:.1f} to {result['load_after']:.1f}, {result['date']}")
    print(score.table(result, title))
    if args.out:
        with open(args.out, "w", encoding="utf-8") as file:
            json.dump({"title": title, "figures": result, "histories": histories}, file, indent=1)
            file.write("\n")


if __name__ == "__main__":
    main()
