"""The server's memory stays flat over a million stored runs and more.

memory.py [--requests N] [--minutes N]

Runs perfci-bench-service until N runs (default 1,000,000) were acknowledged on one server or the minutes are over, and
compares what is resident after the first quarter of N, when every pool and every arena of the allocator has grown to
its size, with the most that is resident afterwards. Each row of the program's is a line here, so that a run that is cut
has reported its progress.
"""
import argparse
import json
import os
import subprocess
import sys

BIN = os.environ["PERFCI_BIN_DIR"]
MOST_MIB = 100  # the service's limit under load
GROWTH = 1.25


def judge(rows, wanted, minutes):
    """From the (runs so far, MiB) of each row: (the fault or None, the sentence to print)."""
    runs, most = rows[-1][0], max(mib for _, mib in rows)
    if runs < wanted and not minutes:
        return f"the benchmark ended after {runs} of {wanted} runs", ""
    short = f" (of {wanted}: the time was over)" if runs < wanted else ""
    early = [mib for count, mib in rows if count <= wanted / 4][-1:] or [rows[0][1]]
    if most > MOST_MIB or (runs > wanted / 4 and most > GROWTH * early[0]):
        return (f"memory grows: {early[0]:.1f} MiB after the first quarter of {wanted} runs, then up to {most:.1f} MiB within {runs}; expected at"
                f" most {GROWTH} times that, and {MOST_MIB} MiB"), ""
    if runs <= wanted / 4:
        return None, f"memory is at most {most:.1f} MiB over {runs} runs{short}; whether it grows is known after {wanted // 4}"
    return None, f"memory is flat: {early[0]:.1f} MiB after the first quarter of {wanted} runs, at most {most:.1f} MiB over {runs}{short}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--requests", type=int, default=1_000_000)
    parser.add_argument("--minutes", type=int, default=0, help="the most that it takes, and the round that has begun then")
    args = parser.parse_args()
    rows = []
    command = [os.path.join(BIN, "perfci-bench-service"), "--json", "--rounds", "100", "--runs", str(args.requests), "--seconds", "20"]
    if args.minutes:
        command += ["--minutes", str(args.minutes)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True) as program:
        for line in program.stdout:
            row = json.loads(line)
            if "rss_mib" not in row:
                continue
            rows.append(((rows[-1][0] if rows else 0) + row["accepted"], row["rss_mib"]))
            print(f"  {rows[-1][0]} of {args.requests} runs, {rows[-1][1]:.1f} MiB", flush=True)
    if program.returncode != 0 or not rows:
        sys.exit(f"the benchmark ended with {program.returncode} after {rows[-1][0] if rows else 0} of {args.requests} runs")
    wrong, said = judge(rows, args.requests, args.minutes)
    if wrong:
        sys.exit(wrong)
    print(said)


if __name__ == "__main__":
    main()
