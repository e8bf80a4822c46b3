"""The documentation below /docs/: files of the folder and nothing else, and clear sentences where there is none."""
import gzip
import json
import pathlib
import shutil
import subprocess
import tempfile
import unittest

import support

PAGE = "<!doctype html><title>Triage</title>" + "<p>Text.</p>" * 200


def setUpModule():
    global cluster
    cluster = support.Cluster()


def tearDownModule():
    cluster.close()


def site(folder):
    """A small site, with files that must not be served."""
    root = pathlib.Path(folder, "html")
    (root / "how-to").mkdir(parents=True)
    (root / "index.html").write_text("<!doctype html><title>perfci</title>")
    (root / "how-to/triage.html").write_text(PAGE)
    (root / "site.css").write_text("p { color: red }")
    (root / "notes.txt").write_text("no known ending")
    (root / ".hidden.html").write_text("hidden")
    pathlib.Path(folder, "secret.html").write_text("outside")
    (root / "link.html").symlink_to("../secret.html")
    (root / "folder").symlink_to("..")
    return root


class Docs(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="pfc-site-")
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def serve(self, *flags, **more):
        server = support.Server(cluster.database(migrated=True), *flags, **more)
        self.addCleanup(server.close)
        return server

    def test_pages_are_served_from_the_folder_as_it_was_at_the_start(self):
        root = site(self.folder)
        server = self.serve("--docs", str(root))
        self.assertEqual((server.call("GET", "/docs").status, server.call("GET", "/docs").headers["location"]), (308, "/docs/"))
        for path, kind in (("/docs/", "text/html"), ("/docs/index.html", "text/html"), ("/docs/how-to/triage.html", "text/html"),
                           ("/docs/site.css", "text/css")):
            answer = server.call("GET", path)
            self.assertEqual(answer.status, 200, path)
            self.assertTrue(answer.headers["content-type"].startswith(kind), path)
            self.assertIn("default-src 'none'", answer.headers["content-security-policy"])
        self.assertEqual(server.call("GET", "/docs/").body, server.call("GET", "/docs/index.html").body)
        self.assertEqual(server.call("GET", "/docs/how-to/triage.html").body.decode(), PAGE)
        packed = server.call("GET", "/docs/how-to/triage.html", headers={"Accept-Encoding": "gzip"})
        self.assertEqual(gzip.decompress(packed.body).decode(), PAGE)
        tag = packed.headers["etag"]
        self.assertEqual(server.call("GET", "/docs/how-to/triage.html", headers={"If-None-Match": tag}).status, 304)
        # read once: a change of the folder is not seen until the next start
        (root / "how-to/triage.html").write_text("changed")
        (root / "new.html").write_text("new")
        self.assertEqual(server.call("GET", "/docs/how-to/triage.html").body.decode(), PAGE)
        self.assertEqual(server.call("GET", "/docs/new.html").status, 404)

    def test_nothing_else_is_served(self):
        server = self.serve("--docs", str(site(self.folder)))
        for path in ("/docs/notes.txt", "/docs/.hidden.html", "/docs/link.html", "/docs/folder/secret.html", "/docs/../secret.html",
                     "/docs/%2e%2e/secret.html", "/docs/how-to", "/docs/how-to/", "/docs//index.html", "/docs/index.htm", "/docsx",
                     "/docs/index.html/"):
            answer = server.call("GET", path)
            self.assertEqual((answer.status, answer.json["error"]["code"]), (404, "not_found"), path)
        self.assertEqual(server.call("POST", "/docs/").status, 404)

    def test_without_a_site_the_answer_says_how_to_get_one(self):
        # An empty folder of programs: nothing is found beside them.
        programs = pathlib.Path(self.folder, "bin")
        programs.mkdir()
        shutil.copy(support.BIN / "perfci-server", programs)
        before, support.BIN = support.BIN, programs
        try:
            server = self.serve()
        finally:
            support.BIN = before
        for path in ("/docs", "/docs/", "/docs/index.html"):
            answer = server.call("GET", path)
            self.assertEqual(answer.status, 404)
            self.assertIn("build the target \"docs\"", answer.json["error"]["message"])
            self.assertIn("--docs DIR", answer.json["error"]["message"])

    def test_a_folder_that_is_no_site_ends_the_start(self):
        empty = pathlib.Path(self.folder, "empty")
        empty.mkdir()
        for folder, said in ((empty, "no index.html in this folder"), (pathlib.Path(self.folder, "none"), "No such file or directory")):
            done = subprocess.run([support.BIN / "perfci-server", "--database", "postgresql:///none", "--listen", "127.0.0.1:0",
                                   "--docs", folder], capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=support.DEADLINE_S,
                                  check=False)
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn(f"{folder}: {said}", done.stderr)

    def test_the_description_is_the_servers_own(self):
        done = subprocess.run([support.BIN / "perfci-server", "--openapi"], capture_output=True, stdin=subprocess.DEVNULL,
                              timeout=support.DEADLINE_S, check=True)
        self.assertEqual(json.loads(done.stdout), self.serve().call("GET", "/api/v1/openapi.json").json)


if __name__ == "__main__":
    unittest.main()
