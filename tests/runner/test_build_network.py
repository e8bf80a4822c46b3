"""The network of an isolated build: opened by perfci.yaml of the project's branch and by the runner together, never by a fork."""
import socket
import unittest

import test_hostile
from test_hostile import FILE, YAML


class BuildNetwork(test_hostile.Hostile):
    def setUp(self):
        super().setUp()
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.addCleanup(self.listener.close)
        port = self.listener.getsockname()[1]
        self.reach = f"python3 -c 'import socket; socket.create_connection((\"127.0.0.1\", {port}), 9)'"
        self.yaml = YAML.replace(b"'true'", b">-\n  " + self.reach.encode())

    def branch_says(self, value):
        self.branch(self.yaml + (b"build_network: " + value + b"\n" if value else b""))

    def fork(self, value=None, subject=b"1"):
        """A commit as the author of a pull request makes it, with a perfci.yaml of its own."""
        own = [(FILE, b"perfci.yaml", self.repo.blob(self.yaml + b"build_network: " + value + b"\n"))] if value else []
        return self.repo.commit(self.repo.tree(self.value, (FILE, b"work", self.repo.blob(subject)), *own), branch="refs/pull/1/head")

    def built(self, commit, flags=("--build-network",), **more):
        """Whether the build reached the machine's network."""
        _, end, log = self.run_job(commit, flags=flags, **more)
        if '"jobs_isolated"' not in log:
            self.skipTest("this machine cannot isolate jobs: " + log)
        self.assertIn(end["status"], ("done", "broken"), (end, log))
        return end["status"] == "done", log

    def test_a_build_has_it_when_the_branch_and_the_runner_say_so(self):
        self.branch_says(None)
        commit = self.fork()
        self.assertFalse(self.built(commit)[0])
        self.branch_says(b"none")
        self.assertFalse(self.built(commit)[0])
        self.branch_says(b"branches")  # what broke without it is built again with it
        reached, log = self.built(commit, flags=())
        self.assertFalse(reached)
        self.assertIn("build_network_not_allowed", log)
        self.assertTrue(self.built(commit)[0])

    def test_a_build_of_a_pull_request_has_it_only_where_the_branch_means_these_too(self):
        self.branch_says(b"branches")
        self.assertFalse(self.built(self.fork(), kind="pull_request")[0])
        self.branch_says(b"all")
        self.assertTrue(self.built(self.fork(), kind="pull_request")[0])

    def test_the_file_of_a_fork_opens_nothing(self):
        self.branch_says(None)
        commit = self.fork(b"all")
        for kind in ("pull_request", "measure"):
            self.assertFalse(self.built(commit, kind=kind)[0], kind)
        # The author of a pull request names its branch, and a service may pass that name on.
        for name in ("refs/pull/1/head", "pull/1/head", commit, commit[:12], "main@{0}", "nowhere"):
            with self.subTest(name):
                self.assertFalse(self.built(commit, branch=name)[0])

    def test_a_measurement_never_has_it(self):
        self.branch(YAML.replace(b"cat value", b">-\n  " + self.reach.encode() + b" && cat value") + b"build_network: all\n")
        _, end, log = self.run_job(self.fork(), flags=("--build-network",))
        self.assertEqual(end["status"], "failed", (end, log))


def load_tests(loader, _tests, _pattern):
    """Those of the class that is inherited from run in test_hostile.py."""
    return unittest.TestSuite(BuildNetwork(name) for name in loader.getTestCaseNames(BuildNetwork) if name in vars(BuildNetwork))


if __name__ == "__main__":
    unittest.main()
