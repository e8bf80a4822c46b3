"""Bisections without a repository: ids in a file, a script that knows their values."""

import support

MEASURE = """#!/bin/sh
cd "$HERE" || exit 9
n=$(wc -l < calls); n=$((n + 1)); echo "$1" >> calls
if [ -e block ] && [ "$n" = "$(cat block)" ]; then : > blocked; exec sleep 600; fi
v=$(cat "values/$1") || exit 9
[ "$v" = broken ] && exit 125
[ "$v" = odd ] && { eval "$ODD"; exit $?; }
[ "$v" = flaky ] && v=100 && [ $((n % 2)) = 0 ] && exit 1
awk -v v="$v" -v n=$n 'BEGIN { print v * (1 + (n * 7 % 11 - 5) / 500) }'
"""

CONFIRMING = "confirming c08 against c07, the commit before it, in new interleaved pairs"


class Case(support.Case):
    def setUp(self):
        super().setUp()
        self.env["HERE"] = self.dir
        self.script = self.write("measure.sh", MEASURE, 0o755)
        self.write("calls", "")

    def history(self, *values):
        for i, v in enumerate(values):
            self.write(f"values/c{i:02}", f"{v}\n")
        return self.write("ids", "".join(f"c{i:02}\n" for i in range(len(values))))

    def command(self, *more):
        return ["bisect", "--commits", self.path("ids"), "--no-checkout", "--measure",
                f'exec {self.script} "$PERFCI_COMMIT"', "--json", *more]
