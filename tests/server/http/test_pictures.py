"""Badges and pictures of series as other pages show them: public where reading is, for every origin, without scripts."""
import unittest
import xml.etree.ElementTree

import support

SVG = "{http://www.w3.org/2000/svg}"


def setUpModule():
    global cluster, server
    cluster = support.Cluster()
    unittest.addModuleCleanup(cluster.close)
    server = support.Server(cluster.database(migrated=True), "--public-read")
    unittest.addModuleCleanup(server.close)
    server.as_admin("POST", "/api/v1/projects", {"name": "p", "branch": "main"})


class Pictures(unittest.TestCase):
    def picture(self, path):
        answer = server.call("GET", "/api/v1" + path)
        self.assertEqual((answer.status, answer.headers["content-type"]), (200, "image/svg+xml; charset=utf-8"), answer)
        self.assertEqual(answer.headers["cross-origin-resource-policy"], "cross-origin")
        policy = answer.headers["content-security-policy"]
        self.assertTrue(policy.startswith("default-src 'none'; style-src 'unsafe-inline';"), policy)
        self.assertEqual(server.call("GET", "/api/v1" + path, headers={"If-None-Match": answer.headers["etag"]}).status, 304)
        root = xml.etree.ElementTree.fromstring(answer.body)
        self.assertEqual(root.tag, SVG + "svg")
        self.assertEqual([e.tag for e in root.iter() if e.tag.endswith(("script", "image", "foreignObject", "}a"))], [])
        return root

    def test_of_a_project_and_a_series(self):
        self.assertIn("no results", self.picture("/projects/p/badge").find(SVG + "title").text)
        server.as_admin("POST", "/api/v1/projects/p/commits", {**support.commits(1, 24), "branch": "main"})
        for n in range(1, 25):
            run = support.run_document(n, n, value=100.0 if n < 13 else 120.0, project="p")
            self.assertEqual(server.as_admin("POST", "/api/v1/runs", run).status, 201)
        support.until("an alert", lambda: server.call("GET", "/api/v1/alerts?project=p&state=open").json["alerts"])
        badge = self.picture("/projects/p/badge?label=a%3Cb%3E")
        self.assertEqual(badge.find(SVG + "title").text, "a<b>: 1 regression")
        series = server.call("GET", "/api/v1/projects/p/series").json["series"][0]["id"]
        chart = self.picture(f"/series/{series}/picture?width=300&height=100&points=50")
        self.assertEqual((chart.get("width"), chart.get("height")), ("300", "100"))
        self.assertEqual(len(chart.findall(f"{SVG}path[@class='worse']")), 1)
        self.assertGreater(len(chart.findall(SVG + "text")), 3)
        spark = self.picture(f"/series/{series}/picture?style=spark")
        self.assertEqual((spark.get("width"), spark.get("height"), spark.findall(SVG + "text")), ("120", "24", []))
        for query in ("width=39", "width=2001", "height=11", "height=1001", "points=0", "points=501", "style=pie", "label=x"):
            with self.subTest(query=query):
                answer = server.call("GET", f"/api/v1/series/{series}/picture?{query}")
                self.assertEqual((answer.status, answer.json["error"]["field"]), (400, query.split("=")[0]), answer)
        # every other answer stays with its own origin
        self.assertEqual(server.call("GET", f"/api/v1/series/{series}").headers["cross-origin-resource-policy"], "same-origin")

    def test_only_where_reading_is_public(self):
        closed = support.Server(cluster.database(migrated=True))
        self.addCleanup(closed.close)
        self.assertEqual(closed.call("GET", "/api/v1/projects/p/badge").status, 401)


if __name__ == "__main__":
    unittest.main()
