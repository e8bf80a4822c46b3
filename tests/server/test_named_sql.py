"""The reader of schema/queries refuses what does not fit together, with the file and the line."""

import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

SCHEMA = pathlib.Path(os.environ["PERFCI_SOURCE_DIR"]) / "schema"
GOOD = """-- name: place_list
-- Places of a town.
-- in: town_id id, state text?, ids i64[],
--    limit i64
-- out: id i64, name text, facts json, blob void
SELECT id, name, facts, blob FROM places WHERE town = $1 AND state = $2 AND id = ANY ($3) LIMIT $4;

-- name: place_close
-- in: id i64
UPDATE places SET open = false WHERE id = $1;
"""


class NamedSql(unittest.TestCase):
    def generate(self, text):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        root = pathlib.Path(folder.name)
        (root / "queries").mkdir()
        (root / "queries/places.sql").write_text(text, encoding="utf-8")
        done = subprocess.run([sys.executable, "-B", SCHEMA / "statements.py", root, root / "out"],
                              capture_output=True, text=True)
        if done.returncode:
            return done.stderr
        return (root / "out/places.h").read_text(encoding="utf-8")

    def test_structs_and_functions_are_written(self):
        header = self.generate(GOOD)
        self.assertIn("int64_t town_id; /* 0: NULL */\n    const char *state; /* may be NULL */\n"
                      "    const int64_t *ids;\n    size_t ids_len;\n    int64_t limit;", header)
        self.assertIn("int64_t id;\n    const char *name;\n    const char *facts_json;\n} pfc_sql_place_list_row;", header)
        self.assertIn("pfc_code pfc_sql_place_close(pfc_tx *tx, const pfc_sql_place_close_args *args, pfc_err *err)",
                      header)

    def test_faults_name_the_file_and_the_line(self):
        for old, new, fault in (
                (" AND state = $2", "", "places.sql:1: place_list: expected $1 to $4 as `in` has it, got $1, $3, $4"),
                ("LIMIT $4", "LIMIT $5", "places.sql:1: place_list: expected $1 to $4"),
                ("-- in: id i64\n", "", "places.sql:8: place_close: expected $1 to $0 as `in` has it, got $1"),
                ("state text?", "town_id text", "places.sql:3: in: town_id is there twice"),
                ("name text", "id text", "places.sql:5: out: id is there twice"),
                ("state text?", "state string", "places.sql:3: in: state has the unknown type string"),
                ("name text", "name id", "places.sql:5: out: name cannot have the type id here"),
                ("state text?", "state", 'places.sql:3: in: expected NAME TYPE, got "state"'),
                ("name text", "case text", "places.sql:5: out: case is a keyword of C"),
                ("-- name: place_close", "-- name: place_list", "places.sql:8: statement place_list is there twice"),
                ("-- in: id i64", "-- in: id i64\n-- in: id i64", "places.sql:10: in is there twice"),
                ("WHERE id = $1;", "WHERE id = $1; SELECT 1;", "places.sql:8: place_close: expected exactly one"),
                ("-- in: id i64", "-- in: id i64\n-- plan: custom", "places.sql:8: place_close: plan: expected generic"),
                ("name text, facts json", "name i64[], facts bytes",
                 "places.sql:1: place_list: beside bytes only text, json, i64, f64, bool are read")):
            self.assertIn(old, GOOD)
            self.assertIn(fault, self.generate(GOOD.replace(old, new)))

    def test_statements_that_share_a_row_have_its_columns(self):
        other = GOOD.replace("-- out: id", "-- row: place\n-- out: id")
        other += "\n-- name: place_names\n-- row: place\n-- out: id i64\nSELECT id FROM places;\n"
        self.assertIn("place_names: row place has other columns in place_list", self.generate(other))


if __name__ == "__main__":
    unittest.main()
