"""The assertions of tests/check: which comparisons hold, that a failure fails, and what is said about it."""
import os
import re
import subprocess
import unittest

PROGRAM = os.path.join(os.environ["PERFCI_TEST_DIR"], "check_failing")


def ran(pattern):
    done = subprocess.run([PROGRAM, "--jobs", "1", "--filter", pattern], capture_output=True, text=True, timeout=120,
                          stdin=subprocess.DEVNULL, check=False)
    return done.returncode, re.sub(r"\x1b\[[0-9;]*m", "", done.stdout + done.stderr)


class Check(unittest.TestCase):
    maxDiff = None

    def fails(self, name, *words):
        status, text = ran(f"fails/{name}")
        self.assertEqual(status, 1, text)
        self.assertRegex(text, r"Failing: 1\b", text)
        for word in ("tests/check/failing.c:", *words):
            self.assertIn(word, text)
        return text

    def test_an_assertion_ends_the_test(self):
        text = self.fails("assert_ends", "eq(int, 1 + 1, 3)", "got 2, expected == 3", "sum of 1")
        self.assertNotIn("after an assertion", text)

    def test_an_expectation_goes_on(self):
        self.fails("expect_goes_on", "lt(dbl, 2.5, 1.5)", "got 2.5, expected < 1.5", "after an expectation")

    def test_texts_show_their_first_difference(self):
        text = self.fails("text", "the first difference is at byte 361", "got NULL, expected \"\"")
        self.assertRegex(text, r'got \.\.\."[0-9]+ab"')
        self.assertRegex(text, r'expected \.\.\."[0-9]+ac"')

    def test_a_negated_condition_fails(self):
        self.fails("negated", "not(eq(sz, sizeof(int), sizeof(int)))")

    def test_a_condition_shows_no_values_of_an_earlier_one(self):
        self.assertNotIn("got", self.fails("condition", "sizeof(int) == 0"))

    def test_failures_without_a_condition(self):
        self.assertNotIn("after a fatal one", self.fails("fatal", "no row of gemm"))
        self.fails("fail", "the request was never read")

    def test_comparisons(self):
        status, text = ran("answers/*")
        self.assertEqual(status, 0, text)
        self.assertRegex(text, r"Tested: 3 \| Passing: 3 ", text)
        self.assertNotIn("wrong answer", text)


if __name__ == "__main__":
    unittest.main()
