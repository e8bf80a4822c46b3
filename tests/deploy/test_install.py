"""deploy/install.sh alone: which of several packages it installs, and its message where it cannot install.

apt and dpkg are stand-ins; deploy/prove.sh --only distributions installs the real lists into bare systems.
"""
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(os.environ["PERFCI_SOURCE_DIR"])
TRIXIE = 'PRETTY_NAME="Debian GNU/Linux 13 (trixie)"\nVERSION_ID="13"\nID=debian\n'


class Install(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="pfc-install-"))
        self.addCleanup(shutil.rmtree, self.folder)
        (self.folder / "deploy/packages").mkdir(parents=True)
        self.script = shutil.copy(ROOT / "deploy/install.sh", self.folder / "deploy")
        self.path = self.folder / "path"
        self.path.mkdir()
        for name in ("bash", "dirname", "env", "sed", "grep"):
            (self.path / name).symlink_to(shutil.which(name))
        self.program("id", "echo 0")
        self.program("node", "echo v20.1.0")
        self.program("npm", "exit 0")
        self.program("apt-get", f'[ "$1" = install ] && echo "$@" >>{self.folder}/installed; exit 0')
        self.has(installed=(), offered=())
        self.list("plain", "# Why.\nninja-build\ndb-17|db-18|db-15\n")
        self.release(TRIXIE)

    def program(self, name, text):
        (self.path / name).write_text(f"#!/bin/bash\n{text}\n", encoding="ascii")
        (self.path / name).chmod(0o755)

    def has(self, installed, offered):
        self.program("dpkg-query", f'for p in {" ".join(installed)}; do [ "$p" = "$4" ] && echo -n installed && exit 0; done; exit 1')
        # As apt-cache answers: the name alone for a package that only others mention, nothing for an unknown one.
        self.program("apt-cache", f'echo "$2:"; echo "  Installed: (none)"; for p in {" ".join(offered)}; do\n'
                     '[ "$p" = "$2" ] && echo "  Candidate: 1.0-1" && exit 0; done; echo "  Candidate: (none)"')

    def list(self, name, text):
        (self.folder / f"deploy/packages/{name}.txt").write_text(text, encoding="ascii")

    def release(self, text):
        (self.folder / "os-release").write_text(text, encoding="ascii")

    def install(self, *names, status=0):
        done = subprocess.run([self.script, *(names or ("plain",))], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
                              env={"PATH": str(self.path), "PERFCI_OS_RELEASE": str(self.folder / "os-release")})
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return done.stdout, done.stderr

    def installed(self):
        path = self.folder / "installed"
        return path.read_text(encoding="ascii").split()[4:] if path.exists() else []

    def test_of_several_the_first_that_is_offered_is_installed(self):
        self.has(installed=(), offered=("ninja-build", "db-15", "db-18"))
        self.assertEqual(self.install(), ("packages: installing ninja-build db-18\n", ""))
        self.assertEqual(self.installed(), ["ninja-build", "db-18"])

    def test_one_that_is_installed_is_enough(self):
        self.has(installed=("db-15",), offered=("ninja-build", "db-17"))
        self.install()
        self.assertEqual(self.installed(), ["ninja-build"])
        self.has(installed=("db-15", "ninja-build"), offered=())
        self.assertEqual(self.install(), ("packages: all 2 are installed\n", ""))

    def test_what_no_source_offers_is_named_and_nothing_is_installed(self):
        self.has(installed=(), offered=("ninja-build",))
        _, err = self.install(status=1)
        self.assertIn("the package sources of Debian GNU/Linux 13 (trixie) do not offer: db-17|db-18|db-15\nhint: check the package", err)
        self.assertEqual(self.installed(), [])
        self.release('ID=ubuntu\nVERSION_ID="24.04"\nPRETTY_NAME="Ubuntu 24.04.2 LTS"\n')
        self.assertIn('hint: enable universe with "add-apt-repository universe"', self.install(status=1)[1])

    def test_an_unknown_distribution_is_one_sentence(self):
        self.release('ID=debian\nPRETTY_NAME="Debian GNU/Linux forky/sid"\n')
        self.has(installed=(), offered=("ninja-build", "db-17"))
        said = "perfci is tested on Debian 12, Debian 13 and Ubuntu 24.04, and this is "
        _, err = self.install()
        self.assertEqual(err, f"install.sh: {said}Debian GNU/Linux forky/sid; trying the same package names\n")
        (self.path / "apt-get").unlink()
        self.release('ID=void\nPRETTY_NAME="Void Linux"\n')
        _, err = self.install(status=1)
        self.assertEqual(err, f"install.sh: apt-get is missing: {said}Void Linux; install what these packages hold by hand: "
                         "ninja-build db-17|db-18|db-15\n")

    def test_a_list_that_is_not_there_is_named(self):
        self.assertIn("there is no package list", self.install("nothing", status=1)[1])


if __name__ == "__main__":
    unittest.main()
