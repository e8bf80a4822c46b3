"""What every command has in common: errors with a hint, options, tables, text of others."""

import csv
import io
import json
import os
import pty
import re
import subprocess
import unicodedata

import support
from stub import Stub

EVIL = "\x1b[31mred\x1b]0;title\x07 bell\rback \x9b2J c1 ‮bidi⁦ \u2028line \x7fdel"
UNSAFE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u206f\ufeff]")

SERIES = {"id": 7, "benchmark": "bench " + EVIL, "metric": "time", "backend": "cpu", "machine_class": "a class",
          "points": 40, "last": {"median": 1.23456789012345}, "unit": "s",
          "change": {"rel_change": 0.0523456789, "status": "confirmed"}}
JOB = {"id": 3, "project": "p", "kind": "measure", "commit": "a" * 40, "state": "failed", "tries": 2, "runner": "r1",
       "reason": "the build failed: " + "very long explanation, " * 20 + EVIL}


def columns_of(line):
    return sum(2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in line)


class Output(support.Case):
    def setUp(self):
        super().setUp()
        self.stub = Stub({("GET", "/api/v1/projects/p/series"): {"series": [SERIES]},
                          ("GET", "/api/v1/jobs"): {"jobs": [JOB]},
                          ("GET", "/api/v1/jobs/3"): JOB,
                          ("GET", "/api/v1/jobs/4"): (404, {"error": {"message": "no job 4 " + EVIL}}),
                          ("GET", "/api/v1/jobs/5"): (401, {"error": {"message": "the token is not valid"}}),
                          ("GET", "/api/v1/jobs/6"): (502, "x")})
        self.addCleanup(self.stub.close)
        self.env.update(PERFCI_URL=self.stub.url)

    def on_terminal(self, columns, *args):
        """stdout of perfci on a terminal of so many columns."""
        leader, follower = pty.openpty()
        done = subprocess.Popen([support.PERFCI, *args], stdin=subprocess.DEVNULL, stdout=follower,
                                stderr=subprocess.DEVNULL, cwd=self.dir,
                                env={**self.env, "COLUMNS": str(columns), "NO_COLOR": "1", "LC_ALL": "C.UTF-8"})
        os.close(follower)
        text = b""
        while True:
            try:
                some = os.read(leader, 65536)
            except OSError:
                break
            if not some:
                break
            text += some
        os.close(leader)
        self.assertEqual(done.wait(60), 0)
        return text.decode().replace("\r\n", "\n")

    def test_control_characters_of_others_do_not_reach_the_terminal(self):
        for args in (["series", "--project", "p"], ["series", "--project", "p", "--csv"],
                     ["series", "--project", "p", "--json"], ["jobs"], ["jobs", "3"], ["jobs", "--json"],
                     ["jobs", "4"], ["jobs", "cancel" + EVIL], ["jobs", "--" + EVIL], ["no" + EVIL]):
            done = self.perfci(*args)
            self.assertIsNone(UNSAFE.search(done.stdout), (args, done.stdout))
            self.assertIsNone(UNSAFE.search(done.stderr), (args, done.stderr))
        # JSON says the same with escapes.
        done = self.perfci("series", "--project", "p", "--json")
        self.assertEqual(json.loads(done.stdout)["series"][0]["benchmark"], SERIES["benchmark"])

    def test_a_table_fits_the_terminal_and_is_whole_in_a_pipe(self):
        for columns in (60, 80, 100, 200):
            text = self.on_terminal(columns, "jobs")
            self.assertEqual([line for line in text.splitlines() if columns_of(line) > columns], [], columns)
            self.assertEqual(len(text.splitlines()), 2)
            self.assertIn("…", text)
            self.assertIn("failed" if columns >= 80 else "fai", text)
        self.assertIn(JOB["reason"][:400], self.perfci("jobs").stdout)

    def test_csv_has_a_header_and_unrounded_values(self):
        rows = list(csv.DictReader(io.StringIO(self.perfci("series", "--project", "p", "--csv").stdout)))
        self.assertEqual(len(rows), 1)
        self.assertEqual(rows[0]["id"], "7")
        self.assertEqual(float(rows[0]["last"]), SERIES["last"]["median"])
        self.assertEqual(float(rows[0]["change"]), SERIES["change"]["rel_change"])
        rows = list(csv.DictReader(io.StringIO(self.perfci("jobs", "--csv").stdout)))
        self.assertEqual(rows[0]["commit"], "a" * 40)
        self.stub.answers[("GET", "/api/v1/jobs")] = {"jobs": []}
        self.assertEqual(len(self.perfci("jobs", "--csv").stdout.splitlines()), 1)
        self.expect(self.perfci("jobs", "--csv", "--json"), 2)

    def test_answers_of_the_service_are_sentences(self):
        for number, status, sentence, hint in ((4, 2, "perfci jobs: no job 4 ", "check the name or number"),
                                               (5, 2, "perfci jobs: the token is not valid\n", "set PERFCI_TOKEN_FILE"),
                                               (6, 5, "perfci jobs: the service at ", "try again")):
            done = self.expect(self.perfci("jobs", str(number)), status)
            self.assertTrue(done.stderr.startswith(sentence), done.stderr)
            self.assertEqual(done.stderr.count("\n"), 2, done.stderr)
            self.assertIn("\nhint: " + hint, done.stderr)
            self.assertNotIn("/api/v1", done.stderr)

    def test_every_command_names_the_option_that_is_wrong(self):
        listed = self.perfci("--help").stdout.partition("Commands:\n")[2].partition("\n\n")[0]
        commands = [[line.split()[0]] for line in listed.splitlines()]
        self.assertGreater(len(commands), 20)
        commands.remove(["accel"])
        for command in commands + [["accel", "run"], ["accel", "chips"]]:
            done = self.expect(self.perfci(*command, "--no-such-option"), 2)
            self.assertEqual(done.stdout, "")
            self.assertEqual(done.stderr.splitlines()[0],
                             f"perfci {' '.join(command)}: unknown option \"--no-such-option\"")
            self.assertTrue(done.stderr.splitlines()[1].startswith("hint: "))
        done = self.expect(self.perfci("run", "--flter", "x"), 2)
        self.assertIn('hint: did you mean "--filter"?', done.stderr)
        done = self.expect(self.perfci("jobs", "--limit"), 2)
        self.assertIn('option "--limit" needs a value', done.stderr)
        done = self.expect(self.perfci("jobs", "--quiet=3"), 2)
        self.assertIn('option "--quiet" takes no value, got "3"', done.stderr)
        done = self.expect(self.perfci("jobs", "-x"), 2)
        self.assertIn('unknown option "-x"', done.stderr)
        # What stands behind -- is a command to measure, with options of its own.
        self.assertNotIn("unknown option", self.perfci("run", "--", "true", "--no-such-option").stderr)


if __name__ == "__main__":
    support.main()
