"""The server's memory stays flat over a million stored runs and more.

memory.py [--requests N]

Runs perfci-bench-service until N runs (default 1,000,000) were acknowledged on one server, and compares what is
resident after the first quarter, when every pool and every arena of the allocator has grown to its size, with the
most that is resident afterwards.
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
    accepted, early, most = 0, 0.0, 0.0
    with subprocess.Popen([os.path.join(BIN, "perfci-bench-service"), "--json", "--rounds", "100", "--runs",
                           str(args.requests), "--seconds", "20"],
                          stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True) as program:
        for line in program.stdout:
            row = json.loads(line)
            if "rss_mib" not in row:
                continue
            accepted += row["accepted"]
            if accepted <= args.requests / 4 or not early:
                early = row["rss_mib"]
            most = max(most, row["rss_mib"])
            print(f"{accepted} runs, {row['rss_mib']:.1f} MiB", flush=True)
    if accepted < args.requests or program.returncode != 0:
        sys.exit(f"the benchmark ended with {program.returncode} after {accepted} of {args.requests} runs")
    if most > MOST_MIB or most > GROWTH * early:
        sys.exit(f"memory grows: {early:.1f} MiB after the first quarter, then up to {most:.1f} MiB; want at most "
                 f"{GROWTH} times that, and {MOST_MIB} MiB")
    print(f"memory is flat: {early:.1f} MiB after the first quarter of {accepted} runs, at most {most:.1f} MiB")


if __name__ == "__main__":
    main()
