#!/bin/sh
# Prints the table of the night's study; see README.md. All flags: run.sh --help
exec python3 -u "$(dirname "$0")/study.py" "$@"
