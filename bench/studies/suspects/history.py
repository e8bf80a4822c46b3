#!/usr/bin/env python3
"""Writes the first-parent history of a Git repository as the suspects benchmark reads it.

Usage: history.py REPO COUNT > NAME.tsv      oldest first: id, subject, touched paths, tabs between
"""

import subprocess
import sys

PATHS_MAX = 60


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__.strip())
    repo, count = sys.argv[1], int(sys.argv[2])
    text = subprocess.run(
        ["git", "-C", repo, "log", "--first-parent", "-m", "--no-renames", "--name-only", "-z",
         f"--max-count={count}", "--format=%x01%H%x02%s%x02"],
        capture_output=True, check=True).stdout.decode("utf-8", "replace")
    rows = []
    for entry in text.split("\x01")[1:]:
        sha, subject, paths = entry.split("\x02", 2)
        names = [p.strip("\n") for p in paths.split("\0") if p.strip("\n")]
        clean = [n for n in names if not any(c in n for c in "\t\n|")][:PATHS_MAX]
        rows.append((sha[:12], " ".join(subject.split()), "|".join(clean)))
    for row in reversed(rows):
        print("\t".join(row))


main()
