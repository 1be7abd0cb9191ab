"""numba-cuda's own tests, each module of them in a process of its own, so that a crash ends one module only."""
import argparse
import importlib.metadata
import json
import pkgutil
import subprocess
import sys
import time
import unittest

from case import report

PACKAGE = "numba.cuda.tests.cudapy"
LIMIT_S = 900


def modules():
    import numba.cuda.tests.cudapy as package
    return sorted(f"{PACKAGE}.{found.name}" for found in pkgutil.iter_modules(package.__path__)
                  if found.name.startswith("test_"))


class Lines(unittest.TestResult):
    """Prints what has become of each test, as JSON."""

    def say(self, test, outcome, reason=""):
        print("@" + json.dumps([test.id(), outcome, " ".join(reason.split())[:200]]), flush=True)

    def startTest(self, test):
        super().startTest(test)
        self.say(test, "begun")

    def addSuccess(self, test):
        self.say(test, "right")

    def addExpectedFailure(self, test, err):
        self.say(test, "right")

    def addUnexpectedSuccess(self, test):
        self.say(test, "right")

    def addSkip(self, test, reason):
        self.say(test, "skipped", reason)

    def addFailure(self, test, err):
        self.say(test, "wrong", f"{err[0].__name__}: {err[1]}")

    def addError(self, test, err):
        self.say(test, "error", f"{err[0].__name__}: {err[1]}")

    def addSubTest(self, test, subtest, err):
        if err is not None:
            self.addFailure(test, err)


def run_here(module):
    unittest.defaultTestLoader.loadTestsFromName(module).run(Lines())


def run_apart(module):
    """Outcome and reason of each of the module's tests."""
    command = [sys.executable, sys.argv[0], "--only", module]
    ending = "crashed"
    try:
        ended = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=LIMIT_S)
        output, reason = ended.stdout, f"the process ended with status {ended.returncode}"
    except subprocess.TimeoutExpired as late:
        output, reason, ending = (late.stdout or b"").decode(errors="replace"), f"not done in {LIMIT_S} s", "late"
    tests = {}
    for line in output.splitlines():
        if not line.startswith("@["):
            continue
        test, outcome, text = json.loads(line[1:])
        if outcome == "begun":
            tests[test] = (ending, reason)
        elif outcome != "right" or tests.get(test, (ending,))[0] in (ending, "right"):
            tests[test] = (outcome, text)
    return tests


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", help="run this module here")
    parser.add_argument("--results", help="the file that gets a line for each test")
    parser.add_argument("--settings", default="", help="said in each line")
    arguments = parser.parse_args()
    if arguments.only:
        return run_here(arguments.only)
    version = importlib.metadata.version("numba-cuda")
    with open(arguments.results, "a", encoding="utf-8") as results:
        for module in modules():
            begin = time.monotonic()
            tests = run_apart(module)
            seconds = round(time.monotonic() - begin, 1)
            bad = [test for test, (outcome, _) in tests.items() if outcome not in ("right", "skipped")]
            print(f"numba-cuda: {module.rsplit('.', 1)[1]}: {len(tests)} tests, {len(bad)} fail ({seconds} s)", flush=True)
            for test, (outcome, reason) in tests.items():
                report(results, framework="numba-cuda", version=version, settings=arguments.settings, case=test.removeprefix(PACKAGE + "."),
                       outcome=outcome, reason=reason, seconds=round(seconds / len(tests), 2))


if __name__ == "__main__":
    main()
