"""Where a job may send a runner: to the registered repository of its project, to a pattern of --sources, and by an administrator's
token for the whole service to anywhere."""
import unittest

import support

OWN = "https://git.example/team/kernels.git"
FOREIGN = ("https://git.example/team/kernels2", "https://git.example/team/kernels.git.evil", "https://evil.example/kernels.git",
           "http://git.example/team/kernels.git", "git@git.example:team/kernels.git", "ssh://git@127.0.0.1:22/x", "file:///etc",
           "file:///root/secret", "/root/secret", "/", "../kernels", "ext::sh -c id", "http://169.254.169.254/latest/meta-data",
           "https://mirror.example/../evil", "HTTPS://GIT.EXAMPLE/team/kernels.git", "https://git.example/team/kernels.git?x",
           "https://git.example/team/kernels.git#x", " " + OWN, "*")


def setUpModule():
    global cluster, server
    cluster = support.Cluster()
    server = support.Server(cluster.database(migrated=True), "--sources", "https://mirror.example/*, /srv/repos/*")
    for name, url in (("named", OWN), ("bare", None)):
        assert server.as_admin("POST", "/api/v1/projects", {"name": name, **({"repo_url": url} if url else {})}).status == 201


def tearDownModule():
    server.close()
    cluster.close()


class Sources(unittest.TestCase):
    def setUp(self):
        make = lambda **more: server.as_admin("POST", "/api/v1/tokens", {"scopes": ["ingest"], **more}).json["token"]
        self.tokens = {"unbound": make(), "bound": make(project="named"),
                       "admin of a project": server.as_admin("POST", "/api/v1/tokens", {"scopes": ["admin"], "project": "named"}).json["token"]}

    def job(self, source, token, project="named", commit=1):
        return server.call("POST", "/api/v1/jobs", {"project": project, "kind": "measure", "commit": support.commit_id(commit),
                                                    "source": source}, token=token)

    def bisection(self, source, token):
        return server.call("POST", "/api/v1/bisections", {"project": "named", "mode": "remote", "metric": "m", "good": support.commit_id(1),
                                                          "bad": support.commit_id(2), "source": source}, token=token)

    def test_no_foreign_source_is_taken(self):
        self.assertGreaterEqual(len(FOREIGN), 15)
        for name, token in self.tokens.items():
            for source in FOREIGN:
                for answer in (self.job(source, token), self.bisection(source, token)):
                    with self.subTest(token=name, source=source):
                        self.assertEqual((answer.status, answer.json["error"].get("field")), (400, "source"), answer)

    def test_the_registered_one_and_patterns_are(self):
        for number, source in enumerate((OWN, OWN.removesuffix(".git"), OWN + "/", "https://mirror.example/kernels", "/srv/repos/a/b"), 1):
            answer = self.job(source, self.tokens["unbound"], commit=number)
            self.assertEqual(answer.status, 201, answer)

    def test_a_project_without_a_repository_takes_none_but_an_administrators(self):
        answer = self.job("https://evil.example/x", self.tokens["unbound"], project="bare")
        self.assertEqual((answer.status, answer.json["error"]["field"]), (400, "source"), answer)
        self.assertIn("no registered repository", answer.json["error"]["message"])
        self.assertEqual(self.job("https://other.example/x", server.admin, project="bare").status, 201)

    def test_the_same_commit_of_two_sources_is_two_jobs(self):
        first = self.job("/srv/repos/a", server.admin, commit=9)
        self.assertEqual(self.job("/srv/repos/a", server.admin, commit=9).json["id"], first.json["id"])
        self.assertNotEqual(self.job("/srv/repos/b", server.admin, commit=9).json["id"], first.json["id"])


if __name__ == "__main__":
    unittest.main()
