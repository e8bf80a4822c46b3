#!/usr/bin/env python3
"""Finds circles of calls: source files of the product that cannot be linked or read without each other.

Usage: check_circles.py ROOT BUILD [--most N]

Reads the symbols of every object file of the product's libraries and programs in BUILD (nm) and draws an arrow from
each file to the file that defines a symbol which it uses. Prints each circle of more than N files (default 2) with the
names that tie it; exit 1 if there is any, 2 where BUILD has no objects. Two files may need each other: a header's
subject that is split over two files for length. A larger circle means that no part of it can be understood alone.
"""

import argparse
import collections
import os
import pathlib
import re
import subprocess
import sys

TOPS = ("core", "kernels", "server", "runner", "bench", "cli", "schema")


def objects(root, build):
    """Each object of the product: (its source's path, the object)."""
    for top in TOPS:
        for path in sorted(pathlib.Path(build, top).rglob("*.c.o")):
            folder, rest = re.match(r"(.*?)/?CMakeFiles/[^/]+\.dir/(.*)\.o$", str(path.relative_to(build))).groups()
            if os.path.exists(os.path.join(root, folder, rest)):  # else a file that was moved since the build
                yield f"{folder}/{rest}", path


def symbols(paths):
    """{object: (names that it defines, names that it uses)}, global ones only."""
    text = subprocess.run(["nm", "-A", "-g", *map(str, paths)], check=True, stdout=subprocess.PIPE, text=True).stdout
    found = {path: (set(), set()) for path in paths}
    for line in text.splitlines():
        path, _, rest = line.partition(".o:")
        kind, name = rest.split()[-2:]
        found[pathlib.Path(path + ".o")][kind in "Uw"].add(name)
    return found


def graph(root, build):
    """{file: {file that it uses: names}}; a symbol that several programs define belongs to the file's own folder."""
    sources = {}
    for source, path in objects(root, build):
        sources.setdefault(source, path)  # the same file in two targets has the same symbols
    found = symbols(list(sources.values())) if sources else {}  # nm without a name reads a.out
    homes = collections.defaultdict(list)
    for source, path in sources.items():
        for name in found[path][0]:
            homes[name].append(source)
    arrows = {}
    for source, path in sources.items():
        arrows[source] = collections.defaultdict(set)
        for name in found[path][1]:
            known = homes.get(name, [])
            near = [home for home in known if home.rsplit("/", 1)[0] == source.rsplit("/", 1)[0]]
            for home in near or known[:1]:
                if home != source:
                    arrows[source][home].add(name)
    return arrows


def circles(arrows):
    """Strongly connected components of more than one file: R. Tarjan, SIAM Journal on Computing 1(2), 1972."""
    index, low, stack, on, out = {}, {}, [], set(), []

    def visit(node):
        index[node] = low[node] = len(index)
        stack.append(node)
        on.add(node)
        for other in arrows[node]:
            if other not in index:
                visit(other)
                low[node] = min(low[node], low[other])
            elif other in on:
                low[node] = min(low[node], index[other])
        if low[node] == index[node]:
            part = []
            while not part or part[-1] != node:
                part.append(stack.pop())
                on.discard(part[-1])
            if len(part) > 1:
                out.append(sorted(part))

    sys.setrecursionlimit(10000)
    for node in arrows:
        if node not in index:
            visit(node)
    return out


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("root")
    parser.add_argument("build")
    parser.add_argument("--most", type=int, default=2)
    args = parser.parse_args()
    arrows = graph(args.root, args.build)
    if not arrows:
        print(f"check_circles.py: {args.build}: no object files: expected a finished build", file=sys.stderr)
        sys.exit(2)
    large = [part for part in circles(arrows) if len(part) > args.most]
    for part in large:
        print(f"circle of {len(part)} files:")
        for source in part:
            for other in sorted(set(arrows[source]) & set(part)):
                print(f"  {source} -> {other}: {', '.join(sorted(arrows[source][other]))}")
    print(f"circles: {len(large)} of more than {args.most} files, in {len(arrows)} files")
    sys.exit(1 if large else 0)


main()
