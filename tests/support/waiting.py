"""Waiting for a condition, for the tests in Python.

The deadline counts time in which the test itself ran: a pass of the loop counts as at most LONGEST_PASS_S. A machine
that stands still for minutes, as shared ones do, stops the test and the program under test alike; without this bound
the first pass afterwards would find the deadline over, before that program had a moment to answer.
"""
import time

LONGEST_PASS_S = 2.0
PAUSE_S = 0.02


def until(what, condition, seconds, now=time.monotonic, pause=time.sleep):
    """Polls until condition() is true and returns its value; raises AssertionError after `seconds`."""
    waited, last = 0.0, now()
    while True:
        value = condition()
        if value:
            return value
        moment = now()
        waited, last = waited + min(moment - last, LONGEST_PASS_S), moment
        if waited > seconds:
            raise AssertionError(f"never came true within {seconds} s: {what}")
        pause(PAUSE_S)
