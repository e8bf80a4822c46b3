"""The study of the night: what it makes, what its wrapper does to numbers, and how it scores. No program is measured."""

import array
import json
import os
import random
import re
import subprocess
import sys
import tempfile
import time
import unittest

ROOT = os.environ.get("PERFCI_SOURCE_DIR") or os.path.abspath(os.path.join(os.path.dirname(__file__), "../../.."))
STUDY = os.path.join(ROOT, "bench/studies/night")
sys.path.insert(0, STUDY)

import made  # noqa: E402
import nights  # noqa: E402
import pairs  # noqa: E402
import plan  # noqa: E402
import real  # noqa: E402
import score  # noqa: E402
import states  # noqa: E402


class Options:
    seed, nights, commits, sizes, plants = 1, 6, (60, 120), (1.0, 2.0, 3.0, 5.0, 10.0), None


def alert(number, index, kernel="text", night=2, later=None, low=None, high=None):
    return {"id": number, "history": 0, "night": night, "index": index, "index_later": index if later is None else later,
            "kernel": kernel, "range": [low, high]}


def history(alerts, plants, identical=()):
    return {"number": 0, "commits": 61, "nights": [(1 + 10 * n, 10 + 10 * n) for n in range(6)], "alerts": alerts,
            "identical": list(identical), "visits": [50] * 6, "minutes": 1.0, "failed": 0,
            "plants": [dict({"percent": 3.0, "kernels": ["text"]}, **p) for p in plants]}


class Score(unittest.TestCase):
    def test_intervals_are_wilsons(self):
        # Brown, Cai and DasGupta, Statist. Sci. 16(2), 2001, formula (4), by hand for 9 of 10 and for none of 20.
        low, high = score.wilson(9, 10)
        self.assertAlmostEqual(low, 0.5958, places=4)
        self.assertAlmostEqual(high, 0.9821, places=4)
        self.assertEqual(score.wilson(0, 20)[0], 0.0)
        self.assertAlmostEqual(score.wilson(0, 20)[1], 0.1611, places=4)

    def test_an_alert_at_the_plant_in_its_night_counts_everywhere(self):
        h = history([alert(1, 25)], [{"index": 25, "night": 2}])
        score.attribute(h)
        plant, = h["plants"]
        self.assertEqual((plant["in_night"], plant["exact_at_once"], plant["exact_later"], h["false"]), (True, True, True, []))

    def test_place_and_night_are_judged_separately(self):
        h = history([alert(1, 27, night=3, later=25)], [{"index": 25, "night": 2}])
        score.attribute(h)
        plant, = h["plants"]
        self.assertEqual((plant["in_night"], plant["delay_nights"], plant["exact_at_once"], plant["off_by"], plant["exact_later"]),
                         (False, 1, False, 2, True))

    def test_what_is_false(self):
        plants = [{"index": 25, "night": 2}]
        for one in (alert(1, 25, kernel="table"), alert(1, 29), alert(1, 25, night=1)):
            h = history([one], plants)
            score.attribute(h)
            self.assertEqual((len(h["false"]), h["plants"][0]["found_night"]), (1, None), one)
        # A wide range that holds the plant is found, if badly placed.
        h = history([alert(1, 29, low=21, high=30)], plants)
        score.attribute(h)
        self.assertEqual((h["false"], h["plants"][0]["in_night"], h["plants"][0]["exact_at_once"]), ([], True, False))
        # Two alerts of one kernel for one plant: one is too many.
        h = history([alert(1, 25), alert(2, 26)], plants)
        score.attribute(h)
        self.assertEqual([a["id"] for a in h["false"]], [2])

    def test_an_alert_is_checked_across_its_whole_place(self):
        self.assertEqual(score.ends_of({"index": 6, "range": [5, 6]}), (4, 6))
        self.assertEqual(score.ends_of({"index": 6, "range": [6, 6]}), (5, 6))
        self.assertEqual(score.ends_of({"index": 6, "range": [0, 7]}), (0, 7))
        for unknown in ([None, 6], [5, None], [7, 9], [2, 5]):  # not a range around the named commit
            self.assertEqual(score.ends_of({"index": 6, "range": unknown}), (5, 6))

    def test_two_plants_have_an_alert_each(self):
        h = history([alert(1, 25), alert(2, 27)], [{"index": 25, "night": 2}, {"index": 27, "night": 2}])
        result = score.total([h], (3.0,))
        self.assertEqual((result["two_plants_both"]["k"], result["false_alerts"]), (1, 0))
        h = history([alert(1, 25)], [{"index": 25, "night": 2}, {"index": 27, "night": 2}])
        self.assertEqual(score.total([h], (3.0,))["two_plants_both"]["k"], 0)

    def test_cost_is_against_five_visits_a_commit(self):
        result = score.total([history([alert(1, 40)], [], identical=[40, 41])], (3.0,))
        self.assertEqual((result["cost_ratio"], result["false_alerts"], result["alerts_at_identical"]), (1.0, 1, 1))
        self.assertIn("1 in 6 rounds", score.table(result, "t"))


class Plan(unittest.TestCase):
    def test_nights_hold_every_commit_once_and_sizes_come_alike_often(self):
        sizes = {}
        for number in range(100):
            wanted = plan.history(number, Options, made.KERNELS)
            self.assertTrue(60 <= wanted["commits"] <= 120)
            covered = [i for first, last in wanted["nights"] for i in range(first, last + 1)]
            self.assertEqual(covered, list(range(1, wanted["commits"])))
            self.assertEqual(len(wanted["plants"]), 1 + number % 2)
            for one in wanted["plants"].values():
                sizes[one["percent"]] = sizes.get(one["percent"], 0) + 1
        self.assertEqual(sizes, {1.0: 30, 2.0: 30, 3.0: 30, 5.0: 30, 10.0: 30})

    def test_states_are_five_to_twelve_per_cent_for_25_to_100_visits(self):
        speeds = list(states.make("x", 5000))
        runs = []
        for value in speeds:
            if runs and runs[-1][0] == value:
                runs[-1][1] += 1
            else:
                runs.append([value, 1])
        self.assertGreater(len(runs), 40)
        self.assertEqual(speeds, list(states.make("x", 5000)))
        for value, length in runs[:-1]:
            self.assertTrue(value == 1.0 or 1.05 <= value <= 1.12, value)
            self.assertTrue(25 <= length <= 100, length)


class Made(unittest.TestCase):
    def check_identical(self, command):
        with tempfile.TemporaryDirectory() as scratch:
            os.makedirs(os.path.join(scratch, "objects"))
            objects = []
            for index, (subject, files, _, identical) in enumerate(made.commits(3, 25, {7: {"percent": 1.0, "kernels": ["table"]}})):
                folder = os.path.join(scratch, str(index))
                made.write_tree(folder, files)
                made.build(folder, command(os.path.join(scratch, "objects")))
                with open(os.path.join(folder, "kernels"), "rb") as file:
                    objects.append(file.read())
                if index:
                    self.assertEqual(objects[-1] == objects[-2], identical, subject)

    def test_commits_that_are_called_identical_give_the_same_object_code(self):
        self.check_identical(made.build_command)

    def test_builds_of_a_replay_are_identical_for_the_same_commits(self):
        self.check_identical(made.replay_build_command)

    def test_a_plant_is_that_much_more_work(self):
        for kernel in made.KERNELS:
            for percent in Options.sizes:
                factor = made.plant(made.template(), kernel, percent)
                self.assertAlmostEqual(factor, 1 + percent / 100, delta=0.002)

    def test_the_history_is_in_git_as_it_was_made(self):
        with tempfile.TemporaryDirectory() as scratch:
            repo = os.path.join(scratch, "repo")
            entries = made.write_history(repo, 1, 12, {5: {"percent": 10.0, "kernels": ["list", "text"]}})
            self.assertEqual(len({e["commit"] for e in entries}), 12)
            self.assertEqual(sorted(entries[5]["factors"]), ["list", "text"])
            said = made.git(repo, "show", entries[5]["commit"], "--format=%s", "--stat")
            self.assertIn("2 files changed", said)


class Real(unittest.TestCase):
    def test_a_loop_goes_into_definitions_and_not_into_prototypes_or_calls(self):
        text = ("local int work(int a);\nint other(void)\n{\n    return work (1);\n}\n"
                "local int work(int a) {\n    return a;\n}\nint ZEXPORT work(a)\n    int a;\n{\n    return a;\n}\n")
        planted = real.insert_loop(text, "work", 7, "x.c")
        self.assertEqual(planted.count("night_work_1(7u);"), 2)
        self.assertEqual(planted.count("night_work_1(unsigned steps)\n{"), 1)
        self.assertIn("local int work(int a) { {", planted)
        twice = real.insert_loop(planted, "work", 9, "x.c")
        self.assertEqual(len(set(re.findall(r"night_work_[0-9]+(?=\(unsigned steps\))", twice))), 2)
        self.assertIn("int a;\n{ {", planted)
        with self.assertRaises(SystemExit):
            real.insert_loop(text, "missing", 7, "x.c")


class Pairs(unittest.TestCase):
    def test_the_interval_of_a_median_of_40_is_that_of_ranks_14_and_27(self):
        # Binomial(40, 1/2): P(X <= 13) = 0.019, P(X <= 14) = 0.040 (R 4.2: pbinom(13:14, 40, 0.5)).
        values = list(range(1, 41))
        random.Random(1).shuffle(values)
        self.assertEqual(pairs.median_interval(values), (20.5, 14, 27))


class Compiler(unittest.TestCase):
    """cached_cc.sh does what cc does."""

    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.dir, self.cache = (os.path.join(scratch.name, name) for name in ("work", "cache"))
        os.mkdir(self.dir)
        os.mkdir(self.cache)

    def cc(self, *words, text=None, cached=True):
        if text is not None:
            with open(os.path.join(self.dir, "x.c"), "w", encoding="utf-8") as file:
                file.write(text)
        command = [os.path.join(STUDY, "cached_cc.sh"), self.cache] if cached else ["cc"]
        return subprocess.run([*command, *words], cwd=self.dir, capture_output=True, text=True, check=False)

    def read(self, name):
        with open(os.path.join(self.dir, name), "rb") as file:
            return file.read()

    def test_objects_are_those_of_cc_and_are_kept(self):
        words = ("-O2", "-c", "x.c")
        self.assertEqual(self.cc(*words, text="int f(int a) { return A + a; }\n").returncode, 1)
        self.assertEqual(os.listdir(self.cache), [])
        for define in ("-DA=1", "-DA=2", "-DA=1"):
            self.assertEqual(self.cc(define, *words).returncode, 0)
            self.cc(define, *words, "-o", "plain.o", cached=False)
            self.assertEqual(self.read("x.o"), self.read("plain.o"))
        self.assertEqual(len(os.listdir(self.cache)), 2)
        self.assertEqual(self.cc("-DA=1", *words, "-o", "named.o", text="int f(int a) { return A - a; }\n").returncode, 0)
        self.assertNotEqual(self.read("named.o"), self.read("x.o"))

    def test_links_are_made_by_cc(self):
        self.assertEqual(self.cc("-o", "x", "x.c", text="int main(void) { return 7; }\n").returncode, 0)
        self.assertEqual(subprocess.run([os.path.join(self.dir, "x")], check=False).returncode, 7)


class Clock(unittest.TestCase):
    def test_time_is_visits_and_pauses(self):
        program = ("import os, sys, time\n"
                   "first = time.monotonic()\n"
                   "time.sleep(0.05)\n"
                   "slept = time.monotonic()\n"
                   "open(sys.argv[1], 'a').write(3 * ('a' * 40 + '\\n'))\n"
                   "print(first, slept - first, time.monotonic() - slept, time.time(), 'LD_PRELOAD' in os.popen('env').read())\n")
        with tempfile.TemporaryDirectory() as scratch:
            clock, visits = os.path.join(scratch, "clock.so"), os.path.join(scratch, "visits")
            subprocess.run(["cc", "-O1", "-std=gnu11", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", "-o", clock,
                            os.path.join(STUDY, "clock.c")], check=True)
            with open(visits, "w", encoding="utf-8") as file:
                file.write(2 * ("b" * 40 + "\n"))
            done = subprocess.run([sys.executable, "-c", program, visits], capture_output=True, text=True, check=True,
                                  env=dict(os.environ, LD_PRELOAD=clock, NIGHT_VISITS=visits, NIGHT_CLOCK_S="1000"))
        first, slept, visited, now, preloaded = done.stdout.split()
        self.assertAlmostEqual(float(first), 1000 + 2 * nights.REPLAY_VISIT_S)
        self.assertAlmostEqual(float(slept), 0.05, places=6)
        self.assertAlmostEqual(float(visited), 3 * nights.REPLAY_VISIT_S)
        self.assertAlmostEqual(float(now), time.time(), delta=60)
        self.assertEqual(preloaded, "False")


class Wrapper(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.scratch = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.scratch.cleanup)
        cls.program = os.path.join(cls.scratch.name, "visit")
        subprocess.run(["cc", "-O1", "-std=gnu11", "-Wall", "-Wextra", "-Werror", "-o", cls.program, os.path.join(STUDY, "visit.c")],
                       check=True)

    def setUp(self):
        self.dir = tempfile.mkdtemp(dir=self.scratch.name)

    def doubles(self, name, values):
        with open(os.path.join(self.dir, name), "wb") as file:
            array.array("d", values).tofile(file)

    def lines(self, name, *lines):
        with open(os.path.join(self.dir, name), "w", encoding="utf-8") as file:
            file.write("".join(line + "\n" for line in lines))

    def visit(self, *command, commit="a" * 40, status=0):
        done = subprocess.run([self.program, self.dir, *command], capture_output=True, text=True, check=False,
                              env=dict(os.environ, PERFCI_COMMIT=commit))
        self.assertEqual(done.returncode, status, done.stderr)
        return json.loads(done.stdout) if status == 0 else None

    def test_without_states_the_output_is_the_commands(self):
        self.assertEqual(self.visit("echo", '{"metrics": {"a_us": 1.25}}'), {"metrics": {"a_us": 1.25}})
        self.visit("false", status=1)

    def test_each_visit_is_a_step_further_in_time(self):
        self.doubles("states.bin", [1.0, 1.1, 2.0])
        got = [self.visit("echo", '{"n": "x", "metrics": {"a_us": 10, "b_us": -2e1}}')["metrics"] for _ in range(4)]
        self.assertEqual([m["a_us"] for m in got], [10, 11, 20, 10])
        self.assertEqual(got[2]["b_us"], -40)
        with open(os.path.join(self.dir, "visits"), encoding="utf-8") as file:
            self.assertEqual(file.read().split(), ["a" * 40] * 4)

    def test_a_replay_multiplies_the_recorded_run_by_state_and_commit(self):
        self.doubles("trace.bin", [100.0, 10.0, 200.0, 20.0])
        self.doubles("states.bin", [1.0, 1.5])
        self.lines("names", "x_us", "y_us")
        self.lines("factors", "a" * 40 + " 1 1", "b" * 40 + " 1.03 1")
        self.assertEqual(self.visit("false")["metrics"], {"x_us": 100, "y_us": 10})
        self.assertEqual(self.visit("false", commit="b" * 40)["metrics"], {"x_us": 309, "y_us": 30})


if __name__ == "__main__":
    unittest.main()
