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
        subprocess.run(['gcc', '-w', '-include', str(HERE / 'mutant.h'), str(source), '-o', str(program)], check=True)
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

    def table(self, noticed, each=75, overall=85):
        mutants = [(i, sites.Site(f'core/{"a" if i < 4 else "b"}/x.c', 1, 0, 1, 'bound', 'x', 'y')) for i in range(8)]
        text = io.StringIO()
        with contextlib.redirect_stdout(text):
            good = run.table(mutants, noticed, types.SimpleNamespace(each=each, overall=overall))
        return good, text.getvalue()

    def test_the_goals_hold_for_all_and_for_each_folder(self):
        seven = {i: None if i == 0 else 'test' for i in range(8)}  # 3 of 4 and 4 of 4: 87.5 %
        good, text = self.table(seven)
        self.assertTrue(good)
        self.assertIn('| core/a | 4 | 3 | 75 % (30-95) |', text)
        self.assertIn('noticed: 7 of 8 mutants = 87.5 %', text)
        self.assertTrue(self.table(seven, overall=87.5)[0])
        self.assertFalse(self.table(seven, overall=88)[0])
        self.assertFalse(self.table(seven, each=76)[0])


if __name__ == '__main__':
    unittest.main()
