"""deploy/dev's checks of the tree find what is planted: banned idioms, circles of calls, sentences that are allowed stay."""

import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(os.environ["PERFCI_SOURCE_DIR"])


def check(name, *words):
    done = subprocess.run([sys.executable, ROOT / "deploy/dev" / name, *map(str, words)], capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr


class Checks(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.tree = pathlib.Path(folder.name)

    def language(self, name, text):
        """A "~" in the text is left out: the check would find these idioms in this file, too."""
        path = self.tree / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text.replace("~", ""), encoding="utf-8")
        return check("check_language.py", self.tree)

    def test_an_idiom_is_found_in_each_kind_of_text(self):
        for name, text, line in (
                ("core/a.c", "int a;\n/* Waits until no~body reads. */\n", 2),
                ("core/a.c", "/* It is not\n * read any~ more. */\n", 1),
                ("core/a.c", 'int a;\n\nconst char *m = "wa~nt at most 3";\n', 3),
                ("core/a.h", "/** Wh~at the caller gets. */\n", 1),
                ("web/a.ts", "const a = 1; // drawn an~ew\n", 1),
                ("cli/a.py", '"""Doc."""\n# It is to~ld\n# the rest.\n', 2),
                ("deploy/a.sh", "# runs by it~self\n", 1),
                ("schema/a.sql", "SELECT 1; -- Wh~o waits here\n", 1),
                ("docs/a.md", "# Title\n\nThe job waits in va~in.\n", 3)):
            status, out = self.language(name, text)
            self.assertEqual(status, 1, text)
            self.assertIn(f"{name}:{line}: ", out, text)
            (self.tree / name).unlink()

    def test_code_questions_and_terms_are_left_alone(self):
        for name, text in (
                ("core/a.c", "int no~body, to~ld, hu~nt; /* The lease expires. */\n"),
                ("core/a.c", 'getpwnam("no~body"); const char *f = "%s is no longer read";\n'),
                ("core/a.c", "/* Which commit is it? What differs?\n * Both are printed. */\n"),
                ("web/a.ts", "const a = `${od~ds} to 1`;\n"),
                ("docs/a.md", "# Wh~at is it?\n\nRun `no~body`.\n\n```sh\nsu no~body\n```\n\nIf you wa~nt to see more, read on.\n")):
            status, out = self.language(name, text)
            self.assertEqual(status, 0, text + out)
            (self.tree / name).unlink()

    def test_a_document_that_is_not_in_the_tree_is_found(self):
        self.assertEqual(self.language("core/a.c", "/* As DES~IGN.md says. */\n")[0], 1)

    def test_an_empty_tree_is_not_a_success(self):
        self.assertEqual(check("check_language.py", self.tree)[0], 1)
        self.assertEqual(check("check_circles.py", self.tree, self.tree)[0], 2)

    def circles(self, files):
        build = self.tree / "build"
        for name, text in files.items():
            source = self.tree / "core" / name
            thing = build / "core/CMakeFiles/x.dir" / (name + ".o")
            for path in (source, thing):
                path.parent.mkdir(parents=True, exist_ok=True)
            source.write_text(text, encoding="utf-8")
            subprocess.run(["cc", "-c", "-O0", source, "-o", thing], check=True)
        return check("check_circles.py", self.tree, build)

    def test_comments_with_a_reason_are_counted_by_block(self):
        path = self.tree / "core/a.c"
        path.parent.mkdir()
        path.write_text('int a; /* the number */\n/* Closed first, because the file\n * is renamed. */\n/* Adjacent. */\n\n'
                        'const char *s = "/* because */";\n', encoding="utf-8")
        status, out = check("count_comments.py", self.tree, "--list", "core")
        self.assertIn("core/a.c: the number\n", out)
        self.assertRegex(out, r"(?m)^core +2 blocks +1 with a reason +50\.0 %$")
        self.assertEqual(status, 0)
        self.assertEqual(check("count_comments.py", self.tree, "--least", "51")[0], 1)
        path.write_text("int a;\n", encoding="utf-8")
        self.assertEqual(check("count_comments.py", self.tree)[0], 1, "an empty tree is no success")

    def test_a_circle_of_three_files_is_found_and_one_of_two_is_allowed(self):
        two = {"a.c": "int b(void); int a(void) { return b(); }\n", "b.c": "int a(void); int b(void) { return a(); }\n"}
        self.assertEqual(self.circles(two)[0], 0)
        status, out = self.circles({**two, "b.c": "int c(void); int b(void) { return c(); }\n",
                                    "c.c": "int a(void); int c(void) { return a(); }\n"})
        self.assertEqual(status, 1)
        self.assertIn("circle of 3 files:", out)
        self.assertIn("core/a.c -> core/b.c: b", out)

    def test_the_object_of_a_file_that_is_gone_is_not_read(self):
        self.circles({"a.c": "int b(void); int a(void) { return b(); }\n", "b.c": "int c(void); int b(void) { return c(); }\n",
                      "c.c": "int a(void); int c(void) { return a(); }\n"})
        (self.tree / "core/c.c").unlink()
        self.assertEqual(check("check_circles.py", self.tree, self.tree / "build")[0], 0)

    def test_a_service_that_binds_parameters_by_position_is_found(self):
        for line, found in (("pfc_args_i64(&args, id);", True), ("pfc_tx_query(tx, NAME, &args, &res, err);", True),
                            ("id = pfc_res_i64(res, 0, 0);", True), ("pfc_rows_page(db, NAME);", True),
                            ("pfc_sql_job_state(tx, &args, &rows, err);", False), ("pfc_res_free(hold);", False)):
            path = self.tree / "server/services/queue/a.c"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(line + "\n", encoding="utf-8")
            out = check("check_layers.py", self.tree)[1]
            self.assertEqual("server/services/queue/a.c:1: " in out, found, line)

    def test_a_service_that_works_on_json_is_found_and_a_struct_is_not(self):
        for line, found in (("#include <jansson.h>", True), ("json_t *doc = NULL;", True), ("x(json_dumps(doc, 0));", True),
                            ("char *text = y(doc, JSON_COMPACT);", True), ("pfc_json_parse(t, n, &doc, err);", True),
                            ("pfc_detector_from_json(doc, &d, err);", True), ("pfc_labels_to_json(&labels);", True),
                            ("pfc_culprit_json(c, ids);", True), ('pfc_format("{\\"p\\": %g}", p);', True),
                            ("row.labels_json = text;", False), ("pfc_labels_text(&labels);", False)):
            for folder in ("services/queue", "handlers/queue", "repo/documents"):
                path = self.tree / "server" / folder / "a.c"
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(line + "\n", encoding="utf-8")
            out = check("check_layers.py", self.tree)[1]
            self.assertEqual("server/services/queue/a.c:1: " in out, found, line)
            self.assertNotIn("server/handlers/queue/a.c", out)
            self.assertNotIn("server/repo/documents/a.c", out)


if __name__ == "__main__":
    unittest.main()
