#!/usr/bin/env python3
"""Prints a bash script with every command of docs/tutorial/first-hour.md and README.md, in order.

Usage: tutorial.py [PORT]   PORT: of the dashboard, instead of the default
deploy/prove.sh --only tutorial runs the script in a bare Debian, in a clone of this repository.

The lines are read from the pages: each indented line of a section is a command. PLACES names the working directory
at the start of each block of lines; a section with commands that PLACES does not know is an error. The reader's own
repositories are those of tests/e2e/reader.py. All lines run in one shell, so that `cd` and `export` stay in force.
"""

import pathlib
import re
import shlex
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
CLONE, OWN = "/src/perfci", "/root/own"
STAY = None  # where the line before has led
# Page, section, folder at the start of each block.
PLACES = [
    ("docs/tutorial/first-hour.md", "Install perfci", [CLONE]),
    ("docs/tutorial/first-hour.md", "Try it on a sample repository", [STAY]),
    ("docs/tutorial/first-hour.md", "C++: CMake and Google Benchmark", [OWN + "/cpp"]),
    ("docs/tutorial/first-hour.md", "Python: pytest-benchmark", [OWN + "/python"]),
    ("docs/tutorial/first-hour.md", "Any program that prints text in Go's format", [OWN + "/text"]),
    # After the tutorial: quickstart.sh installs more packages, which could hide one that the tutorial does not name.
    ("README.md", "Two commands", [CLONE]),
    ("README.md", "Your own repository", [CLONE, OWN + "-readme/text"]),
]
LEFT_OUT = {
    "./deploy/test.sh": "deploy/prove.sh --only distributions runs it, for an hour",
}
# Sections whose commands need a repository with metrics and alerts: this test makes one and types them there.
ELSEWHERE = {("README.md", "Tour")}
TOUR = f"""
PERFCI_SOURCE_DIR={CLONE} PERFCI_BIN_DIR={CLONE}/build/release/bin PERFCI_TEST_DIR={CLONE}/build/release/tests \\
    python3 {CLONE}/tests/docs/test_shown_commands.py || fail "a command of README's tour or of a how-to page failed"
"""
# Installs the libraries of the three examples and makes a repository for each.
PREPARE = f"""
apt-get install -y -qq --no-install-recommends libbenchmark-dev python3-pytest-benchmark >/dev/null
for folder in {OWN} {OWN}-readme; do
    {CLONE}/tests/e2e/reader.py "$folder" >"$folder.ids"
done
export MIX_CLOCK=steps
"""
# type_line STATUS COMMAND : runs it in this shell; what it printed is in $printed.
TYPE = r"""
printed=$(mktemp)
fail() {
    echo "tutorial: $1" >&2
    exit 1
}
type_line() {
    local status=0 begun=$SECONDS
    printf '%s$ %s\n' "$PWD" "$2"
    eval "$2" >"$printed" 2>&1 || status=$?
    cat "$printed"
    echo "   (status $status, $((SECONDS - begun)) s)"
    [ "$status" -eq "$1" ] || fail "\"$2\" ended with status $status, expected $1"
}
names() {
    grep -q "^${1:0:12} " "$printed" && grep -q confirmed "$printed" || fail "the planted commit ${1:0:12} is not named"
}
"""


def sections(page):
    """(heading, blocks) of a page; a block is a list of adjacent indented lines without their comments."""
    text = re.sub(r"^```.*?^```\n", "", (ROOT / page).read_text(encoding="utf-8"), flags=re.M | re.S)
    for part in re.split(r"^## ", text, flags=re.M)[1:]:
        heading, _, body = part.partition("\n")
        yield heading, [[re.sub(r"\s+# .*$", "", line.strip()) for line in block.splitlines()]
                        for block in re.findall(r"(?:^    .*\n)+", body, flags=re.M)]


def expected(line):
    """The status that the pages promise: 1 where a culprit is named."""
    return 1 if line.startswith("perfci bisect ") else 0


def lines_of_block(page, block, folder):
    if folder is not STAY:
        yield f"cd {folder} || fail 'no folder {folder}'"
    for line in block:
        if line in LEFT_OUT:
            yield f"printf '%s\\n' {shlex.quote(f'left out: {line}: {LEFT_OUT[line]}')}"
            continue
        yield f"type_line {expected(line)} {shlex.quote(line)}"
        if line.startswith("./deploy/demo/make_demo.py "):
            yield 'demo=$(tail -n 1 "$printed")'
        if line.startswith("perfci bisect "):
            project = (folder or "demo").rsplit("/", 1)
            yield 'names "$demo"' if folder is STAY else f"names \"$(sed -n 's/^{project[1]} //p' {project[0]}.ids)\""


def script(port):
    places = {(page, heading): folders for page, heading, folders in PLACES}
    seen, text = [], [TYPE]
    for page in dict.fromkeys(page for page, _, _ in PLACES):
        for heading, blocks in sections(page):
            if not blocks or (page, heading) in ELSEWHERE:
                continue
            folders = places.get((page, heading))
            if folders is None or len(folders) != len(blocks):
                sys.exit(f"tutorial.py: {page}, section \"{heading}\": {len(blocks)} blocks of commands, "
                         f"PLACES has folders for {len(folders or [])}")
            seen.append((page, heading))
            for block, folder in zip(blocks, folders):
                if folder and folder.startswith(OWN) and PREPARE not in text:
                    text.append(PREPARE)
                typed = [line + f" --port {port}" if port and line == "./deploy/quickstart.sh" else line for line in block]
                text.extend(lines_of_block(page, typed, folder))
    missing = [place for place in places if place not in seen]
    if missing:
        sys.exit(f"tutorial.py: sections without commands or no longer there: {missing}")
    text.append(TOUR)
    text.append("echo 'tutorial: every line ended as the page says'")
    return "\n".join(text)


if __name__ == "__main__":
    print(script(sys.argv[1] if len(sys.argv) > 1 else None))
