"""The documentation's site: complete, without a broken link, fit for the server's policy; commands that it shows exist."""

import html.parser
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(os.environ["PERFCI_SOURCE_DIR"])
BIN = pathlib.Path(os.environ["PERFCI_BIN_DIR"])
SITE = BIN.parent / "docs/html"
PAGES = sorted((ROOT / "docs").rglob("*.md")) + [ROOT / "README.md"]
DEADLINE_S = 240
# Options of a program that another one is given to: the words after them are not perfci's.
ENDS = {"--", "|", "||", "&&", ";", ">", "<", "#"}


class Page(html.parser.HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.links, self.ids, self.faults = [], set(), []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        found = dict(attributes)
        if "id" in found:
            self.ids.add(found["id"])
        for name in ("href", "src"):
            if name in found:
                self.links.append(found[name])
        if "style" in found or any(name.startswith("on") for name in found) or tag in ("style", "iframe", "form"):
            self.faults.append(f"<{tag} {attributes}>")
        if tag == "script" and "src" not in found:
            self.faults.append("an inline script")


def output(*words):
    return subprocess.run(list(map(str, words)), capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=DEADLINE_S,
                          check=True).stdout


def shown(text):
    """Command lines of the shell blocks of a page, continuation lines joined."""
    blocks = re.findall(r"^```(?:sh|console)\n(.*?)^```", text, re.M | re.S) + re.findall(r"(?:^    .*\n)+", text, re.M)
    for block in blocks:
        for line in block.replace("\\\n", " ").splitlines():
            yield line.strip().removeprefix("$ ")


def perfci_calls(line):
    """[program, word...] of each call of a perfci program in a line."""
    try:
        words = list(shlex.shlex(line, posix=True, punctuation_chars="|&;<>"))
        words = shlex.split(line, comments=True) if not words else shlex.split(re.sub(r"([|&;<>]+)", r" \1 ", line), comments=True)
    except ValueError:
        return
    for at, word in enumerate(words):
        first = at == 0 or re.fullmatch(r"[|&;()<>]+|--|[A-Z_]+=.*", words[at - 1])
        if first and re.fullmatch(r"perfci(-server|-runner|-bench)?", word):
            call = [word]
            for more in words[at + 1:]:
                if more in ENDS or re.fullmatch(r"[|&;<>()]+", more):
                    break
                call.append(more)
            yield call


class Site(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        if not (SITE / "index.html").exists():
            raise unittest.SkipTest("the site is not built: mkdocs was not found when this build was configured")
        cls.pages = {path.relative_to(SITE): Page(path.read_text(encoding="utf-8")) for path in SITE.rglob("*.html")}

    def test_every_link_and_anchor_leads_somewhere(self):
        self.assertGreater(len(self.pages), 50)
        broken = []
        for name, page in self.pages.items():
            for link in page.links:
                if link == "/" or link.startswith(("http:", "https:", "data:")):
                    continue
                target, _, anchor = link.partition("#")
                path = (SITE / name).parent / target if target else SITE / name
                path = pathlib.Path(os.path.normpath(path))
                inside = path.is_relative_to(SITE)
                if not inside or not path.is_file():
                    broken.append(f"{name}: {link}")
                elif anchor and path.suffix == ".html" and anchor not in self.pages[path.relative_to(SITE)].ids:
                    broken.append(f"{name}: {link}: no such anchor")
        self.assertEqual(broken, [])

    def test_pages_fit_the_servers_policy(self):
        self.assertEqual([f"{name}: {fault}" for name, page in self.pages.items() for fault in page.faults], [])
        for name, page in self.pages.items():
            self.assertEqual([link for link in page.links if re.match(r"(https?:)?//", link) and not link.startswith("http")], [], name)

    def test_every_page_of_the_tree_is_in_the_site(self):
        for path in (ROOT / "docs").rglob("*.md"):
            self.assertIn(path.relative_to(ROOT / "docs").with_suffix(".html"), self.pages)

    def test_every_command_has_a_page_with_every_option(self):
        commands = re.findall(r"^  ([a-z]+)  ", output(BIN / "perfci", "help").split("Commands:")[1].split("\n\n")[0], re.M)
        self.assertGreater(len(commands), 20)
        for command in commands:
            text = (SITE / f"reference/cli/{command}.html").read_text(encoding="utf-8")
            for option in set(re.findall(r"^ {2,6}(?:-\S, )?(--[a-z][a-z0-9-]*)", output(BIN / "perfci", "help", command), re.M)):
                self.assertIn(option, text, f"perfci {command}")

    def test_the_reference_names_every_tool_and_its_arguments(self):
        text = (SITE / "reference/mcp.html").read_text(encoding="utf-8")
        tools = re.findall(r'^    \{ "([a-z_]+)",', "".join(path.read_text(encoding="utf-8") for path in (ROOT / "cli/mcp").glob("tools_*.c")), re.M)
        self.assertGreater(len(tools), 25)
        for tool in tools:
            self.assertIn(f">{tool}</h3>", text)
        for word in ("Only with <code>--allow-write</code>", "<code>alert_id</code>", "1..10000 numbers", "<code>perfci:///alerts/{id}</code>"):
            self.assertIn(word, text)

    def test_the_reference_names_every_route_and_metric(self):
        api = (SITE / "reference/http-api.html").read_text(encoding="utf-8")
        source = (ROOT / "server/handlers/routes.c").read_text().replace('API "', '"/api/v1')
        routes = re.findall(r'\{ "(GET|POST|PATCH|DELETE)",\s*"([^"]+)"', source)
        self.assertGreater(len(routes), 40)
        for method, path in routes:
            self.assertIn(f">{method} {path}</h2>", api)
        metrics = (SITE / "reference/metrics.html").read_text(encoding="utf-8")
        for name in ("perfci_database_up", "perfci_detection_lag_seconds", "perfci_http_requests", "perfci_jobs",
                     "perfci_pool_refused_total", "perfci_runners"):
            self.assertIn(f"<code>{name}</code>", metrics)


class Commands(unittest.TestCase):
    def test_commands_that_are_shown_exist_with_their_options(self):
        known, seen = {}, 0
        for path in PAGES:
            for line in shown(path.read_text(encoding="utf-8")):
                for call in perfci_calls(line):
                    program, words = call[0], call[1:]
                    sub = [words[0]] if program == "perfci" and words and re.fullmatch(r"[a-z]+", words[0]) else []
                    sub += words[1:2] if sub in (["accel"], ["trace"]) else []
                    if (program, *sub) not in known:
                        done = subprocess.run([BIN / program, *sub, "--help"], capture_output=True, text=True,
                                              stdin=subprocess.DEVNULL, timeout=DEADLINE_S, check=False)
                        self.assertEqual(done.returncode, 0, f"{path}: {line}\n{done.stderr}")
                        known[(program, *sub)] = set(re.findall(r"--[a-z][a-z0-9-]*", done.stdout))
                    for word in words:
                        if re.match(r"--[a-z]", word):
                            self.assertIn(word.split("=")[0], known[(program, *sub)], f"{path.relative_to(ROOT)}: {line}")
                    seen += 1
        self.assertGreater(seen, 80)

    def test_the_benchmark_in_c_works_as_printed(self):
        page = (ROOT / "docs/how-to/own-benchmark.md").read_text(encoding="utf-8")
        section = re.search(r"^## C$(.*?)^## ", page, re.M | re.S)[1]
        source, config = re.search(r"```c\n(.*?)```", section, re.S)[1], re.search(r"```yaml\n(.*?)```", section, re.S)[1]
        with tempfile.TemporaryDirectory(prefix="pfc-docs-") as folder:
            pathlib.Path(folder, "bench.c").write_text(source)
            pathlib.Path(folder, "perfci.yaml").write_text(config)
            environment = {**os.environ, "HOME": folder, "XDG_DATA_HOME": folder + "/data", "PERFCI_URL": ""}
            for words in (["git", "init", "-q"], ["git", "add", "."],
                          ["git", "-c", "user.name=A", "-c", "user.email=a@b", "commit", "-qm", "first"]):
                subprocess.run(words, cwd=folder, check=True, env=environment)
            subprocess.run(re.search(r"^build: (.*)$", config, re.M)[1], shell=True, cwd=folder, check=True)
            done = subprocess.run([BIN / "perfci", "run", "--repeats", "3"], cwd=folder, env=environment, capture_output=True,
                                  text=True, stdin=subprocess.DEVNULL, timeout=DEADLINE_S, check=False)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            self.assertIn("sum_ns", done.stdout)

    def test_the_kernel_in_text_works_as_printed(self):
        page = (ROOT / "docs/how-to/own-kernel.md").read_text(encoding="utf-8")
        files = re.findall(r"```(?:text|yaml)\n(.*?)```", page, re.S)
        with tempfile.TemporaryDirectory(prefix="pfc-docs-") as folder:
            for name, begin in (("tile.pca", "pca 1"), ("tiles.schedule", "m = "), ("suite.yaml", "suite: ")):
                pathlib.Path(folder, name).write_text(next(text for text in files if text.startswith(begin)))

            def run(*words):
                done = subprocess.run([BIN / words[0], *words[1:]], cwd=folder, capture_output=True, text=True, check=False,
                                      stdin=subprocess.DEVNULL, timeout=DEADLINE_S)
                self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
                return json.loads(done.stdout) if "--json" in words else done

            lines = [line.split("#")[0].strip() for line in shown(page) if line.startswith("perfci accel run")]
            self.assertGreaterEqual(len(lines), 6)
            for line in lines:
                run(*line.split())
            self.assertTrue(run("perfci", "accel", "run", "tile.pca", "--json")["program"]["checked"])
            names = {m["benchmark"] for m in run("perfci-bench", "--suite", "suite.yaml", "--json")["measurements"]}
            for name in re.findall(r"`(gemm/bf16/[^`]*)`", page):
                self.assertIn(name, names)


if __name__ == "__main__":
    sys.exit(unittest.main())
