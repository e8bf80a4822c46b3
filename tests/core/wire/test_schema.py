"""schema/json and the readers of core/wire hold each other to their word.

Each document is judged twice, by python3-jsonschema over the published schema and by the reader that the
server uses: whatever one takes the other takes, a refusal names a path at which the schema finds a fault, and
what is taken means the same. Documents come from three sources: each keyword of the schema broken at each
member, one by one; random walks over the schema, with members then changed; and the texts of both, with
bytes changed.

    test_schema.py [--documents N] [--seed S]     N random documents a kind, in place of the few of the suite
"""
import copy
import datetime
import json
import os
import pathlib
import random
import re
import subprocess
import sys
import unittest

import jsonschema

ROOT = pathlib.Path(os.environ["PERFCI_SOURCE_DIR"])
EMULATOR = os.environ.get("PERFCI_EMULATOR", "").split()  # where the programs are another processor's
READER = pathlib.Path(os.environ["PERFCI_TEST_DIR"]) / "pfc-read-documents"
DOCUMENTS, SEED = 250, 1
LARGE = 50000  # bytes, from which on jsonschema takes a second and more
TIME = re.compile(r"(\d{4})-(\d\d)-(\d\d)[Tt ](\d\d):(\d\d):(\d\d)(?:\.\d+)?(?:[Zz]|([+-])(\d\d):(\d\d))", re.ASCII)
# Not assertions about a value.
ANNOTATIONS = {"$schema", "$id", "$defs", "title", "description", "default"}


def instant(text):
    """Unix seconds without the fraction, or None: RFC 3339, in UTC of the years 1970 to 9999."""
    found = TIME.fullmatch(text)
    if not found:
        return None
    year, month, day, hour, minute, second = map(int, found.groups()[:6])
    sign, hours, minutes = found.group(7), int(found.group(8) or 0), int(found.group(9) or 0)
    if second > 60 or hours > 23 or minutes > 59:
        return None
    try:
        at = datetime.datetime(year, month, day, hour, minute, 0, tzinfo=datetime.timezone.utc)
    except ValueError:
        return None
    seconds = (at - datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)).total_seconds() + second
    seconds -= (hours * 3600 + minutes * 60) * (-1 if sign == "-" else 1)
    return seconds if year >= 1970 and 0 <= seconds <= 253402300799 else None


def by_bytes(_, limit, value, __):
    if isinstance(value, str) and len(value.encode("utf-8", "surrogatepass")) > limit:
        yield jsonschema.ValidationError(f"over {limit} bytes")


def by_pattern(_, pattern, value, __):
    if isinstance(value, str) and not re.search(re.sub(r"\$$", r"\\Z", pattern), value):  # as ECMA-262 has it
        yield jsonschema.ValidationError(f"not {pattern}")


FORMATS = jsonschema.FormatChecker(formats=())
FORMATS.checks("date-time")(lambda v: not isinstance(v, str) or instant(v) is not None)
Validator = jsonschema.validators.extend(jsonschema.Draft202012Validator, {"x-maxBytes": by_bytes, "pattern": by_pattern})


class NotJson(Exception):
    pass


def members(pairs):
    found = dict(pairs)
    if len(found) != len(pairs):
        raise NotJson("a member twice")
    return found


def refuse(word):
    raise NotJson(word)


def strict(data):
    """Parses the bytes as JSON of RFC 8259 within the depth limit; raises NotJson otherwise."""
    depth = 0
    for token in re.finditer(rb'"(?:[^"\\]|\\.)*"|[\[{]|[\]}]', data, re.S):
        depth += {b"[": 1, b"{": 1, b"]": -1, b"}": -1}.get(token.group(), 0)
        if depth > 32:
            raise NotJson("too deep")
    try:
        text = data.decode("utf-8")
        value = json.loads(text, object_pairs_hook=members, parse_constant=refuse)
        json.dumps(value, ensure_ascii=False).encode("utf-8")  # no half of a surrogate pair
    except (ValueError, RecursionError) as fault:
        raise NotJson(str(fault)) from None
    if text.startswith("\ufeff"):
        raise NotJson("a byte order mark")
    return value


def cut(text, limit):
    return text.encode()[:limit].decode("utf-8", "ignore")


def shown(path):
    """A path as messages have it."""
    text = ""
    for step in path:
        text += f"[{step}]" if isinstance(step, int) else ("." if text else "") + cut(step, 60)
    return cut(re.sub(r"[\x00-\x08\x0b-\x1f\x7f]", "?", text), 127)


def fault_paths(error):
    path, schema, value = tuple(error.absolute_path), error.schema, error.instance
    if error.validator == "required":
        return {shown((*path, name)) for name in error.validator_value if name not in value}
    if error.validator == "additionalProperties":
        return {shown((*path, name)) for name in value if name not in schema["properties"]}
    return {shown(path)}


def unsaid(kind, document):
    """The faults that the schemas' descriptions name, because no keyword can; of what has no shape, none."""
    found = set()
    try:
        for path in unsaid_paths(kind, document):
            found.add(shown(path))
    except (AttributeError, KeyError, TypeError, ValueError, OverflowError):
        pass  # the reader stops at the same place
    return found


def unsaid_paths(kind, document):
    if kind == "commits":
        yield from (("commits", i, "parents", p) for i, c in enumerate(document["commits"])
                    for p, parent in enumerate(c["parents"]) if parent == c["id"])
        return
    if kind == "session":
        yield from session_paths(document)
        return
    for i, c in enumerate(document.get("ceilings") or []):
        if (c["kind"] == "memory") != (c["unit"] == "B/s"):
            yield "ceilings", i, "unit"
    seen = set()
    for i, m in enumerate(document["measurements"]):
        key = (m["benchmark"], m["metric"], m.get("backend") or "")
        if key in seen:
            yield "measurements", i
        seen.add(key)
        if m.get("exact") and len({float(v) for block in m.get("samples") or [] for v in block}) > 1:
            yield "measurements", i, "samples"
        taken = 0
        for b, block in enumerate(m.get("samples") or []):
            taken += len(block)
            if taken > 100000:
                yield "measurements", i, "samples", b
                break
        visits = m.get("visits")
        if visits is not None and (document.get("session") is None or len(visits) != len(m.get("samples") or [])):
            yield "measurements", i, "visits"
        elif visits is not None:
            yield from (("measurements", i, "visits", k) for k in range(1, len(visits)) if visits[k] <= visits[k - 1])


def session_paths(document):
    seen, ends = set(), (document["anchor"], document["base"])
    identical = {c["commit"]: c["status"] == "identical" for c in reversed(document["commits"])}
    for i, c in enumerate(document["commits"]):
        if c["commit"] in seen or c["commit"] in ends:
            yield "commits", i, "commit"
        seen.add(c["commit"])
        same = c.get("same_as")
        if same is not None and same not in ends and identical.get(same, True):
            yield "commits", i, "same_as"


class Kind:
    """One schema and its reader."""

    def __init__(self, name):
        self.name = name
        self.schema = json.loads((ROOT / f"schema/json/{name}.schema.json").read_text())
        Validator.check_schema(self.schema)
        self.validator = Validator(self.schema, format_checker=FORMATS)
        self.process = subprocess.Popen([*EMULATOR, READER], stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def close(self):
        self.process.stdin.close()
        assert self.process.wait(timeout=600) == 0
        self.process.stdout.close()

    def read(self, data):
        self.process.stdin.write(b"%s %d\n" % (self.name.encode(), len(data)) + data)
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def resolve(self, schema):
        return self.schema["$defs"][schema["$ref"].rsplit("/", 1)[1]] if "$ref" in schema else schema

    def faults(self, document):
        found = set().union(*map(fault_paths, self.validator.iter_errors(document)))
        return found | unsaid(self.name, document)


# ---- what a document means ----

def meaning(kind, d):
    """The document without what may be left out, so that two spellings of one are equal."""
    if kind == "commits":
        return d.get("branch") or None, [(c["id"], c["parents"], c["author"], seconds(c["time"]), c["subject"], c.get("paths") or [], c.get("tags") or [])
                                 for c in d["commits"]]
    if kind == "session":
        return [d["id"], d.get("branch") or None, d["anchor"], d["base"], d["machine_class"], d.get("machine") or "", seconds(d["started_at"]),
                seconds(d["finished_at"]), float(d.get("budget_s") or 0), float(d["spent_s"]), int(d["blocks"]), d.get("note"), d.get("pair_key"),
                [(c["commit"], c["status"], c.get("reason"), c.get("same_as"), c.get("needs_s"), c.get("functions") or []) for c in d["commits"]]]
    head = [d["id"], d.get("project"), d.get("commit"), d.get("branch") or None, d.get("suite") or "", d.get("suite_hash") or "",
            seconds(d["started_at"]), seconds(d.get("finished_at") or d["started_at"]), int(d.get("job_id") or 0), int(d.get("job_fence") or 0), bool(d.get("infra")),
            bool(d.get("unsandboxed")),
            d.get("session"), d["machine"]["class"], d["machine"].get("name"), d["machine"].get("fingerprint") or {},
            [(c["name"], c["kind"], c["unit"], float(c["value"]), c.get("dtype") or "", c.get("level") or "", real(c.get("capacity_bytes")),
              c.get("backend") or "", c["source"], seconds(c["at"]) if c.get("at") else 0) for c in d.get("ceilings") or []]]
    return head, [(m["benchmark"], m["metric"], m.get("backend") or "", m.get("unit") or "", m.get("direction") or "lower",
                   bool(m.get("exact")), m.get("status") or "ok", m.get("reason"), m.get("params") or {}, m.get("extra") or {}, real(m.get("operations")), real(m.get("bytes")),
                   [list(map(float, block)) for block in m.get("samples") or []], m.get("visits") or None) for m in d["measurements"]]


def seconds(text):
    return instant(text)


def real(number):
    return None if number is None else float(number)


# ---- documents that are right ----

NASTY = ["", " ", "a", "x y", " x", "x ", "\u00e9", "\u202e", "\ufeff", "\U0001f600", "\u0085", "'; --", "<b>", "%s%n", "\\", "\"", "\t",
         "a\nb", "\x7f", "\x00", "\x1b[0m", "null", "x" * 200, "\u00e9" * 100, "\u00e9" * 101, "ok", "lower", "2026-01-01T00:00:00Z"]
NUMBERS = [0, -0.0, 1, -1, 0.1, 1e300, -1e300, 1.0000000000000002e300, 1e308, 5e-324, 1e-400, 2**53 - 1, 2**53, 2**53 + 1, 2**63 - 1,
           2**63, 2**64 - 1, -2**63 - 1, 10**30, 10**299, 10**301, 5.0, 5.5, 1e15, 9007199254740991.0, 123456789012345678]
ANY = [None, True, False, [], {}, [[]], [1], {"a": 1}, "text", *NUMBERS, *NASTY]
TIMES = ["2026-11-22T10:00:00Z", "1970-01-01T00:00:00Z", "9999-12-31T23:59:59Z", "9999-12-31T23:59:59.9999999Z", "9999-12-31T23:59:60Z",
         "1970-01-01T00:00:00+00:01", "1970-01-01T00:00:00-00:01", "9999-12-31T23:59:59-00:01", "1969-12-31T23:59:59-01:00",
         "2024-02-29t00:00:00z", "2023-02-29T00:00:00Z", "2026-01-01 00:00:00+23:59", "2026-01-01T24:00:00Z", "2026-01-01T00:00:00",
         "2026-01-01T00:00:00.Z", "2026-01-01T00:00:00." + "1" * 43 + "Z", "2026-01-01T00:00:00." + "1" * 44 + "Z", "0000-00-00T00:00:00Z"]


def text_for(r, schema):
    if "const" in schema:
        return schema["const"]
    if schema.get("format") == "date-time":
        return r.choice(TIMES[:4] + TIMES[9:10])
    if "{40}" in schema.get("pattern", "") or "{32}" in schema.get("pattern", ""):
        return "".join(r.choice("0123456789abcdef") for _ in range(40 if "{40}" in schema["pattern"] else 32))
    for _ in range(50):
        text = r.choice(NASTY) if r.random() < 0.5 else "".join(r.choice("abz019._-") for _ in range(r.randint(1, 12)))
        if not list(Validator({"type": "string", **schema}).iter_errors(text)):
            return text
    return "plain"


def value_for(r, kind, schema):
    schema = kind.resolve(schema)
    if "enum" in schema:
        return r.choice(schema["enum"])
    if "const" in schema:
        return schema["const"]
    kinds = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
    word = r.choice(kinds) if r.random() < 0.2 else kinds[0]
    if word == "object":
        names = [n for n in schema.get("properties", {}) if n in schema.get("required", ()) or r.random() < 0.5]
        found = {n: value_for(r, kind, schema["properties"][n]) for n in names}
        if isinstance(schema.get("additionalProperties"), dict):
            for _ in range(r.randint(0, 3)):
                found[text_for(r, schema["propertyNames"])] = value_for(r, kind, schema["additionalProperties"])
        if "allOf" in schema:
            found["reason"] = "why"
            found.pop("same_as", None)
            if found["status"] == "identical":
                found["same_as"] = "".join(r.choice("0123456789abcdef") for _ in range(40))
        if kind.name == "session" and "commits" in found:
            for c in found["commits"]:
                if c.get("same_as"):
                    c["same_as"] = found["anchor"]
        if "kind" in found:
            found["unit"] = "B/s" if found["kind"] == "memory" else r.choice(["FLOP/s", "OP/s"])
        return settle(r, found) if "if" in schema else found
    if word == "array":
        low = schema.get("minItems", 0)
        return [value_for(r, kind, schema["items"]) for _ in range(r.randint(low, low + 2))]
    if word == "number":
        return r.choice([n for n in NUMBERS if schema["minimum"] <= n <= schema["maximum"]] + [r.uniform(0, 1e6)])
    return {"null": None, "boolean": r.random() < 0.5, "integer": r.randint(0, 9), "string": text_for(r, schema)}[word]


def settle(r, measurement):
    """With what its status asks for."""
    if measurement.get("status") in (None, "ok"):
        measurement["samples"] = measurement.get("samples") or [[r.uniform(0, 9)]]
    else:
        measurement["samples"] = []
        measurement["reason"] = measurement.get("reason") or "why"
        measurement.pop("operations", None)
        measurement.pop("bytes", None)
    if r.random() < 0.8:
        measurement.pop("visits", None)
    elif measurement.get("visits") is not None:
        measurement["visits"] = [[b, r.randint(0, 7)] for b in sorted(r.sample(range(50), len(measurement["samples"])))]
    return measurement


# ---- documents that are wrong ----

def places(value, path=()):
    yield path, value
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for step, below in inside:
        yield from places(below, (*path, step))


def put(document, path, value):
    if not path:
        return value
    at = document
    for step in path[:-1]:
        at = at[step]
    at[path[-1]] = value
    return document


def at(document, path):
    for step in path:
        document = document[step]
    return document


def change(r, document):
    """One member made something else; the document may stay right."""
    path, value = r.choice(list(places(document)))
    what = r.random()
    if what < 0.15 and path:
        del at(document, path[:-1])[path[-1]]
    elif what < 0.25 and isinstance(value, dict):
        value[r.choice(["sudo", "é" * 40, "", "id", "status", "a\x01b", "k" * 200, "k" * 201])] = copy.deepcopy(r.choice(ANY))
    elif what < 0.4 and isinstance(value, list) and value:
        value.append(copy.deepcopy(r.choice(value)))
    elif what < 0.6 and isinstance(value, str):
        limit = r.choice([32, 40, 63, 64, 200, 4096])
        unit = r.choice(["a", "é", "€"])
        size = limit // len(unit.encode()) + r.choice([0, 0, 1])
        return put(document, path, r.choice(["", value])[:1] + unit * (size - 1))
    elif what < 0.75:
        return put(document, path, r.choice(TIMES if isinstance(value, str) and instant(value) is not None else ANY))
    else:
        return put(document, path, copy.deepcopy(r.choice(ANY)))
    return document


def spelled(r, document):
    """A text of the document: any of the ways to write it."""
    text = json.dumps(document, ensure_ascii=r.random() < 0.5, indent=r.choice([None, None, 1]))
    if r.random() < 0.3:
        text = text.replace("/", "\\/")
    if r.random() < 0.1:
        text = re.sub(r"(?<=[\[ ,:])1(?=[\], ])", r.choice(["1.0", "1e0", "10E-1", "-1", "01", "+1", "1.", ".1", "0x1", "1e309", "-0", "1_0"]), text)
    return text.encode("utf-8", "surrogatepass")


def damaged(r, data):
    i = r.randrange(len(data) + 1)
    part = r.choice([b"", b"\x00", b"\xff", b"\xc0\x80", b"\xed\xa0\x80", b"\\ud800", b"\\u0000", b"NaN", b"Infinity", b"/*x*/", b",", b"]", b"}",
                     b'"', b"{", b"\x1f", b"\n", b" ", b"9" * 400, b"\xe2\x80\xae", b"1e999"])
    return r.choice([data[:i] + part + data[i:], data[:i] + part + data[i + 1:], data[:i], data + part, b"\xef\xbb\xbf" + data,
                     data.replace(b'": ', b'": 1, "', 1), data.replace(b"{", b'{"id": "0", ', 1)])


def wrong_for(keyword, limit, schema, value):
    """Values that this keyword refuses, in place of one that is right."""
    if keyword == "type":
        allowed = limit if isinstance(limit, list) else [limit]
        every = {"object": {}, "array": [], "string": "text", "number": 0.5, "boolean": True, "null": None}
        return [v for word, v in every.items() if word not in allowed]
    longer = {"maxLength": "a", "x-maxBytes": "\u00e9"}
    if keyword in longer:
        return [longer[keyword] * (limit + 1 if keyword == "maxLength" else limit // 2 + 1)]
    if keyword == "maxProperties":
        return [{f"k{i}": "v" for i in range(limit + 1)}]
    if keyword == "maxItems":
        return [[value[0]] * (limit + 1) if value else [1] * (limit + 1)]
    if keyword in ("minimum", "maximum"):
        return [limit + (1 if keyword == "maximum" else -1) if isinstance(limit, int) else limit * 1.01]
    if keyword == "pattern":
        return [text for text in ("\x01", "a\x1fb", "\x7f", "A B\x00") if list(by_pattern(None, limit, text, None))]
    return {"minItems": [[]], "minLength": [""], "enum": ["no such word", 7],
            "const": ["other"], "format": ["yesterday", "2026-13-01T00:00:00Z"]}[keyword]


def whole(kind):
    """A document with every member and both forms of a measurement."""
    if kind.name == "commits":
        return {"branch": "main", "commits": [{"id": "a" * 40, "parents": ["b" * 40], "author": "Ada", "time": TIMES[0], "subject": "s",
                                               "paths": ["src/a.c"], "tags": ["v1.2"]}]}
    if kind.name == "session":
        return {"id": "a" * 32, "branch": "main", "anchor": "b" * 40, "base": "c" * 40, "machine_class": "c", "machine": "h", "started_at": TIMES[0],
                "finished_at": TIMES[0], "budget_s": 1800, "spent_s": 1200.5, "blocks": 24, "note": "n", "pair_key": "f" * 64, "commits": [
                    {"commit": "d" * 40, "status": "identical", "reason": "r", "same_as": "b" * 40, "needs_s": 60, "functions": [{"name": "dot", "before": 1, "after": 0}]},
                    {"commit": "e" * 40, "status": "broken", "reason": "make: exit status 2"}]}
    measured = {"benchmark": "gemm", "metric": "time_ns", "backend": "cpu", "unit": "ns", "direction": "lower", "exact": False, "status": "ok",
                "reason": "none", "params": {"m": "1"}, "extra": {"role": "x"}, "operations": 2e6, "bytes": 3e4,
                "samples": [[1.5, 2.5]], "visits": [[0, 3]]}
    return {"schema": "perfci.run/1", "id": "a" * 32, "project": "demo", "commit": "b" * 40, "branch": "main", "suite": "quick",
            "suite_hash": "", "started_at": TIMES[0], "finished_at": TIMES[0], "job_id": 7, "job_fence": 2, "infra": False,
            "unsandboxed": True,
            "session": {"id": "c" * 32, "anchor": "d" * 40, "base": "e" * 40},
            "machine": {"name": "h", "class": "c", "fingerprint": {"cpu": "x"}, "hash": ""},
            "ceilings": [{"name": "L2 read", "kind": "memory", "unit": "B/s", "value": 1e11, "dtype": "", "level": "L2", "capacity_bytes": 5e5,
                          "backend": "cpu-*", "source": "measured", "at": TIMES[0]}],
            "measurements": [measured, {"benchmark": "gemm", "metric": "cycles", "status": "broken", "reason": "crash", "samples": []}]}


def broken(kind, schema, path, document):
    """(what, document) for each keyword of the schema at this place and below."""
    schema = kind.resolve(schema)
    value = at(document, path)

    def with_value(v):
        return put(copy.deepcopy(document), path, copy.deepcopy(v))

    for keyword, limit in schema.items():
        where = f"{shown(path)} {keyword}"
        if keyword == "required":
            for name in limit:
                yield where, with_value({k: v for k, v in value.items() if k != name})
        elif keyword == "properties":
            for name, below in limit.items():
                yield from broken(kind, below, (*path, name), document)
        elif keyword == "additionalProperties" and limit is False:
            yield where, with_value({**value, "sudo": 1})
        elif keyword == "additionalProperties":
            yield from broken(kind, limit, (*path, next(iter(value))), document)
        elif keyword == "propertyNames":
            for inner, bound in limit.items():
                for name in wrong_for(inner, bound, limit, "k"):
                    yield f"{where} {inner}", with_value({name: "v"})
        elif keyword == "items":
            yield from broken(kind, limit, (*path, 0), document)
        elif keyword == "then":
            yield where, with_value({k: v for k, v in value.items() if k != "samples"})
            yield where, with_value({**value, "samples": []})
            yield where, with_value({**value, "samples": None, "status": None})
        elif keyword == "else":
            yield where, with_value({**value, "status": "broken"})
            yield where, with_value({**{k: v for k, v in value.items() if k != "reason"}, "status": "skipped", "samples": []})
            yield where, with_value({**value, "status": "broken", "samples": [], "reason": None})
            for name in ("operations", "bytes"):
                yield where, with_value({**{k: v for k, v in value.items() if k not in ("operations", "bytes", "visits")},
                                         "status": "broken", "samples": [], name: 7})
        elif keyword == "allOf":
            yield where, with_value({**value, "same_as": None})
            yield where, with_value({**value, "status": "measured"})
            yield where, with_value({**value, "status": "not_measured", "same_as": None, "reason": None})
            yield where, with_value({**value, "status": "broken", "same_as": None, "reason": ""})
        elif keyword not in ANNOTATIONS | {"if", "$ref"}:
            for wrong in wrong_for(keyword, limit, schema, value):
                yield where, with_value(wrong)


class Schema(unittest.TestCase):
    def setUp(self):
        self.kinds = [Kind("run"), Kind("commits"), Kind("session")]
        for kind in self.kinds:
            self.addCleanup(kind.close)

    def judge(self, kind, data):
        """Both judge it; returns whether they took it."""
        answer = kind.read(data)
        try:
            document = strict(data)
        except NotJson as fault:
            self.assertNotEqual(answer["code"], "OK", f"{fault}: {data[:2000]}")
            return False
        faults = kind.faults(document)
        if answer["code"] == "OK":
            self.assertFalse(faults, f"taken, but the schema finds faults: {data[:2000]}")
            self.assertEqual(meaning(kind.name, answer["document"]), meaning(kind.name, document), data[:2000])
            return True
        self.assertTrue(faults, f"the schema finds no fault: {answer}: {data[:2000]}")
        if answer["message"].startswith("not valid JSON"):  # beyond a double, or a NUL: no tree to have a path in
            self.assertTrue(re.search(rb"\\u0000|\d{309}|[eE]\+?\d{3}", data), answer)
        else:
            self.assertIn(answer["field"], faults, answer)
            self.assertTrue(answer["message"].startswith(answer["field"]), answer)
        return False

    def test_each_keyword_broken_at_each_member_is_refused_with_its_path(self):
        for kind in self.kinds:
            document, done = whole(kind), set()
            self.assertTrue(self.judge(kind, json.dumps(document).encode()))
            for where, wrong in broken(kind, kind.schema, (), document):
                done.add(where)
                data = json.dumps(wrong).encode()
                with self.subTest(kind=kind.name, where=where):
                    if len(data) < LARGE:
                        self.assertFalse(self.judge(kind, data), data[:2000])
                    else:  # one thing was broken, so the schema's word on it is known
                        self.assertEqual(kind.read(data).get("field"), where.split(" ")[0])
            self.assertGreater(len(done), {"run": 110, "commits": 30, "session": 55}[kind.name])

    def test_limits_hold_at_the_value_itself(self):
        run, commits, _ = self.kinds
        measurements = run.schema["properties"]["measurements"]["maxItems"]
        blocks = run.schema["$defs"]["measurement"]["properties"]["samples"]["maxItems"]
        listed = commits.schema["properties"]["commits"]
        paths, parents = (listed["items"]["properties"][k]["maxItems"] for k in ("paths", "parents"))
        d = whole(run)
        m = d["measurements"][0]
        for edit in ({"branch": "\u00e9" * 100}, {"job_id": 2**53 - 1}, {"job_fence": 2**53 - 1}, {"job_id": 5.0}, {"infra": None}, {"unsandboxed": None}, {"project": None},
                     {"measurements": [{**m, "samples": [[2**64 - 1, -2**63, 10**300, 5e-324, -0.0]]}]},
                     {"measurements": [{**m, "operations": 1, "bytes": 1e30}]}, {"ceilings": []}, {"ceilings": None},
                     {"ceilings": [{**d["ceilings"][0], "kind": "compute", "unit": "OP/s", "value": 10**30}]},
                     {"started_at": TIMES[3], "finished_at": TIMES[2]}):
            with self.subTest(edit=edit):
                self.assertTrue(self.judge(run, json.dumps({**d, **edit}).encode()))
        for edit, field in (
                ({"measurements": [{**m, "samples": [[1] * 10] * blocks, "visits": [[b, 0] for b in range(blocks)]}]}, None),
                ({"measurements": [{**m, "samples": [[1.0] * 100000], "visits": [[100000, 100000]]}]}, None),
                ({"measurements": [{**m, "samples": [[1.0] * 100000, [1.0]]}]}, "measurements[0].samples[1]"),
                ({"measurements": [{"benchmark": f"b{i}", "metric": "t", "samples": [[1]]} for i in range(measurements)]}, None),
                ({"measurements": [{**m, "params": {f"k{i}": "\u00e9" * 2048 for i in range(128)}}]}, None),
                ({"measurements": [m, {**m, "benchmark": "b"}, {**m, "status": "skipped", "samples": [], "visits": None, "operations": None, "bytes": None}]}, "measurements[2]"),
                ({"ceilings": d["ceilings"] * run.schema["properties"]["ceilings"]["maxItems"]}, None),
                ({"ceilings": [{**d["ceilings"][0], "kind": "compute"}]}, "ceilings[0].unit"),
                ({"ceilings": [*d["ceilings"], {**d["ceilings"][0], "unit": "OP/s"}]}, "ceilings[1].unit"),
                ({"measurements": [{**m, "samples": [[1], [2]], "visits": [[1, 0], [1, 0]]}]}, "measurements[0].visits[1]")):
            with self.subTest(edit=str(edit)[:100]):
                self.assertEqual(run.read(json.dumps({**d, **edit}).encode()).get("field"), field)
        d = whole(commits)
        one = d["commits"][0]
        for edit in ({"subject": "\u00e9" * 2048}, {"time": TIMES[1]}, {"paths": None}, {"parents": []}, {"parents": ["b" * 40] * parents}):
            with self.subTest(edit=edit):
                self.assertTrue(self.judge(commits, json.dumps({**d, "commits": [{**one, **edit}]}).encode()))
        for edit, field in (({"commits": [{**one, "paths": ["p"] * paths}]}, None),
                            ({"commits": [{**one, "id": f"{i:040x}"} for i in range(listed["maxItems"])]}, None),
                            ({"commits": [{**one, "parents": ["c" * 40, one["id"]]}]}, "commits[0].parents[1]")):
            with self.subTest(edit=str(edit)[:100]):
                self.assertEqual(commits.read(json.dumps({**d, **edit}).encode()).get("field"), field)

    def test_random_documents_are_judged_the_same_by_both(self):
        for kind in self.kinds:
            taken = refused = 0
            for i in range(DOCUMENTS):
                r = random.Random(f"{SEED} {kind.name} {i}")
                document = value_for(r, kind, kind.schema)
                for _ in range(r.choice([0, 1, 1, 1, 2])):
                    document = change(r, document)
                    if not isinstance(document, (dict, list)):
                        break
                data = spelled(r, document)
                if r.random() < 0.3:
                    data = damaged(r, data)
                with self.subTest(kind=kind.name, seed=SEED, document=i):
                    ok = self.judge(kind, data)
                    taken += ok
                    refused += not ok
            self.assertGreater(min(taken, refused), DOCUMENTS // 8, f"{kind.name}: {taken} taken, {refused} refused")
            print(f"{kind.name}: {taken} taken, {refused} refused by both")


if __name__ == "__main__":
    for option in ("--documents", "--seed"):
        if option in sys.argv:
            place = sys.argv.index(option)
            globals()[option[2:].upper()] = int(sys.argv[place + 1])
            del sys.argv[place:place + 2]
    unittest.main(verbosity=1)
