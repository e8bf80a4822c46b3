"""The hardening of a release build: its compile database, its objects and its programs.

Reads compile_commands.json for the flags of every C file of the product, and the built programs by readelf: position
independent, read-only relocations bound at the start, no executable stack, no segment both writable and executable,
stack protector and checked library calls in use. Control-flow enforcement is checked in the objects: Debian 12's start
files have no such note, so a program linked with them has none, whatever the flags.
"""
import json
import os
import pathlib
import platform
import re
import shlex
import subprocess
import sys
import unittest

SOURCE = pathlib.Path(os.environ["PERFCI_SOURCE_DIR"])
BIN = pathlib.Path(os.environ["PERFCI_BIN_DIR"])
BUILD = BIN.parent
PRODUCT = ("core", "kernels", "bench", "runner", "server", "cli", "schema", "web")
PROGRAMS = ("perfci", "perfci-server", "perfci-runner", "perfci-sandbox", "perfci-bench")
X86 = platform.machine() == "x86_64"


def faults(command):
    """The flags that a compiler's command lacks; the last of flags that exclude each other counts, as for the compiler."""
    words, found = shlex.split(command), []
    last = lambda pattern: next((w for w in reversed(words) if re.fullmatch(pattern, w)), None)
    for pattern, wanted in ((r"-O.*", ("-O1", "-O2", "-O3", "-Os")), (r"-[UD]_FORTIFY_SOURCE(=.*)?", ("-D_FORTIFY_SOURCE=3",)),
                            (r"-f(no-)?stack-protector.*", ("-fstack-protector-strong", "-fstack-protector-all")),
                            (r"-f(no-)?stack-clash-protection", ("-fstack-clash-protection",)),
                            (r"-f(no-)?(pie|PIE|pic|PIC)", ("-fPIE", "-fPIC"))) + (
                           ((r"-fcf-protection(=.*)?", ("-fcf-protection", "-fcf-protection=full")),) if X86 else ()):
        if last(pattern) not in wanted:
            found.append(f"{wanted[0]} (has {last(pattern)})")
    return found + [w for w in words if w in ("-zexecstack", "-Wl,-z,execstack")]


def readelf(*args):
    return subprocess.run(["readelf", "-W", *map(str, args)], capture_output=True, text=True, check=True, env={**os.environ, "LC_ALL": "C"}).stdout


class Hardening(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        database = BUILD / "compile_commands.json"
        kind = re.search(r"^CMAKE_BUILD_TYPE:\w+=(\w*)$", (BUILD / "CMakeCache.txt").read_text(), re.M)
        if not kind or kind.group(1) != "Release":
            print("not a release build: its flags are for finding faults")
            sys.exit(77)
        cls.entries = json.loads(database.read_text())

    def product(self):
        for entry in self.entries:
            path = pathlib.Path(entry["directory"], entry["file"]).resolve()
            if " -o tests/" in entry["command"]:  # compiled again for a test, which is not installed
                continue
            top = path.relative_to(SOURCE.resolve()).parts[0] if path.is_relative_to(SOURCE.resolve()) else ""
            if top in PRODUCT or top == "build" and path.suffix == ".c":  # generated ones, too
                yield path, entry

    def test_flags_of_every_file_of_the_product(self):
        files = 0
        for path, entry in self.product():
            self.assertEqual(faults(entry["command"]), [], path)
            files += 1
        self.assertGreater(files, 300)

    def test_a_missing_or_revoked_flag_is_found(self):
        _, entry = next(iter(self.product()))
        for flag in ("-fstack-protector-strong", "-fstack-clash-protection", "-D_FORTIFY_SOURCE=3") + (("-fcf-protection",) if X86 else ()):
            self.assertNotEqual(faults(entry["command"].replace(flag, "")), [], flag)
        for added in ("-O0", "-fno-stack-protector", "-U_FORTIFY_SOURCE", "-D_FORTIFY_SOURCE=2", "-fno-pie", "-fno-stack-clash-protection",
                      "-Wl,-z,execstack") + (("-fcf-protection=none",) if X86 else ()):
            self.assertNotEqual(faults(entry["command"] + " " + added), [], added)

    def test_programs(self):
        for name in PROGRAMS:
            with self.subTest(program=name):
                head, dynamic, symbols = readelf("-hl", BIN / name), readelf("-d", BIN / name), readelf("--dyn-syms", BIN / name)
                self.assertRegex(head, r"Type:\s+DYN")
                self.assertIn("INTERP", head)
                self.assertRegex(dynamic, r"FLAGS_1.*\bPIE\b")
                self.assertIn("GNU_RELRO", head)
                self.assertRegex(dynamic, r"\(FLAGS\).*BIND_NOW|\(BIND_NOW\)|FLAGS_1.*\bNOW\b")
                segments = re.findall(r"^\s+(\w+)(?:\s+0x[0-9a-f]+){5}\s+([RWE ]{3})\s", head, re.M)
                self.assertGreater(len(segments), 8)
                self.assertEqual([s for s, flags in segments if "W" in flags and "E" in flags], [])
                self.assertIn(("GNU_STACK", "RW "), segments)
                self.assertIn("__stack_chk_fail", symbols)
                self.assertRegex(symbols, r"__\w+_chk@")
                self.assertNotIn("TEXTREL", dynamic)
                self.assertNotRegex(dynamic, r"R(UN)?PATH")

    @unittest.skipUnless(X86, "control-flow enforcement is of x86-64")
    def test_objects_are_marked_for_control_flow_enforcement(self):
        output = lambda entry: shlex.split(entry["command"])[shlex.split(entry["command"]).index("-o") + 1]
        objects = [pathlib.Path(e["directory"], output(e)) for p, e in self.product() if p.name == "main.c"]
        objects = [path for path in objects if path.exists()]
        self.assertGreaterEqual(len(objects), 3)
        for path in objects:
            self.assertRegex(readelf("-n", path), r"x86 feature: IBT, SHSTK", path)


if __name__ == "__main__":
    unittest.main()
