# SPDX-License-Identifier: Apache-2.0
"""Prints "PASSED FAILED SKIPPED WHY" of a JUnit file of ctest; WHY: what tests that were skipped say, "skipped: ...", each reason
once. A file that is not there is one failure."""
import sys
import xml.etree.ElementTree as tree

try:
    cases = tree.parse(sys.argv[1]).getroot().findall("testcase")
except (OSError, tree.ParseError):
    print("0 1 0")
    sys.exit()
status = [case.get("status") for case in cases]
skips = [case for case in cases if case.find("skipped") is not None]
skipped = len(skips)
said = [line[9:] for case in skips for line in case.findtext("system-out", "").splitlines() if line.startswith("skipped: ")]
passed = status.count("run")
print(passed, len(cases) - passed - skipped, skipped, "; ".join(dict.fromkeys(said)))
