"""Branch and line coverage by module, of what gcov tells of a build with counters.

    python3 tests/coverage/coverage.py BUILD UNCOVERED_TXT [--reasons tests/coverage/reasons.txt] [--only REGEX]

Run it in the root of the source. It prints a table in Markdown. UNCOVERED_TXT gets a line for each source line with
branches that no test takes: `file:line: not taken of all: reason: source text`. Reasons come from a list of rows
`pattern<TAB>reason`: the first pattern (a regular expression) that is found in `file: source text` gives it; lines
that none fits have the reason `?`.

A branch is one of gcc's: each condition of `&&` and `||`, each case of a switch, each loop. MTS_CHECK is none in this
build (base/check.h), MTS_TRY (base/status.h) is two wherever it stands: a step after a failed one is skipped.
Counters of functions in headers are those of all files that include them.
"""
import argparse
import collections
import glob
import json
import os
import re
import subprocess

# What the project asks of itself: at least so many per cent of the branches of these.
LEAST = 95.0
MODULES = ('base', 'tensor', 'graph', 'bundle', 'device', 'stitch', 'plan', 'strategy', 'lower', 'engine', 'frame',
           'api', 'compiler/import')


def module_of(name):
    """sdk/bundle/read.c -> sdk/bundle; sdk/compiler/import/x.c -> sdk/compiler/import; apps/mts/main.c -> apps."""
    parts = name.split('/')
    if parts[0] == 'apps':
        return 'apps'
    if parts[:2] in (['sdk', 'compiler'], ['sdk', 'compress']) and len(parts) > 3:
        return '/'.join(parts[:3])
    return '/'.join(parts[:2])


def read_reasons(path):
    rows = []
    with open(path, encoding='utf-8') as file:
        for line in file:
            if line.strip() and not line.startswith('#'):
                pattern, reason = line.rstrip('\n').split('\t')
                rows.append((re.compile(pattern), reason))
    return rows


def reason_of(reasons, name, text):
    for pattern, reason in reasons:
        if pattern.search(name + ': ' + text):
            return reason
    return '?'


def read_counters(build, root):
    """{file: {line: [runs, [count of each branch]]}} of every object file of the build, by gcov."""
    files = collections.defaultdict(dict)
    notes = sorted(glob.glob(os.path.join(build, '**', '*.gcno'), recursive=True))
    for first in range(0, len(notes), 64):
        done = subprocess.run(['gcov', '--branch-probabilities', '--json-format', '--stdout',
                               *(os.path.abspath(name) for name in notes[first:first + 64])],
                              cwd=build, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False)
        for line in done.stdout.decode('utf-8', 'replace').split('\n'):
            if line.startswith('{'):
                add_counters(json.loads(line), build, root, files)
    return files


def add_counters(report, build, root, files):
    folder = report.get('current_working_directory', build)
    for entry in report['files']:
        name = os.path.relpath(os.path.join(folder, entry['file']), root)
        if not re.match(r'(sdk|platform|apps)/', name):
            continue
        for line in entry['lines']:
            counts = [branch['count'] for branch in line['branches'] if not branch['throw']]
            known = files[name].setdefault(line['line_number'], [0, [0] * len(counts)])
            known[0] += line['count']
            if len(known[1]) < len(counts):
                known[1] += [0] * (len(counts) - len(known[1]))
            for i, count in enumerate(counts):
                known[1][i] += count


def uncovered_of(name, lines, reasons):
    """Sentences about a file's lines, and its sums: branches taken, branches, lines run, lines."""
    with open(name, encoding='utf-8', errors='replace') as file:
        source = file.read().split('\n')
    counts = [0, 0, 0, 0]
    found = []
    for number, (runs, branches) in sorted(lines.items()):
        taken = sum(count > 0 for count in branches)
        counts[0] += taken
        counts[1] += len(branches)
        counts[2] += runs > 0
        counts[3] += 1
        if taken < len(branches):
            text = source[number - 1].strip()
            what = 'never run' if runs == 0 else f'{len(branches) - taken} of {len(branches)}'
            found.append(f'{name}:{number}: {what}: {reason_of(reasons, name, text)}: {text}')
    return found, counts


def print_table(modules):
    low = []
    print('| module | branches | lines | branches not taken |\n|---|---|---|---|')
    for name, (taken, branches, run, lines) in sorted(modules.items()):
        share = 100 * taken / branches if branches else 100.0
        wanted = name.startswith('sdk/') and name[4:] in MODULES
        if wanted and share < LEAST:
            low.append(name)
        print(f"| {name}{' (95 %)' if wanted else ''} | {share:.1f} % of {branches} "
              f'| {100 * run / max(lines, 1):.1f} % of {lines} | {branches - taken} |')
    if low:
        print(f"\nbelow {LEAST:.0f} %: {', '.join(low)}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split('\n')[0])
    parser.add_argument('build')
    parser.add_argument('uncovered')
    parser.add_argument('--reasons')
    parser.add_argument('--only', default='', help='files whose names begin so, as a regular expression')
    options = parser.parse_args()
    reasons = read_reasons(options.reasons) if options.reasons else []
    files = read_counters(options.build, os.getcwd())
    modules = collections.defaultdict(lambda: [0, 0, 0, 0])
    with open(options.uncovered, 'w', encoding='utf-8') as uncovered:
        for name in sorted(name for name in files if re.match(options.only, name)):
            lines, counts = uncovered_of(name, files[name], reasons)
            uncovered.writelines(line + '\n' for line in lines)
            total = modules[module_of(name)]
            for i, count in enumerate(counts):
                total[i] += count
    print_table(modules)


if __name__ == '__main__':
    main()
