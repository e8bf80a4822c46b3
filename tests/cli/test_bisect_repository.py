"""perfci bisect over the commits of a repository: builds, merges, ends on two branches, layouts, shallow clones."""

import json
import os

import support


class Repository(support.Case):
    """Real history: builds, some of which fail, in checkouts of their own."""

    def setUp(self):
        super().setUp()
        self.repo = self.path("repo")
        os.mkdir(self.repo)
        self.git("init", "-q", "-b", "main", cwd=self.repo)
        self.write("repo/build.sh", '#!/bin/sh\ngrep -q broken value && { echo "error: no"; exit 1; }\ncp value built\n', 0o755)
        # Its error depends on the commit alone, so it is the same in every run of this test.
        self.write("repo/measure.sh", "#!/bin/sh\nawk -v v=\"$(cat built)\" -v n=$(cat noise) 'BEGIN { print v * n }'\n", 0o755)
        self.ids = []
        for i, value in enumerate([100] * 3 + ["broken"] + [100] * 4 + [125] * 4 + ["broken"] + [125] * 3):
            self.write("repo/value", f"{value}\n")
            self.write("repo/noise", f"{1 + (i % 3 - 1) / 1000}\n")
            self.git("add", "-A", cwd=self.repo)
            self.git("-c", "user.name=A", "-c", "user.email=a@example.org", "commit", "-q", "-m", f"change {i}", cwd=self.repo)
            self.ids.append(self.git("rev-parse", "HEAD", cwd=self.repo))
        # Only the newest commit has a perfci.yaml, and that one counts.
        self.write("repo/perfci.yaml", "build: ./build.sh\nmeasure: ./measure.sh\nmetric: latency\nunit: ms\n")
        self.git("add", "-A", cwd=self.repo)
        self.git("-c", "user.name=A", "-c", "user.email=a@example.org", "commit", "-q", "-m", "measure", cwd=self.repo)

    def test_the_culprit_is_found_and_the_repository_left_alone(self):
        self.write("repo/value", "uncommitted\n")
        look = lambda: (self.git("status", "--porcelain=v2", "--branch", cwd=self.repo),
                        self.git("for-each-ref", cwd=self.repo), self.git("worktree", "list", cwd=self.repo))
        before = look()
        done = self.perfci("bisect", "--good", self.ids[0], "--bad", "HEAD", "--metric", "latency", "--json", cwd=self.repo)
        doc = self.json_of(done, 1)
        self.assertEqual([c["commits"] for c in doc["culprits"]], [[self.ids[8]]])
        self.assertGreater(doc["builds"], 0)
        self.assertEqual(look(), before)
        # The checkouts were kept: the same again builds nothing, and the subject is shown.
        done = self.perfci("bisect", "--good", self.ids[0], "--bad", "HEAD", "--resume", "--repo", self.repo)
        self.assertIn("change 8", self.expect(done, 1).stdout)

    def test_where_the_machine_shows_states_pairs_are_taken(self):
        self.write("calls", "")
        self.env["HERE"] = self.dir
        self.write("repo/perfci.yaml", "build: ./build.sh\nmetric: latency\nunit: ms\nmeasure: " + json.dumps(
            'n=$(wc -l < "$HERE/calls"); echo x >> "$HERE/calls"; awk -v v="$(cat built)" -v n=$n '
            "'BEGIN { print v * (n % 9 > 6 ? 1.6 : 1) * (1 + (n * 7 % 11 - 5) / 5000) }'") + "\n")
        self.commit("states")
        command = ["bisect", "--good", self.ids[0], "--bad", "HEAD"]
        done = self.expect(self.perfci(*command, cwd=self.repo), 1)
        self.assertIn("this machine changes its speed", done.stderr)
        self.assertIn("change 8", done.stdout)
        self.assertRegex(done.stdout, r"pairs +\d+ measurements interleaved with .* the first \d+ runs were single ones")
        doc = self.json_of(self.perfci(*command, "--no-paired", "--resume", "--max-runs", "40", "--json", cwd=self.repo), None)
        self.assertNotIn("pairs", doc["evidence"])

    def test_revisions_that_make_no_range_are_refused(self):
        for good, bad, said in (("nowhere", "HEAD", "nowhere"), ("HEAD", "nowhere", "nowhere"),
                                ("HEAD", "HEAD", "same commit"), ("HEAD", "HEAD~3", "")):
            done = self.expect(self.perfci("bisect", "--good", good, "--bad", bad, cwd=self.repo), 2)
            self.assertIn(said, done.stderr)
            self.assertRegex(done.stderr, r"\Aperfci bisect: .+\nhint: .+\n\Z")
        self.expect(self.perfci("bisect", "--good", "HEAD~3", cwd=self.repo), 2)

    def commit(self, message, **files):
        for name, text in files.items():
            self.write(f"repo/{name}", text)
        self.git("add", "-A", cwd=self.repo)
        self.git("-c", "user.name=A", "-c", "user.email=a@example.org", "commit", "-q", "-m", message, cwd=self.repo)
        return self.git("rev-parse", "HEAD", cwd=self.repo)

    def test_a_merge_is_one_step_and_its_branch_is_searched_on_request(self):
        base = self.git("rev-parse", "HEAD", cwd=self.repo)
        self.git("checkout", "-q", "-b", "side", cwd=self.repo)
        self.commit("side: harmless", a="1")
        slow = self.commit("side: slow", value="150\n")
        self.commit("side: harmless too", a="2")
        self.git("checkout", "-q", "main", cwd=self.repo)
        self.commit("main goes on", b="1")
        self.git("-c", "user.name=A", "-c", "user.email=a@example.org", "merge", "-q", "--no-ff", "-m", "merge side", "side", cwd=self.repo)
        merge = self.git("rev-parse", "HEAD", cwd=self.repo)
        self.commit("main goes on again", b="2")
        command = ["bisect", "--good", base, "--bad", "HEAD", "--json", "-q"]
        doc = self.json_of(self.perfci(*command, cwd=self.repo), 1)
        self.assertEqual([c["commits"] for c in doc["culprits"]], [[merge]])
        doc = self.json_of(self.perfci(*command, "--resume", "--all-parents", cwd=self.repo), 1)
        self.assertEqual([c["commits"] for c in doc["culprits"]], [[slow]])
        done = self.perfci("bisect", "--good", "side", "--bad", "HEAD", cwd=self.repo)
        self.assertIn("came in with the merge", self.expect(done, 2).stderr)

    def test_ends_on_two_branches_and_swapped_ones_are_distinguished(self):
        done = self.expect(self.perfci("bisect", "--good", "HEAD", "--bad", "HEAD~3", cwd=self.repo), 2)
        self.assertIn("did you mean --good HEAD~3 --bad HEAD?", done.stderr)
        self.git("checkout", "-q", "-b", "other", "HEAD~4", cwd=self.repo)
        self.commit("elsewhere", a="1")
        done = self.expect(self.perfci("bisect", "--good", "other", "--bad", "main", cwd=self.repo), 2)
        self.assertIn("no ancestor", done.stderr)

    def test_changed_files_and_submodules_are_said_not_to_be_measured(self):
        sub = self.path("sub")
        self.git("init", "-q", "-b", "main", sub, cwd=self.dir)
        for i, cost in enumerate((100, 100, 100, 140, 140)):
            self.write("sub/cost", f"{cost}\n{i}\n")
            self.git("add", "-A", cwd=sub)
            self.git("-c", "user.name=A", "-c", "user.email=a@example.org", "commit", "-q", "-m", f"cost {i}", cwd=sub)
        ids = self.git("log", "--reverse", "--format=%H", cwd=sub).split()
        self.git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", sub, "third_party/sub", cwd=self.repo)
        self.git("checkout", "-q", ids[0], cwd=os.path.join(self.repo, "third_party/sub"))
        good = self.commit("pin the first", value="1\n")
        self.git("checkout", "-q", ids[-1], cwd=os.path.join(self.repo, "third_party/sub"))
        bad = self.commit("pin the last", value="1\n")
        self.write("repo/value", "7\n")
        done = self.perfci("bisect", "--good", good, "--bad", bad, "--measure", "echo 100", "--noise", "0.001", cwd=self.repo)
        self.expect(done, 0)
        self.assertIn("1 changed file (value) will not be measured", done.stderr)
        self.assertIn("1 submodule (third_party/sub) is left empty", done.stderr)
        # The code fixed, the submodule's own history between what the ends pin.
        doc = self.json_of(self.perfci("bisect", "--axis", "dependency", "--submodule", "third_party/sub", "--good", good, "--bad", bad,
                                       "--measure", "head -n1 third_party/sub/cost", "--noise", "0.001", "--json", "-q", cwd=self.repo), 1)
        self.assertEqual([c["commits"] for c in doc["culprits"]], [[ids[3]]])

    def test_relinked_builds_are_counted_and_shown(self):
        self.write("repo/perfci.yaml", "build: ./build.sh\nmeasure: ./measure.sh\nrelink: echo $PERFCI_BUILD > layout\nmetric: latency\nunit: ms\n")
        self.commit("relink")
        doc = self.json_of(self.perfci("bisect", "--good", self.ids[5], "--bad", "HEAD", "--relink", "--layout-noise", "0.002", "--json",
                                       "-q", cwd=self.repo), 1)
        self.assertEqual([c["commits"] for c in doc["culprits"]], [[self.ids[8]]])
        done = doc["evidence"]["attribution"][0]
        self.assertEqual(doc["evidence"]["layout"], "randomised")
        self.assertEqual(done["confirmation"]["layouts"], done["confirmation"]["pairs"])
        self.assertGreaterEqual(done["after"]["layouts"], done["confirmation"]["pairs"])

    def test_a_shallow_clone_says_that_history_is_missing(self):
        shallow = self.path("shallow")
        self.git("clone", "-q", "--depth", "3", "file://" + self.repo, shallow, cwd=self.dir)
        done = self.perfci("bisect", "--good", self.ids[0], "--bad", "HEAD", cwd=shallow)
        self.expect(done, 2)
        self.assertIn("shallow", done.stderr)


if __name__ == "__main__":
    support.main()
