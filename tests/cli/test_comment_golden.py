"""Whole comments of pull requests: the texts in tests/data/comment, and what GitHub's Markdown (cmark-gfm) makes of them.

  test_comment_golden.py --record    writes the comments as they are now into the files. Look at them rendered.
"""
import html.parser
import json
import pathlib
import shutil
import subprocess
import sys

import support
from test_comment import row

FOLDER = pathlib.Path(support.ROOT) / "tests/data/comment"
RECORD = "--record" in sys.argv
BASE, HEAD = "1" * 40, "2" * 40
NASTY = "x`|<script>alert(1)</script> @everyone [a](javascript:b) #12 </details>"


def document(*rows, **more):
    repeat = ["perfci", "compare", BASE, HEAD, "--measure", "make bench | tail -n 1", "--rounds", "12"]
    return {"a": {"name": BASE}, "b": {"name": HEAD}, "rows": list(rows), "only_a": 0, "only_b": 0, "rounds": 12, "repeat": repeat, **more}


def counter(name, metric, change):
    return row(name, "same" if change == 0 else "regression" if change > 0 else "improvement", change, metric=metric, unit="1", secondary=True)


CASES = {
    "regression": document(
        row("gemm/f32/m512n512k512", "regression", 0.124), row("norm/f32/n4096", "same", 0.001), row("attention/f32/s128", "same", -0.002),
        counter("gemm/f32/m512n512k512", "instructions", 0.118), counter("gemm/f32/m512n512k512", "cycles", 0.121),
        object_code="different", functions=[{"name": "gemm_f32_avx2", "before": 1000000, "after": 1118000}, {"name": NASTY, "before": 10, "after": 0}]),
    "improvement": document(row("gemm/f32/m512n512k512", "improvement", -0.3), row("norm/f32/n4096", "same", 0.001)),
    "mixed": document(
        row("gemm/f32/m512n512k512", "regression", 0.05), row("gemm/bf16/m512n512k512", "regression", 0.02, exact=True, backend="accel:pfc-edge", metric="cycles", unit="cycles"),
        row("norm/f32/n4096", "improvement", -0.1), row("attention/f32/s128", "inconclusive", 0.02, more_rounds=7), only_in_b=["gemm/f16 time_ns cpu-avx2"],
        differs=[{"field": "governor", "a": "performance", "b": "powersave"}]),
    "inconclusive": document(row("gemm/f32/m512n512k512", "inconclusive", 0.02, more_rounds=7), row("norm/f32/n4096", "same", 0.001)),
    "broken": document(row("gemm/f32/m512n512k512", "broken", 0, reason=f"wrong result at [3][7]: {NASTY}", broken=["b"]), row("norm/f32/n4096", "regression", 0.03)),
    "nothing": {**document(), "nothing": "HEAD is its own merge base: there is nothing to measure"},
    "failed": {"error": {"status": 5, "message": f"no runner answered within 600 s {NASTY}"}},
    "identical": document(row("gemm/f32/m512n512k512", "same", 0.0), object_code="identical"),
    "unchanged": document(object_code="identical"),
    "undecided": document(row("gemm/f32/m512n512k512", "improvement", -0.3), row("norm/f32/n4096", "inconclusive", 0.02, more_rounds=7)),
    "many": document(*[row(f"gemm/f32/case{i:03d}/{'n' * 60}", ("regression", "same", "inconclusive", "improvement", "same")[i % 5], (0.2, 0.001, 0.02, -0.2, 0)[i % 5] * (1 + i / 1000))
                       for i in range(500)]),
    "hostile": document(row(NASTY, "regression", 0.5, backend=NASTY, unit=NASTY), row("norm/f32", "same", 0.0, backend=NASTY),
                        repeat=["perfci", "compare", BASE, HEAD, "--measure", "a ``` b\n```\n<script>"]),
}


class Shape(html.parser.HTMLParser):
    """Counts the tags and keeps the visible text."""

    def __init__(self, text):
        super().__init__()
        self.open, self.count, self.cells, self.text, self.faults = [], {}, [], "", []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.count[tag] = self.count.get(tag, 0) + 1
        if tag == "tr":
            self.cells.append(0)
        if tag in ("td", "th"):
            self.cells[-1] += 1
        self.open.append(tag)
        if tag in ("br", "img", "input", "hr"):
            self.open.pop()
        self.faults += [f"{tag} {name}={value}" for name, value in attrs if name.startswith("on") or (value or "").startswith("javascript")]

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.faults.append(f"</{tag}>")

    def handle_data(self, data):
        self.text += data


class Golden(support.Case):
    def markdown(self, name):
        return self.expect(self.perfci("comment", "--dry-run", "--repo", "me/kernels", "--link", "https://perf.example/compare/7",
                                       text=json.dumps(CASES[name])), 0).stdout

    def rendered(self, text):
        done = subprocess.run(["cmark-gfm", "--unsafe", "-e", "table", "-e", "autolink", "-e", "strikethrough"], input=text, capture_output=True, text=True, check=True)
        return done.stdout

    def test_the_comments_are_as_recorded(self):
        for name in CASES:
            with self.subTest(name):
                text = self.markdown(name)
                file = FOLDER / f"{name}.md"
                if RECORD:
                    file.write_text(text, encoding="utf-8")
                self.assertEqual(text, file.read_text(encoding="utf-8"))
        self.assertEqual({f"{name}.md" for name in CASES}, {file.name for file in FOLDER.glob("*.md")} - {"README.md"})

    def test_the_first_visible_line_is_the_verdict(self):
        firsts = {name: self.markdown(name).splitlines()[1] for name in CASES}
        for name, words in (("regression", "🔴 1 regression, the largest +12.4 %"), ("improvement", "🟢 1 improvement, the largest -30.0 %; no regression"),
                            ("mixed", "🔴 2 regressions, the largest +5.0 %; 1 improvement"), ("inconclusive", "⚪ No regression shown; 1 of 2 not decided"),
                            ("broken", "⛔ 1 benchmark is broken; 1 regression, the largest +3.0 %"), ("nothing", "⚪ Nothing was compared"),
                            ("failed", "⚪ No comparison: the measurement failed"), ("identical", "🟢 No change in 1 benchmark"),
                            ("unchanged", "🟢 Unchanged: identical object code, nothing was measured"), ("undecided", "⚪ No regression shown; 1 of 2 not decided; 1 improvement"),
                            ("many", "🔴 100 regressions, the largest +29.9 %; 100 improvements"), ("hostile", "🔴 1 regression, the largest +50.0 %")):
            self.assertEqual(firsts[name], f"### {words}")

    def test_what_was_not_measured_is_neither_a_regression_nor_a_success(self):
        for name in ("nothing", "failed"):
            text = self.markdown(name)
            self.assertTrue("🟢" not in text and "🔴" not in text and "regression" not in text and "No change" not in text, text)

    def test_each_is_shorter_than_the_limit(self):
        for name in CASES:
            self.assertLess(len(self.markdown(name).encode()), 60000, name)

    def test_github_renders_tables_and_nothing_from_outside(self):
        if not shutil.which("cmark-gfm"):
            self.skipTest("no cmark-gfm: install the package of that name")
        for name in CASES:
            with self.subTest(name):
                shape = Shape(self.rendered(self.markdown(name)))
                self.assertEqual((shape.faults, shape.open), ([], []))
                self.assertNotIn("script", shape.count)
                self.assertEqual(shape.count.get("details", 0), shape.count.get("summary", 0))
                self.assertTrue(set(shape.cells) <= {4, 8, 10, 11}, shape.cells)
                self.assertNotIn("@everyone", shape.text.replace("`", ""), "it would call everyone") if name in ("broken", "failed") else None
                self.assertNotIn("\n| ", shape.text, "a table that is not rendered")
                self.assertLessEqual(shape.count.get("a", 0), 3)

    def test_the_command_reproduces(self):
        self.assertIn(f"perfci compare {BASE} {HEAD} --measure 'make bench | tail -n 1' --rounds 12\n", self.markdown("regression"))
        self.assertIn("\n````sh\nperfci compare", self.markdown("hostile"))


if __name__ == "__main__":
    if RECORD:
        sys.argv.remove("--record")
    support.main()
