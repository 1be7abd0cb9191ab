"""Cases of a framework. Each runs in a process of its own, within a time limit, and is reported as a line of JSON:
{"framework", "version", "settings", "case", "outcome", "reason", "seconds"}; outcome: right, wrong (its result), error, crashed, late.

A file of cases defines functions with @case, which assert what is right, and ends with main("Name", version).
"""
import argparse
import json
import signal
import subprocess
import sys
import time
import traceback

LIMIT_S = 600
CASES = {}


def case(function):
    CASES[function.__name__] = function
    return function


def run_here(name):
    """Exit status 0: right; 1: wrong; 2: any other exception, whose last line is the last of stderr."""
    try:
        CASES[name]()
    except AssertionError as error:
        print(f"wrong result: {' '.join(str(error).split())[:200]}", file=sys.stderr)
        return 1
    except Exception as error:  # whatever a framework raises is the answer
        traceback.print_exc()
        print(f"{type(error).__name__}: {' '.join(str(error).split())[:200]}", file=sys.stderr)
        return 2
    return 0


def outcome_of(status):
    if status < 0:
        return "crashed"
    return {0: "right", 1: "wrong"}.get(status, "error")


def run_apart(name):
    command = [sys.executable, sys.argv[0], "--only", name]
    try:
        ended = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=LIMIT_S)
    except subprocess.TimeoutExpired:
        return "late", f"not done in {LIMIT_S} s"
    outcome = outcome_of(ended.returncode)
    if outcome == "crashed":
        return outcome, signal.Signals(-ended.returncode).name
    lines = ended.stderr.strip().splitlines()
    return outcome, "" if outcome == "right" or not lines else lines[-1]


def report(file, **line):
    file.write(json.dumps(line) + "\n")
    file.flush()


def main(framework, version):
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", help="run this case here")
    parser.add_argument("--results", help="the file that gets a line for each case")
    parser.add_argument("--settings", default="", help="said in each line")
    arguments = parser.parse_args()
    if arguments.only:
        sys.exit(run_here(arguments.only))
    with open(arguments.results, "a", encoding="utf-8") as results:
        for name in CASES:
            begin = time.monotonic()
            outcome, reason = run_apart(name)
            seconds = round(time.monotonic() - begin, 1)
            print(f"{framework}: {name}: {outcome} {reason} ({seconds} s)", flush=True)
            report(results, framework=framework, version=version, settings=arguments.settings, case=name,
                   outcome=outcome, reason=reason, seconds=seconds)
