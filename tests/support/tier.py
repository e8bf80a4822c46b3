"""Which tests of a script run: those marked with `long` need PERFCI_TESTS_LONG=1, as deploy/prove.sh --only suite sets it.

A script whose tests all take long has the label `long` in ctest instead: deploy/test.sh leaves it out.
"""
import os
import unittest

LONG = os.environ.get("PERFCI_TESTS_LONG") == "1"

long = unittest.skipUnless(LONG, "takes long; deploy/prove.sh --only suite runs it, or PERFCI_TESTS_LONG=1")
