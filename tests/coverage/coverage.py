"""Branch and line coverage by module, from gcovr's JSON.

    python3 tests/coverage/coverage.py COVERAGE_JSON UNCOVERED_TXT

Prints a table in Markdown; UNCOVERED_TXT gets a line `file:line: branches not taken of all` for each line that has some.
"""
import collections
import json
import sys


def module_of(name):
    """sdk/bundle/read.c -> sdk/bundle; sdk/compiler/import/x.c -> sdk/compiler/import; apps/mts/main.c -> apps."""
    parts = name.split('/')
    if parts[0] == 'apps':
        return 'apps'
    if parts[:2] in (['sdk', 'compiler'], ['sdk', 'compress']) and len(parts) > 3:
        return '/'.join(parts[:3])
    return '/'.join(parts[:2])


def main():
    with open(sys.argv[1], encoding='utf-8') as file:
        report = json.load(file)
    modules = collections.defaultdict(lambda: [0, 0, 0, 0])  # branches taken, branches, lines run, lines
    with open(sys.argv[2], 'w', encoding='utf-8') as uncovered:
        for entry in sorted(report['files'], key=lambda entry: entry['file']):
            counts = modules[module_of(entry['file'])]
            for line in entry['lines']:
                if line.get('gcovr/noncode'):
                    continue
                branches = line.get('branches', [])
                taken = sum(branch['count'] > 0 for branch in branches)
                counts[0] += taken
                counts[1] += len(branches)
                counts[2] += line['count'] > 0
                counts[3] += 1
                if line['count'] == 0:
                    uncovered.write(f"{entry['file']}:{line['line_number']}: never run\n")
                elif taken < len(branches):
                    uncovered.write(f"{entry['file']}:{line['line_number']}: {len(branches) - taken} of "
                                    f"{len(branches)} branches not taken\n")
    print('| module | branches | lines | branches not taken |\n|---|---|---|---|')
    for name, (taken, branches, run, lines) in sorted(modules.items()):
        share = 100 * taken / branches if branches else 100.0
        print(f'| {name} | {share:.1f} % of {branches} | {100 * run / max(lines, 1):.1f} % of {lines} '
              f'| {branches - taken} |')


if __name__ == '__main__':
    main()
