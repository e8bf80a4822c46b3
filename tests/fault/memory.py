"""The server's memory stays flat over a million stored runs and more.

memory.py [--requests N]

Runs perfci-bench-service until N runs (default 1,000,000) were acknowledged on one server, and compares what is
resident after the first tenth, when every pool has grown to its size, with what is resident at the end.
"""
import argparse
import json
import os
import subprocess
import sys

BIN = os.environ["PERFCI_BIN_DIR"]
MOST_MIB = 100  # the service's limit under load
GROWTH = 1.25


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--requests", type=int, default=1_000_000)
    args = parser.parse_args()
    accepted, early, last = 0, 0.0, 0.0
    with subprocess.Popen([os.path.join(BIN, "perfci-bench-service"), "--json", "--rounds", "100", "--seconds", "20"],
                          stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True) as program:
        for line in program.stdout:
            row = json.loads(line)
            if "rss_mib" not in row:
                continue
            accepted += row["accepted"]
            last = row["rss_mib"]
            if accepted <= args.requests / 10 or not early:
                early = last
            print(f"{accepted} runs, {last:.1f} MiB", flush=True)
            if accepted >= args.requests:
                program.terminate()
                break
    if accepted < args.requests:
        sys.exit(f"the benchmark ended after {accepted} of {args.requests} runs")
    if last > MOST_MIB or last > GROWTH * early:
        sys.exit(f"memory grows: {early:.1f} MiB after the first tenth, {last:.1f} MiB at the end; want at most "
                 f"{GROWTH} times that, and {MOST_MIB} MiB")
    print(f"memory is flat: {early:.1f} MiB after the first tenth of {accepted} runs, {last:.1f} MiB at the end")


if __name__ == "__main__":
    main()
