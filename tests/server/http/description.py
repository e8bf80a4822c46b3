"""Whether openapi.json is a valid description: its schemas, its examples, and the paths that API.md documents.

For OpenApi of test_openapi.py, whose service it asks.
"""
import json
import os
import pathlib

import jsonschema

import schema_walk

SOURCE = pathlib.Path(os.environ["PERFCI_SOURCE_DIR"])


class Description:
    def test_the_description_is_consistent(self):
        standard = json.loads((SOURCE / "tests/data/openapi/schema-3.1.json").read_text())
        jsonschema.Draft202012Validator(standard).validate(self.api)
        for schema in self.api["components"]["schemas"].values():
            jsonschema.Draft202012Validator.check_schema(schema)
        ids = [operation["operationId"] for _, _, operation in self.operations()]
        self.assertEqual(len(ids), len(set(ids)))
        schemas = self.api["components"]["schemas"]
        for _, _, operation in self.operations():
            if "application/json" in operation.get("requestBody", {}).get("content", {}):
                ref = operation["requestBody"]["content"]["application/json"]["schema"]["$ref"]
                self.assertIn(ref.rsplit("/", 1)[1], schemas)
        for path in self.api["paths"]:
            self.assertIn(path.replace("/api/v1", "", 1) if path.startswith("/api/v1") else path, self.documented())

    def test_every_body_has_an_example_that_fits_and_is_read(self):
        """By its own schema, and by the server, which may know nothing of what it names."""
        self.walk(), self.others()  # first: what is sent here takes a job
        schemas, asked = self.api["components"]["schemas"], 0
        for pattern, method, operation in self.operations():
            if "application/json" not in operation.get("requestBody", {}).get("content", {}):
                continue
            name = operation["requestBody"]["content"]["application/json"]["schema"]["$ref"].rsplit("/", 1)[1]
            for part in [p["$ref"].rsplit("/", 1)[-1] for p in schemas[name].get("anyOf", [{"$ref": name}])]:
                self.assertTrue(schemas[part].get("examples"), f"{part} has no example")
                for example in schemas[part]["examples"]:
                    with self.subTest(method=method, pattern=pattern, part=part):
                        self.checker(part).validate(example)
                        self.checker(name).validate(example)
                        path = pattern.replace("{p}", "nothing").replace("{id}", "999999999")
                        answer = self.service().as_admin(method.upper(), path, {**example, "project": "nothing"} if "project" in example else example)
                        self.assertIn(answer.status, (200, 201, 204, 404, 409), answer)
                        asked += 1
        self.assertGreaterEqual(asked, 15)

    def test_objects_that_may_hold_anything_are_few(self):
        """Every answer matches a schema that allows any member, so each such place is listed here."""
        self.assertEqual(schema_walk.open_objects(self.api), self.ANYTHING)

    @staticmethod
    def documented():
        text = (SOURCE / "server/API.md").read_text()
        return {word.split("`")[0].split("?")[0] for part in text.split("`")[1::2]
                for word in [part.split(" ")[-1]]}
