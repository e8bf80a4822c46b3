#!/usr/bin/env python3
"""Counts the comments of the product's C: how many blocks of .c files give a reason.

Usage: count_comments.py ROOT [--list FOLDER] [--least PERCENT]

Prints a line for each top folder. A block is one comment, or several on adjacent lines. A block counts as a reason if it has one
of the words of REASON: what something prevents, would cause or rests on. The share is an estimate by words, not a judgement of
the text. --list prints the blocks of that folder that have none. Exit status 1 if the share is below --least per cent.
"""

import argparse
import pathlib
import re
import sys

TOPS = ("core", "kernels", "runner", "bench", "server", "cli")
TOKEN = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])+\'', re.S)
REASON = re.compile(
    r"\b(because|since|so that|otherwise|therefore|thus|hence|or else|else|unless|would|could|cannot|can not|must|"
    r"never|without|to (avoid|prevent|keep|let|make sure)|instead of|rather than|in case|due to|too (few|many|long|short|"
    r"large|small|slow|late|early)|not enough|needs?|prevents?|avoids?|costs?|measured|see|[A-Z][a-z]+( and [A-Z][a-z]+| et al\.)?,? "
    r"(19|20)\d\d|RFC \d+|section \d|algorithm)\b")


def blocks(text):
    """Texts of the comments of a file; comments on adjacent lines are one."""
    found, end = [], -1
    for match in TOKEN.finditer(text):
        if match[0][0] in "\"'":
            continue
        own_line = text[text.rfind("\n", 0, match.start()) + 1:match.start()].strip() == ""
        if found and own_line and end >= 0 and text[end:match.start()].strip() == "" and text.count("\n", end, match.start()) == 1:
            found[-1] += " " + match[0]
        else:
            found.append(match[0])
        end = match.end() if own_line else -1
    return [" ".join(re.sub(r"^/\*+|\*+/$|^//|\n\s*\*", " ", block).split()) for block in found]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("root")
    parser.add_argument("--list", metavar="FOLDER")
    parser.add_argument("--least", type=float, default=20, metavar="PERCENT")
    args = parser.parse_args()
    root = pathlib.Path(args.root)
    total = [0, 0]
    for top in TOPS:
        count = [0, 0]
        for path in sorted((root / top).rglob("*.c")):
            name = path.relative_to(root)
            for block in blocks(path.read_text(encoding="utf-8")):
                reason = REASON.search(block) is not None
                count[0] += 1
                count[1] += reason
                if args.list and str(name).startswith(args.list) and not reason:
                    print(f"{name}: {block}")
        total = [a + b for a, b in zip(total, count)]
        print(f"{top:8} {count[0]:6} blocks {count[1]:6} with a reason  {100 * count[1] / max(count[0], 1):5.1f} %")
    print(f"{'all':8} {total[0]:6} blocks {total[1]:6} with a reason  {100 * total[1] / max(total[0], 1):5.1f} %")
    sys.exit(0 if total[0] and 100 * total[1] >= args.least * total[0] else 1)


if __name__ == "__main__":
    main()
