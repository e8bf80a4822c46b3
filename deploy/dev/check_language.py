#!/usr/bin/env python3
"""Finds words and idioms that this tree does not use, in comments, messages, pages and documents.

Usage: check_language.py ROOT [--count]

Prints FILE:LINE: "what is there" (what to write instead); exit 1 if there is any. With --count: one line for each
idiom and each top folder instead. A word in code (an identifier) is not read, only what a person reads: comments and
string literals of C, TypeScript, Python, shell and SQL, and the text of Markdown outside of code.
The rules behind the list are in CONTRIBUTING.md, "Language".
"""

import argparse
import collections
import pathlib
import re
import subprocess
import sys

TOPS = ("core", "kernels", "server", "runner", "bench", "cli", "schema", "web", "deploy", "docs", "tests")
# Data of other projects, and the places that list the words themselves.
LEFT_OUT = re.compile(r"(^|/)(data|node_modules|fixtures)/|check_language\.py$|test_language\.py$|package-lock\.json$")

# (name, pattern, what to write instead, where: "all", "code" = comments and strings, "comment" = comments only)
BANNED = [
    ("nobody", r"(?<![\"`'])\b(nobody|somebody|whoever|anybody|everybody)\b(?!\\?[\"`'])", "name the process, the user or the thread", "all"),
    ("in vain", r"\bin vain\b", "without a result, or: times out", "all"),
    ("any more", r"\b(not|no|never|nothing|none|n't)\b[^.;]{0,60}\bany ?more\b", "no longer", "all"),
    ("stands in", r"\b(stands?|stood) (in|there|at|on|under|beside|for itself)\b", "is in", "all"),
    ("by itself", r"\bby itself\b", "automatically, or: alone", "all"),
    ("told", r"\b(is|are|was|were|be|been|not|has|have|had) told\b", "receives, is reported", "all"),
    ("hear", r"\b(hears?|heard|unheard)\b", "receives", "code"),
    ("farewell", r"\bfarewell\b", "final message", "all"),
    ("hunt", r"\bhunt(s|ed|ing|er)?\b", "search, bisection", "all"),
    ("odds", r"\bodds\b", "probability", "all"),
    ("anew", r"\banew\b", "again", "all"),
    ("newcomer", r"\bnewcomers?\b", "new commits, new users", "code"),
    ("the one who", r"\b(the ones?|those|he|one) who\b", "name the user or the program", "code"),
    ("sentence begins with Who", r"(?:^|[.;:!?] |/\*+ ?|\* )(Who|Whose|Whom)\b(?![^.]*\?)", "name the subject", "code"),
    ("sentence begins with What", r"(?:^|[.;!?] )What (?!if\b)(?![^.]*\?)", "name the subject", "comment"),
    ("that which", r"\b[Tt]hat which\b", "name the thing", "all"),
    ("of what", r"(?:^|[.;:] )Of what\b", "name the thing", "code"),
    ("want", r"\bwants? (at|an?|exactly|one|two|http|the|either|between|no|some|only)\b", "expected …, got …",
     "code"),
    ("long since", r"\blong since\b", "since when, as a number", "all"),
    ("keep house", r"\b(keeps?|kept|keeping) house\b|\bin the house\b", "does maintenance", "all"),
    ("word of", r"\b(has|have|is|was) (no|the|its) (last )?word\b", "decides", "code"),
    ("gone meanwhile", r"\bgone meanwhile\b|\bmeanwhile gone\b", "disconnected while", "code"),
    ("as it were", r"\bas it were\b|\bso to speak\b|\bon its own account\b", "leave it out", "all"),
    ("good end", r"\b(good|bad) ends?\b", "baseline, candidate; good commit, bad commit", "code"),
    ("opaque label", r"(?i)speaks of speed|weighed without|shows a change of|mistakes accepted|where it may be|\bworse too\b",
     "name the quantity: probability, false alarm rate, credible set", "code"),
]
# A reference to a document that is not in the tree.
ELSEWHERE = re.compile(r"\b(DESIGN|LAYOUT|CONTRACTS|FEATURES|TRAPS|GUIDE)\.md\b|\bshared/|(?<!perfci alerts )\bissue [0-9]+\b")

C_TOKEN = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])+\'', re.S)
TS_TOKEN = re.compile(r'/\*.*?\*/|(?<!:)//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|`(?:\\.|[^`\\])*`', re.S)
PY_TOKEN = re.compile(r'"""(?:.*?)"""|(?<!\S)#[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.S)
SH_TOKEN = re.compile(r'(?<!\S)#[^\n]*|"(?:\\.|[^"\\])*"|\'[^\']*\'', re.S)
SQL_TOKEN = re.compile(r"--[^\n]*")
JSX_TEXT = re.compile(r"(?<=>)[^<>{}=;]*[A-Za-z][^<>{}=;]*(?=[<{])")  # between the tags of an element
FENCE = re.compile(r"^(```|~~~).*?^\1", re.S | re.M)
LEXERS = {".c": C_TOKEN, ".h": C_TOKEN, ".def": C_TOKEN, ".ts": TS_TOKEN, ".tsx": TS_TOKEN, ".mjs": TS_TOKEN,
          ".py": PY_TOKEN, ".sh": SH_TOKEN, ".sql": SQL_TOKEN}


def passages(path, text):
    """(offset, text, kind) of each comment, string and paragraph; comments of several lines are joined."""
    if path.suffix == ".md":
        text = FENCE.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), text)
        text = re.sub(r"`[^`\n]*`", lambda match: " " * len(match[0]), text)
        for match in re.finditer(r"(?:[^\n]+\n?)+", text):
            yield match.start(), match[0], "text"
        return
    if path.suffix == ".tsx":
        for match in JSX_TEXT.finditer(text):
            yield match.start(), match[0], "string"
    lines = []  # comments that follow each other line by line are one text
    for match in LEXERS[path.suffix].finditer(text):
        token = match[0]
        if token.startswith(("//", "#", "--")):
            if lines and text[lines[-1][0] + len(lines[-1][1]):match.start()].strip() == "" and \
                    text.count("\n", lines[-1][0], match.start()) == 1:
                lines.append((match.start(), token))
                continue
            yield from together(lines)
            lines = [(match.start(), token)]
        elif token.startswith(("/*", '"""')):
            yield match.start(), token, "comment"
        else:
            yield match.start(), token, "string"
    yield from together(lines)


def together(lines):
    if lines:
        yield lines[0][0], "\n".join(token for _, token in lines), "comment"


def faults_of(path, name, text):
    for offset, passage, kind in passages(path, text):
        # One line, so that a pattern matches across a line's end; lengths stay, so that places can be found.
        flat = re.sub(r"\n[ \t]*(\*(?!/)|//|#|--)?", lambda match: " " * len(match[0]), passage)
        # Code inside of a string: ${name} of a template, {name} of a format string.
        flat = re.sub(r"\$?\{[^{}]*\}", lambda match: " " * len(match[0]), flat) if kind == "string" else flat
        body = re.sub(r"^(/\*+|//+|#+|--|\"\"\"|[\"'`])\s*", lambda match: " " * len(match[0]), flat)
        lead = len(body) - len(body.lstrip())
        for idiom, pattern, instead, where in BANNED:
            if where == "code" and kind == "text" or where == "comment" and kind != "comment":
                continue
            for match in re.finditer(pattern, re.sub(r"(?<=\S)  +", lambda m: " " * len(m[0]), body)[lead:]):
                line = text.count("\n", 0, offset + lead + match.start()) + 1
                yield f"{name}:{line}", idiom, f'"{" ".join(match[0].split())}"', instead
        for match in ELSEWHERE.finditer(body):
            line = text.count("\n", 0, offset + match.start()) + 1
            yield f"{name}:{line}", "document elsewhere", f'"{match[0]}"', "name a file of this tree, or say it here"


def files(root):
    listed = subprocess.run(["git", "-C", root, "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
                            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False).stdout.decode()
    names = filter(None, listed.split("\0"))
    if not listed:  # an exported tree without git
        names = (str(path.relative_to(root)) for path in pathlib.Path(root).rglob("*") if path.is_file())
    for name in sorted(names):
        path = pathlib.Path(root, name)
        if not LEFT_OUT.search(name) and not name.startswith("build/") and path.exists() and \
                (path.suffix in LEXERS or path.suffix == ".md"):
            yield name, path


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("root")
    parser.add_argument("--count", action="store_true")
    args = parser.parse_args()
    found = []
    seen = 0
    for name, path in files(args.root):
        seen += 1
        found += faults_of(path, name, path.read_text(encoding="utf-8"))
    if args.count:
        counts = collections.Counter((idiom, place.split("/")[0]) for place, idiom, _, _ in found)
        for (idiom, top), count in sorted(counts.items()):
            print(f"{idiom:28} {top:12} {count}")
    else:
        for place, _, text, instead in found:
            print(f"{place}: {text} ({instead})")
    print(f"language: {len(found)} fault(s) in {seen} files")
    sys.exit(1 if found or not seen else 0)


if __name__ == "__main__":
    main()
