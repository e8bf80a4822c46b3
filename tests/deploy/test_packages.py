"""The packages of this build, short: their contents, scripts and man pages, completion, list of components, action, release.

tests/deploy/packages.sh installs, upgrades and purges them in a bare Debian (deploy/prove.sh --only packages).
"""
import gzip
import json
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

import yaml

SOURCE = pathlib.Path(os.environ["PERFCI_SOURCE_DIR"])
BIN = pathlib.Path(os.environ["PERFCI_BIN_DIR"])
VERSION = re.search(r'#define PFC_VERSION "([^"]+)"', (SOURCE / "core/base/base.h").read_text()).group(1)
NAMES = ("libperfci-dev", "libperfci1", "perfci", "perfci-runner", "perfci-server", "python3-perfci")
COMMANDS = json.loads(subprocess.run([BIN / "perfci", "help", "--json"], capture_output=True, text=True, check=True).stdout)


def call(*args, **more):
    return subprocess.run(list(map(str, args)), capture_output=True, text=True, **more)


class Packages(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        for program in ("dpkg-deb", "dpkg-shlibdeps", "cpack"):
            if not shutil.which(program):
                raise unittest.SkipTest(f"{program} is not installed")
        cls.folder = tempfile.TemporaryDirectory()
        cls.out = pathlib.Path(cls.folder.name)
        done = call("cpack", "-G", "DEB", "-B", cls.out, cwd=BIN.parent, env={**os.environ, "SOURCE_DATE_EPOCH": "1700000000"})
        assert done.returncode == 0, done.stdout + done.stderr
        cls.files = {path.name.split("_")[0]: path for path in cls.out.glob("*.deb")}
        cls.lists = {name: call("dpkg-deb", "-c", path).stdout for name, path in cls.files.items()}

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def field(self, name, field):
        return call("dpkg-deb", "-f", self.files[name], field).stdout.strip()

    def paths(self, name):
        return {line.split()[5].removeprefix(".") for line in self.lists[name].splitlines() if not line.startswith("d")}

    def test_there_are_six_of_one_version(self):
        self.assertEqual(sorted(self.files), sorted(NAMES))
        for name in NAMES:
            self.assertEqual(self.field(name, "Version"), VERSION)
            self.assertEqual(self.field(name, "Architecture") == "all", name == "python3-perfci")
            self.assertIn(f"/usr/share/doc/{name}/copyright", self.paths(name))
            self.assertIn(f"/usr/share/doc/{name}/changelog.gz", self.paths(name))
        self.assertEqual(self.field("libperfci-dev", "Depends"), f"libperfci1 (= {VERSION})")
        self.assertIn("libpq5", self.field("perfci-server", "Depends"))
        self.assertIn("bubblewrap", self.field("perfci-runner", "Depends"))

    def test_no_file_is_in_two_of_them_and_each_is_where_it_belongs(self):
        everything = [path for name in NAMES for path in self.paths(name)]
        self.assertEqual(len(everything), len(set(everything)))
        for path in ("/usr/bin/perfci", "/usr/bin/perfci-bench", "/usr/lib/systemd/system/perfci-nightly@.service",
                     "/usr/lib/systemd/system/perfci-store@.service", "/usr/lib/systemd/system/perfci-store@.timer",
                     "/usr/share/bash-completion/completions/perfci", "/usr/share/zsh/vendor-completions/_perfci",
                     "/usr/share/fish/vendor_completions.d/perfci.fish"):
            self.assertIn(path, self.paths("perfci"))
        self.assertLessEqual({"/etc/perfci/server.env", "/usr/bin/perfci-server", "/usr/lib/sysusers.d/perfci-server.conf",
                              "/usr/lib/systemd/system/perfci-server.service"}, self.paths("perfci-server"))
        self.assertLessEqual({"/usr/bin/perfci-runner", "/usr/lib/sysusers.d/perfci-runner.conf", "/usr/lib/tmpfiles.d/perfci-runner.conf",
                              "/usr/lib/systemd/system/perfci-runner.service", "/usr/bin/perfci-sandbox",
                              "/usr/lib/systemd/system/perfci-sandbox.service", "/usr/lib/systemd/system/perfci-sandbox.socket"}, self.paths("perfci-runner"))
        self.assertLessEqual({"/usr/lib/python3/dist-packages/perfci.py", "/usr/lib/python3/dist-packages/perfci_pytest.py"},
                             self.paths("python3-perfci"))
        self.assertIn(f"libperfci.so.1.{VERSION}", {pathlib.Path(path).name for path in self.paths("libperfci1")})

    def test_every_file_has_one_time_and_root_as_owner(self):
        for name in NAMES:
            for line in self.lists[name].splitlines():
                self.assertIn("root/root", line)
                self.assertIn("2023-11-1", line)

    def test_units_name_programs_of_the_packages(self):
        root = self.out / "root"
        for name in ("perfci", "perfci-server", "perfci-runner"):
            call("dpkg-deb", "-x", self.files[name], root)
        units = list((root / "usr/lib/systemd/system").iterdir())
        self.assertGreaterEqual(len(units), 7)
        for unit in units:
            for program in re.findall(r"^Exec\w+=(/usr/bin/perfci\S*)", unit.read_text(), re.M):
                self.assertTrue((root / program.lstrip("/")).exists(), f"{unit.name}: {program}")
            self.assertNotIn("_CPack", unit.read_text())

    def test_scripts_parse_and_settings_are_kept_by_dpkg(self):
        for name in ("perfci-server", "perfci-runner"):
            control = self.out / ("control-" + name)
            call("dpkg-deb", "-e", self.files[name], control)
            for script in ("postinst", "prerm", "postrm"):
                self.assertEqual(call("sh", "-n", control / script).returncode, 0)
                self.assertTrue(os.access(control / script, os.X_OK))
            self.assertIn("purge", (control / "postrm").read_text())
        self.assertEqual((self.out / "control-perfci-server" / "conffiles").read_text(), "/etc/perfci/server.env\n")

    def test_every_command_has_a_page_with_all_of_its_options(self):
        if not shutil.which("scdoc"):
            self.skipTest("scdoc is not installed: the packages have no man pages")
        root = self.out / "pages"
        for name in ("perfci", "perfci-server", "perfci-runner"):
            call("dpkg-deb", "-x", self.files[name], root)
        page = lambda name: gzip.decompress((root / "usr/share/man" / name).read_bytes()).decode()
        for command in COMMANDS["commands"]:
            text = page(f"man1/perfci-{command['name']}.1.gz")
            for options in [command.get("options", []), *[part.get("options", []) for part in command.get("parts", [])]]:
                for option in options:
                    self.assertIn("--" + option["name"], text.replace("\\-", "-"), command["name"])
            self.assertIn(f"perfci-{command['name']}", page("man1/perfci.1.gz").replace("\\-", "-"))
        for program, option in (("server", "--listen"), ("runner", "--token-file"), ("sandbox", "--few-namespaces")):
            self.assertIn(option, page(f"man8/perfci-{program}.8.gz").replace("\\-", "-"))

    def test_lintian_has_no_errors(self):
        if not shutil.which("lintian"):
            self.skipTest("lintian is not installed (deploy/install.sh package)")
        done = call("lintian", "--no-cfg", "--allow-root", "--fail-on", "error", *self.files.values())
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)


class Completion(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.out = pathlib.Path(cls.folder.name)
        done = call("python3", SOURCE / "deploy/debian/pages.py", BIN, cls.out)
        assert done.returncode == 0, done.stderr

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def complete(self, *words):
        script = f'source {self.out}/bash/perfci; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _perfci; printf "%s\\n" "${{COMPREPLY[@]}}"'
        return call("bash", "-c", script, "bash", *words, cwd=self.out).stdout.split()

    def test_bash_completes_every_command_part_option_and_word(self):
        self.assertEqual(sorted(self.complete("perfci", "")), sorted([c["name"] for c in COMMANDS["commands"]] + ["help"]))
        everywhere = {"--" + o["name"] for o in COMMANDS["options"]}
        for command in COMMANDS["commands"]:
            parts = [part["name"] for part in command.get("parts", [])]
            if parts:
                self.assertEqual(self.complete("perfci", command["name"], ""), parts)
            for words, options in [((command["name"],), command.get("options", []))] + [
                    ((command["name"], part["name"]), part.get("options", [])) for part in command.get("parts", [])]:
                if len(words) == 1 and parts:
                    continue
                self.assertEqual(set(self.complete("perfci", *words, "--")), {"--" + o["name"] for o in options} | everywhere, words)
        self.assertEqual(self.complete("perfci", "detect", "--color", "al"), ["always"])

    def test_zsh_and_fish_read_theirs_and_every_option_is_in_both(self):
        zsh, fish = (self.out / "zsh/_perfci").read_text(), (self.out / "fish/perfci.fish").read_text()
        for command in COMMANDS["commands"]:
            for option in command.get("options", []):
                self.assertRegex(zsh, rf"--{option['name']}=?\[")
                self.assertRegex(fish, rf"-l {option['name']}\b")
        for shell, path in (("zsh", "zsh/_perfci"), ("fish", "fish/perfci.fish")):
            if shutil.which(shell):
                done = call(shell, "-n", self.out / path)
                self.assertEqual((done.returncode, done.stderr), (0, ""), shell)
            else:
                print(f"not checked: {shell} is not installed (deploy/install.sh package)")


class Release(unittest.TestCase):
    def test_the_version_is_one(self):
        self.assertEqual(json.loads((SOURCE / "web/package.json").read_text())["version"], VERSION)
        self.assertRegex((SOURCE / "deploy/python/perfci.py").read_text(), rf'(?m)^__version__ = "{re.escape(VERSION)}"$')
        self.assertRegex((SOURCE / "docs/CHANGELOG.md").read_text(), rf"(?m)^## {re.escape(VERSION)} \(\d{{4}}-\d\d-\d\d\)$")

    def test_the_list_of_components_has_the_dashboards_and_the_distributions_packages(self):
        script = SOURCE / "deploy/debian/sbom.py"
        env = {**os.environ, "SOURCE_DATE_EPOCH": "1700000000"}
        first, again = (call(script, env=env).stdout for _ in range(2))
        self.assertEqual(first, again)
        bom = json.loads(first)
        self.assertEqual((bom["bomFormat"], bom["specVersion"], bom["version"]), ("CycloneDX", "1.5", 1))
        self.assertRegex(bom["serialNumber"], r"^urn:uuid:[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$")
        self.assertEqual(bom["metadata"]["timestamp"], "2023-11-14T22:13:20Z")
        self.assertEqual(bom["metadata"]["component"]["version"], VERSION)
        refs = [c["bom-ref"] for c in bom["components"]]
        self.assertEqual(len(refs), len(set(refs)))
        self.assertEqual(bom["dependencies"][0]["dependsOn"], refs)
        purls = [c["purl"] for c in bom["components"]]
        lock = json.loads((SOURCE / "web/package-lock.json").read_text())["packages"]
        wanted = {p.rpartition("node_modules/")[2]: e["version"] for p, e in lock.items() if p and not e.get("dev")}
        self.assertEqual({c["name"]: c["version"] for c in bom["components"] if c["purl"].startswith("pkg:npm/")}, wanted)
        for package in ("libmicrohttpd-dev", "libpq-dev", "bubblewrap"):
            self.assertIn("pkg:deb/debian/" + package, purls)
        for component in bom["components"]:
            self.assertLessEqual(set(component), {"type", "bom-ref", "name", "version", "scope", "purl", "licenses", "hashes"})
            self.assertIn(component["scope"], ("required", "optional"))

    def test_a_release_refuses_what_it_must(self):
        with tempfile.TemporaryDirectory() as folder:
            tree = pathlib.Path(folder, "tree")
            for path in ("deploy/release.sh", "deploy/debian/sbom.py", "core/base/base.h", "docs/CHANGELOG.md", "web/package-lock.json",
                         "deploy/packages/build.txt", "deploy/packages/runtime.txt"):
                (tree / path).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(SOURCE / path, tree / path)
            git = lambda *args: subprocess.run(["git", "-c", "user.name=n", "-c", "user.email=e@e", *args], cwd=tree, check=True, capture_output=True)
            git("init", "-q")
            git("add", "-A")
            git("commit", "-qm", "one")
            out = pathlib.Path(folder, "out")
            run = lambda: call(tree / "deploy/release.sh", "--no-packages", "--out", out)
            done = run()
            self.assertEqual(done.returncode, 0, done.stderr)
            names = {f"perfci-{VERSION}.tar.gz", f"perfci-{VERSION}.cdx.json", "NOTES.md"}
            self.assertEqual({path.name for path in out.iterdir()}, names | {"SHA256SUMS"})
            self.assertEqual(call("sha256sum", "-c", "SHA256SUMS", cwd=out).returncode, 0)
            sums = (out / "SHA256SUMS").read_text()
            self.assertEqual({line.split()[1] for line in sums.splitlines()}, names)
            self.assertNotIn("## ", (out / "NOTES.md").read_text())
            run()
            self.assertEqual((out / "SHA256SUMS").read_text(), sums)  # the same bytes again
            (tree / "docs/CHANGELOG.md").write_text("# Changes\n")
            self.assertIn("has changes", run().stderr)
            git("commit", "-qam", "two")
            done = run()
            self.assertEqual(done.returncode, 2)
            self.assertIn(f'has no entry "## {VERSION} (date)"', done.stderr)


class FirstCommands(unittest.TestCase):
    """The sections whose commands tests/deploy/packages_inside.sh types in a bare Debian."""

    def commands(self, heading):
        return call(SOURCE / "tests/deploy/page_commands.sh", SOURCE / "docs/how-to/packages.md", heading)

    def test_five_commands_at_most_lead_to_a_verdict(self):
        typed = re.findall(r'^type_section "([^"]+)" \d$', (SOURCE / "tests/deploy/packages_inside.sh").read_text(), re.M)
        self.assertEqual(len(typed), 2)
        for heading in typed:
            lines = self.commands(heading).stdout.splitlines()
            self.assertLessEqual(len(lines), 5)
            self.assertRegex(lines[0], r"^apt install \./perfci_?\*\.deb$")
            for line in lines[2:]:
                name, *options = line.split()[1:]
                known = [o["name"] for c in COMMANDS["commands"] if c["name"] == name for o in c["options"]]
                self.assertLessEqual({o[2:] for o in options if o.startswith("--")}, set(known), line)

    def test_a_section_that_is_gone_is_refused(self):
        done = self.commands("To the last verdict")
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertIn('no commands in a section "To the last verdict"', done.stderr)


class Containers(unittest.TestCase):
    def test_the_image_is_made_of_the_same_scripts(self):
        text = (SOURCE / "deploy/container/Containerfile").read_text()
        for path in re.findall(r"/src/(deploy/\S+)", text):
            self.assertTrue((SOURCE / path).exists(), path)
        self.assertIn("deploy/debian/build.sh", text)
        options = set(re.findall(r'"(--[a-z-]+)"', text))
        help_text = call(BIN / "perfci-server", "--help").stdout
        self.assertLessEqual({"--listen", "--data"}, options)
        for option in options:
            self.assertIn(option, help_text)
        users = (SOURCE / "deploy/systemd/perfci.sysusers").read_text()
        self.assertIn(f"u {re.search(r'^USER (.*)$', text, re.M).group(1)} ", users)
        # The page gives the files with secrets to the users of the image.
        page = (SOURCE / "docs/how-to/packages.md").read_text()
        for user, secret in (("perfci-server", "database-url"), ("perfci-runner", "runner-token")):
            number = re.search(rf"useradd --system --uid (\d+) .* {user} ", text).group(1)
            self.assertIn(f"\nchown {number} {secret}\n", page)
        # A build folder of the checkout has the paths of its machine, which CMake refuses elsewhere.
        self.assertIn("build", (SOURCE / ".dockerignore").read_text().splitlines())

    def test_compose_names_what_is_there(self):
        compose = yaml.safe_load((SOURCE / "deploy/container/compose.yaml").read_text())
        for service in compose["services"].values():
            self.assertLessEqual(set(service.get("secrets", [])), set(compose["secrets"]))
            self.assertLessEqual(set(service.get("depends_on", [])), set(compose["services"]))
            for volume in service.get("volumes", []):
                self.assertIn(volume.split(":")[0], compose["volumes"])
        self.assertTrue(compose["services"]["server"]["ports"][0].startswith("127.0.0.1:"))


class Action(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.action = yaml.safe_load((SOURCE / "deploy/action/action.yml").read_text())

    def test_its_inputs_are_used_and_what_it_uses_is_declared(self):
        steps = self.action["runs"]["steps"]
        text = json.dumps(steps)
        self.assertEqual(self.action["runs"]["using"], "composite")
        self.assertEqual(set(re.findall(r"inputs\.([a-z-]+)", text)), set(self.action["inputs"]))
        for step in steps:
            self.assertEqual(step["shell"], "bash")
            # No input is expanded inside a script: its text would be run.
            self.assertNotIn("inputs.", step["run"])
        for value in self.action["outputs"].values():
            self.assertRegex(value["value"], r"^\$\{\{ steps\.check\.outputs\.\w+ \}\}$")
        given = set(re.findall(r"(PERFCI_ACTION_\w+)", text))
        read = set(re.findall(r"(PERFCI_ACTION_[A-Z_]+)", (SOURCE / "deploy/action/check.sh").read_text())) - {"PERFCI_ACTION_"}
        self.assertEqual(given, read)

    def test_its_script_passes_the_verdict_on(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder)
            (path / "perfci").write_text('#!/bin/sh\necho "$*" >>"$CALLS"\n[ "$1" = check ] || exit 0\necho "{}"\nexit $STATUS\n')
            (path / "perfci").chmod(0o755)
            for status, verdict in ((0, "ok"), (1, "regression"), (3, "inconclusive"), (4, "broken"), (5, "failed")):
                env = {"PATH": f"{folder}:{os.environ['PATH']}", "CALLS": str(path / "calls"), "STATUS": str(status), "RUNNER_TEMP": folder,
                       "GITHUB_OUTPUT": str(path / "output"), "PERFCI_ACTION_REPOSITORY": "o/n", "PERFCI_ACTION_PULL_REQUEST": "7",
                       "PERFCI_ACTION_MEASURE": "a 'b' $(c)", "PERFCI_ACTION_BASE": "main", "PERFCI_ACTION_COMMENT": "true"}
                for name in ("calls", "output"):
                    (path / name).write_text("")
                done = call("bash", SOURCE / "deploy/action/check.sh", env=env)
                self.assertEqual(done.returncode, status, done.stderr)
                self.assertIn(f"verdict={verdict}\n", (path / "output").read_text())
                calls = (path / "calls").read_text()
                self.assertIn("--base main --measure a 'b' $(c)", calls)
                self.assertIn("comment --repo o/n --pr 7", calls)
            env["PERFCI_ACTION_COMMENT"] = "false"
            (path / "calls").write_text("")
            call("bash", SOURCE / "deploy/action/check.sh", env=env)
            self.assertEqual(re.findall(r"^comment (?!--dry-run)", (path / "calls").read_text(), re.M), [])


unittest.main(verbosity=1)
