"""A JSON value beside its schema, of those that openapi.json has: what was seen, and what must be refused."""
import copy

import jsonschema


def resolve(api, schema, value, place):
    """The schema without references and alternatives (of several the one that the value fits), and its place: the name of what was
    last referred to."""
    while True:
        if "$ref" in schema:
            place = schema["$ref"].rsplit("/", 1)[1]
            schema = api["components"]["schemas"][place]
        elif "anyOf" in schema:
            schema = next(s for s in schema["anyOf"]
                          if jsonschema.Draft202012Validator({"components": api["components"], **s}).is_valid(value))
        else:
            return schema, place


def visit(api, schema, value, place, see):
    """Calls see(schema, value, place) for every value below, and for itself; places of arrays' items are the same."""
    schema, place = resolve(api, schema, value, place)
    see(schema, value, place)
    if isinstance(value, dict):
        for name, member in schema.get("properties", {}).items():
            if name in value:
                visit(api, member, value[name], f"{place}.{name}", see)
    elif isinstance(value, list) and "items" in schema:
        for item in value:
            visit(api, schema["items"], item, place + "[]", see)


def spoilt(api, name, value):
    """(what, value) for one member more and each member less, in the first object of each sort."""
    objects = {}

    def see(schema, found, place):
        if schema.get("additionalProperties") is False:
            objects.setdefault(place, (schema, found))

    whole = copy.deepcopy(value)
    visit(api, {"$ref": "#/components/schemas/" + name}, whole, "", see)
    for place, (schema, found) in objects.items():
        kept = dict(found)
        for member in schema.get("required", []):
            del found[member]
            yield f"{place} without {member}", whole
            found.clear()
            found.update(kept)
        found["surprise"] = 1
        yield f"{place} with surprise", whole
        del found["surprise"]


def open_objects(api):
    """Places of objects of which nothing is said, so that they may hold anything."""
    found = set()

    def walk(schema, place):
        if isinstance(schema, dict):
            if schema.get("type") in ("object", ["object", "null"]) and "additionalProperties" not in schema:
                found.add(place)
            for key, value in schema.items():
                if key != "examples":
                    walk(value, place if key in ("properties", "items", "anyOf") else f"{place}.{key}")
        elif isinstance(schema, list):
            for value in schema:
                walk(value, place)

    for name, schema in api["components"]["schemas"].items():
        walk(schema, name)
    return found


class Seen:
    """Which members were there, with a value, in the answers of each schema."""

    def __init__(self, api):
        self.api, self.declared, self.found = api, set(), set()

    def take(self, name, value):
        def see(schema, found, place):
            if schema.get("additionalProperties") is False:
                self.declared.update(f"{place}.{member}" for member in schema["properties"])
                self.found.update(f"{place}.{member}" for member in schema["properties"]
                                  if found.get(member) not in (None, []))

        visit(self.api, {"$ref": "#/components/schemas/" + name}, value, "", see)

    def missing(self):
        return self.declared - self.found
