"""perfci trace: exports that another reader of JSON takes, checks, the schema, and what is refused."""

import csv
import io
import json
import os
import re
import struct
import unittest

import support
from support import Case

DATA = os.path.join(support.ROOT, "tests/data/trace")
LAUNCH = os.path.join(DATA, "launch.pct")


def golden(name):
    with open(os.path.join(DATA, name), encoding="utf-8", newline="") as f:
        return f.read()


class Trace(Case):
    def changed(self, name, change):
        """A copy of the trace in which change(bytearray) altered something."""
        with open(LAUNCH, "rb") as f:
            data = bytearray(f.read())
        change(data)
        with open(self.path(name), "wb") as f:
            f.write(data)
        return self.path(name)

    def cut(self, n):
        return self.changed("cut.pct", lambda data: data.__delitem__(slice(len(data) - n, None)))

    def test_exports_are_the_golden_files(self):
        for name, *args in (("launch.json",), ("launch.kineto.json", "--compat", "kineto"), ("launch.csv", "--format", "csv")):
            done = self.expect(self.perfci("trace", "export", LAUNCH, "--out", "out", *args), 0)
            self.assertEqual(done.stdout, "")
            with open(self.path("out"), encoding="utf-8", newline="") as f:
                self.assertEqual(f.read(), golden(name))
            self.assertEqual(self.expect(self.perfci("trace", "export", LAUNCH, *args), 0).stdout.replace("\r\n", "\n"),
                             golden(name).replace("\r\n", "\n"))

    def test_slices_nest_and_flows_lie_in_slices_as_another_program_reads_them(self):
        document = json.loads(golden("launch.json"))
        events = document["traceEvents"]
        self.assertEqual(len(events), document["perfci"]["events"])
        slices = {}
        for e in events:
            if e["ph"] == "X":
                slices.setdefault((e["pid"], e["tid"]), []).append((e["ts"], round(e["ts"] + e["dur"], 3)))
        for track in slices.values():
            for a in track:
                for b in track:
                    self.assertFalse(a[0] < b[0] < a[1] < b[1], (a, b))
        flows = [e for e in events if e["ph"] in "stf"]
        self.assertEqual([e["ph"] for e in flows], ["s", "t", "f"])
        for e in flows:
            self.assertTrue(any(low <= e["ts"] <= high for low, high in slices[e["pid"], e["tid"]]), e)
        named = {(e["pid"], e["tid"]) for e in events if e["name"] == "thread_name"}
        self.assertLessEqual({(e["pid"], e["tid"]) for e in events if e["ph"] in "Xibestf"}, named)
        last = {}
        for e in events:
            if e["ph"] == "C":
                last.setdefault((e["pid"], e["name"]), {}).update(e["args"])
        self.assertTrue(last)
        self.assertEqual({v for series in last.values() for v in series.values()}, {0})

    def test_kineto_has_what_hta_asks_for(self):
        document = json.loads(golden("launch.kineto.json"))
        self.assertEqual(document["distributedInfo"]["rank"], 0)
        kernel = next(e for e in document["traceEvents"] if e.get("cat") == "kernel")
        self.assertLessEqual({"correlation", "stream", "device", "External id"}, set(kernel["args"]))
        call = next(e for e in document["traceEvents"] if e.get("cat") == "cuda_runtime")
        self.assertEqual(call["args"]["correlation"], kernel["args"]["correlation"])

    def test_csv_has_a_row_a_record(self):
        rows = list(csv.DictReader(io.StringIO(golden("launch.csv"), newline="")))
        self.assertEqual([int(r["record"]) for r in rows], list(range(1, len(rows) + 1)))
        self.assertEqual((rows[2]["type"], rows[2]["unit_name"], rows[2]["correlation"]), ("api_enter", "main thread", "7"))

    def test_check_is_silent_about_a_sound_trace_in_both_formats(self):
        for name in ("launch.pct", "launch.json"):
            done = self.expect(self.perfci("trace", "check", os.path.join(DATA, name)), 0)
            self.assertEqual(done.stdout, "")
            self.assertRegex(done.stderr, r"\d+ (records|events), 2 lost, 0 faults\n$")
        answer = self.json_of(self.perfci("trace", "check", LAUNCH, "--json"))
        self.assertEqual((answer["format"], answer["faults"], answer["findings"]), ("binary", 0, []))

    def test_check_names_record_and_place_of_a_fault(self):
        done = self.expect(self.perfci("trace", "check", self.cut(40)), 1)
        self.assertRegex(done.stdout, r"\bfile\b.*cut off")
        answer = self.json_of(self.perfci("trace", "check", self.cut(40), "--json"), 1)
        self.assertEqual(answer["by_kind"], {"file": 1})
        self.assertEqual(answer["findings"][0]["record"], answer["records"] + 1)

        # The type of the third record; the digest differs, too.
        size = os.path.getsize(LAUNCH)
        count = struct.unpack("<Q", open(LAUNCH, "rb").read()[-16:-8])[0]
        third = size - 32 * (count + 1) + 64
        path = self.changed("type.pct", lambda data: data.__setitem__(slice(third + 8, third + 10), b"\xe7\x03"))
        answer = self.json_of(self.perfci("trace", "check", path, "--json"), 1)
        self.assertEqual({(f["kind"], f.get("record"), f.get("offset")) for f in answer["findings"] if f["kind"] == "type"},
                         {("type", 3, third)})
        self.assertEqual(answer["by_kind"]["file"], 1)

    def test_limit_describes_fewer_and_counts_all(self):
        path = self.write("many.json", '{"traceEvents": [' + ",".join(["1"] * 9) + '], "perfci": {"events": 9}}')
        answer = self.json_of(self.perfci("trace", "check", path, "--json", "--limit", "2"), 1)
        self.assertEqual((len(answer["findings"]), answer["faults"]), (2, 9))
        done = self.expect(self.perfci("trace", "check", path, "--limit", "2"), 1)
        self.assertIn("7 more faults (--limit)", done.stderr)

    def test_export_refuses_what_check_lists_and_leaves_the_old_file(self):
        self.write("old.json", "old")
        done = self.expect(self.perfci("trace", "export", self.cut(32), "--out", "old.json"), 5)
        self.assertIn("cut off", done.stderr)
        self.assertIn("hint: ", done.stderr)
        with open(self.path("old.json"), encoding="utf-8") as f:
            self.assertEqual(f.read(), "old")
        self.assertEqual(sorted(os.listdir(self.dir)), ["cut.pct", "old.json"])

    def test_full_disk_is_said(self):
        done = self.expect(self.perfci("trace", "export", LAUNCH, "--out", "/dev/full"), 5)
        self.assertIn("/dev/full", done.stderr)

    def test_names_from_a_trace_do_not_reach_the_terminal_raw(self):
        path = self.write("names.json", '{"traceEvents": [{"ph": "X", "name": "a\\u001b[31m", "pid": 1}], "perfci": {"events": 1}}')
        for args in ((), ("--json",)):
            done = self.expect(self.perfci("trace", "check", path, *args), 1)
            self.assertNotIn("\x1b", done.stdout)


class Schema(Case):
    def test_the_reference_page_is_the_schema(self):
        schema = self.json_of(self.perfci("trace", "schema", "--json"))
        with open(os.path.join(support.ROOT, "docs/reference/trace.md"), encoding="utf-8") as f:
            page = f.read()
        self.assertIn(f"version {schema['version']}", page)

        def field(f):
            return f"`{f['name']}`" + (f" ({f['unit']})" if f["unit"] else "") if f else ""

        def rows(section):
            text = re.search(rf"^## {section}$(.*?)(?=^## |\Z)", page, re.M | re.S)[1]
            return [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines()
                    if line.startswith("|")][2:]

        self.assertEqual(rows("Record types"), [
            [str(r["number"]), f"`{r['name']}`", r["phase"], r["side"], field(r["a"]), field(r["b"])] for r in schema["records"]])
        for section, key in (("Kinds of units", "kinds"), ("States of units", "states")):
            self.assertEqual(rows(section), [[str(r["number"]), f"`{r['name']}`", r["meaning"]] for r in schema[key]])
        self.assertEqual(rows("Faults"), [[f"`{r['name']}`", r["meaning"]] for r in schema["faults"]])
        for r in schema["records"]:
            self.assertIn(f"- `{r['name']}`: {r['meaning']}", " ".join(page.split()).replace(" - `", "\n- `"))

    def test_numbers_and_names_are_unique_and_partners_mutual(self):
        records = self.json_of(self.perfci("trace", "schema", "--json"))["records"]
        by_name = {r["name"]: r for r in records}
        self.assertEqual(len(by_name), len(records))
        self.assertEqual(len({r["number"] for r in records}), len(records))
        for r in records:
            if r["partner"]:
                self.assertEqual(by_name[r["partner"]]["partner"], r["name"])

    def test_table_lists_every_type(self):
        schema = self.json_of(self.perfci("trace", "schema", "--json"))
        table = self.expect(self.perfci("trace", "schema"), 0).stdout
        for r in schema["records"]:
            self.assertIn(f" {r['name']} ", table)


if __name__ == "__main__":
    unittest.main()
