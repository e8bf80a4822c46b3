#!/usr/bin/env python3
"""Plants small faults in the product's C, one at a time, and counts those that a test notices.

  run.py [--seed N]... [--mutants N] [--folder NAME]... [--label NAME]... [--target NAME]... [--tests REGEX] [--out DIR]
         [--jobs N] [--minutes N]

1. Draws --mutants by each seed (sites.py, plant.py) and builds a copy of the tree that holds all of them, asleep.
2. Runs every test once with none awake: how long it takes, and which mutants it reaches.
3. Wakes one mutant after the other and runs the tests that reach it, those of its folder first, then from the
   shortest to the longest, until one fails. A test that fails, crashes or runs into its time limit has noticed.
   Tests that do not fit into --most seconds are left out, and the report names them.
4. Survivors are run against the tests that a sanitizer build repeats (--no-sanitize: not).

What was done is kept in DIR: the same command goes on where it ended. It runs tests that are new or changed, and
wakes survivors for those tests that did not judge them. --label restricts all of it to tests with that label, --tests
to those whose whole name matches. --target builds the named programs alone, and without --tests runs no others. With
--relink only the planted files are compiled, and each --target is linked with the objects of the configured build for
all other files, which has to be up to date: a folder is judged within minutes.
The exit status is 0 where the goals of --overall and --each are reached by every seed, 1 where they are not or the
time was over, 2 for a wrong use.
"""

import argparse
import collections
import concurrent.futures
import hashlib
import json
import math
import os
import pathlib
import random
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
import types

import plant
import relink

ROOT = pathlib.Path(__file__).resolve().parents[2]
# Tests of the tree's text, which the copy has changed; of the browser, which no C of the product reaches first; and
# of the mutator itself, which fails under PFC_MUTANT whatever the mutant does.
LEFT_OUT = re.compile(r'^(layers|house|checks|circles|language|docs_site|install|prove|units|mutants|web_.*)$')
SANITIZED = ('unit', 'db', 'fuzz', 'fault')  # labels, as deploy/test.sh repeats them


FAIL_FAST = {'CRITERION_FAIL_FAST': '1'}  # the first test that fails decides
MOST_MUTANTS = 8192  # PFC_MUTANTS_MAX in mutant.h
Mutant = collections.namedtuple('Mutant', 'number site seeds id')  # id: of the fault and its file's text


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

    def __init__(self, out, name, options, targets=(), tests=None):
        self.targets = targets  # empty: everything
        self.wanted = tests or '|'.join(map(re.escape, targets)) or '.*'  # names of tests
        self.source = pathlib.Path(out, 'source')
        self.folder = self.source / 'build' / name
        self.log = pathlib.Path(out, f'{name}.log')
        self.options = options
        self.tests = {}  # name: {folder, labels, seconds, reached, passed}

    def make(self, jobs):
        say(f'build: {self.folder.name}')
        # The copy lies in the folder that holds the build, as build/NAME lies in the tree: a compiler's cache that
        # names files relative to the build finds those without a mutant.
        if run(['cmake', '-S', self.source, '-B', self.folder, '-G', 'Ninja', '-DPERFCI_TESTS=ON', '-DPERFCI_WEB=OFF',
                '-DPERFCI_WERROR=OFF', *self.options], self.log) or \
                run(['cmake', '--build', self.folder, '-j', str(jobs),
                     *(['--target', *self.targets] if self.targets else [])], self.log):
            fail(f'the planted tree does not build: see {self.log}')
        self.read_tests()
        self.tests = {n: t for n, t in self.tests.items() if re.fullmatch(self.wanted, n)}

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
                'digest': self.digest(test.get('command', [])),
            }

    def digest(self, command):
        """Changes with the programs and scripts that the test's command names."""
        digest = hashlib.sha256()
        for word in command[:1] + [w for w in command[1:] if str(self.source) in w]:
            path = pathlib.Path(word)
            digest.update(path.read_bytes() if path.is_file() else word.encode())
        return digest.hexdigest()[:12]

    def ctest(self, name, env, limit):
        """Whether the test passes; None where it does not end within the limit. ctest's own limit would yield to the
        test's."""
        command = ['ctest', '--test-dir', str(self.folder), '-R', f'^{re.escape(name)}$', '--no-tests=error']
        with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                              env=dict(os.environ, **env), start_new_session=True) as child:
            try:
                return child.wait(limit) == 0
            except subprocess.TimeoutExpired:
                end_session(child.pid)
                return None


def end_session(leader):
    """Ends all processes of the session: its tests start groups of their own."""
    for folder in pathlib.Path('/proc').glob('[0-9]*'):
        try:
            fields = (folder / 'stat').read_text(encoding='utf-8', errors='replace').rpartition(')')[2].split()
            if int(fields[3]) == leader:
                os.kill(int(folder.name), signal.SIGKILL)
        except (OSError, ValueError):
            continue  # it has ended meanwhile


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


def reach(build, records, out, jobs, over):
    """Runs each test once, and notes its time and the mutants that it reaches."""
    tests = {n: t for n, t in build.tests.items() if not LEFT_OUT.match(n)}
    names = [n for n, t in tests.items() if records.items.get(n, {}).get('digest') != t['digest']]

    def one(name):
        if over():
            return
        folder = pathlib.Path(out, 'reached', build.folder.name, name)
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        start = time.monotonic()
        passed = bool(build.ctest(name, {'PFC_MUTANT_REACHED': str(folder)}, 1200))
        records.put({'id': name, 'digest': tests[name]['digest'], 'passed': passed,
                     'seconds': round(time.monotonic() - start, 2),
                     'reached': sorted(int(p.name) for p in folder.iterdir())})
        shutil.rmtree(folder, ignore_errors=True)

    say(f'tests without a mutant: {len(names)}')
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        list(pool.map(one, names))
    for name, test in tests.items():
        item = records.items.get(name, {})
        if item.get('digest') == test['digest']:
            test.update(item)
    broken = [n for n, t in build.tests.items() if t.get('passed') is False]
    if broken:
        say(f'left out, since they fail without a mutant: {", ".join(sorted(broken))}')


def order(build, number, site):
    """The tests that reach the mutant: those of its folder first, then from the shortest to the longest."""
    room = site.file.rsplit('/', 1)[0]
    names = [n for n, t in build.tests.items() if t.get('passed') and number in t['reached']]
    return sorted(names, key=lambda n: (not room.startswith(build.tests[n]['folder']), build.tests[n]['seconds']))


class Judge:
    """Wakes mutants in one build. A record: noticed (the test, or None), reached, ran ({test: its digest}), and
    left_out (the tests for which --most left no time)."""

    def __init__(self, build, records, most_s):
        self.build = build
        self.records = records
        self.most_s = most_s

    def remaining(self, mutant):
        """The tests that may still notice it."""
        if (item := self.records.items.get(mutant.id, {})).get('noticed'):
            return []
        ran = item.get('ran', {})
        return [n for n in order(self.build, mutant.number, mutant.site)
                if ran.get(n) != self.build.tests[n]['digest']]

    def affordable(self, mutant):
        """Of those, the tests that fit into the time."""
        spent, names = 0, []
        for name in self.remaining(mutant):
            spent += self.build.tests[name]['seconds']
            if spent <= self.most_s:
                names.append(name)
            else:
                spent -= self.build.tests[name]['seconds']
        return names

    def wake(self, mutant):
        item = self.records.items.get(mutant.id, {})
        ran, noticed = dict(item.get('ran', {})), None
        for name in self.affordable(mutant):
            test = self.build.tests[name]
            ran[name] = test['digest']
            limit = math.ceil(3 * test['seconds'] + 20)
            passed = self.build.ctest(name, {'PFC_MUTANT': str(mutant.number), **FAIL_FAST}, limit)
            # A machine that is busy now is too slow for the test without the mutant, too.
            if passed is None and not self.build.ctest(name, {}, limit):
                del ran[name]
            elif not passed:
                noticed = name
                break
        reached = bool(order(self.build, mutant.number, mutant.site))
        left_out = [] if noticed else [n for n in self.remaining(mutant) if n not in ran]
        self.records.put({'id': mutant.id, 'noticed': noticed, 'reached': reached, 'ran': ran, 'left_out': left_out,
                          'key': mutant.site.key(), 'line': mutant.site.line})
        return noticed

    def all(self, mutants, jobs, over, label):
        """Wakes those that have no record, or that a test reaches which did not judge them."""
        todo = [m for m in mutants if m.id not in self.records.items or self.affordable(m)]
        # A run that the time cuts has judged a random part of each seed, not the first folders.
        random.Random(len(mutants)).shuffle(todo)
        count = collections.Counter()

        def one(mutant):
            if over():
                return
            noticed = self.wake(mutant)
            with self.records.lock:
                count['done'] += 1
                count['noticed'] += noticed is not None
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
    for mutant in mutants:
        if mutant.id in noticed:
            folders[plant.folder_of(mutant.site.file)].append(noticed[mutant.id] is not None)
            kinds[mutant.site.kind].append(noticed[mutant.id] is not None)
    good = True
    for title, groups in (('folder', folders), ('fault', kinds)):
        print(f'| {title} | mutants | noticed | share |\n|---|---:|---:|---:|')
        for name, group in sorted(groups.items()):
            print(f'| {name} | {share(group, " | ")} |')
            good = good and (title == 'fault' or 100 * sum(group) >= goals.each * len(group))
        print()
    flags = [v is not None for m in mutants if (v := noticed.get(m.id, '')) != '']
    print(f'noticed of mutants: {share(flags, ", ")} (goal {goals.overall} %, {goals.each} % in every folder)')
    return good and 100 * sum(flags) >= goals.overall * len(flags)


def share(flags, between):
    """How many, how many of them are true, and the share with its 95 % interval."""
    k, n = sum(flags), len(flags)
    low, high = wilson(k, n)
    return between.join((str(n), str(k), f'{100 * k / max(n, 1):.1f} % ({100 * low:.0f}-{100 * high:.0f})'))


def survivors(mutants, records):
    reasons = read_reasons()
    print('\nSurvivors (mutants that no test noticed; "not reached": no test evaluates the expression):')
    for mutant in mutants:
        item, site = records.items.get(mutant.id), mutant.site
        if item is None or item['noticed'] is not None:
            continue
        reached = '' if item['reached'] else ' (not reached)'
        print(f'  {site.file}:{site.line}: {site.kind}{reached}: {plant.sites.squeeze(site.original)[:150]}'
              f'  ->  {plant.sites.squeeze(site.mutated)[:150]}')
        if item['left_out']:
            print(f'      left out by --most: {", ".join(item["left_out"])}')
        if site.key() in reasons:
            print(f'      {reasons[site.key()]}')


def report(mutants, records, goals):
    """The figures of each seed, the survivors of all; True where each seed reaches the goals."""
    noticed = {m.id: records.items[m.id]['noticed'] for m in mutants if m.id in records.items}
    good = True
    for seed in goals.seed:
        print(f'Seed {seed}\n')
        good = table([m for m in mutants if seed in m.seeds], noticed, goals) and good
        print()
    if len(goals.seed) > 1:
        print('All seeds, each mutant once\n')
        table(mutants, noticed, types.SimpleNamespace(overall=goals.overall, each=goals.each))
    survivors(mutants, records)
    if len(noticed) < len(mutants):
        print(f'{len(mutants) - len(noticed)} mutants were not judged: the time was over. The same command goes on.')
        return False
    return good


def options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--seed', type=int, action='append', help='default: 1')
    parser.add_argument('--mutants', type=int, default=600, help='of each seed')
    parser.add_argument('--folder', action='append', default=[], help='only files whose path begins with this')
    parser.add_argument('--label', action='append', default=[], help='only tests that have one of these')
    parser.add_argument('--target', action='append', default=[], metavar='NAME',
                        help='build only these programs, and without --tests run no other tests')
    parser.add_argument('--tests', metavar='REGEX', help='run only tests whose whole name matches')
    parser.add_argument('--out', default=None, help='default: build/prove/mutants/SEEDS')
    parser.add_argument('--jobs', type=int, default=os.cpu_count())
    parser.add_argument('--minutes', type=float, default=math.inf, help='wake no further mutant after that long')
    parser.add_argument('--most', type=float, default=240, metavar='SECONDS', help='of tests for one mutant')
    parser.add_argument('--overall', type=float, default=85, help='per cent that must be noticed')
    parser.add_argument('--each', type=float, default=75, help='per cent in every folder')
    parser.add_argument('--database', default=None, help='a configured build, for its compile_commands.json')
    parser.add_argument('--relink', action='store_true', help='each --target from the objects of that build')
    parser.add_argument('--no-sanitize', action='store_true')
    parser.add_argument('--list', action='store_true', help='print the mutants that are drawn, and end')
    args = parser.parse_args()
    args.seed = sorted(set(args.seed or [1]))
    args.database = pathlib.Path(args.database or ROOT / 'build/release').resolve()
    if args.relink and not args.target:
        parser.error('--relink: expected a --target')
    return args


def drawn(found, args):
    """The mutants of all seeds, each once."""
    seeds = {}  # (file, begin, end, mutated): those that draw it
    chosen = {}
    for seed in args.seed:
        for site in plant.draw(found, args.mutants, seed):
            place = (site.file, site.begin, site.end, site.mutated)
            seeds.setdefault(place, []).append(seed)
            chosen[place] = site
    digests = {f: hashlib.sha256(pathlib.Path(ROOT, f).read_bytes()).hexdigest() for f in {p[0] for p in chosen}}
    return [Mutant(number, chosen[place], tuple(seeds[place]),
                   hashlib.sha256(f'{digests[place[0]]} {place}'.encode()).hexdigest()[:16])
            for number, place in enumerate(sorted(chosen))]


def prepare(args, out):
    if not (args.database / 'compile_commands.json').exists():
        fail(f'no compile_commands.json in {args.database}: build the release first (generated headers are read, too)')
    database = plant.read_database(args.database)
    say('look for sites')
    kept = ROOT / 'build/prove/mutants/sites'
    kept.mkdir(parents=True, exist_ok=True)
    found = plant.find_all(str(ROOT), database, args.folder, args.jobs, kept)
    say(f'{sum(map(len, found.values()))} sites in {len(found)} files')
    mutants = drawn(found, args)
    if len(mutants) > MOST_MUTANTS:
        fail(f'{len(mutants)} mutants: expected at most {MOST_MUTANTS} in one build (PFC_MUTANTS_MAX in mutant.h)')
    if args.list:
        for mutant in mutants:
            print(f'{mutant.number} {mutant.site.line} {mutant.site.key()}')
        sys.exit(0)
    kept = {n for n, _ in plant.plant(str(ROOT), out, database, [(m.number, m.site) for m in mutants], args.jobs)}
    say(f'{len(mutants)} drawn, {len(kept)} compile')
    return [m for m in mutants if m.number in kept]


def kept_records(out, name, mutants):
    """The notes of an earlier run of the tests, unless other mutants have those numbers now."""
    path, stamp = pathlib.Path(out, name), pathlib.Path(out, f'{name}.mutants')
    text = '\n'.join(f'{m.number} {m.id}' for m in mutants)
    if not stamp.exists() or stamp.read_text(encoding='utf-8') != text:
        path.unlink(missing_ok=True)
        stamp.write_text(text, encoding='utf-8')
    return Records(path)


def judged(build, mutants, args, out, over, name):
    """The records of the mutants, all tests of the build considered."""
    build.make(args.jobs)
    if args.label:
        build.tests = {n: t for n, t in build.tests.items() if set(t['labels']) & set(args.label)}
    reach(build, kept_records(out, f'{build.folder.name}.tests', mutants), out, args.jobs, over)
    records = Records(pathlib.Path(out, name))
    Judge(build, records, args.most).all(mutants, args.jobs, over, build.folder.name)
    return records


def main():
    args = options()
    name = '-'.join(map(str, args.seed))
    out = pathlib.Path(args.out or ROOT / f'build/prove/mutants/{name}').resolve()
    out.mkdir(parents=True, exist_ok=True)

    def over():
        return time.monotonic() - START > 60 * args.minutes

    mutants = prepare(args, out)
    if args.relink:
        build = relink.Relinked(out, args.database, args.target, args.tests, mutants)
    else:
        build = Build(out, 'release', ['-DCMAKE_BUILD_TYPE=Release'], args.target, args.tests)
    records = judged(build, mutants, args, out, over, 'mutants.jsonl')
    left = [m for m in mutants if records.items.get(m.id, {}).get('reached') and not records.items[m.id]['noticed']]
    if left and not args.no_sanitize and not args.relink and not over():
        args.label = args.label or SANITIZED
        strict = Build(out, 'asan', ['-DCMAKE_BUILD_TYPE=Debug', '-DPERFCI_SANITIZE=address,undefined'],
                       args.target, args.tests)
        second = judged(strict, left, args, out, over, 'sanitized.jsonl')
        for mutant in left:
            by = second.items.get(mutant.id, {}).get('noticed')
            if by:
                records.items[mutant.id]['noticed'] = f'{by} (sanitizers)'
    sys.exit(0 if report(mutants, records, args) else 1)


START = time.monotonic()
if __name__ == '__main__':
    main()
