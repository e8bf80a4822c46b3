"""The log of a bisection: a line for each decision, with --verbose for each run."""

import itertools
import re
import unittest

import listed


class Log(listed.Case):
    def log_of(self, *more):
        done = self.expect(self.perfci(*[a for a in self.command("--confirm") if a != "--json"], *more), 1)
        config, *log = done.stderr.splitlines()
        self.assertRegex(config, "^config: none; measure: exec .*; metric: value$")
        return log, done.stdout

    def test_the_log_has_a_line_for_each_decision(self):
        self.history(*[100] * 8, *[120] * 8)
        log, report = self.log_of()
        self.assertEqual(log[0], "searching 16 commits, from c00 to c15")
        at = log.index(listed.CONFIRMING)
        self.assertRegex(log[1], r"^\[\d+/\d+\] ends: c00: \d+ runs?, [\d.]+; c15: \d+ runs?, [\d.]+ \(\+\d+\.\d % against c00\)$")
        commits = []
        for line in log[2:at]:
            match = re.match(r"^\[(\d+)/(\d+)\] (c\d\d): (\d+) runs?, [\d.]+(?: \([+-]\d+\.\d+ % against c00\))?; suspects: (.+)$", line)
            self.assertTrue(match or line.startswith("["), line)
            if match:
                self.assertLess(int(match[1]), int(match[2]), line)
                commits.append(match[3])
        # a decision is one commit with all its runs: the same commit never has two lines in a row
        self.assertTrue(all(a != b for a, b in zip(commits, commits[1:])), commits)
        self.assertRegex(log[at - 1], r"suspects: c08 0\.9\d")
        self.assertEqual(len(log), at + 2)
        self.assertRegex(log[at + 1], r"^\[\d+\] confirmation: \d+ runs$")
        runs = int(re.search(r"(?m)^spent +(\d+) runs, ", report)[1])
        self.assertEqual(int(log[-1].split("]")[0][1:]), runs)
        self.assertLess(len(log), runs)
        self.assertLessEqual(len(report.splitlines()), 15)

    def test_many_pairs_in_a_row_have_a_line_when_their_number_has_doubled(self):
        self.history(100, 100, 100)
        command = [a for a in self.command("--paired", "--margin", "0.001", "--delta=0.04", "--lower-is-better") if a != "--json"]
        command[command.index("--measure") + 1] = (
            'n=$(wc -l < "$HERE/calls"); echo "$PERFCI_COMMIT" >> "$HERE/calls"; '
            "awk -v n=$n 'BEGIN { srand(n * 9973); rand(); print 100 * (1 + (rand() - 0.5) / 10) }'")
        done = self.expect(self.perfci(*command), 3)
        lines = [re.match(r"^\[(\d+)/\d+\] (c\d\d): (\d+) runs?, \S+ \([+-]\S+ % against (\S+)\); suspects: ", line)
                 for line in done.stderr.splitlines() if line.startswith("[")]
        self.assertTrue(all(lines), done.stderr)
        rows = [list(group) for _, group in itertools.groupby(lines, key=lambda m: m[2])]
        for row in rows:
            counts = [int(m[3]) for m in row]
            self.assertEqual(counts, sorted(set(counts)))
            self.assertTrue(all(after >= 1.5 * before for before, after in zip(counts, counts[1:-1])), counts)
            self.assertEqual({m[4] for m in row}, {"itself" if row[0][2] == "c00" else "c00"})
        self.assertGreater(max(int(m[3]) for m in lines), 60)
        # what was spent is what the budget allowed, in runs of both sides; the last unit is completed
        spent = int(re.search(r"(?m)^spent +(\d+) runs, ", done.stdout)[1])
        self.assertEqual(int(lines[-1][1]), spent)
        budget = int(re.search(r"Budget of (\d+) runs used", done.stdout)[1])
        self.assertTrue(budget <= spent < budget + 16, (budget, spent))

    def test_verbose_adds_a_line_for_each_run(self):
        self.history(*[100] * 8, *[120] * 8)
        log, report = self.log_of("--verbose")
        runs = [line for line in log if re.match(r"^run \d+: c\d\d: [\d.]+", line)]
        self.assertEqual([int(line.split()[1][:-1]) for line in runs], list(range(1, len(runs) + 1)))
        self.assertEqual(len(runs), int(re.search(r"(?m)^spent +(\d+) runs, ", report)[1]))
        at = log.index(listed.CONFIRMING)
        self.assertTrue(all(line.endswith(", to confirm") for line in log[at + 1:] if line.startswith("run ")), log)
        self.assertEqual(sum(line.startswith("[") for line in log), sum(line.startswith("[") for line in self.log_of()[0]))

    def test_quiet_prints_the_report_alone(self):
        self.history(*[100] * 8, *[120] * 8)
        done = self.expect(self.perfci(*[a for a in self.command("--quiet") if a != "--json"]), 1)
        self.assertEqual(done.stderr, "")
        self.assertIn("c08", done.stdout)


if __name__ == "__main__":
    unittest.main()
