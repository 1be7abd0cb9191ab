"""Exit status 1, and a line each, where less is right than expected: expected.py EXPECTED RESULTS..."""
import sys

from table import read


def main():
    with open(sys.argv[1], encoding="utf-8") as lines:
        least = {tuple(line.rstrip("\n").split("\t")[:2]): int(line.split("\t")[2]) for line in lines if line[0] != "#"}
    status = 0
    for (framework, _, settings), lines in read(sys.argv[2:]).items():
        right = sum(line["outcome"] == "right" for line in lines)
        expected = least.get((framework, settings))
        if expected is None or right < expected:
            print(f"FAILED: {framework} {settings}: {right} are right, expected at least {expected}", file=sys.stderr)
            status = 1
    sys.exit(status)


if __name__ == "__main__":
    main()
