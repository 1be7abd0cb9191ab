"""The table of frameworks in docs/reference/compatibility.md, of result files: table.py RESULTS... > TABLE."""
import collections
import json
import sys

MOST_REASONS = 4


def read(files):
    """Of each framework with its settings, in the files' order: its lines."""
    runs = collections.OrderedDict()
    for file in files:
        with open(file, encoding="utf-8") as lines:
            for line in map(json.loads, lines):
                runs.setdefault((line["framework"], line["version"], line["settings"]), []).append(line)
    return runs


def reasons(failures):
    """The most frequent ones, each with its number of cases or with the names of few."""
    by_reason = collections.defaultdict(list)
    for line in failures:
        by_reason[line["reason"] or line["outcome"]].append(line["case"])
    most = sorted(by_reason.items(), key=lambda item: -len(item[1]))
    told = []
    for reason, cases in most[:MOST_REASONS]:
        names = ", ".join(f"`{case.rsplit('.', 1)[-1]}`" for case in cases) if len(cases) <= 3 else f"{len(cases)} cases"
        told.append(f"{names}: {reason}".replace("|", "\\|"))
    if len(most) > MOST_REASONS:
        told.append(f"{sum(len(cases) for _, cases in most[MOST_REASONS:])} others")
    return "; ".join(told)


def main():
    print("| framework | settings | right | of | share | what fails |")
    print("|---|---|---|---|---|---|")
    for (framework, version, settings), lines in read(sys.argv[1:]).items():
        ran = [line for line in lines if line["outcome"] != "skipped"]
        failures = [line for line in ran if line["outcome"] != "right"]
        skipped = len(lines) - len(ran)
        of = f"{len(ran)}" + (f" ({skipped} skipped)" if skipped else "")
        share = f"{100 * (len(ran) - len(failures)) / max(len(ran), 1):.1f} %"
        print(f"| {framework} {version} | {f'`{settings}`' if settings else ''} | {len(ran) - len(failures)} | {of} | {share} | {reasons(failures)} |")


if __name__ == "__main__":
    main()
