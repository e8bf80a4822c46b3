"""Better and worse in everything that commands print: words, signs, colours, sides. Each case has its mirror image: the other
direction of the metric, or the sides exchanged."""

import json
import re

import support
import test_nightly
from exit_answers import DROP, ID, LOST, NEW_STEP, STEP, comparison, run_document, series
from stub import Stub
from test_exit_statuses import Statuses

RED, GREEN, YELLOW, END = "\x1b[31m", "\x1b[32m", "\x1b[1;33m", "\x1b[0m"


def pairs(verdict, change, low, high, **more):
    return {"pair_verdict": verdict, "pair_rel_change": str(change), "pair_rel_low": str(low), "pair_rel_high": str(high), "pair_p": "1e-6",
            "pair_noise_rel": "0.001", "pairs": "40", **more}


class Compare(Statuses):
    def rows(self, a, b, *args, status=None):
        return self.json_of(self.files(a, b, "--json", *args), status)["rows"]

    def one(self, a, b, *args, status=None):
        row, = self.rows(a, b, *args, status=status)
        return row

    def test_the_verdict_follows_the_direction_and_the_sign(self):
        for direction, change, verdict, status in (("lower", 1.1, "regression", 1), ("lower", 0.9, "improvement", 0),
                                                   ("higher", 1.1, "improvement", 0), ("higher", 0.9, "regression", 1)):
            row = self.one(run_document(100, direction), run_document(100 * change, direction), status=status)
            self.assertEqual((row["verdict"], row["direction"]), (verdict, direction))
            self.assertAlmostEqual(row["rel_change"], change - 1, delta=0.002)
            self.assertTrue(row["rel_low"] <= row["rel_change"] <= row["rel_high"], row)
            self.assertAlmostEqual(row["a"]["median"], 100, delta=0.1)
            self.assertAlmostEqual(row["b"]["median"], 100 * change, delta=0.1)

    def test_a_table_shows_sides_sign_and_colour(self):
        for direction, change, word, color in (("lower", 1.1, "regression", RED), ("lower", 0.9, "improvement", GREEN),
                                               ("higher", 1.1, "improvement", GREEN), ("higher", 0.9, "regression", RED)):
            text = self.files(run_document(100, direction), run_document(100 * change, direction), "--color=always").stdout
            sign = "+" if change > 1 else "-"
            shown = str(round(100 * change))
            self.assertRegex(text, rf"gemm +speed +cpu +100 +{shown}(\.\d+)? +x +\{sign}10\.\d % +\{sign}[\d.]+ % \.\. \{sign}[\d.]+ % +12\+12 +"
                             + re.escape(color + word + END))
        text = self.files(run_document(100, n=2), run_document(110, n=2), "--color=always").stdout
        self.assertIn(YELLOW + "inconclusive" + END, text)
        text = self.files(run_document(100), run_document(100), "--color=always").stdout
        self.assertRegex(text, r" same\n")

    def test_the_direction_is_that_of_b(self):
        for a, b, verdict in (("lower", "higher", "improvement"), ("higher", "lower", "regression")):
            row = self.one(run_document(100, a), run_document(110, b))
            self.assertEqual((row["direction"], row["verdict"]), (b, verdict))

    def test_a_side_that_is_broken_is_named(self):
        fine, broken = run_document(100), run_document(1, status="broken")
        for a, b, sides, words in ((broken, fine, ["a"], "broken in A: wrong result"), (fine, broken, ["b"], "broken in B: wrong result"),
                                   (broken, broken, ["a", "b"], "broken in A and B: wrong result")):
            self.assertEqual(self.one(a, b, status=4)["broken"], sides)
            text = self.files(a, b, "--color=always").stdout
            self.assertIn(RED + words + END, text)
            # The document of a comparison is read again by comment; what is stored is read by compare.
            self.stub.answers[("GET", "/api/v1/compare")] = json.loads(comparison("broken"))
            self.stub.answers[("GET", "/api/v1/compare")]["rows"][0].update(broken=sides, reason="wrong result")
            text = self.expect(self.perfci("compare", "--stored", "1", "2", "--project", "p"), 4).stdout
            self.assertIn(words, text)

    def test_pairs_that_differ_are_called_by_the_direction(self):
        for direction, change, verdict in (("lower", 0.02, "regression"), ("lower", -0.02, "improvement"),
                                           ("higher", 0.02, "improvement"), ("higher", -0.02, "regression")):
            b = run_document(100, direction, extra=pairs("different", change, change - 0.001, change + 0.001))
            row = self.one(run_document(100, direction), b)
            self.assertEqual((row["verdict"], row["rel_change"]), (verdict, change))
            # Too noisy to show even a large change: neither of both is a reason to fail, or to be glad.
            b["measurements"][0]["extra"]["pair_gates"] = "false"
            self.assertEqual(self.one(run_document(100, direction), b, status=3)["verdict"], "inconclusive")
            b["measurements"][0]["extra"]["pair_gates"] = "true"
            self.assertEqual(self.one(run_document(100, direction), b)["verdict"], verdict)

    def test_pairs_are_the_same_up_to_the_margin_on_either_side(self):
        for low, high, args, verdict in ((-0.005, 0.005, [], "same"), (-0.00501, 0.005, [], "inconclusive"), (-0.005, 0.00501, [], "inconclusive"),
                                         (-0.02, 0.02, ["--margin", "0.02"], "same"), (-0.0201, 0.02, ["--margin", "0.02"], "inconclusive"),
                                         (-0.02, 0.0201, ["--margin", "0.02"], "inconclusive")):
            row = self.one(run_document(100), run_document(100, extra=pairs("same", 0, low, high)), *args)
            self.assertEqual(row["verdict"], verdict, (low, high, args))

    def test_a_comment_says_it_first_and_shows_before_and_after(self):
        for direction, change, head in (("lower", 1.1, "\U0001F534 1 regression, the largest +10."), ("lower", 0.9, "\U0001F7E2 1 improvement, the largest -10."),
                                        ("higher", 1.1, "\U0001F7E2 1 improvement, the largest +10."), ("higher", 0.9, "\U0001F534 1 regression, the largest -10.")):
            doc = self.files(run_document(100, direction), run_document(100 * change, direction), "--json").stdout
            text = self.comment(doc).stdout
            self.assertTrue(text.splitlines()[1].startswith("### " + head), text)
            sign = "+" if change > 1 else "-"
            self.assertRegex(text, rf"\| \S+ (regression|improvement) \| `gemm` \| `speed` \| cpu \| 100(\.\d+)? x \| {round(100 * change)}(\.\d+)? x \| \*\*\{sign}[\d.]+ %\*\* \| \{sign}[\d.]+ % to "
                             rf"\{sign}[\d.]+ % \|")
            self.assertNotIn("<details>", text)  # every row is a change, so none is folded

    def test_a_comment_names_each_verdict(self):
        for verdicts, head in ((["same"], "\U0001F7E2 No change in 1 benchmark"), (["same", "same"], "\U0001F7E2 No change in 2 benchmarks"),
                               (["improvement"] * 2, "\U0001F7E2 2 improvements, the largest +10.0 %; no regression"), (["regression"] * 2, "\U0001F534 2 regressions, the largest +10.0 %"),
                               (["inconclusive", "improvement"], "⚪ No regression shown; 1 of 2 not decided; 1 improvement"),
                               (["inconclusive", "regression"], "\U0001F534 1 regression, the largest +10.0 %"),
                               (["broken", "regression"], "⛔ 1 benchmark is broken; 1 regression, the largest +10.0 %"), (["broken", "broken"], "⛔ 2 benchmarks are broken"), ([], "⚪ Nothing was compared")):
            text = self.comment(comparison(*verdicts)).stdout
            self.assertEqual(text.splitlines()[1], "### " + head)
            shown = text.partition("<details>")[0]
            self.assertEqual([f"`b{i}`" in shown for i in range(len(verdicts))], [v in ("broken", "regression", "improvement") for v in verdicts])
        doc = json.loads(comparison("inconclusive", "inconclusive"))
        doc["rows"][0]["more_rounds"], doc["rows"][1]["more_runs"] = 7, 9
        text = self.comment(json.dumps(doc)).stdout
        self.assertIn("not decided, about 7 more rounds expected |", text)
        self.assertIn("not decided, about 9 more runs a side expected |", text)

    def test_a_machine_that_differs_decides_only_across(self):
        differs = [{"field": "cpu", "a": "one", "b": None}]
        for more, head in (({"stored": True}, "⚪ Not decided: measured with different machines or compilers"),
                           ({"stored": True, "across": True}, "\U0001F534 1 regression, the largest +10.0 %"), ({}, "\U0001F534 1 regression, the largest +10.0 %")):
            text = self.comment(comparison("regression", differs=differs, **more)).stdout
            self.assertEqual(text.splitlines()[1], "### " + head)
            self.assertIn("The machines differ (cpu: one to not recorded)", text)

    def test_a_canary_that_moved_is_said_with_its_sign(self):
        for change in 1.2, 0.8:
            docs = [{**run_document(100), "measurements": [run_document(100)["measurements"][0], {
                **run_document(level)["measurements"][0], "benchmark": "canary", "metric": "canary_ns", "backend": ""}]} for level in (50, 50 * change)]
            done = self.expect(self.files(*docs), 0)
            self.assertRegex(done.stderr, rf"the same fixed work took \{'+' if change > 1 else '-'}(20|19)\.\d % in B")

    def test_a_direction_of_the_command_line_goes_before_the_files(self):
        for flag, file, status in ((None, "lower", 1), (None, "higher", 0), ("lower", "higher", 1), ("higher", "lower", 0)):
            repo = self.repo()
            self.write("repo/perfci.yaml", "measure: 'echo \"{\\\"metrics\\\": {\\\"score\\\": $(cat value)}}\"'\n" + f"directions: {{score: {file}}}\n")
            self.expect(self.perfci("compare", "base", "slow", *(["--direction", f"score={flag}"] if flag else []), cwd=repo), status)


    def test_the_direction_that_is_assumed_or_stated_is_printed(self):
        for metric, more, said in (("latency", "", ""), ("score", "", ", lower is better"), ("score", "better: higher\n", ", higher is better"),
                                   ("score", "better: lower\n", ""), ("ops_per_second", "", "")):
            self.repo()
            self.write("repo/perfci.yaml", f"measure: cat value\nmetric: {metric}\n{more}")
            done = self.expect(self.perfci("run", "--repeats", "1", cwd=self.made), 0)
            line, = [line for line in done.stderr.splitlines() if line.startswith("config: ")]
            self.assertTrue(line.endswith(f"metric: {metric}{said}"), line)


class Detect(Statuses):
    def found(self, text, *args):
        return [[(c["index"], c["direction"], c["status"]) for c in json.loads(line)["changes"]]
                for line in self.perfci("detect", "--json", *args, text=text).stdout.splitlines()]

    def test_a_change_is_called_by_its_sign_and_the_direction(self):
        for args, words in (([], ["regression", "improvement"]), (["--higher-is-better"], ["improvement", "regression"])):
            self.assertEqual(self.found(series(STEP, DROP), *args), [[(20, word, "confirmed")] for word in words])
            text = self.perfci("detect", "--color=always", *args, text=series(STEP, DROP)).stdout
            for word, sign in zip(words, "+-"):
                color = RED if word == "regression" else GREEN
                self.assertRegex(text, rf"\{sign}50\.\d % +\{sign}[\d.]+ % \.\. \{sign}[\d.]+ % +\S+ +{re.escape(color + word + END)} +confirmed")
        self.assertEqual([c[0][1:] for c in self.found(series(NEW_STEP))], [("regression", "provisional")])

    def test_a_series_that_says_its_direction_is_not_asked(self):
        for higher, word in ((True, "improvement"), (False, "regression")):
            text = json.dumps({**json.loads(series(STEP)), "higher_is_better": higher})
            for args in [], ["--higher-is-better"]:
                self.assertEqual(self.found(text, *args)[0][0][1], word, (higher, args))

    def test_directions_of_columns_go_before_the_flag_and_the_name(self):
        values = [v * (1 + i % 3 / 1000) for i, v in enumerate(STEP)]
        table = "time,time_ns,requests_per_second,thing\n" + "".join(f"{i},{v},{v},{v}\n" for i, v in enumerate(values))
        for args, words in (([], "regression improvement regression"), (["--higher-is-better"], "improvement improvement improvement"),
                            (["--direction", "thing=higher"], "regression improvement improvement"),
                            (["--higher-is-better", "--direction", "thing=lower"], "improvement improvement regression"),
                            (["--direction", "requests_per_second=lower"], "regression regression regression")):
            self.assertEqual([c[0][1] for c in self.found(table, *args)], words.split(), args)

    def test_a_spike_is_above_or_below(self):
        for spike, word in ((1.5, "above"), (0.5, "below")):
            values = [1 + i % 5 / 1000 for i in range(40)]
            values[20] = spike
            text = self.expect(self.perfci("detect", "--explain", text=json.dumps({"id": "s", "points": [{"v": v} for v in values]})), 0).stdout
            self.assertRegex(text, rf"20 dropped: a single point [\d.]+ times the noise {word} its level")

    def test_the_newest_point_is_likely_a_change_where_changes_were_and_a_spike_where_spikes_were(self):
        def level(n, v):
            return [v * (1 + 0.002 * ((i * 7919) % 11 - 5) / 5) for i in range(n)]

        steps = [v for k in range(6) for v in level(25, 1.08 if k % 2 else 1)]
        spikes = [1.3 if 10 <= i < 90 and i % 8 == 2 else 1 + i % 5 / 1000 for i in range(100)]
        for values, word in ((steps + [1.2], "change"), (spikes + [1.3], "spike")):
            text = self.perfci("detect", "--explain", text=json.dumps({"id": "s", "points": [{"v": v} for v in values]})).stdout
            self.assertRegex(text, rf"watching: the newest 1 point may be a new level, too few to tell; \d+ to 1 for a {word}, by what")

    def test_five_spikes_are_named_and_the_others_are_counted(self):
        for count, more in ((5, ""), (6, "and 1 more single points like it"), (7, "and 2 more single points like it")):
            values = [1 + i % 5 / 1000 for i in range(100)]
            for k in range(count):
                values[10 + 10 * k] = 1.5
            text = self.perfci("detect", "--explain", text=json.dumps({"id": "s", "points": [{"v": v} for v in values]})).stdout
            self.assertEqual((text.count("times the noise above its level"), more in text, "like it" in text), (5, True, bool(more)), text)

    def test_a_plot_has_large_values_above_and_marks_changes(self):
        for values, top in ((STEP, 1.5), (DROP, 1)):
            lines = self.perfci("detect", "--plot", text=series(values)).stdout.splitlines()[1:]
            self.assertAlmostEqual(float(lines[0].partition("|")[0]), top, delta=0.01)
            self.assertAlmostEqual(float(lines[9].partition("|")[0]), 1 if top > 1 else 0.5, delta=0.01)
            first, last = (9, 0) if top > 1 else (0, 9)
            self.assertEqual((lines[first][12:32].strip("*-"), lines[last][32:52].strip("*-")), ("", ""), lines)
            self.assertEqual(lines[10][12:].rstrip(), " " * 20 + "^")
            self.assertRegex(lines[11], r" 0 +39$")
        self.assertIn("?", self.perfci("detect", "--plot", text=series(NEW_STEP)).stdout)


class Night(Statuses):
    ALERTS = [{"id": 9, "direction": "improvement", "rel_change": -0.1, "benchmark": "gone", "title": "t"},
              {"id": 10, "direction": "regression", "rel_change": 0.2, "benchmark": "grew", "title": "t"},
              {"id": 11, "direction": "regression", "kind": "broken", "rel_change": 0.3, "benchmark": "broke", "title": "t"}]

    def shown(self, *args, **kinds):
        """Text with colours."""
        self.extra = args
        return self.night(**kinds).stdout

    others = None  # what the service has of a second class of machines, and its verdict

    def perfci(self, *args, **kinds):
        if self.others:
            answers, (more, verdict) = self.stub.answers, self.others
            judged = answers[("GET", "/api/v1/projects/p/sessions/" + "e" * 32)]
            listed = [{"sessions": []}, {"sessions": [{**judged, "id": c * 32, "commits": [{**c_, "verdict": None} for c_ in judged["commits"]]} for c in "ef"]}]
            answers.update(more)
            answers[("GET", "/api/v1/projects/p/sessions")] = lambda: listed.pop(0) if len(listed) > 1 else listed[0]
            answers[("GET", "/api/v1/projects/p/sessions/" + "f" * 32)] = {
                **judged, "id": "f" * 32, "commits": [judged["commits"][0], {**judged["commits"][1], "verdict": verdict}]}
        return super().perfci(*args, *(self.extra if args and args[0] == "nightly" else ()), **kinds)

    def test_verdicts_have_words_colours_and_counts(self):
        for verdict, color, head in (("slower", RED, ", 1 slower without an alert"), ("faster", GREEN, ", no regression"), ("same", GREEN, ", no regression"),
                                     ("undecided", YELLOW, ", no regression shown, 1 undecided")):
            text = self.shown("--color=always", verdict=verdict)
            self.assertIn(color + verdict + END, text)
            self.assertEqual(text.splitlines()[0], f"p: 2 of 2 new commits measured{head}")
            self.assertIn("+10.0 % (+9.0 % to +11.0 %)", text)
        text = self.shown("--color=always", status="broken")
        self.assertIn(RED + "broken" + END, text)
        self.assertIn("1 of 2 new commits measured", text)
        text = self.shown("--color=always", status="not_measured")
        self.assertIn(YELLOW + "not measured" + END, text)

    def test_the_worse_verdict_of_two_classes_of_machines_counts(self):
        for first, second, counts in (("same", "faster", "faster"), ("faster", "same", "faster"), ("faster", "undecided", "undecided"),
                                      ("undecided", "faster", "undecided"), ("undecided", "slower", "slower"), ("slower", "undecided", "slower")):
            ids = iter((5, 6))
            others = {("POST", "/api/v1/jobs"): lambda ids=ids: {"id": next(ids)}, ("GET", "/api/v1/jobs/6"): {"id": 6, "state": "done", "session": "f" * 32, "run_ids": []}}
            self.others = (others, second)
            doc = json.loads(self.shown("--json", "--machine-class", "x", "--machine-class", "y", verdict=first))
            self.assertEqual(doc["commits"][-1]["verdict"], counts, (first, second))

    def test_alerts_have_colours_and_are_counted_by_their_direction(self):
        text = self.shown("--color=always", verdict="same", alerts=self.ALERTS)
        self.assertRegex(text, re.escape(GREEN) + r"-10\.0 %")
        self.assertRegex(text, re.escape(RED) + r"\+20\.0 %")
        self.assertRegex(text, r"broke .*broken")
        self.assertEqual(text.splitlines()[0], "p: 2 of 2 new commits measured, 1 regression, 1 improvement")
        text = self.shown("--markdown", verdict="same", alerts=self.ALERTS, broken=[{"benchmark": "broke", "reason": "it crashed"}])
        self.assertIn("### p: 2 of 2 new commits measured, 1 regression, 1 broken result, 1 improvement", text)
        self.assertIn("- **-10.0 %** `gone`", text)
        self.assertIn("- **+20.0 %** `grew`", text)
        self.assertIn("- **broken** `broke`", text)
        self.assertNotIn("30.0 %", text)
        doc = json.loads(self.shown("--json", verdict="faster", alerts=self.ALERTS))
        self.assertEqual((doc["regressions"], len(doc["alerts"]), doc["commits"][-1]["verdict"]), (1, 3, "faster"))


class Judged(test_nightly.Night):
    def test_verdicts_of_a_service_without_sessions_follow_the_direction(self):
        for better, values, words in (("lower", (105, 100), ["slower", "faster"]), ("higher", (105, 100), ["faster", "slower"])):
            service = self.serve(sessions=False)
            self.write("repo/perfci.yaml", test_nightly.CONFIG + f"better: {better}\n")
            self.began(service)
            new = [self.commit(v) for v in values]
            report = self.night(service, "--budget", "10m", status=1)
            self.assertEqual(self.words(report), list(zip(new, words)), better)
            for commit, change in zip(report["commits"], (0.05, -0.048)):
                self.assertAlmostEqual(commit["worst"]["rel_change"], change, delta=0.006)
                self.assertTrue(commit["worst"]["rel_low"] <= commit["worst"]["rel_change"] <= commit["worst"]["rel_high"])


class Searches(Statuses):
    def test_the_direction_of_a_search_is_that_of_the_flag_or_the_change(self):
        for flags, values, status in ((["--lower-is-better"], (100, 120), 1), (["--higher-is-better"], (120, 100), 1), (["--delta", "0.2"], (100, 120), 1),
                                      (["--delta=-0.17"], (120, 100), 1), (["--lower-is-better"], (120, 100), 0), (["--higher-is-better"], (100, 120), 0)):
            good, bad = values
            done = self.bisect(*[good] * 4, *[bad] * 4, more=flags)
            self.expect(done, status)
            sign = "+" if bad > good else "-"
            self.assertRegex(done.stdout, rf"\n(c4 +[\d.]+ +|comparison .*, )\{sign}(20|16|17)\.\d %")
            self.assertEqual("it is the better one" in done.stdout, status == 0, done.stdout)

    def test_a_remote_answer_has_the_sign_and_the_interval(self):
        for sign, change in (("+", 0.05), ("-", -0.05)):
            culprit = {"commits": [ID["d"], ID["e"]], "probability": 0.99, "rel_change": change, "rel_low": change - 0.01, "rel_high": change + 0.01}
            text = self.remote("--color=always", verdict="range", culprits=[culprit]).stdout
            low, high = (4, 6) if change > 0 else (6, 4)
            self.assertRegex(text, re.escape(RED) + "d{12}" + re.escape(END) + rf" +0\.9900 +\{sign}5\.0 % +\{sign}{low}\.0 % \.\. \{sign}{high}\.0 %\n")
            self.assertRegex(text, "e{12}" + re.escape(END) + " +or")
        text = self.remote(verdict="no-regression", difference={"rel_change": -0.001, "rel_low": -0.02, "rel_high": 0.01, "margin": 0.015}).stdout
        self.assertRegex(text, r"the ends differ by -0\.1 % \(-2\.0 % \.\. \+1\.0 %\), margin 1\.5 %")
        text = self.remote(failure={**LOST, "job_id": 8}).stdout
        self.assertIn("cccccccccccc failed (job 8): no runner", text)


class Service(support.Case):
    def setUp(self):
        super().setUp()
        self.stub = Stub({})
        self.addCleanup(self.stub.close)
        self.env.update(PERFCI_URL=self.stub.url)

    def test_alerts_are_red_for_regressions_alone(self):
        for direction, color, change, shown in (("regression", RED, 0.05, "+5.0 % (4.0 .. 6.0)"), ("improvement", GREEN, -0.05, "-5.0 % (-6.0 .. -4.0)")):
            one = {"id": 7, "kind": "step", "direction": direction, "benchmark": "b", "metric": "m", "rel_change": change, "rel_low": change - 0.01,
                   "rel_high": change + 0.01, "before": 1, "after": 1 + change, "state": "untriaged", "commit": ID["a"], "commit_low": ID["a"], "commit_high": ID["b"]}
            self.stub.answers.update({("GET", "/api/v1/alerts"): {"alerts": [one], "next_cursor": None}, ("GET", "/api/v1/alerts/7"): one})
            self.assertIn(color + shown + END, self.perfci("alerts", "--color=always").stdout)
            text = self.perfci("alerts", "7").stdout
            self.assertIn(f"alert 7: step, {shown}, {direction}", text)
            self.assertRegex(text, rf"level +1 -> {1 + change:.4g}")
            self.assertRegex(text, r"range +aaaaaaaaaaaa\.\.bbbbbbbbbbbb")

    def test_replay_is_red_for_regressions_alone(self):
        change = {"series_id": 3, "commit": ID["a"], "position_low": 4, "position_high": 6, "p": 0.001, "status": "confirmed"}
        answer = {"series": 1, "points": 9, "changes": 2, "unlabelled": 1, "alerts": [{**change, "direction": "regression", "rel_change": 0.05},
                                                                                     {**change, "direction": "improvement", "rel_change": -0.04}],
                  "labels": {"regressions_found": 1, "regressions": 2, "noise_found": 3, "noise": 4}, "precision": 0.5, "recall": 0.25, "f1": 0.75}
        self.stub.answers[("POST", "/api/v1/projects/p/replay")] = answer
        config = self.write("c.json", '{"rules": []}')
        text = self.expect(self.perfci("replay", "--config", config, "--project", "p", "--color=always"), 0).stdout
        self.assertIn(RED + "+5.0 %" + END, text)
        self.assertIn(GREEN + "-4.0 %" + END, text)
        self.assertIn("3 commits", text)
        self.assertIn("regressions found 1 of 2, noise alerted 3 of 4, without a judgement 1", text)
        self.assertIn("precision 0.500  recall 0.250  f1 0.750", text)

    def test_doctor_and_the_members_of_a_stack_have_the_colours_of_their_states(self):
        self.stub.answers.update({("GET", "/version"): {"version": "0"}, ("GET", "/readyz"): (503, {"error": {"message": "no"}}),
                                  ("GET", "/api/v1/projects"): {"projects": []}, ("GET", "/api/v1/runners"): {"runners": []}})
        text = self.perfci("doctor", "--quick", "--color=always").stdout
        for check, color, state in (("server", YELLOW, "warn"), ("database", RED, "fail"), ("token", GREEN, "ok"), ("runners", YELLOW, "warn")):
            self.assertRegex(text, check + " +" + re.escape(color + state + END))


if __name__ == "__main__":
    support.main()
