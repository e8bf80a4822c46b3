"""Planted things: variables and secrets that a job must not see, and finished trees that were changed and must not be used."""
import os
import pathlib
import random
import shutil
import unittest

import test_hostile
from test_hostile import FILE, YAML

SECRET = "planted-" + "5ecre7" * 4
VARIABLES = [*("DEPLOY_KEY NPM_AUTH NPM_TOKEN AWS_ACCESS_KEY_ID AWS_SECRET_ACCESS_KEY AWS_SESSION_TOKEN SSH_AUTH_SOCK GITHUB_TOKEN GH_TOKEN "
               "GITLAB_TOKEN CI_JOB_TOKEN CI_JOB_JWT ACTIONS_RUNTIME_TOKEN DOCKER_AUTH_CONFIG DOCKER_HOST KUBECONFIG PGPASSWORD PGPASSFILE "
               "DATABASE_URL MYSQL_PWD REDIS_URL MONGODB_URI GOOGLE_APPLICATION_CREDENTIALS AZURE_CLIENT_SECRET HF_TOKEN OPENAI_API_KEY "
               "SLACK_WEBHOOK SENTRY_DSN VAULT_TOKEN CARGO_REGISTRY_TOKEN PYPI_PASSWORD TWINE_PASSWORD GPG_PASSPHRASE NETRC HTTP_PROXY "
               "https_proxy LD_PRELOAD_X PERL5LIB NODE_AUTH_TOKEN X_COMPANY_INTERNAL").split()]


class Planted(test_hostile.Hostile):
    def test_no_variable_and_no_secret_reaches_a_job(self):
        self.assertEqual(len(VARIABLES), 40)
        home = pathlib.Path(self.dir, "home")
        for path in (".ssh/id_ed25519", ".aws/credentials", ".netrc", ".git-credentials", ".config/perfci/token"):
            file = home / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(SECRET, encoding="ascii")
        # Homes may be large, and their secrets are small files near the top.
        look = (f"env; set; cat /proc/*/environ; for d in {home} /root /home ~; do find $d -maxdepth 4 -type f -size -64k -exec cat {{}} +; done; "
                f"cat {self.work}/job.json {self.work}/spool/tokens/* /etc/perfci/*; true").encode()
        before = dict(os.environ)
        self.addCleanup(lambda: (os.environ.clear(), os.environ.update(before)))
        os.environ.update({name: SECRET for name in VARIABLES}, HOME=str(home))
        self.branch(YAML.replace(b"'true'", b">-\n  (" + look + b") 2>&1").replace(b"cat value", b">-\n  (" + look + b") >&2; cat value"))
        commit = self.repo.commit(self.repo.tree(self.value), branch="refs/pull/1/head")
        service, end, log = self.run_job(commit, token="pfl_" + "a" * 64)
        self.assertEqual(end["status"], "done", (end, log))
        logs = list(pathlib.Path(self.work).glob("cache-*/checkouts/*/build.log"))
        self.assertEqual(len(logs), 1)
        self.assertIn("PERFCI_COMMIT", logs[0].read_text(errors="replace"), "the job did not look")
        found = [str(path) for path in pathlib.Path(self.work).rglob("*") if path.is_file() and SECRET.encode() in path.read_bytes()]
        self.assertEqual(found, [])
        tokens = [str(path) for path in pathlib.Path(self.work).rglob("*") if path.is_file() and b"pfl_aaaa" in path.read_bytes()]
        self.assertEqual([os.path.basename(os.path.dirname(path)) for path in tokens], ["tokens"])
        for text in (log, str(service.runs), str(service.ends)):  # what is logged, and what a database would hold
            self.assertNotIn(SECRET, text)
            self.assertNotIn("pfl_aaaa", text)

    def test_no_poisoned_tree_is_used(self):
        self.branch(YAML.replace(b"'true'", b"mkdir -p out/lib && cp value out/value && cp tool out/lib/tool && ln -s value out/link")
                    .replace(b"cat value", b"sh out/lib/tool out/link"))
        commit = self.repo.commit(self.repo.tree(self.value, (FILE, b"tool", self.repo.blob(b'cat "$1"; cat out/extra 2>/dev/null || true\n'))),
                                  branch="refs/pull/1/head")
        self.contained(commit)
        tree, = pathlib.Path(self.work).glob("cache-*/checkouts/*/tree")
        rng = random.Random(1)

        def rewrite(path, text):
            """As quietly as possible: same size, same times."""
            old = path.stat()
            path.write_bytes(text)
            os.utime(path, ns=(old.st_atime_ns, old.st_mtime_ns))

        def relink(path, target):
            path.unlink()
            path.symlink_to(target)

        def swap():
            shutil.move(tree / "out", tree / "other")
            (tree / "out").symlink_to("other")
            rewrite(tree / "other" / "value", b"99.5\n")

        poisons = [lambda: rewrite(tree / "out/value", b"9%d.5\n" % rng.randrange(10)), lambda: rewrite(tree / "value", b"99.5\n"),
                   lambda: rewrite(tree / "out/lib/tool", b"echo 99.5 #" + b"x" * 30), lambda: (tree / "out/lib/tool").unlink(),
                   lambda: (tree / "out/lib/tool").chmod(0o777), lambda: relink(tree / "out/link", "../tool"),
                   lambda: relink(tree / "out/value", "/etc/hostname"), lambda: (tree / "out/extra").write_bytes(b"99.5\n"), swap,
                   lambda: os.truncate(tree / "out/value", 0)]
        used = 0
        for n in range(100):
            poisons[n % len(poisons)]()
            service, end, log = self.run_job(commit, task={"launches": 1})
            self.assertEqual(end["status"], "done", (n, end, log))
            used += [m["samples"][0] for m in service.runs[0]["measurements"] if m["metric"] == "speed"] != [[12.5]]
            self.assertTrue("cached_build_changed" in log or not (tree / "out/extra").exists(), n)
        self.assertEqual(used, 0)


def load_tests(loader, _tests, _pattern):
    """Those of the class that is inherited from run in test_hostile.py."""
    return unittest.TestSuite(Planted(name) for name in loader.getTestCaseNames(Planted) if name in vars(Planted))


if __name__ == "__main__":
    unittest.main()
