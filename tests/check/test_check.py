"""The assertions of tests/check: which comparisons hold, that a failure fails, and what is said about it."""
import os
import re
import subprocess
import unittest

PROGRAM = os.path.join(os.environ["PERFCI_TEST_DIR"], "check_failing")


def ran(pattern):
    done = subprocess.run([PROGRAM, "--filter", pattern], capture_output=True, text=True, timeout=120,
                          stdin=subprocess.DEVNULL, check=False)
    return done.returncode, done.stdout + done.stderr


class Check(unittest.TestCase):
    maxDiff = None

    def fails(self, name, *words):
        status, text = ran(f"fails/{name}")
        self.assertEqual(status, 1, text)
        self.assertRegex(text, r"(?m)^1 tests, 1 failed, 0 skipped$", text)
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
        self.assertRegex(text, r"(?m)^3 tests, 0 failed, 0 skipped$", text)
        self.assertNotIn("wrong answer", text)

    def test_hooks_come_before_and_after_all_tests(self):
        text = self.ends("wi*_its_*", "3 tests", status=1)
        self.assertEqual((text.count("info: before all\n"), text.count("info: after all\n"), text.count("info: begun\n")), (1, 1, 3))
        said = [line for line in text.splitlines() if line.startswith("info:")]
        self.assertEqual((said[0], said[-1]), ("info: before all", "info: after all"))

    def ends(self, name, *words, status=1):
        got, text = ran(f"ends/{name}")
        self.assertEqual(got, status, text)
        for word in words:
            self.assertIn(word, text)
        return text

    def test_the_teardown_comes_after_a_failure_too(self):
        self.ends("by_assertion", "info: begun\n", "info: torn down\n", "FAILED ends/by_assertion: an assertion failed\n")

    def test_an_end_that_was_not_expected_fails(self):
        self.ends("by_signal", "FAILED ends/by_signal: ended by signal 15 (Terminated)\n")
        self.ends("without_its_signal", "FAILED ends/without_its_signal: ended without the signal 15\n")
        self.ends("with_a_status", "FAILED ends/with_a_status: ended with status 3\n")
        self.ends("too_late", "FAILED ends/too_late: not done after 0.2 s\n")

    def test_an_expected_end_passes(self):
        for name in ("with_its_signal", "with_its_status"):
            self.ends(name, "1 tests, 0 failed, 0 skipped\n", status=0)

    def test_a_skipped_test_says_why_and_counts_as_skipped(self):
        self.ends("skipped", "skipped: no such device\n", "1 tests, 0 failed, 1 skipped\n", status=77)
        self.ends("*_its_status", "1 tests, 0 failed, 0 skipped\n", status=0)

    def test_no_test_that_matches_is_a_failure(self):
        self.ends("disabled", "no test matches ends/disabled\n")
        done = subprocess.run([PROGRAM, "--nonsense"], capture_output=True, text=True, timeout=120, check=False)
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertIn("unknown option --nonsense", done.stderr)

    def test_all_tests_are_listed(self):
        done = subprocess.run([PROGRAM, "--list", "--filter", "answers/*"], capture_output=True, text=True, timeout=120, check=False)
        self.assertEqual((done.returncode, sorted(done.stdout.split())), (0, ["answers/near", "answers/numbers", "answers/texts_and_addresses"]))


if __name__ == "__main__":
    unittest.main()
