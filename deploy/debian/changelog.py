#!/usr/bin/env python3
"""docs/CHANGELOG.md as Debian's changelog: changelog.py PACKAGE VERSION EPOCH FILE. A version that has no entry of its own
(a package of a commit between releases) gets one that says so."""
import email.utils
import re
import sys
import textwrap


def main():
    package, version, epoch, path = sys.argv[1:]
    with open(path, encoding="utf-8") as file:
        entries = re.findall(r"^## (\S+) \(\d{4}-\d{2}-\d{2}\)\n(.*?)(?=^## |\Z)", file.read(), re.S | re.M)
    if version not in [name for name, _ in entries]:
        entries.insert(0, (version, "- Built between releases.\n"))
    date = email.utils.formatdate(int(epoch), usegmt=False)
    for name, text in entries:
        lines = [re.sub(r"`", "", line[2:]) for line in text.splitlines() if line.startswith("- ")]
        print(f"{package} ({name}) unstable; urgency=medium\n")
        print("\n".join(textwrap.fill(line, 76, initial_indent="  * ", subsequent_indent="    ") for line in lines))
        print(f"\n -- perfci maintainers <perfci@packages.debian.org>  {date}\n")


main()
