"""perfci suite: what it refuses and how, suites made from models, and the published schema that agrees with the reader."""

import glob
import json
import os
import unittest

import jsonschema
import yaml

import support

SCHEMA = os.path.join(support.ROOT, "schema/json/suite.schema.json")
MODELS = os.path.join(support.ROOT, "tests/data/models")
HEAD = "suite: t\nbackends: [cpu-scalar]\nbenchmarks:\n"

GOOD = [
    HEAD + "  - {op: gemm, shapes: [{m: 1, n: 2, k: 3}], cross: {m: {from: 4, to: 64, step: x2}, n: [1, 2], k: 3}}\n",
    HEAD + "  - {op: gemm, random: {count: 3, seed: 9, m: [1, 99], n: 5, k: [1, 9]}, headline: false}\n",
    HEAD + "  - {op: softmax, dtype: bf16, boundary: {rows: 1, cols: [1, 99]}, settings: {processes: 2}}\n",
    HEAD + "  - {model: {name: llama-3-8b, phases: [decode], batch: 4, sequence: 64}}\n  - {op: gemm, model: vit-b}\n",
    HEAD + "  - {op: attention, shapes: [{h: 4, s: 8, d: 4, causal: true, q: 1, kv: 2}], backends: ['accel:*']}\n",
    "suite: t\ninclude: [quick, {suite: nightly, benchmarks: ['softmax/*'], backends: [cpu-scalar]}]\n"
    "settings: {max_total_seconds: 60, launch_seconds: 9}\n",
    "suite: t\nbackends: [cpu-scalar]\ngroups: {g: [{rows: 1, cols: 1}]}\nbenchmarks: [{op: softmax, group: g}]\n",
]

# text, line of the fault, a part of the sentence; None as line: the fault has no place in the text
BAD = [
    ("suite: t\nbenchmark: []\n", 2, "unknown key 'benchmark'"),
    (HEAD + "  - {op: gem, shapes: [{m: 1, n: 1, k: 1}]}\n", 4, "unknown operation 'gem'"),
    (HEAD + "  - {op: gemm, dtype: f64, shapes: [{m: 1, n: 1, k: 1}]}\n", 4, "unknown type 'f64'"),
    (HEAD + "  - op: gemm\n    shapes: [{m: 1, n: 1}]\n", 5, "lacks 'k'"),
    (HEAD + "  - op: gemm\n    shapes:\n      - {m: 1, n: 1, k: 1}\n      - {m: 0, n: 1, k: 1}\n", 7, "m"),
    (HEAD + "  - op: gemm\n    cross: {m: {from: 1, to: 4, step: y2}, n: 1, k: 1}\n", 5, "step: expected"),
    (HEAD + "  - op: gemm\n    random: {m: [1, 4], n: 1, k: 1}\n", 5, "lacks 'count'"),
    (HEAD + "  - op: gemm\n    model: gpt5\n", 5, "unknown model 'gpt5'"),
    (HEAD + "  - op: gemm\n    backends: [gpu]\n    shapes: [{m: 1, n: 1, k: 1}]\n", 5, "unknown backend 'gpu'"),
    (HEAD + "  - shapes: [{m: 1, n: 1, k: 1}]\n", 4, "lacks 'op'"),
    ("suite: t\nbackends: []\nbenchmarks: []\n", None, "expected at least one"),
    ("suite: t\nsettings: {processes: 99}\nbenchmarks: []\n", 2, "processes"),
]
# Faults that no schema can find.
BAD_HERE = [
    (HEAD + "  - op: gemm\n    shapes:\n      - {m: 1, n: 1, k: 1}\n      - {m: 1, n: 1, k: 1}\n", 7, "is named twice, first at"),
    (HEAD + "  - op: gemm\n    cross: {m: {from: 9, to: 4}, n: 1, k: 1}\n", 5, "before its start"),
    (HEAD + "  - op: gemm\n    group: x\n", 5, "no 'x' under groups"),
    ("suite: t\nsettings: {min_samples: 50, max_samples: 5}\nbenchmarks: []\n", 2, "max_samples 5 is below"),
    ("suite: t\ninclude: [gone.yaml]\n", 2, "gone.yaml"),
    ("suite: t\ninclude: [one.yaml]\n", 2, "it includes itself"),
    ("suite: t\nsuite: u\n", None, ""),
    ("suite: [\n", None, ""),
]


class Check(support.Case):
    def test_what_is_right_is_counted(self):
        for i, text in enumerate(GOOD):
            path = self.write(f"good{i}.yaml", text)
            doc = self.json_of(self.perfci("suite", "check", "--json", path))
            self.assertTrue(doc[0]["ok"] and doc[0]["benchmarks"] > 0, text)

    def test_what_is_wrong_is_one_sentence_with_file_line_and_what_was_expected(self):
        path = self.path("one.yaml")
        for text, line, part in BAD + BAD_HERE:
            self.write("one.yaml", text)
            done = self.expect(self.perfci("suite", "check", path), 2)
            self.assertRegex(done.stderr, r"\Aperfci suite: .+\nhint: .+\n\Z")
            self.assertIn(f"perfci suite: {path}:{line}: " if line else f"perfci suite: {path}", done.stderr)
            self.assertIn(part, done.stderr)

    def test_the_same_sentence_stops_perfci_run(self):
        path = self.write("one.yaml", BAD[1][0])
        done = self.expect(self.perfci("run", "--suite", path), 2)
        self.assertIn(f"{path}:4: op: unknown operation 'gem'", done.stderr)

    def test_every_file_is_reported(self):
        bad = self.write("bad.yaml", BAD[0][0])
        done = self.expect(self.perfci("suite", "check", bad, "quick", "none"), 2)
        self.assertIn("quick: suite quick, ", done.stdout)
        self.assertIn("bad.yaml:2:", done.stderr)
        self.assertIn("'none': neither a file nor a built-in suite", done.stderr)

    def test_usage(self):
        self.assertIn("did you mean \"check\"?", self.expect(self.perfci("suite", "chek"), 2).stderr)
        self.expect(self.perfci("suite"), 2)
        self.expect(self.perfci("suite", "check"), 2)
        names = self.json_of(self.perfci("suite", "list", "--json"))
        self.assertLessEqual({"quick", "nightly"}, set(names["suites"]))
        self.assertIn("llama-3-8b", names["models"])


class FromModel(support.Case):
    def test_a_configuration_becomes_a_suite_that_can_be_listed(self):
        out = self.path("m.yaml")
        self.expect(self.perfci("suite", "from-model", os.path.join(MODELS, "llama-3-8b.json"), "--name", "l3", "--batch",
                                "8", "--sequence", "1024", "--phases", "decode", "--dtype", "bf16", "--out", out), 0)
        with open(out, encoding="utf-8") as f:
            text = f.read()
        self.assertIn("suite: l3\n", text)
        self.assertIn("- {m: 8, n: 14336, k: 4096}  # decode: gate, up\n", text)
        self.assertIn("- {h: 256, s: 1024, d: 128, q: 1, kv: 64}", text)
        self.expect(self.perfci("suite", "check", out), 0)

    def test_what_cannot_be_is_one_sentence(self):
        vit = os.path.join(MODELS, "vit-base-patch16-224.json")
        other = self.write("c.json", '{"model_type": "mamba"}')
        for args, part in [((other,), "model_type: expected llama, mistral, qwen2, gemma, gpt2, bert or vit, got 'mamba'"),
                           ((self.write("e.json", "{"),), "e.json: "),
                           ((self.path("gone.json"),), "gone.json"),
                           ((vit, "--phases", "decode"), "is an encoder, it has no decode phase"),
                           ((vit, "--phases", "fast"), "--phases: expected a list of prefill, decode and training"),
                           ((vit, "--dtype", "f64"), "--dtype: expected f32, bf16 or int8"),
                           ((vit, "--name", "A B"), "--name: expected a name"),
                           ((vit, "--batch", "0"), "--batch"),
                           (("gpt2", "--sequence", "5000"), "sequence: gpt2 takes 1..1024 tokens, got 5000"),
                           ((), "from-model: expected one config.json")]:
            done = self.expect(self.perfci("suite", "from-model", *args), 2)
            self.assertIn(part, done.stderr)
            self.assertEqual(done.stdout, "")


class Schema(support.Case):
    def setUp(self):
        super().setUp()
        with open(SCHEMA, encoding="utf-8") as f:
            self.validator = jsonschema.Draft202012Validator(json.load(f))

    def test_it_takes_what_the_reader_takes(self):
        texts = list(GOOD)
        for path in glob.glob(os.path.join(support.ROOT, "bench/suites/*.yaml")):
            with open(path, encoding="utf-8") as f:
                texts.append(f.read())
        for path in glob.glob(os.path.join(MODELS, "*.json")):
            texts.append(self.expect(self.perfci("suite", "from-model", path), 0).stdout)
        self.assertGreater(len(texts), 15)
        for text in texts:
            self.validator.validate(yaml.safe_load(text))

    def test_it_refuses_what_the_reader_refuses(self):
        for text, _, _ in BAD:
            self.assertFalse(self.validator.is_valid(yaml.safe_load(text)), text)


if __name__ == "__main__":
    support.main()
