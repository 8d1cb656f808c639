# SPDX-License-Identifier: Apache-2.0
"""Runs many cases by one `stagecoach verify`, and says which did not pass even when one of them ends the process."""
import os
import re
import signal
import subprocess

LINE = re.compile(r"^(FAIL|SKIP) (\S+?): (.*)")
DIRTY = {**os.environ, "MALLOC_PERTURB_": "165"}  # new memory is not zero: what nobody wrote is seen
LAST = re.compile(r"^\d+ passed, \d+ failed")


def once(command, folders, seconds, said=None):
    """Returns {folder: (verdict, why)} of the cases that did not pass, or a text that says how the run broke. `said` gets
    the lines of a run that did not."""
    process = subprocess.Popen(command + folders, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, env=DIRTY,
                               stderr=subprocess.PIPE, text=True, errors="replace", start_new_session=True)
    try:
        out, err = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        return f"no end after {seconds} s"
    lines = out.splitlines()
    if process.returncode not in (0, 1) or not lines or not LAST.match(lines[-1]):
        last = ((err.strip() or out.strip()).splitlines() or ["nothing was printed"])[-1]
        code = process.returncode
        return f"{'signal' if code < 0 else 'exit code'} {abs(code)}: {last[:200]}"
    if said is not None:
        said += lines
    return {match[2]: (match[1], match[3]) for match in filter(None, map(LINE.match, lines))}


def run(command, folders, said=None, each=1):
    """{folder: (verdict, why)} of the cases that did not pass. A run that breaks is halved until the guilty one is found.
    It has two minutes, and `each` seconds a case."""
    bad = once(command, folders, 120 + each * len(folders), said)
    if isinstance(bad, dict):
        return bad
    if len(folders) == 1:
        return {folders[0]: ("FAIL", bad)}
    half = len(folders) // 2
    return run(command, folders[:half], said, each) | run(command, folders[half:], said, each)
