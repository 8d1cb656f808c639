# SPDX-License-Identifier: Apache-2.0
"""Prints "PASSED FAILED SKIPPED" of a JUnit file of ctest. A file that is not there is one failure."""
import sys
import xml.etree.ElementTree as tree

try:
    cases = tree.parse(sys.argv[1]).getroot().findall("testcase")
except (OSError, tree.ParseError):
    print("0 1 0")
    sys.exit()
status = [case.get("status") for case in cases]
skipped = sum(case.find("skipped") is not None for case in cases)
passed = status.count("run")
print(passed, len(cases) - passed - skipped, skipped)
