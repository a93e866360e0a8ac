#!/usr/bin/python3
"""Tests of analysis/report and qfsim report on small results, made by qfsim when the tests begin.

test_report.py QFSIM [TEST]...    QFSIM: the program to make results with; TEST: as of python3 -m unittest
"""

import pathlib
import sys
import unittest

import support

if __name__ == "__main__":
    support.make_results(pathlib.Path(sys.argv[1]).resolve())
    folder = pathlib.Path(__file__).parent
    tests = (
        unittest.defaultTestLoader.loadTestsFromNames(sys.argv[2:])
        if sys.argv[2:]
        else unittest.defaultTestLoader.discover(str(folder))
    )
    sys.exit(not unittest.TextTestRunner(verbosity=2).run(tests).wasSuccessful())
