"""perfci detect holds its contract: what it reads, what it answers, how it ends."""

import json
import os
import random
import re
import subprocess

import support


def series(name, values, **more):
    points = [{"t": 1700000000 + 3600 * i, "v": v} for i, v in enumerate(values)]
    return {"id": name, "unit": "ms", "points": points, **more}


def noisy(seed, *levels):
    """Up to one percent of noise around each (level, count), balanced: every ten points hold the same
    ten errors in another order, so that no stretch of it has a level of its own by chance."""
    g = random.Random(seed)
    errors = [(i - 4.5) / 450 for i in range(10)]
    out = []
    for level, count in levels:
        for _ in range(count // 10):
            g.shuffle(errors)
            out += [level * (1 + e) for e in errors]
    return out


SLOWER = series("slower", noisy(1, (100, 60), (130, 60)))
STEADY = series("steady", noisy(2, (100, 120)))


class Detect(support.Case):
    def lines(self, done):
        return [json.loads(line) for line in done.stdout.splitlines()]

    def test_a_step_up_of_a_cost_is_a_confirmed_regression_at_its_index(self):
        done = self.expect(self.perfci("detect", "--json", text=json.dumps(SLOWER) + "\n"), 1)
        answer, = self.lines(done)
        self.assertEqual(answer["id"], "slower")
        change, = answer["changes"]
        self.assertEqual(set(change), {"index", "index_low", "index_high", "before", "after", "rel_change", "rel_low",
                                       "rel_high", "p", "direction", "status"})
        self.assertEqual(change["index"], 60)
        self.assertLessEqual(change["index_low"], 60)
        self.assertGreaterEqual(change["index_high"], 60)
        # 100 to 130 with errors of at most 1 %, the same ones on both sides.
        self.assertAlmostEqual(change["rel_change"], 0.30, delta=0.02)
        self.assertLess(change["rel_low"], change["rel_high"])
        self.assertEqual((change["direction"], change["status"]), ("regression", "confirmed"))

    def test_the_same_step_of_a_throughput_is_an_improvement(self):
        text = json.dumps({**SLOWER, "higher_is_better": True})
        answer, = self.lines(self.expect(self.perfci("detect", "--json", text=text), 0))
        self.assertEqual([c["direction"] for c in answer["changes"]], ["improvement"])

    def test_points_go_by_time_and_places_are_those_of_the_document(self):
        """Any order of the points gives the changes of the sorted ones, at the same points."""
        plain, = self.lines(self.perfci("detect", "--json", "--explain", text=json.dumps(SLOWER)))
        order = list(range(120))
        random.Random(3).shuffle(order)
        mixed = {**SLOWER, "points": [SLOWER["points"][i] for i in order]}
        answer, = self.lines(self.expect(self.perfci("detect", "--json", "--explain", text=json.dumps(mixed)), 1))
        for got, want in zip(answer["changes"], plain["changes"], strict=True):
            for key in ("index", "index_low", "index_high"):
                self.assertEqual(order[got.pop(key)], want.pop(key), key)
            self.assertEqual(got, want)
        self.assertEqual([order[r["index"]] for r in answer["explain"]], [r["index"] for r in plain["explain"]])
        self.assertIn("not in order of time", self.perfci("detect", text=json.dumps(mixed)).stderr)
        # without one of the times all points keep the order given
        untimed = {**SLOWER, "points": [{**point, "t": -i} for i, point in enumerate(SLOWER["points"])]}
        del untimed["points"][5]["t"]
        self.assertEqual(self.lines(self.perfci("detect", "--json", text=json.dumps(untimed)))[0]["changes"][0]["index"],
                         60)

    def test_a_steady_series_has_no_changes_and_status_zero(self):
        answer, = self.lines(self.expect(self.perfci("detect", "--json", text=json.dumps(STEADY)), 0))
        self.assertEqual(answer, {"id": "steady", "changes": []})

    def test_lines_array_pretty_document_and_files_give_the_same_answer(self):
        both = [SLOWER, STEADY]
        lines = "".join(json.dumps(s) + "\n" for s in both)
        want = self.expect(self.perfci("detect", "--json", text=lines), 1).stdout
        self.assertEqual(want.count("\n"), 2)
        self.assertEqual(self.perfci("detect", "--json", text=json.dumps(both)).stdout, want)
        self.assertEqual(self.perfci("detect", "--json", text=json.dumps(both, indent=1)).stdout, want)
        self.assertEqual(self.perfci("detect", "--json", text=lines.replace("\n", "\r\n")).stdout, want)
        names = []
        for s in both:
            # Without an id the series is named after the file.
            text = json.dumps({k: v for k, v in s.items() if k != "id"}, indent=2)
            names.append(self.write(f"{s['id']}.json", text))
        self.assertEqual(self.expect(self.perfci("detect", "--json", *names), 1).stdout, want)

    def test_csv_has_a_series_a_metric_and_skips_columns_of_text(self):
        rows = ["time,commit,slower,steady"]
        for i, (a, b) in enumerate(zip(SLOWER["points"], STEADY["points"])):
            rows.append(f"{a['t']},c{i},{a['v']!r},{b['v']!r}")
        want = self.lines(self.perfci("detect", "--json", text=json.dumps([SLOWER, STEADY])))
        done = self.expect(self.perfci("detect", "--json", text="\n".join(rows)), 1)
        change = want[0]["changes"][0]
        for place in "", "_low", "_high":
            change["commit" + place] = f"c{change['index' + place]}"
        self.assertEqual(self.lines(done), want)

    def test_commits_of_digits_are_ids_and_the_table_and_words_name_them(self):
        rows = ["time,commit,branch,tokens_per_s"] + [f"{i},{1000 + i},main,{p['v']!r}" for i, p in enumerate(SLOWER["points"])]
        path = self.write("h.csv", "\n".join(rows))
        answer, = self.lines(self.expect(self.perfci("detect", "--json", path), 0))
        change, = answer["changes"]
        # A rate: more is better, by its name.
        self.assertEqual((answer["id"], change["commit"], change["direction"]), ("tokens_per_s", "1060", "improvement"))
        self.assertRegex(self.expect(self.perfci("detect", path), 0).stdout, r"(?s)COMMIT\n.* 1060\n")
        self.assertIn("change at 60, commit 1060", self.expect(self.perfci("detect", "--explain", path), 0).stdout)
        self.expect(self.perfci("detect", "--direction", "tokens_per_s=lower", path), 1)

    def test_missing_values_keep_their_place(self):
        values = noisy(3, (100, 60), (130, 60))
        for i in (5, 30, 59, 61, 100):
            values[i] = None
        answer, = self.lines(self.perfci("detect", "--json", text=json.dumps(series("gaps", values))))
        change, = answer["changes"]
        self.assertIn(change["index"], (58, 59, 60))

    def test_unknown_members_and_escapes_are_read(self):
        s = {**STEADY, "id": "a \"b\" \\ \u00e9 \U0001f600\n", "note": {"deep": [1, {"er": None}]}, "labels": [True, 1e3]}
        for ascii_only in (True, False):
            text = json.dumps(s, ensure_ascii=ascii_only)
            answer, = self.lines(self.expect(self.perfci("detect", "--json", text=text), 0))
            self.assertEqual(answer["id"], s["id"])

    def test_bad_lines_are_named_and_good_lines_answered(self):
        good = json.dumps(STEADY)
        bad = {
            2: '{"id": "x", "points": [{"t": 1, "v": 1}',
            3: "nonsense",
            5: '{"id": 7, "points": []}',
            6: '{"id": "x", "points": [{"t": 1, "v": NaN}]}',
            7: '{"id": "x", "points": [{"t": 1, "v": 1e999}]}',
            8: '{"id": "x", "points": [{"t": 1}]}',
            9: '{"id": "x"}',
            10: '{"points": []}',
            11: '{"id": "x", "id": "y", "points": []}',
            12: '{"id": "x", "points": [], "z": ' + "[" * 100 + "]" * 100 + "}",
            13: '{"id": "x", "points": []} {"id": "y", "points": []}',
            14: '{"id": "\\ud800", "points": []}',
            15: '{"id": "x", "points": [{"t": 1, "v": 01}]}',
        }
        lines = [bad.get(i, good) for i in range(1, 17)]
        done = self.expect(self.perfci("detect", "--json", text="\n".join(lines) + "\n"), 2)
        self.assertEqual(len(self.lines(done)), 16 - len(bad))
        complaints = done.stderr.splitlines()
        self.assertEqual(len(complaints), len(bad), done.stderr)
        for number, said in zip(sorted(bad), complaints):
            self.assertIn(f"line {number}: ", said)

    def test_a_complaint_says_what_where_and_what_was_expected(self):
        said = {
            '{"id":"x","points":[{"v":1},{"t":"2024-01-01","v":1}]}': 'points[1].t: expected a number, got "2024-01-01"',
            '{"id":"x","points":[{"t":1,"v":-Infinity}]}': "points[0].v: expected a number, got -Infinity",
            '{"id":"x","points":[{"t":1,"v":NaN}]}': "points[0].v: expected a number, got NaN",
            '{"id":"x","points":[{"t":1,"v":1,"repeats":[1,null]}]}': "points[0].repeats: expected a number, got null",
            '{"id":"x","points":[{"t":1,"v":1,"repeats":[1,1e999]}]}': "points[0].repeats: number out of range, got 1e999",
            '{"id":"x","points":[{"v":1},{"v":1},{"t":1}]}': 'points[2]: point without "v"',
            '{"id":"x","points":[null]}': "points[0]: expected an object, got null",
            '{"id":"x","points":null}': '"points": expected an array, got null',
            '{"id":null,"points":[]}': "expected a string, got null",
            '{"id":"x","points":[],"higher_is_better":"yes"}': '"higher_is_better": expected true or false, got "yes"',
            '[null]': "expected a series, an object, got null",
        }
        for text, want in said.items():
            done = self.expect(self.perfci("detect", "--json", text=text + "\n"), 2)
            self.assertEqual(done.stderr, f'perfci detect: standard input: line 1: {want}\nhint: "perfci detect --help" shows what it reads\n', text)
            self.assertEqual(done.stdout, "")

    def test_missing_members_and_empty_repeats_are_no_complaint(self):
        for point in ('{"v":1}', '{"t":null,"v":1}', '{"t":1,"v":null}', '{"t":1,"v":1,"repeats":[]}',
                      '{"t":1,"v":1,"repeats":null}', '{"t":1,"v":-0.0,"repeats":[-1,0]}'):
            done = self.expect(self.perfci("detect", "--json", text='{"id":"x","points":[' + point + "]}"), 0)
            self.assertEqual((done.stdout, done.stderr), ('{"id":"x","changes":[]}\n', ""), point)

    def test_words_for_no_value_in_csv_keep_their_place(self):
        """Also in the first row, where text makes a column an attribute."""
        values = noisy(3, (100, 60), (130, 60))
        rows = ["time,a"] + [f"{i},{v!r}" for i, v in enumerate(values)]
        for i, word in ((0, "NaN"), (1, "inf"), (2, "-Infinity"), (3, ""), (4, "NULL"), (5, "n/a"), (59, "None"), (61, "-")):
            rows[i + 1] = f"{i},{word}"
        done = self.expect(self.perfci("detect", "--json", text="\n".join(rows)), 1)
        answer, = self.lines(done)
        self.assertEqual(answer["id"], "a")
        self.assertEqual([c["status"] for c in answer["changes"]], ["confirmed"])
        self.assertIn(answer["changes"][0]["index"], (58, 60))
        self.assertEqual(done.stderr, "")

    def test_csv_without_a_column_of_numbers_says_so(self):
        for text in ("time\n1\n", "time,commit\n1,abc\n2,def\n"):
            done = self.expect(self.perfci("detect", "--json", text=text), 2)
            self.assertIn('expected a column of numbers beside "time", got none', done.stderr)
        self.expect(self.perfci("detect", "--json", text="time,a\n"), 0)

    def test_odd_series_have_defined_answers(self):
        odd = {
            "empty": [], "one": [5], "all missing": [None] * 30, "all equal": [7] * 100, "zeros": [0] * 100,
            "one among missing": [None] * 20 + [3] + [None] * 20, "huge and tiny": [1e308, 1e-308] * 40,
        }
        text = "".join(json.dumps(series(name, values)) + "\n" for name, values in odd.items())
        self.assertEqual(self.lines(self.expect(self.perfci("detect", "--json", text=text), 0)),
                         [{"id": name, "changes": []} for name in odd])

    def test_values_of_any_sign_have_levels(self):
        for levels in ((-100, -70), (-15, 15), (0, 30)):
            values = [levels[i >= 60] + e for i, e in enumerate(noisy(4, (1, 120)))]
            answer, = self.lines(self.perfci("detect", "--json", text=json.dumps(series("signs", values))))
            change, = answer["changes"]
            self.assertEqual((change["index"], change["direction"]), (60, "regression"), levels)

    def test_equal_times_keep_the_order_of_the_document_and_turned_times_turn_the_history(self):
        points = SLOWER["points"]
        for times, places in (([7] * 120, (60, "regression")), ([1e300] * 120, (60, "regression")),
                              ([-p["t"] for p in points], (59, "improvement"))):
            s = {**SLOWER, "points": [{**p, "t": t} for p, t in zip(points, times)]}
            answer, = self.lines(self.perfci("detect", "--json", text=json.dumps(s)))
            self.assertEqual([(c["index"], c["direction"]) for c in answer["changes"]], [places], times[:2])

    def test_a_million_points_and_a_hundred_thousand_repeats(self):
        repeats = {**STEADY, "id": "repeats", "points": STEADY["points"] + [{"t": 1800000000, "v": 100, "repeats": [100, 101] * 50000}]}
        point = ",".join(f'{{"t":{i},"v":{100 + i % 7}}}' for i in range(1000))
        long = '{"id":"long","points":[' + ",".join([point] * 1000)
        text = json.dumps(repeats) + "\n" + long + "]}\n" + long + "," + point + "]}\n"
        done = self.expect(self.perfci("detect", "--json", text=text), 2)
        self.assertEqual([a["id"] for a in self.lines(done)], ["repeats", "long"])
        self.assertIn("line 3", done.stderr)
        self.assertIn("1000000", done.stderr)
        self.assertEqual(len(done.stderr.splitlines()), 1)

    def test_bad_lines_outweigh_a_regression_in_the_exit_status(self):
        text = json.dumps(SLOWER) + "\n{}\n"
        self.expect(self.perfci("detect", "--json", text=text), 2)

    def test_bad_csv_rows_are_named_and_left_out(self):
        rows = ["time,a"] + [f"{1700000000 + i},{100 + i % 3}" for i in range(40)]
        rows[10] = "yesterday,100"
        rows[20] = "1700000020,fast"
        rows[30] = "1700000030,1,2"
        done = self.expect(self.perfci("detect", "--json", text="\n".join(rows)), 2)
        self.assertEqual([line["id"] for line in self.lines(done)], ["a"])
        for number in (11, 21, 31):
            self.assertIn(f"line {number}: ", done.stderr)

    def test_inputs_that_are_nothing_say_so(self):
        self.assertIn("line 1", self.expect(self.perfci("detect", "--json", text="hello\n"), 2).stderr)
        self.assertIn("nowhere", self.expect(self.perfci("detect", self.path("nowhere.json")), 2).stderr)
        self.assertEqual(self.expect(self.perfci("detect", "--json", text=""), 0).stdout, "")
        self.expect(self.perfci("detect", "--json", text="[]"), 0)
        self.assertIn("not closed", self.expect(self.perfci("detect", text='[{"id":"a","points":[]}'), 2).stderr)

    def test_a_line_is_answered_before_the_next_is_read(self):
        with subprocess.Popen([support.PERFCI, "detect", "--json"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL, env=self.env, text=True, bufsize=1) as p:
            for name in ("one", "two"):
                p.stdin.write(json.dumps({**STEADY, "id": name}) + "\n")
                p.stdin.flush()
                self.assertEqual(json.loads(p.stdout.readline())["id"], name)
            p.stdin.close()
            self.assertEqual(p.wait(support.DEADLINE_S), 0)

    def test_the_table_names_series_place_and_change(self):
        done = self.expect(self.perfci("detect", "--color=never", text=json.dumps(SLOWER)), 1)
        self.assertRegex(done.stdout, r"slower +60 ")
        self.assertIn("regression", done.stdout)
        self.assertNotIn("\x1b", done.stdout)

    def test_explain_says_of_every_candidate_why(self):
        values = noisy(3, (100, 60), (130, 60))
        values[20] = 160
        text = json.dumps(series("jumpy\x1b[2J", values, unit="ms"))
        shown = self.expect(self.perfci("detect", "--explain", text=text), 1).stdout
        self.assertIn("jumpy?[2J: 120 points, 1 change", shown)
        kept, = re.findall(r"^  (\d+) kept: from .* ms \(\+.*confirmed", shown, re.M)
        self.assertLessEqual(abs(int(kept) - 60), 1)
        self.assertRegex(shown, r"(?m)^  20 dropped: a single point .* above its level.*: a spike")
        # drawn: ten rows, levels, the change's mark below them
        self.assertEqual(len(re.findall(r"(?m)^ *[0-9.]* \|[-* ]+$", shown)), 10)
        self.assertRegex(shown, r"(?m)^ +\^ *$")
        floor = self.expect(self.perfci("detect", "--explain", "--min-change", "0.5", text=text), 0).stdout
        self.assertRegex(floor, r"dropped: from .*: smaller than 50 %, which --min-change asks for")
        steady = self.expect(self.perfci("detect", "--explain", text=json.dumps(STEADY)), 0).stdout
        self.assertNotIn(" kept: ", steady)

    def test_explain_in_json_adds_a_member_and_changes_nothing_else(self):
        plain, = self.lines(self.perfci("detect", "--json", text=json.dumps(SLOWER)))
        reported, = self.lines(self.perfci("detect", "--json", "--explain", text=json.dumps(SLOWER)))
        reasons = reported.pop("explain")
        self.assertEqual(plain, reported)
        self.assertEqual([r["index"] for r in reasons if r["kept"]], [c["index"] for c in plain["changes"]])
        for r in reasons:
            self.assertEqual(set(r), {"index", "kept", "reason"})
        empty, = self.lines(self.perfci("detect", "--json", "--explain", text=json.dumps(series("none", []))))
        self.assertEqual((empty["changes"], empty["explain"]), ([], []))

    def test_a_plot_of_any_series_is_drawn(self):
        for values in ([5], [0, 0], [None, 3, None], [-1e300, 1e300, 0], [1e-300] * 5, list(range(500))):
            done = self.perfci("detect", "--plot", text=json.dumps(series("s", values)))
            self.assertIn(done.returncode, (0, 1), values)
            self.assertEqual(done.stdout.count("|"), 10, values)

    def test_a_full_disk_is_no_success(self):
        with open("/dev/full", "w", encoding="utf-8") as full:
            done = subprocess.run([support.PERFCI, "detect", "--json"], input=json.dumps(STEADY), stdout=full,
                                  stderr=subprocess.PIPE, env=self.env, text=True, check=False, timeout=support.DEADLINE_S)
        self.assertEqual(done.returncode, 5)


class Results(support.Case):
    """Files of other tools: each is a point, all together a history."""

    def lines(self, done):
        return [json.loads(line) for line in done.stdout.splitlines()]

    def runs(self):
        values = noisy(1, (100, 30), (130, 30))
        for i, v in enumerate(values):
            doc = {"context": {"date": f"2026-01-{1 + i // 24:02}T{i % 24:02}:00:00+00:00"},
                   "benchmarks": [{"name": "BM_a", "run_name": "BM_a", "run_type": "iteration", "iterations": 1,
                                   "real_time": v, "cpu_time": 5, "time_unit": "us"}]}
            yield self.write(f"runs/{(i * 37) % 60:02}.json", json.dumps(doc))

    def test_files_of_a_tool_are_points_in_the_order_of_their_times(self):
        files = list(self.runs())
        want = None
        for given in files, sorted(files), list(reversed(files)), [self.path("runs")]:
            done = self.expect(self.perfci("detect", "--json", *given), 1)
            answer = next(a for a in self.lines(done) if a["metric"] == "time_ns")
            self.assertEqual((answer["id"], answer["benchmark"], answer["backend"]), ("BM_a time_ns", "BM_a", ""))
            change, = answer["changes"]
            facts = {k: v for k, v in change.items() if not k.startswith("index")}
            want = want or facts
            self.assertEqual(facts, want)
            self.assertAlmostEqual(change["before"], 100e3, delta=1e3)

    def test_without_times_the_order_given_counts(self):
        files = [self.write(f"{i}.txt", f"BenchmarkA-8 100 {v} ns/op\n") for i, v in enumerate(noisy(1, (100, 30), (130, 30)))]
        answer, = self.lines(self.expect(self.perfci("detect", "--json", *files), 1))
        self.assertEqual(answer["changes"][0]["index"], 30)
        self.expect(self.perfci("detect", "--json", *reversed(files)), 0)

    def test_commits_of_the_repository_here_give_the_order(self):
        repo = self.path("repo")
        os.mkdir(repo)
        self.git("init", "-q", "-b", "main", cwd=repo)
        rows = ["commit,latency_ms"]
        for i, v in enumerate(noisy(1, (100, 10), (130, 10))):
            self.env["GIT_COMMITTER_DATE"] = f"2026-01-01T{i:02}:00:00Z"
            self.git("-c", "user.name=A", "-c", "user.email=a@example.org", "commit", "-q", "--allow-empty", "-m", str(i), cwd=repo)
            rows.append(f"{self.git('rev-parse', 'HEAD', cwd=repo)},{v!r}")
        tenth = rows[11].split(",")[0]
        for order in (rows, [rows[0]] + rows[:0:-1]):
            answer, = self.lines(self.expect(self.perfci("detect", "--json", self.write("r.csv", "\n".join(order)), cwd=repo), 1))
            self.assertEqual((answer["metric"], answer["changes"][0]["commit"]), ("latency_ms", tenth))

    def test_results_and_series_may_be_mixed_and_bad_files_are_named(self):
        bad = self.write("bad.csv", "name,time_ms\nx,fast\n")
        done = self.expect(self.perfci("detect", "--json", self.write("s.jsonl", json.dumps(SLOWER)), bad,
                                       self.write("g.txt", "BenchmarkA-8 100 5 ns/op\n")), 2)
        self.assertEqual([a["id"] for a in self.lines(done)], ["slower", "BenchmarkA-8 time_ns"])
        self.assertIn("bad.csv", done.stderr)

    def test_an_assumed_direction_is_reported(self):
        files = [self.write(f"{i}.json", json.dumps({"metrics": {"score": v}})) for i, v in enumerate(noisy(1, (100, 30), (130, 30)))]
        done = self.expect(self.perfci("detect", *files), 1)
        self.assertEqual(done.stderr.count('direction of "score" is not known: lower is assumed'), 1)
        done = self.expect(self.perfci("detect", "--direction", "score=higher", *files), 0)
        self.assertNotIn("not known", done.stderr)


class Frame(support.Case):
    def test_help_version_and_unknown_commands(self):
        self.assertIn("perfci detect", self.expect(self.perfci("detect", "--help"), 0).stdout)
        self.assertRegex(self.expect(self.perfci("--version"), 0).stdout, r"^perfci \d+\.\d+")
        self.assertIn("Commands:", self.expect(self.perfci("--help"), 0).stdout)
        self.assertIn("number", self.expect(self.perfci("accept"), 2).stderr)
        done = self.expect(self.perfci("dtect"), 2)
        self.assertIn('did you mean "detect"', done.stderr)
        self.assertEqual(done.stdout, "")
        self.expect(self.perfci(), 2)
        self.expect(self.perfci("detect", "--no-such-flag"), 2)
        self.expect(self.perfci("detect", "--min-change", "many"), 2)

    def test_every_command_has_help_with_examples(self):
        listed = self.perfci("--help").stdout.split("Commands:\n")[1].split("\n\n")[0]
        for line in listed.splitlines():
            name = line.split()[0]
            text = self.expect(self.perfci(name, "--help"), 0).stdout
            self.assertIn("Examples:", text, name)
            self.assertIn("--json", text, name)

    def test_standard_descriptors_may_be_closed(self):
        done = subprocess.run(["sh", "-c", f'"{support.PERFCI}" detect --json <&- 2>&-; echo "status $?"'],
                              capture_output=True, text=True, env=self.env, check=False, timeout=support.DEADLINE_S)
        self.assertEqual(done.stdout, "status 0\n")


if __name__ == "__main__":
    support.main()
