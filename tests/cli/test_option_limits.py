"""Options with numbers: the smallest and the largest value that each takes, and the first ones beyond, which are refused."""

import support

MAX_I64 = 2**63 - 1
MARGIN = ("1e-9", "10", "0.9e-9", "10.001")
DURATION = ("0", "1e9", "-1", "1.0001e9")
LIMIT = (1, 1000)
# command, option, smallest and largest value, then the first ones beyond where they are not the next whole numbers
LIMITS = [
    *[(command, "--margin", *MARGIN) for command in ("compare", "check", "bisect", "nightly")],
    *[(command, "--rounds", *LIMIT) for command in ("compare", "check")],
    *[(command, "--seed", 0, MAX_I64) for command in ("compare", "check", "accel run", "accel grade-limiter", "accel grade-delta",
                                                       "accel grade-guidance")],
    ("accel run", "--launches", 1, 10000), *[(command, "--jobs", 1, 64) for command in ("accel grade-limiter", "accel grade-delta")],
    *[(command, "--cases", 1, 100000) for command in ("accel grade-limiter", "accel grade-delta", "accel grade-guidance")],
    *[(command, "--repeats", *LIMIT) for command in ("run", "nightly")],
    *[(command, "--limit", *LIMIT) for command in ("alerts", "groups", "events", "audit", "jobs", "notices", "series", "coverage", "schedule", "suppress")],
    ("suppress", "--days", 1, 90), ("suppress", "--below", "1e-6", "10", "0.9e-6", "10.001"),
    *[(command, option, *DURATION) for command, option in (
        ("run", "--timeout"), ("run", "--wait-quiet"), ("compare", "--timeout"), ("compare", "--wait-quiet"), ("compare", "--max-time"),
        ("check", "--timeout"), ("check", "--wait-quiet"), ("check", "--max-time"), ("bisect", "--timeout"), ("nightly", "--budget"),
        ("nightly", "--wait"), ("project", "--budget"), ("project", "--patience"), ("schedule", "--budget"), ("token", "--overlap"))], ("accel run", "--causal", 0, 1), ("accel run", "--trace-every", 1, MAX_I64),
    ("bisect", "--confidence", "0.5", "0.999999", "0.499999", "0.9999991"), ("bisect", "--max-runs", 2, 100000),
    ("bisect", "--noise", "0", "10", "-0.001", "10.001"), ("bisect", "--layout-noise", "0", "10", "-0.001", "10.001"),
    ("bisect", "--delta", "-0.999", "1000", "-0.9991", "1000.1"), ("bisect", "--alert", 1, MAX_I64),
    ("nightly", "--max-commits", 1, 250), ("schedule", "--max-commits", 1, 254), ("coverage", "--commits", 1, 500), ("coverage", "--jobs", *LIMIT),
    ("detect", "--min-change", "1e-9", "1e6", "0.9e-9", "1.0001e6"), ("detect", "--alpha", "1e-9", "0.5", "0.9e-9", "0.5001"),
    ("comment", "--pr", 1, 2**31 - 1), ("suite", "--batch", 1, 1024), ("suite", "--sequence", 1, 65536), ("up", "--port", 0, 65535),
    ("capacity", "--commits", "0.001", "1e6", "0.0009", "1.0001e6"), ("capacity", "--runs", "0.01", "1e4", "0.009", "1.0001e4"),
    ("capacity", "--series", 1, 10**8), ("capacity", "--points", 1, 20000), ("capacity", "--samples", 1, 100000),
    ("capacity", "--changing", "0", "1", "-0.001", "1.001"),
    ("capacity", "--growth", "0", "10", "-0.001", "10.001"), ("capacity", "--peak", "1", "100", "0.999", "100.1"),
    ("capacity", "--retain-raw", 0, 1200), ("capacity", "--retain-days", 0, 1200), ("capacity", "--months", 1, 1200), ("capacity", "--cores", 1, 4096),
    ("trace check", "--limit", 1, 100000), ("mcp", "--page", 1, 100), ("mcp", "--max-answer", 16, 16384),
    *[("accel run", f"--{name}", 0, 65536) for name in ("m", "n", "k", "h", "s", "d", "rows", "cols", "q", "kv", "act")],
]
# command, option, a value, how many of them are taken
COUNTS = [
    *[(command, "--backend", "b", 8) for command in ("run", "compare", "check", "nightly", "schedule")], ("run", "--size", "f", 16),
    ("bisect", "--paths", "g", 256), ("nightly", "--machine-class", "c", 8), ("token", "--scope", "read", 8),
    *[(command, "--direction", "m=lower", 256) for command in ("run", "compare", "check", "nightly", "detect", "push", "import")],
]

class Limits(support.Case):
    def say(self, command, *args):
        """The message about these arguments. They are read in order: after accepted ones the message is about the last one."""
        done = self.perfci(*command.split(), *args, "--color=limits", timeout=60)
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        return done.stderr.splitlines()[0].partition(": ")[2]

    def taken(self, command, *args):
        with self.subTest(command=command, args=args[-2:]):
            self.assertEqual(self.say(command, *args), '--color: expected auto, always or never, got "limits"')

    def refused(self, command, option, *args):
        with self.subTest(command=command, option=option, args=args[-1:]):
            said = self.say(command, *args)
            self.assertRegex(said, rf"^{option}: (expected|at most) ")
            return said

    def test_the_ends_are_taken_and_the_next_values_are_not(self):
        for command, option, low, high, *beyond in LIMITS:
            below, above = beyond or (low - 1, high + 1)
            for value in low, high:
                self.taken(command, f"{option}={value}")
            for value in below, above, "many":
                said = self.refused(command, option, f"{option}={value}")
                self.assertRegex(said, rf"expected .*, got {value}$" if value != "many" else r'expected .*, got "many"$')

    def test_a_fault_of_the_range_or_of_the_type_has_one_wording(self):
        self.assertEqual(self.refused("jobs", "--limit", "--limit=0"), "--limit: expected 1..1000, got 0")
        self.assertEqual(self.refused("jobs", "--limit", "--limit=1.5"), "--limit: expected 1..1000, got 1.5")
        self.assertEqual(self.refused("jobs", "--limit", "--limit="), '--limit: expected 1..1000, got ""')
        self.assertEqual(self.refused("bisect", "--alert", "--alert=0"), "--alert: expected 1 or more, got 0")
        self.assertEqual(self.refused("bisect", "--noise", "--noise=11"), "--noise: expected 0..10, got 11")
        self.assertEqual(self.refused("alerts", "--sort", "--sort=old"), '--sort: expected new or worth, got "old"')

    def test_an_option_is_taken_so_often_and_not_once_more(self):
        for command, option, value, most in COUNTS:
            args = [f"{option}={value}"] * most
            self.taken(command, *args)
            self.refused(command, option, *args, f"{option}={value}")

    def test_a_list_of_suites_has_a_limit(self):
        for files, limit in ((64, False), (65, True)):
            done = self.expect(self.perfci("suite", "check", "-q", *["none"] * files), 2)
            self.assertEqual("at most 64 files at once" in done.stderr, limit, done.stderr)

    def test_an_id_in_a_list_of_commits_has_a_length(self):
        for length, taken in ((64, True), (65, False)):
            ids = self.write("ids", f"first\n{'c' * length}\n")
            done = self.expect(self.perfci("bisect", "--commits", ids, "--no-checkout", "--measure", "echo 1", "--dry-run"), 0 if taken else 2)
            self.assertEqual("line 2: expected an id of at most 64 printable characters" in done.stderr, not taken, done.stderr)

    def test_words_of_options_are_taken_as_they_are_written(self):
        for command, option, words in (("compare", "--direction", ("m=lower", "m=higher", "a=b=lower")), ("import", "--better", ("lower", "higher")),
                                       ("alerts", "--sort", ("new", "worth")), ("bisect", "--axis", ("toolchain", "dependency"))):
            for word in words:
                self.taken(command, f"{option}={word}")
            for word in "up", words[0] + "x", words[0].upper(), "=lower", "lower=", "":
                self.refused(command, option, f"{option}={word}")

    def test_durations_have_the_units_that_are_said(self):
        for text in "500ms", "90s", "90", "5m", "2h", "1d", "11574d":
            self.taken("run", f"--timeout={text}")
        for text in "5x", "s", "11575d", "1e10", "5 m", "1M":
            self.refused("run", "--timeout", f"--timeout={text}")

    maxDiff = None

    def test_the_help_states_the_limits_of_every_option_with_a_number(self):
        shown = self.json_of(self.perfci("help", "--json"))
        commands = [command for one in shown["commands"] for command in
                    ([{**part, "name": f"{one['name']} {part['name']}"} for part in one["parts"]] if "parts" in one else [one])]
        stated = {(command["name"], f"--{option['name']}"): (option.get("min"), option.get("max")) for command in commands
                  for option in command["options"] if option["type"] in ("integer", "number", "duration")}
        self.assertEqual(stated, {(command, option): (None, None) if (low, high) == DURATION[:2] else tuple(v if isinstance(v, int) else float(v) for v in (low, high))
                                  for command, option, low, high, *_ in LIMITS})


if __name__ == "__main__":
    support.main()
