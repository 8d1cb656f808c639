# SPDX-License-Identifier: Apache-2.0
"""Runs recorded models by `stagecoach verify`: right on one rank, and the same bits however they are cut.

Every model runs alone in one process on one thread, and must agree with what was recorded. Then all run in one job of four
ranks in many ways (verify --plans): whole on one and two threads, cut in 2, 3 and 4, and by random plans; each must give the
bits of the first run. A model with fewer nodes than stages is cut into as many as it has.

FOLDER/tolerance.tsv says how each is judged: name, rtol, ltol (of the output's largest magnitude), and perhaps IN=OUT, an
input that is fed with our own output of the data set before.
"""
import argparse
import collections
import pathlib
import re
import sys

import verify

ROOT = pathlib.Path(__file__).resolve().parents[1]
BITS = re.compile(r"^BITS (\w+), (\d+) runs?, stages ([\d ]+): (.*)")
RANKS = 4
SECONDS = 20  # for a model


def run(command, folders):
    """Returns ({name: (bits, runs, stages)}, {name: why})."""
    said = []
    bad = verify.run([str(word) for word in command], [str(folder) for folder in folders], said, SECONDS)
    matches = filter(None, map(BITS.match, said))
    good = {pathlib.Path(match[4]).name: (match[1], int(match[2]), match[3]) for match in matches}
    bad = {pathlib.Path(folder).name: why for folder, (_, why) in bad.items()}
    return good, {folder.name: "nothing was said" for folder in folders if folder.name not in good} | bad


def judge(what, options, tolerance, folders):
    """Returns the counts (passed, failed) of models that are judged alike."""
    program = options.program
    alone, bad = run([program, "verify", "--bits", "-t", 1, *tolerance], folders)
    for name, why in bad.items():
        print(f"FAIL {what} {name} (alone): {why}")
    passed, failed = len(alone), len(bad)
    folders = [folder for folder in folders if folder.name in alone]
    if options.alone or not folders:
        return passed, failed
    ways = ["--bits", "-pp", 1, "-t", 1, "--plans", options.plans]
    cut, bad = run([program, "launch", "-n", RANKS, "--", "verify", *ways, *tolerance], folders)
    for name, why in bad.items():
        print(f"FAIL {what} {name} (on {RANKS} ranks): {why}")
    failed += len(bad)
    for name, (bits, runs, stages) in cut.items():
        if bits == alone[name][0]:
            passed += runs
            print(f"{what} {name}: {1 + runs} runs right and equal in every bit, stages used {stages}")
        else:
            failed += 1
            print(f"FAIL {what} {name}: other bits on {RANKS} ranks than alone")
    return passed, failed


def main(what, models, counts):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default=ROOT / "build/dev/stagecoach")
    parser.add_argument("--plans", type=int, default=20, help="random ones")
    parser.add_argument("--alone", action="store_true", help="only against what was recorded, on one rank")
    parser.add_argument("names", nargs="*", metavar="NAME", help="the beginning of a model's name")
    options = parser.parse_args()

    alike = collections.defaultdict(list)
    for line in (models / "tolerance.tsv").read_text().splitlines():
        name, *how = line.split("\t")
        if any(name.startswith(start) for start in options.names or [""]):
            alike[tuple(how)].append(models / name)
    passed = failed = 0
    for (rtol, ltol, *states), folders in alike.items():
        tolerance = ["--rtol", rtol, "--atol", 0, "--ltol", ltol, *(word for state in states for word in ("--state", state))]
        counted = judge(what, options, tolerance, folders)
        passed += counted[0]
        failed += counted[1]
    print(f"{what}s: {passed} runs of {sum(map(len, alike.values()))} models right and equal in every bit, {failed} not")
    counts.write_text(f"{passed} {failed} 0\n")
    sys.exit(1 if failed or not passed else 0)
