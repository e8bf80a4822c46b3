#!/usr/bin/env bash
# Prints the commands of the first block ```sh of a section, one a line, without their comments.
# usage: page_commands.sh PAGE HEADING      ends with 1 and a sentence when there is no such section or no command in it
set -euo pipefail
[ $# -eq 2 ] || { echo "page_commands.sh: expected PAGE and HEADING, got $# arguments" >&2; exit 2; }
# awk of a bare Debian (mawk): the tests that read pages run where there is no Python.
commands=$(awk -v heading="## $2" '
    /^## / { inside = ($0 == heading) }
    inside && /^```sh$/ { block = 1; next }
    block && /^```$/ { exit }
    block { sub(/[ \t]+#[ \t].*$/, ""); if ($0 != "") print }' "$1")
[ -n "$commands" ] || { echo "page_commands.sh: $1: no commands in a section \"$2\"" >&2; exit 1; }
printf '%s\n' "$commands"
