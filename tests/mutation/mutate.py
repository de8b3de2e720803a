"""Mutation testing: changes one operator, constant or condition of a module at a time, and says which changes no test
notices.

    python3 tests/mutation/mutate.py [--module bundle] [--count 60] [--seed 1] [--build build/mutation] [--list]

It changes the files of the folder that it runs in, and puts them back: `toolchains/host mutate` runs it in a copy. A
mutant is killed where a test fails, is ended by a signal or takes too long. It survives where every test passes. It is
`stillborn` where the compiler refuses it, for a warning too; those do not count. Exit status 1: less than --least of
them were killed.
"""
import argparse
import glob
import os
import random
import re
import subprocess
import sys
import time

# What a token becomes. Spaces keep `->`, `>>`, pointers and preprocessor lines out: the tree is formatted by clang-format.
OPERATORS = [
    (r' < ', [' <= ', ' >= ']), (r' <= ', [' < ', ' > ']), (r' > ', [' >= ', ' <= ']), (r' >= ', [' > ', ' < ']),
    (r' == ', [' != ']), (r' != ', [' == ']), (r' && ', [' || ']), (r' \|\| ', [' && ']),
    (r' \+ ', [' - ']), (r' - ', [' + ']), (r' / ', [' * ']), (r' % ', [' / ']),
    (r' \+= ', [' -= ']), (r' -= ', [' += ']), (r' & ', [' | ']), (r' \| ', [' & ']),
]
CONSTANT = re.compile(r'(?<![\w.])(\d+)(u?)(?![\w.])')
CONDITION = re.compile(r'\b(if|while) \((.*)\) \{$')
# Which test programs see a module: those of a name that fits a file of it come first (see tests_of).
TESTS = {
    'bundle': ['bundle_*', 'api_bundle', 'hostile_bundle'],
    'plan': ['plan_*'],
}


def code_of(line):
    """The line with strings and comments blanked, so that positions stay; empty where it is no code."""
    blank = re.sub(r'"(?:\\.|[^"\\])*"|\'(?:\\.|[^\'\\])*\'|/\*.*?\*/|//.*', lambda m: '_' * len(m.group()), line)
    return '' if blank.lstrip().startswith(('#', '*', '/*')) else blank


def mutants_of(path):
    """(path, line index, new line, what was done) of every mutant of a file."""
    with open(path, encoding='utf-8') as file:
        lines = file.read().split('\n')
    found = []
    in_comment = False
    for number, line in enumerate(lines):
        if in_comment or line.lstrip().startswith('/*'):
            in_comment = '*/' not in line
            continue
        code = code_of(line)
        if not line.startswith(' '):  # declarations, includes, tables at the top
            continue
        if 'MTS_CHECK(' in code:  # never evaluated in this build (base/check.h)
            continue
        for pattern, others in OPERATORS:
            for match in re.finditer(pattern, code):
                for other in others:
                    changed = line[:match.start()] + other + line[match.end():]
                    found.append((path, number, changed, match.group().strip() + ' -> ' + other.strip()))
        for match in CONSTANT.finditer(code):
            value = str(int(match.group(1)) + 1) + match.group(2)
            changed = line[:match.start()] + value + line[match.end():]
            found.append((path, number, changed, match.group() + ' -> ' + value))
        match = CONDITION.search(code)
        if match:
            inside = line[match.start(2):match.end(2)]
            changed = line[:match.start(2)] + '!(' + inside + ')' + line[match.end(2):]
            found.append((path, number, changed, 'condition negated'))
    return found


def targets_of(build):
    """Names of the test programs that the build folder knows."""
    text = subprocess.run(['ninja', '-C', build, '-t', 'targets', 'all'], stdout=subprocess.PIPE, check=True,
                          text=True).stdout
    return sorted(set(re.findall(r'^bin/(\w+): ', text, re.M)))


def tests_of(module, path, known):
    """The module's test programs that are built, the likeliest to notice a change of the file first."""
    chosen = []
    for name in TESTS[module]:
        pattern = re.compile('^' + name.replace('*', r'\w+') + '$')
        chosen += [target for target in known if pattern.match(target)]
    stem = os.path.splitext(os.path.basename(path))[0]
    return sorted(chosen, key=lambda name: (name.split('_', 1)[1] not in stem, chosen.index(name)))


class Trial:
    """Builds and runs tests in one folder."""

    def __init__(self, build, jobs):
        self.build = build
        self.jobs = jobs
        self.seconds = {}

    def make(self, *targets):
        return subprocess.run(['ninja', '-C', self.build, '-j', str(self.jobs), *targets], stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True)

    def run(self, name, limit):
        try:
            done = subprocess.run([os.path.join('bin', name)], cwd=self.build, stdout=subprocess.DEVNULL,
                                  stderr=subprocess.DEVNULL, timeout=limit)
            return done.returncode in (0, 77)
        except subprocess.TimeoutExpired:
            return False

    def baseline(self, tests):
        """Every test must pass before anything is changed; how long it takes sets its limit."""
        made = self.make(*tests)
        if made.returncode != 0:
            sys.exit('the tests do not build:\n' + made.stdout[-4000:])
        for name in tests:
            start = time.monotonic()
            if not self.run(name, 600):
                sys.exit(name + ' fails without any change: nothing can be said')
            self.seconds[name] = time.monotonic() - start

    def verdict(self, tests):
        """What notices the change that now stands in the tree."""
        for name in tests:
            made = self.make(name)
            if made.returncode != 0:
                return 'stillborn'
            if not self.run(name, 30 + 10 * self.seconds[name]):
                return 'killed by ' + name
        return 'SURVIVES'


def try_mutant(trial, mutant, tests):
    path, number, changed, _ = mutant
    with open(path, encoding='utf-8') as file:
        text = file.read()
    lines = text.split('\n')
    lines[number] = changed
    try:
        with open(path, 'w', encoding='utf-8') as file:
            file.write('\n'.join(lines))
        return trial.verdict(tests)
    finally:
        with open(path, 'w', encoding='utf-8') as file:
            file.write(text)


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split('\n')[0])
    parser.add_argument('--module', choices=sorted(TESTS), help='one module; else all')
    parser.add_argument('--file', default='*.c', help='files of the module, as a pattern')
    parser.add_argument('--count', type=int, default=60, help='mutants of each module; 0: all')
    parser.add_argument('--seed', type=int, default=1)
    parser.add_argument('--least', type=float, default=0.9, help='share that must be killed')
    parser.add_argument('--minutes', type=float, default=0, help='begin no mutant after so long; 0: no limit')
    parser.add_argument('--build', default='build/mutation')
    parser.add_argument('--jobs', type=int, default=1)
    parser.add_argument('--list', action='store_true', help='print the sample and try none')
    return parser.parse_args()


def main():
    options = arguments()
    until = time.monotonic() + options.minutes * 60 if options.minutes else float('inf')
    trial = Trial(options.build, options.jobs)
    low = False
    for module in [options.module] if options.module else sorted(TESTS):
        files = sorted(glob.glob(os.path.join('sdk', module, options.file)))
        every = [mutant for path in files for mutant in mutants_of(path)]
        count = min(options.count or len(every), len(every))
        sample = random.Random(options.seed).sample(every, count)
        print(f'{module}: {count} of {len(every)} mutants, seed {options.seed}', flush=True)
        if options.list:
            for path, number, changed, what in sample:
                print(f'  {path}:{number + 1}: {what}: {changed.strip()}')
            continue
        known = targets_of(options.build)
        trial.baseline(tests_of(module, '', known))
        verdicts = []
        for mutant in sample:
            if time.monotonic() > until:
                print('  the time is over', flush=True)
                break
            path, number, changed, what = mutant
            verdict = try_mutant(trial, mutant, tests_of(module, path, known))
            verdicts.append(verdict)
            print(f'  {verdict}: {path}:{number + 1}: {what}: {changed.strip()}', flush=True)
        tried = [verdict for verdict in verdicts if verdict != 'stillborn']
        killed = [verdict for verdict in tried if verdict != 'SURVIVES']
        share = len(killed) / len(tried) if tried else 0.0
        print(f'{module}: {len(killed)} of {len(tried)} killed ({100 * share:.0f} %), '
              f'{len(verdicts) - len(tried)} stillborn', flush=True)
        low = low or share < options.least
    sys.exit(1 if low else 0)


if __name__ == '__main__':
    main()
