"""A wait for a condition: its value, its deadline, and a machine that stands still."""
import unittest

import waiting


class Clock:
    """`stalls`: seconds that pass, besides the pause, before the pass of that number."""

    def __init__(self, stalls=None):
        self.time, self.passes, self.stalls = 0.0, 0, stalls or {}

    def now(self):
        return self.time

    def pause(self, seconds):
        self.passes += 1
        self.time += seconds + self.stalls.get(self.passes, 0.0)


def wait(clock, condition, seconds):
    return waiting.until("the answer", condition, seconds, now=clock.now, pause=clock.pause)


class Waiting(unittest.TestCase):
    def test_the_value_of_the_condition_is_returned(self):
        clock = Clock()
        self.assertEqual(wait(clock, lambda: clock.passes == 3 and "value", 10), "value")
        self.assertEqual(clock.passes, 3)

    def test_a_condition_that_never_comes_true_ends_at_the_deadline(self):
        clock = Clock()
        with self.assertRaisesRegex(AssertionError, "^never came true within 10 s: the answer$"):
            wait(clock, lambda: False, 10)
        self.assertAlmostEqual(clock.time, 10, delta=0.1)

    def test_a_machine_that_stands_still_does_not_use_up_the_deadline(self):
        clock = Clock({2: 300.0, 4: 300.0})
        self.assertTrue(wait(clock, lambda: clock.passes > 5, 10))
        clock = Clock({2: 300.0})
        with self.assertRaises(AssertionError):
            wait(clock, lambda: False, 10)
        self.assertAlmostEqual(clock.time, 308, delta=0.2)  # 2 s of the stall count


if __name__ == "__main__":
    unittest.main(verbosity=2)
