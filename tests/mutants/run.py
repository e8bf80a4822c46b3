#!/usr/bin/env python3
"""Plants small faults in the product's C, one at a time, and counts those that a test notices.

  run.py [--seed N] [--mutants N] [--folder NAME]... [--out DIR] [--jobs N] [--minutes N]

1. Draws mutants by the seed (sites.py, plant.py) and builds a copy of the tree that holds all of them, asleep.
2. Runs every test once with none awake: how long it takes, and which mutants it reaches.
3. Wakes one mutant after the other and runs the tests that reach it, those of its folder first, then from the
   shortest to the longest, until one fails. A test that fails, crashes or runs into its time limit has noticed.
4. Survivors are run against the tests that a sanitizer build repeats (--no-sanitize: not).

What was done is kept in DIR: the same command goes on where it ended. The exit status is 0 where the goals of
--overall and --each are reached, 1 where they are not or the time was over, 2 for a wrong use.
"""

import argparse
import collections
import concurrent.futures
import json
import math
import os
import pathlib
import random
import re
import shutil
import subprocess
import sys
import threading
import time

import plant

ROOT = pathlib.Path(__file__).resolve().parents[2]
# Tests of the tree's text, which the copy has changed; of the browser, which no C of the product reaches first; and
# of the mutator itself, which fails under PFC_MUTANT whatever the mutant does.
LEFT_OUT = re.compile(r'^(layers|house|checks|circles|language|docs_site|install|prove|units|mutants|web_.*)$')
SANITIZED = ('unit', 'db', 'fuzz', 'fault')  # labels, as deploy/test.sh repeats them


def say(text):
    print(f'== {text} ({time.monotonic() - START:.0f} s)', file=sys.stderr, flush=True)


def fail(text):
    print(f'run.py: {text}', file=sys.stderr)
    sys.exit(2)


def run(command, log, env=None, **more):
    with open(log, 'ab') as file:
        return subprocess.run(command, stdin=subprocess.DEVNULL, stdout=file, stderr=file, check=False,
                              env=env, **more).returncode


class Build:
    """One build of the planted tree, and its tests."""

    def __init__(self, out, name, options):
        self.folder = pathlib.Path(out, name)
        self.source = pathlib.Path(out, 'source')
        self.log = pathlib.Path(out, f'{name}.log')
        self.options = options
        self.tests = {}  # name: {folder, labels, seconds, reached, passed}

    def make(self, jobs):
        header = self.source / 'tests/mutants/mutant.h'
        flags = f'-w -include {header}'
        say(f'build: {self.folder.name}')
        if run(['cmake', '-S', self.source, '-B', self.folder, '-G', 'Ninja', '-DPERFCI_TESTS=ON', '-DPERFCI_WEB=OFF',
                '-DPERFCI_WERROR=OFF', f'-DCMAKE_C_FLAGS={flags}', *self.options], self.log) or \
                run(['cmake', '--build', self.folder, '-j', str(jobs)], self.log):
            fail(f'the planted tree does not build: see {self.log}')
        self.read_tests()

    def read_tests(self):
        """Names, folders and labels, as ctest knows them."""
        text = subprocess.run(['ctest', '--test-dir', self.folder, '--show-only=json-v1'], check=True,
                              stdout=subprocess.PIPE).stdout
        doc = json.loads(text)
        graph = doc['backtraceGraph']
        for test in doc['tests']:
            labels = [p['value'] for p in test.get('properties', []) if p['name'] == 'LABELS']
            node = graph['nodes'][test['backtrace']]
            while 'parent' in node and not graph['files'][node['file']].endswith('CMakeLists.txt'):
                node = graph['nodes'][node['parent']]
            file = pathlib.Path(graph['files'][node['file']])
            self.tests[test['name']] = {
                'folder': os.path.relpath(file.parent, self.source / 'tests'),
                'labels': labels[0] if labels else [],
            }

    def ctest(self, name, env, limit):
        """True where the test passes within the limit."""
        command = ['ctest', '--test-dir', str(self.folder), '-R', f'^{re.escape(name)}$', '--no-tests=error',
                   '--timeout', str(limit)]
        return subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL, check=False,
                              env=dict(os.environ, **env)).returncode == 0


class Records:
    """Lines of JSON in a file; what an earlier run wrote is read back."""

    def __init__(self, path):
        self.lock = threading.Lock()
        self.items = {}
        if path.exists():
            for line in path.read_text(encoding='utf-8').splitlines():
                try:
                    item = json.loads(line)
                except ValueError:
                    continue  # the line that was being written when the run before was stopped
                self.items[item['id']] = item
        self.file = open(path, 'a', encoding='utf-8')

    def put(self, item):
        with self.lock:
            self.items[item['id']] = item
            self.file.write(json.dumps(item) + '\n')
            self.file.flush()


def reach(build, out, jobs, over):
    """Runs each test once, and notes its time and the mutants that it reaches."""
    records = Records(pathlib.Path(out, f'{build.folder.name}.tests'))
    names = [n for n in build.tests if not LEFT_OUT.match(n) and n not in records.items]

    def one(name):
        if over():
            return
        folder = pathlib.Path(out, 'reached', build.folder.name, name)
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        start = time.monotonic()
        passed = build.ctest(name, {'PFC_MUTANT_REACHED': str(folder)}, 1200)
        records.put({'id': name, 'passed': passed, 'seconds': round(time.monotonic() - start, 2),
                     'reached': sorted(int(p.name) for p in folder.iterdir())})
        shutil.rmtree(folder, ignore_errors=True)

    say(f'tests without a mutant: {len(names)}')
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        list(pool.map(one, names))
    for name, item in records.items.items():
        build.tests.get(name, {}).update(item)
    broken = [n for n, t in build.tests.items() if t.get('passed') is False]
    if broken:
        say(f'left out, since they fail without a mutant: {", ".join(sorted(broken))}')


def order(build, number, site):
    """The tests that reach the mutant: those of its folder first, then from the shortest to the longest."""
    room = site.file.rsplit('/', 1)[0]
    names = [n for n, t in build.tests.items() if t.get('passed') and number in t['reached']]
    return sorted(names, key=lambda n: (not room.startswith(build.tests[n]['folder']), build.tests[n]['seconds']))


def wake(build, number, site, most_s):
    """The first test that notices the mutant, or None; and how many were run."""
    start, done = time.monotonic(), 0
    for name in order(build, number, site):
        seconds = build.tests[name]['seconds']
        if time.monotonic() - start + seconds > most_s and done:
            continue
        done += 1
        if not build.ctest(name, {'PFC_MUTANT': str(number)}, math.ceil(3 * seconds + 20)):
            return name, done
    return None, done


def judge(build, mutants, records, jobs, most_s, over, label):
    """Wakes those mutants that have no record yet."""
    todo = [(number, site) for number, site in mutants if str(number) not in records.items]
    random.Random(len(mutants)).shuffle(todo)  # a run that the time cuts has judged a random part, not the first folders
    count = collections.Counter()

    def one(item):
        number, site = item
        if over():
            return
        by, tests = wake(build, number, site, most_s)
        reached = bool(order(build, number, site))
        records.put({'id': str(number), 'noticed': by, 'tests': tests, 'reached': reached, 'key': site.key(),
                     'line': site.line})
        with records.lock:
            count['done'] += 1
            count['noticed'] += by is not None
            if count['done'] % 20 == 0 or count['done'] == len(todo):
                say(f'{label}: {count["done"]} of {len(todo)} mutants, {count["noticed"]} noticed')

    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        list(pool.map(one, todo))


def wilson(k, n):
    if n == 0:
        return 0.0, 1.0
    z, p = 1.96, k / n
    middle, half = p + z * z / (2 * n), z * math.sqrt(p * (1 - p) / n + z * z / (4 * n * n))
    return (middle - half) / (1 + z * z / n), (middle + half) / (1 + z * z / n)


def read_reasons():
    """{key of a survivor: why no test notices it}, from survivors.txt."""
    path, reasons = pathlib.Path(__file__).with_name('survivors.txt'), {}
    key = None
    for line in path.read_text(encoding='utf-8').splitlines() if path.exists() else ():
        if line.startswith('    '):
            reasons[key] = line.strip()
        elif line and not line.startswith('#'):
            key = line
    return reasons


def table(mutants, noticed, goals):
    """Prints noticed of judged by folder and by kind; True where the goals are reached."""
    folders, kinds = collections.defaultdict(list), collections.defaultdict(list)
    for number, site in mutants:
        if number in noticed:
            folders[plant.folder_of(site.file)].append(noticed[number] is not None)
            kinds[site.kind].append(noticed[number] is not None)
    good = True
    for title, groups in (('folder', folders), ('fault', kinds)):
        print(f'| {title} | mutants | noticed | share |\n|---|---:|---:|---:|')
        for name, group in sorted(groups.items()):
            k, n = sum(group), len(group)
            low, high = wilson(k, n)
            print(f'| {name} | {n} | {k} | {100 * k / n:.0f} % ({100 * low:.0f}-{100 * high:.0f}) |')
            good = good and (title == 'fault' or 100 * k >= goals.each * n)
        print()
    k, n = sum(v is not None for v in noticed.values()), len(noticed)
    print(f'noticed: {k} of {n} mutants = {100 * k / max(n, 1):.1f} % (goal {goals.overall} %, '
          f'{goals.each} % in every folder)')
    return good and 100 * k >= goals.overall * n


def report(mutants, records, goals):
    noticed = {number: records.items[str(number)]['noticed'] for number, _ in mutants if str(number) in records.items}
    good = table(mutants, noticed, goals)
    reasons = read_reasons()
    print(f'\nSurvivors (mutants that no test noticed; "not reached": no test evaluates the expression):')
    for number, site in mutants:
        if number in noticed and noticed[number] is None:
            reached = '' if records.items[str(number)]['reached'] else ' (not reached)'
            print(f'  {number} {site.file}:{site.line}: {site.kind}{reached}: {plant.sites.squeeze(site.original)[:150]}'
                  f'  ->  {plant.sites.squeeze(site.mutated)[:150]}')
            if site.key() in reasons:
                print(f'      {reasons[site.key()]}')
    if len(noticed) < len(mutants):
        print(f'{len(mutants) - len(noticed)} mutants were not judged: the time was over. The same command goes on.')
        return False
    return good


def options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--seed', type=int, default=1)
    parser.add_argument('--mutants', type=int, default=600)
    parser.add_argument('--folder', action='append', default=[], help='only files whose path begins with this')
    parser.add_argument('--out', default=None, help='default: build/prove/mutants/SEED')
    parser.add_argument('--jobs', type=int, default=os.cpu_count())
    parser.add_argument('--minutes', type=float, default=math.inf, help='wake no further mutant after that long')
    parser.add_argument('--most', type=float, default=240, metavar='SECONDS', help='of tests for one mutant')
    parser.add_argument('--overall', type=float, default=85, help='per cent that must be noticed')
    parser.add_argument('--each', type=float, default=75, help='per cent in every folder')
    parser.add_argument('--database', default=None, help='a configured build, for its compile_commands.json')
    parser.add_argument('--no-sanitize', action='store_true')
    parser.add_argument('--list', action='store_true', help='print the mutants that are drawn, and end')
    return parser.parse_args()


def prepare(args, out):
    database = args.database or ROOT / 'build/release'
    if not pathlib.Path(database, 'compile_commands.json').exists():
        fail(f'no compile_commands.json in {database}: configure the release build first')
    database = plant.read_database(database)
    say('look for sites')
    kept = ROOT / 'build/prove/mutants/sites'
    kept.mkdir(parents=True, exist_ok=True)
    found = plant.find_all(str(ROOT), database, args.folder, args.jobs, kept)
    say(f'{sum(map(len, found.values()))} sites in {len(found)} files')
    chosen = plant.draw(found, args.mutants, args.seed)
    if args.list:
        for number, site in enumerate(chosen):
            print(f'{number} {site.line} {site.key()}')
        sys.exit(0)
    mutants = plant.plant(str(ROOT), out, database, chosen, args.jobs)
    say(f'{len(chosen)} drawn, {len(mutants)} compile')
    return mutants


def main():
    args = options()
    out = pathlib.Path(args.out or ROOT / f'build/prove/mutants/{args.seed}').resolve()
    out.mkdir(parents=True, exist_ok=True)

    def over():
        return time.monotonic() - START > 60 * args.minutes

    mutants = prepare(args, out)
    records = Records(out / 'mutants.jsonl')
    plain = Build(out, 'release', ['-DCMAKE_BUILD_TYPE=Release'])
    plain.make(args.jobs)
    reach(plain, out, args.jobs, over)
    judge(plain, mutants, records, args.jobs, args.most, over, 'release')
    left = [(n, s) for n, s in mutants
            if records.items.get(str(n), {}).get('reached') and records.items[str(n)]['noticed'] is None]
    if left and not args.no_sanitize and not over():
        strict = Build(out, 'asan', ['-DCMAKE_BUILD_TYPE=Debug', '-DPERFCI_SANITIZE=address,undefined'])
        strict.make(args.jobs)
        strict.tests = {n: t for n, t in strict.tests.items() if set(t['labels']) & set(SANITIZED)}
        reach(strict, out, args.jobs, over)
        second = Records(out / 'sanitized.jsonl')
        judge(strict, left, second, args.jobs, args.most, over, 'sanitizers')
        for number, _ in left:
            by = second.items.get(str(number), {}).get('noticed')
            if by:
                records.items[str(number)]['noticed'] = f'{by} (sanitizers)'
    sys.exit(0 if report(mutants, records, args) else 1)


START = time.monotonic()
if __name__ == '__main__':
    main()
