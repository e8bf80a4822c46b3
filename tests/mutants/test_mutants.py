#!/usr/bin/env python3
"""The mutator of `deploy/prove.sh --only mutants`, on a small program: which faults it finds, that what is planted
compiles and sleeps, that each fault wakes alone, and that the draw and the table are right."""

import contextlib
import io
import os
import pathlib
import subprocess
import sys
import tempfile
import types
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

try:
    import plant
    import relink
    import run
    import sites
except ImportError as error:
    print(f'skipped: the mutator reads C with libclang, and its Python module is missing: {error} (python3-clang)')
    sys.exit(77)

SAMPLE = r'''
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define LIMIT 3
#define SHARE 0.5
#define GREATER(a, b) ((a) > (b))
typedef enum pfc_code { PFC_OK, PFC_EINVAL, PFC_ENOTFOUND } pfc_code;
static const int table[2] = { 1, 2 };

static int below(int a, int b) { return a < b; }
static bool both(bool a, bool b) { return a && b; }
static double part(double x) { return x * SHARE; }
static int minus(int a, int b) { return a - b; }
static pfc_code check(int n)
{
    if (n > LIMIT)
        return PFC_EINVAL;
    if (n == 2) {
        return PFC_ENOTFOUND;
    }
    return PFC_OK;
}
static bool small(int n)
{
    switch (n) {
    case 1: return true;
    default: return false;
    }
}
static int sum(const int *x, int n)
{
    int s = 0;

    for (int i = 0; i < n; i++)
        s += x[i];
    return -s;
}
static void say(const char *text) { puts(text); }
static void tell(const char *text) { fprintf(stdout, "%s", text); }
static int more(int n) { return n >= 7; }
int main(int argc, char **argv)
{
    static int first = 1;
    int numbers[] = { 4, 5, 6 };

    for (int n = 1; n < 6; n++)
        printf("%d ", check(n));
    printf("%d%d%d %d%d%d%d ", below(1, 2), below(2, 2), below(3, 2), both(0, 0), both(0, 1), both(1, 0), both(1, 1));
    printf("%g %d %d%d %d ", part(3), minus(5, 2), small(1), small(2), sum(numbers, 2));
    printf("%d %d\n", GREATER(2, 1), table[0] + first);
    say("end");
    tell("told");
    if (argc > 1)
        printf("%d %s\n", more(argc), argv[1]);
    return 0;
}
'''


class Mutator(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.path = pathlib.Path(cls.folder.name, 'sample.c')
        cls.path.write_text(SAMPLE, encoding='utf-8')
        cls.sites = sites.find(str(cls.path), 'sample.c', [])
        cls.keys = {f'{s.kind}: {s.original} -> {s.mutated}' for s in cls.sites}

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def build(self, numbered, name):
        """The sample with these planted, compiled."""
        source, program = pathlib.Path(self.folder.name, f'{name}.c'), pathlib.Path(self.folder.name, name)
        source.write_bytes(plant.planted_text(self.folder.name, 'sample.c', numbered))
        subprocess.run(['gcc', '-w', str(source), '-o', str(program)], check=True)
        return program

    def output(self, program, *args, **env):
        done = subprocess.run([str(program), *args], env=dict(os.environ, **env), stdout=subprocess.PIPE, check=False)
        return done.returncode, done.stdout

    def test_each_kind_of_fault_is_found(self):
        for key in ('bound: a < b -> a <= b', 'mirror: a < b -> a > b', 'logic: a && b -> a || b',
                    'sign: a - b -> (a) + (b)', 'sign: x * SHARE -> (x) / (SHARE)', 'sign: -s -> s',
                    'sign: s += x[i] -> s -= x[i]', 'constant: LIMIT -> LIMIT + 1', 'constant: SHARE -> SHARE * 1.5',
                    'constant: 2 -> 2 + 1', 'equal: n == 2 -> n != 2', 'negate: n > LIMIT -> !(n > LIMIT)',
                    'drop check: n > LIMIT -> 0 && (n > LIMIT)', 'drop check: n == 2 -> 0 && (n == 2)',
                    'exit: PFC_EINVAL -> PFC_OK', 'exit: true -> false', 'exit: false -> true', 'exit: 0 -> 0 + 1',
                    'swap: below(1, 2) -> below(2, 1)', 'drop call: say("end") -> (void)0'):
            with self.subTest(key):
                self.assertIn(key, self.keys)

    def test_what_must_be_constant_or_lies_in_a_macro_is_no_site(self):
        text = SAMPLE.encode()
        for begin, end in ((text.index(b'case 1'), text.index(b': return true')),
                           (text.index(b'table[2]'), text.index(b'static int below')),
                           (text.index(b'static int first'), text.index(b'int numbers')),
                           (text.index(b'#define GREATER'), text.index(b'typedef'))):
            inside = [s.key() for s in self.sites if begin <= s.begin < end]
            self.assertEqual(inside, [])

    def test_a_format_is_not_swapped_with_a_text(self):
        self.assertEqual([k for k in self.keys if k.startswith('swap: fprintf')], [])

    def test_mutants_sleep_until_they_are_named_and_then_show(self):
        plain = subprocess.run(['gcc', '-w', str(self.path), '-o', str(self.path.with_suffix(''))], check=True)
        self.assertEqual(plain.returncode, 0)
        expected = self.output(self.path.with_suffix(''))
        # Bounds of the loop over `numbers` and the like may read what happens to lie behind: not part of this.
        wanted = [s for s in self.sites if s.kind in ('mirror', 'logic', 'exit', 'drop call', 'drop check')
                  and s.original not in ('n >= 7', 'argc > 1')]
        self.assertGreater(len(wanted), 10)
        for number, site in enumerate(wanted):
            program = self.build([(number, site)], 'planted')
            self.assertEqual(self.output(program), expected)
            self.assertEqual(self.output(program, PFC_MUTANT=str(number + 1)), expected)
            self.assertNotEqual(self.output(program, PFC_MUTANT=str(number)), expected, site.key())

    def test_a_process_notes_the_mutants_that_it_reaches(self):
        below = next(s for s in self.sites if s.kind == 'bound' and s.original == 'a < b')
        more = next(s for s in self.sites if s.kind == 'bound' and s.original == 'n >= 7')
        program = self.build([(5, below), (6, more)], 'reach')
        for args, reached in (([], ['5']), (['x'], ['5', '6'])):
            with tempfile.TemporaryDirectory() as folder:
                self.output(program, *args, PFC_MUTANT_REACHED=folder)
                self.assertEqual(sorted(os.listdir(folder)), reached)

    def test_a_mutant_that_does_not_compile_is_left_out(self):
        good = next(s for s in self.sites if s.kind == 'bound')
        bad = sites.Site('sample.c', 1, SAMPLE.index('typedef'), SAMPLE.index('typedef') + 7, 'x', 'typedef', 'y')
        with tempfile.TemporaryDirectory() as scratch:
            database = {str(self.path): {'command': 'gcc -c sample.c'}}
            kept = plant.compilable(self.folder.name, database, 'sample.c', [(0, good), (1, bad)], scratch)
        self.assertEqual(kept, [(0, good)])

    def test_a_draw_is_repeatable_disjoint_and_gives_each_folder_its_share(self):
        found = {f'core/{room}/x.c': [sites.Site(f'core/{room}/x.c', i, 4 * i, 4 * i + 6, f'kind{i % 3}', 'a', 'b')
                                      for i in range(n)] for room, n in (('big', 4000), ('small', 100), ('tiny', 5))}
        one, two, other = (plant.draw(found, 100, seed) for seed in (1, 1, 2))
        self.assertEqual(one, two)
        self.assertNotEqual(one, other)
        rooms = [plant.folder_of(s.file) for s in one]
        self.assertEqual(rooms.count('core/small'), plant.LEAST)
        self.assertLessEqual(rooms.count('core/tiny'), 5)
        self.assertGreater(rooms.count('core/big'), 80)
        for a in one:
            self.assertFalse(any(a is not b and a.file == b.file and plant.overlaps(a, b) for b in one))

    def test_mutants_within_mutants_wake_alone(self):
        numbers = {'bound: n > LIMIT -> n >= LIMIT': 1, 'mirror: n > LIMIT -> n < LIMIT': 2,
                   'constant: LIMIT -> LIMIT + 1': 3}
        program = self.build([(numbers[k], s) for s in self.sites
                              if (k := f'{s.kind}: {s.original} -> {s.mutated}') in numbers], 'nested')
        for number, line in ((0, [0, 2, 0, 1, 1]), (1, [0, 2, 1, 1, 1]), (2, [1, 1, 0, 0, 0]), (3, [0, 2, 0, 0, 1])):
            output = self.output(program, PFC_MUTANT=str(number))[1].decode().split()
            self.assertEqual(output[:5], [str(n) for n in line], number)

    def test_a_draw_is_the_same_after_a_change_elsewhere(self):
        items = [sites.Site('core/a/x.c', i, 4 * i, 4 * i + 3, 'bound', f'a{i}', 'b') for i in range(400)]
        before = {s.original for s in plant.draw({'core/a/x.c': items}, 100, 1)}
        after = {s.original for s in plant.draw({'core/a/x.c': items[:200] + items[201:]}, 100, 1)}
        self.assertLessEqual(len(before - after), 1)

    def table(self, noticed, each=75, overall=85):
        mutants = [run.Mutant(i, sites.Site(f'core/{"a" if i < 4 else "b"}/x.c', 1, 0, 1, 'bound', 'x', 'y'), (1,), i)
                   for i in range(8)]
        text = io.StringIO()
        with contextlib.redirect_stdout(text):
            good = run.table(mutants, noticed, types.SimpleNamespace(each=each, overall=overall))
        return good, text.getvalue()

    def test_the_goals_hold_for_all_and_for_each_folder(self):
        seven = {i: None if i == 0 else 'test' for i in range(8)}  # 3 of 4 and 4 of 4: 87.5 %
        good, text = self.table(seven)
        self.assertTrue(good)
        self.assertIn('| core/a | 4 | 3 | 75.0 % (30-95) |', text)
        self.assertIn('noticed of mutants: 8, 7, 87.5 % (53-98)', text)
        self.assertTrue(self.table(seven, overall=87.5)[0])
        self.assertFalse(self.table(seven, overall=88)[0])
        self.assertFalse(self.table(seven, each=76)[0])


class Limits(unittest.TestCase):
    def test_a_test_that_hangs_is_ended_with_its_children(self):
        with subprocess.Popen(['sh', '-c', 'sleep 1000 & echo; wait'], stdout=subprocess.PIPE,
                              start_new_session=True) as child:
            child.stdout.readline()  # the child of the child was started
            run.end_session(child.pid)
            self.assertEqual(child.stdout.read(), b'')  # and holds its output open no longer
            self.assertEqual(child.wait(), -9)


class Judging(unittest.TestCase):
    """Which tests are run for a mutant; `ctest` is replaced by a list of what notices it."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.records = run.Records(pathlib.Path(folder.name, 'records'))
        self.addCleanup(self.records.file.close)
        self.mutant = run.Mutant(7, sites.Site('core/a/x.c', 1, 0, 1, 'bound', 'x', 'y'), (1,), 'id')
        self.calls, self.notices, self.slow, self.hangs = [], set(), set(), set()
        tests = {name: {'folder': folder, 'seconds': seconds, 'passed': passed, 'reached': reached, 'digest': 'd'}
                 for name, folder, seconds, passed, reached in (
                     ('long', 'core/b', 50, True, [7]), ('short', 'core/b', 1, True, [7]),
                     ('own', 'core/a', 5, True, [7]), ('other', 'core/a', 1, True, [8]),
                     ('broken', 'core/a', 1, False, [7]))}
        self.build = types.SimpleNamespace(tests=tests, ctest=self.ctest)

    def ctest(self, name, env, limit):
        if env == {}:
            return None if name in self.slow else True
        self.assertEqual(env, {'PFC_MUTANT': '7', 'CRITERION_FAIL_FAST': '1'})
        self.calls.append(name)
        return None if name in self.slow | self.hangs else name not in self.notices

    def judge(self, most):
        self.calls.clear()
        run.Judge(self.build, self.records, most).all([self.mutant], 1, lambda: False, '')
        return self.records.items['id']

    def test_its_folder_first_then_the_shortest_and_none_that_does_not_reach_it_or_fails_anyway(self):
        self.assertIsNone(self.judge(100)['noticed'])
        self.assertEqual(self.calls, ['own', 'short', 'long'])

    def test_the_first_that_notices_ends_it(self):
        self.notices = {'short', 'long'}
        self.assertEqual(self.judge(100)['noticed'], 'short')
        self.assertEqual(self.calls, ['own', 'short'])
        self.judge(100)
        self.assertEqual(self.calls, [])

    def test_a_test_that_hangs_has_noticed_unless_it_is_as_slow_without_the_mutant(self):
        self.slow = {'own'}
        item = self.judge(100)
        self.assertIsNone(item['noticed'])
        self.assertEqual(item['left_out'], ['own'])
        self.assertEqual(self.calls, ['own', 'short', 'long'])
        self.slow, self.hangs = set(), {'own'}
        self.assertEqual(self.judge(100)['noticed'], 'own')
        self.assertEqual(self.calls, ['own'])

    def test_what_the_time_left_out_is_named_and_run_by_the_next(self):
        self.assertEqual(self.judge(10)['left_out'], ['long'])
        self.assertEqual(self.calls, ['own', 'short'])
        self.judge(10)
        self.assertEqual(self.calls, [])
        self.assertEqual(self.judge(100)['left_out'], [])
        self.assertEqual(self.calls, ['long'])

    def test_a_changed_test_judges_a_survivor_again(self):
        self.judge(100)
        self.build.tests['own']['digest'] = 'e'
        self.notices = {'own'}
        self.assertEqual(self.judge(100)['noticed'], 'own')
        self.assertEqual(self.calls, ['own'])

    def test_named_targets_alone_are_built_and_run(self):
        commands = []
        known, called = run.Build.read_tests, run.run
        self.addCleanup(setattr, run.Build, "read_tests", known)
        self.addCleanup(setattr, run, "run", called)
        run.Build.read_tests = lambda build: build.tests.update(a={}, b={}, c={})
        run.run = lambda command, log: commands.append(command) or 0
        for targets, built, tests in ((("c", "a"), ["--target", "c", "a"], {"a", "c"}), ((), [], {"a", "b", "c"})):
            build = run.Build(self.records.file.name, "release", [], targets)
            build.make(3)
            self.assertEqual(commands[-1][-2 - len(built):], ["-j", "3", *built])
            self.assertEqual(set(build.tests), tests)

    def test_tests_are_named_whole_by_their_expression(self):
        known, called = run.Build.read_tests, run.run
        self.addCleanup(setattr, run.Build, "read_tests", known)
        self.addCleanup(setattr, run, "run", called)
        run.Build.read_tests = lambda build: build.tests.update(cli_a={}, cli_ab={}, test_cli_a={}, prog={})
        run.run = lambda command, log: 0
        for wanted, tests in (("cli_a", {"cli_a"}), ("cli_.*", {"cli_a", "cli_ab"}),
                              ("prog|cli_ab", {"prog", "cli_ab"})):
            build = run.Build(self.records.file.name, "release", [], ("prog",), wanted)
            build.make(1)
            self.assertEqual(set(build.tests), tests)

    def test_a_mutant_that_no_test_reaches_has_a_record(self):
        for test in self.build.tests.values():
            test['reached'] = []
        item = self.judge(100)
        self.assertEqual((item['noticed'], item['reached'], item['ran']), (None, False, {}))


class Relinked(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.at = pathlib.Path(self.folder.name)
        for name in ("build/tests", "out/relinked/tests"):
            (self.at / name).mkdir(parents=True)

    def relinked(self):
        return relink.Relinked(self.at / "out", self.at / "build", ("test_a",), None, [])

    def test_an_object_belongs_to_the_source_file_that_its_path_names(self):
        self.assertEqual(relink.Relinked.source_of("cli/CMakeFiles/perfci.dir/main.c.o"), "cli/main.c")
        self.assertEqual(relink.Relinked.source_of("core/x/CMakeFiles/pfc_x.dir/y/z.c.o"), "core/x/y/z.c")
        self.assertEqual(relink.Relinked.source_of("tests/b/CMakeFiles/test_b.dir/__/__/bench/a.c.o"), "bench/a.c")

    def test_the_linked_program_takes_the_place_of_the_builds(self):
        (self.at / "out/relinked/tests/test_a").write_text("")
        build = self.relinked()
        self.assertEqual(build.moved(str(self.at / "build/tests/test_a")), str(self.at / "out/relinked/tests/test_a"))
        for word in (str(self.at / "build/tests/test_b"), "--jobs", str(self.at / "elsewhere/test_a")):
            self.assertEqual(build.moved(word), word)

    def test_a_file_is_planted_in_the_libraries_that_hold_it(self):
        build = self.relinked()
        build.commands = {"core/a/liba.a": {"x.c.o"}, "core/b/libb.a": {"x.c.o", "y.c.o"}}
        for name, libraries, holds in (("core/a/x.c", "core/a/liba.a", True), ("core/a/sub/x.c", "core/a/liba.a", True),
                                       ("core/a/y.c", "core/a/liba.a core/b/libb.a", False),
                                       ("core/b/y.c", "core/a/liba.a core/b/libb.a", True)):
            self.assertEqual(build.is_in(name, libraries), holds, name)

    def test_a_test_passes_fails_or_does_not_end(self):
        build = self.relinked()
        build.tests = {name: {"command": ["sh", "-c", script], "env": {"A": "1"}, "cwd": str(self.at)}
                       for name, script in (("good", "[ $A$B = 12 ]"), ("bad", "exit 1"), ("skipped", "exit 77"),
                                            ("endless", "sleep 600"))}
        self.assertTrue(build.ctest("good", {"B": "2"}, 60))
        self.assertFalse(build.ctest("good", {"B": "3"}, 60))
        self.assertFalse(build.ctest("bad", {}, 60))
        self.assertTrue(build.ctest("skipped", {}, 60))
        self.assertIsNone(build.ctest("endless", {}, 0.1))


if __name__ == '__main__':
    unittest.main()
