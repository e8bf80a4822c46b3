#!/usr/bin/env python3
"""record.py --minutes M --out FILE [--quiet] [--command "./kernels" --dir BUILT]

Runs the base program of the made repository (or another one: --dir is the built folder, --command prints its metrics)
back to back on this machine as it is, and writes each run's times: the noise that a replayed study uses. With --quiet only
windows of 16 runs count in which all other processes together used less than 8 % of a CPU: a machine with nothing else running,
recorded on one that has other users. Such a trace is made of pieces of at least one window."""

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
import time

import made


def cpu_name():
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            for line in file:
                if line.startswith("model name"):
                    return line.split(":", 1)[1].strip()
    except OSError:
        pass
    return platform.machine()


def load():
    return os.getloadavg()[0]


WINDOW, OTHERS = 16, 0.08


def busy_s():
    """CPU time of all processes and interrupts since the start, all cores."""
    with open("/proc/stat", encoding="utf-8") as file:
        fields = [int(word) for word in file.readline().split()[1:]]
    return (sum(fields[:3]) + sum(fields[5:8])) / os.sysconf("SC_CLK_TCK")


def own_s():
    used = os.times()
    return used.user + used.system + used.children_user + used.children_system


def others_share(action):
    """Returns the action's result, and the CPU share of all other processes during the action."""
    begun, busy, own = time.monotonic(), busy_s(), own_s()
    result = action()
    return result, ((busy_s() - busy) - (own_s() - own)) / (time.monotonic() - begun)


def record(run, until, quiet):
    """All runs, or those of the quiet windows, until the time is over; (runs, seconds that their windows took)."""
    runs, took = [], 0.0
    while time.monotonic() < until:
        if quiet and others_share(lambda: time.sleep(0.1))[1] > OTHERS:
            continue
        begun = time.monotonic()
        window, others = others_share(lambda: [run() for _ in range(WINDOW)])
        if not quiet or others <= OTHERS:
            runs += window
            took += time.monotonic() - begun
    return runs, took


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=3)
    parser.add_argument("--out", required=True)
    parser.add_argument("--quiet", action="store_true", help="only windows in which nothing else ran")
    parser.add_argument("--dir", help="folder with the built program (default: the made repository's first commit)")
    parser.add_argument("--command", default="./kernels")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="perfci-record-") as scratch:
        folder = args.dir or made.build_base(os.path.join(scratch, "base"))
        loads = [load()]

        def metrics():
            done = subprocess.run(args.command, shell=True, cwd=folder, check=True, capture_output=True, stdin=subprocess.DEVNULL)
            return json.loads(done.stdout)["metrics"]

        names = list(metrics())
        runs, took = record(lambda: [float(f"{value:.6g}") for value in metrics().values()],
                            time.monotonic() + 60 * args.minutes, args.quiet)
        loads.append(load())
    if not runs:
        sys.exit("record.py: no quiet window of 16 runs")
    with open(args.out, "w", encoding="utf-8") as file:
        head = {"cpu": cpu_name(), "cores": os.cpu_count(), "recorded": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
                "load_before": loads[0], "load_after": loads[1], "quiet": args.quiet, "seconds_per_run": round(took / len(runs), 5), "metrics": names}
        file.write(json.dumps(head)[:-1] + ', "runs": [\n')
        file.write(",\n".join(json.dumps(row, separators=(",", ":")) for row in runs) + "\n]}\n")
    print(f"{len(runs)} runs in {took:.0f} s, load {loads[0]:.2f} to {loads[1]:.2f}: {args.out}", file=sys.stderr)


if __name__ == "__main__":
    main()
