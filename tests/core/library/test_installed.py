"""libperfci as another program finds it: installed, by pkg-config, compiled as C and as C++.

The header, the version script and the shared object name the same functions; nothing else is exported; the verdicts are
those of the commands `perfci detect` and `perfci compare`.
"""
import json
import os
import pathlib
import random
import re
import subprocess
import tempfile
import unittest

SOURCE = pathlib.Path(os.environ["PERFCI_SOURCE_DIR"])
BIN = pathlib.Path(os.environ["PERFCI_BIN_DIR"])
LIBRARY = SOURCE / "core" / "library"
VERSION = re.search(r'#define PFC_VERSION "([^"]+)"', (SOURCE / "core/base/base.h").read_text()).group(1)


def call(*args, **more):
    return subprocess.run(list(map(str, args)), capture_output=True, text=True, **more)


def document(seed, factor):
    """A run document with three benchmarks; the second is slower by the factor."""
    rng = random.Random(seed)
    def measurement(name, level):
        return {"benchmark": name, "metric": "time_ns", "backend": "cpu", "unit": "ns", "direction": "lower", "status": "ok",
                "samples": [[level * (1 + rng.gauss(0, 0.002)) for _ in range(3)] for _ in range(12)]}
    return {"schema": "perfci.run/1", "id": f"{seed:032x}", "suite": "test", "suite_hash": "",
            "started_at": "2026-01-01T00:00:00Z", "finished_at": "2026-01-01T00:01:00Z",
            "machine": {"name": "m", "class": "c", "fingerprint": {"cpu": "x"}},
            "measurements": [measurement("steady", 100.0), measurement("slower", 50.0 * factor), measurement("faster", 70.0 / factor)]}


class Installed(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.root = pathlib.Path(cls.folder.name)
        for component in ("libperfci1", "libperfci-dev"):
            done = call("cmake", "--install", BIN.parent, "--prefix", cls.root / "usr", "--component", component)
            assert done.returncode == 0, done.stderr
        cls.lib = next(cls.root.glob("usr/lib/**/libperfci.so"))
        cls.env = {**os.environ, "PKG_CONFIG_PATH": str(cls.lib.parent / "pkgconfig"), "LD_LIBRARY_PATH": str(cls.lib.parent)}

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def test_header_version_script_and_shared_object_name_the_same_functions(self):
        header = set(re.findall(r"PERFCI_API [^;{]*?\b(perfci_\w+)\(", (LIBRARY / "perfci.h").read_text()))
        script = set(re.findall(r"^    (perfci_\w+);", (LIBRARY / "perfci.map").read_text(), re.M))
        exported = {line.split()[-1] for line in call("nm", "-D", "--defined-only", self.lib).stdout.splitlines()}
        self.assertGreater(len(header), 30)
        self.assertEqual(header, script)
        self.assertEqual({f"{name}@@PERFCI_1" for name in header} | {"PERFCI_1"}, exported)
        self.assertNotIn("jansson", re.sub(r"/\*.*?\*/", "", (LIBRARY / "perfci.h").read_text(), flags=re.S))

    def test_the_name_carries_the_abi_and_the_file_the_version(self):
        dynamic = call("readelf", "-d", self.lib, env={**self.env, "LC_ALL": "C"}).stdout
        self.assertIn("soname: [libperfci.so.1]", dynamic)
        self.assertEqual(self.lib.resolve().name, f"libperfci.so.1.{VERSION}")
        self.assertNotIn("fyaml", dynamic)
        self.assertNotIn("TEXTREL", dynamic)
        abi = re.search(r"#define PERFCI_ABI (\d+)", (LIBRARY / "perfci.h").read_text()).group(1)
        self.assertEqual(abi, "1")

    def build(self, language, compiler, standard):
        flags = call("pkg-config", "--cflags", "--libs", "libperfci", env=self.env)
        self.assertEqual(flags.returncode, 0, flags.stderr)
        program = self.root / f"use_{language}"
        done = call(compiler, f"-std={standard}", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-x", language,
                    SOURCE / "tests/core/library/use.c", "-x", "none", "-o", program, *flags.stdout.split())
        self.assertEqual(done.returncode, 0, done.stderr)
        return program

    def test_pkg_config_has_the_version(self):
        self.assertEqual(call("pkg-config", "--modversion", "libperfci", env=self.env).stdout.strip(), VERSION)

    def test_c_and_cplusplus_programs_give_the_verdicts_of_the_commands(self):
        rng = random.Random(1)
        values = [100 * (1.08 if i >= 30 else 1) * (1 + rng.gauss(0, 0.004)) for i in range(50)]
        series = json.dumps({"id": "s", "unit": "ns", "points": [{"t": i, "v": v} for i, v in enumerate(values)]})
        detected = json.loads(call(BIN / "perfci", "detect", "--json", input=series).stdout)["changes"]
        self.assertEqual(len(detected), 1)
        wanted = "".join(
            f"{c['index']} {c['index_low']} {c['index_high']} {c['before']:.12g} {c['after']:.12g} {c['rel_change']:.12g} "
            f"{c['direction']} {c['status']}\n" for c in detected)
        files = []
        for seed, factor in ((1, 1.0), (2, 1.05)):
            files.append(self.root / f"{seed}.json")
            files[-1].write_text(json.dumps(document(seed, factor)))
        compared = call(BIN / "perfci", "compare", "--json", *files, cwd=self.root)
        self.assertEqual(compared.returncode, 1, compared.stderr)
        rows = "".join(f"{r['benchmark']} {r['verdict']} {r['rel_change']:.12g}\n" for r in json.loads(compared.stdout)["rows"])
        for language, compiler, standard in (("c", "cc", "c99"), ("c++", "c++", "c++11")):
            with self.subTest(language=language):
                program = self.build(language, compiler, standard)
                run = lambda *args, **more: call(program, *args, env=self.env, **more)
                self.assertEqual(run("version").stdout.strip(), VERSION)
                self.assertEqual(run("detect", input="\n".join(map(repr, values))).stdout, wanted)
                self.assertIn("improvement", run("detect", "higher", input="\n".join(map(repr, values))).stdout)
                self.assertEqual(run("compare", *files).stdout, rows + "regression\n")
                self.assertEqual(run("bisect", "100", "42").stdout, "42 42\n")
                refused = run("detect", input="")
                self.assertEqual(refused.returncode, 2)
                self.assertIn("expected 1..1000000 points, got 0", refused.stderr)

    def test_the_program_of_the_documentation_prints_what_it_says(self):
        page = (SOURCE / "docs/how-to/c-library.md").read_text()
        text = re.search(r"^```c\n(.*?)^```", page, re.S | re.M).group(1)
        (self.root / "tool.c").write_text(text)
        flags = call("pkg-config", "--cflags", "--libs", "libperfci", env=self.env).stdout.split()
        done = call("cc", "-std=c17", "-Wall", "-Wextra", "-Werror", self.root / "tool.c", *flags, "-o", self.root / "tool")
        self.assertEqual(done.returncode, 0, done.stderr)
        printed = call(self.root / "tool", env=self.env).stdout.strip()
        self.assertTrue(printed)
        self.assertIn(f"It prints `{printed}`.", page)


unittest.main(verbosity=1)
