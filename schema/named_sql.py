"""Reads schema/queries/*.sql: named statements with the types of their parameters and columns.

    -- name: alert_lock
    -- What the statement is for, in any number of lines.
    -- in: alert_id i64
    -- out: project_id i64, state text, culprit text, drift bool
    SELECT ...

`in` names the parameters $1, $2, ... in order, `out` the columns of the result. Without `out` the statement is a
command. `out: count` counts the rows that a command changed; `value: NAME TYPE` is the one column of at most one row.
`row: NAME` gives the struct of a row a name that several statements share. `arrays: NAME` says that the arrays of `in`
have one length, which is the member NAME. `copy` lists the columns of a COPY. `also: once` adds a function that runs
the statement on a connection of its own. `plan: generic` is for a statement that is run so often that planning it for
its values would cost more than it gains: it has one plan for all values, which uses indexes, as have the others of a
transaction that it begins.
A list goes on in the next line after four blanks.

Types: id (i64 whose 0 is NULL), i64, i32 (copy only), f64 (NaN is NULL), bool, text, json, timestamp and date (both as
PostgreSQL prints them), bytes, void (a column without a member), and text[], i64[], u32[], f64[], bool[]. A `?` after a
parameter's type says that it may be NULL; an array that may not is empty when its pointer is NULL. A `bool?` is a
pfc_maybe, also as a column.
"""

import dataclasses
import pathlib
import re
import sys

NAME = re.compile(r"^-- name: ([a-z][a-z0-9_]*)$")
LIST = re.compile(r"^-- (in|out|value|copy|row|arrays|also|plan): (.+)$")
MORE = re.compile(r"^--    +(\S.*)$")
MEMBER = re.compile(r"^([a-z][a-z0-9_]*) ([a-z0-9]+(?:\[\])?)(\?)?$")
SCALARS = ("id", "i64", "i32", "f64", "bool", "text", "json", "timestamp", "date", "bytes", "void")
ARRAYS = ("text[]", "i64[]", "u32[]", "f64[]", "bool[]")
BINARY = ("bytes", "text", "json", "i64", "f64", "bool")  # read where the result is binary
TYPES_OF = {
    "in": {"id", "i64", "f64", "bool", "text", "json", "timestamp", "date", "bytes", *ARRAYS},
    "out": {"i64", "f64", "bool", "text", "json", "timestamp", "date", "bytes", "void", "f64[]", "u32[]", "i64[]",
            "text[]"},
    "value": {"i64", "f64", "bool"},
    "copy": {"i64", "i32", "f64", "json", "f64[]", "u32[]"},
}
# Names that a member of a C struct cannot have.
KEYWORDS = set(
    "auto bool break case char const continue default do double else enum extern float for goto if inline int long "
    "register restrict return short signed sizeof static struct switch typedef union unsigned void volatile while".split()
)


@dataclasses.dataclass
class Member:
    name: str
    type: str
    nullable: bool


@dataclasses.dataclass
class Statement:
    name: str
    file: pathlib.Path
    line: int
    prose: list = dataclasses.field(default_factory=list)
    lists: dict = dataclasses.field(default_factory=dict)  # of in, out, value, copy: members
    row: str = None
    arrays: str = None
    also: str = None
    plan: str = None
    count: bool = False
    lines: list = dataclasses.field(default_factory=list)

    @property
    def sql(self):
        return "\n".join(self.lines).strip()[:-1]

    @property
    def is_copy(self):
        return self.sql.startswith("COPY ")


def fail(path, line, message):
    sys.exit(f"{path}:{line}: {message}")


def read_members(statement, kind, text, line):
    members = []
    for part in text.split(","):
        match = MEMBER.match(part.strip())
        if not match:
            fail(statement.file, line, f"{kind}: expected NAME TYPE, got \"{part.strip()}\"")
        name, kind_of, nullable = match[1], match[2], bool(match[3])
        if kind_of not in SCALARS + ARRAYS:
            fail(statement.file, line, f"{kind}: {name} has the unknown type {kind_of}")
        if kind_of not in TYPES_OF[kind]:
            fail(statement.file, line, f"{kind}: {name} cannot have the type {kind_of} here")
        if name in KEYWORDS:
            fail(statement.file, line, f"{kind}: {name} is a keyword of C")
        if kind_of != "void" and any(name == other.name for other in members):
            fail(statement.file, line, f"{kind}: {name} is there twice")
        members.append(Member(name, kind_of, nullable))
    return members


def take_list(statement, kind, text, line):
    if kind in statement.lists or getattr(statement, kind, None):
        fail(statement.file, line, f"{kind} is there twice")
    if kind in ("row", "arrays", "also", "plan"):
        setattr(statement, kind, text)
    elif kind == "out" and text == "count":
        statement.count = True
    else:
        statement.lists[kind] = read_members(statement, kind, text, line)


def check(statement):
    text = "\n".join(statement.lines).strip()
    if not text.endswith(";") or ";" in text[:-1]:
        fail(statement.file, statement.line, f"{statement.name}: expected exactly one statement, ended by a semicolon")
    used = {int(number) for number in re.findall(r"\$(\d+)", text)}
    declared = len(statement.lists.get("in", []))
    if used != set(range(1, declared + 1)):
        numbers = ", ".join(f"${number}" for number in sorted(used)) or "none"
        fail(statement.file, statement.line, f"{statement.name}: expected $1 to ${declared} as `in` has it, got {numbers}")
    if statement.is_copy != ("copy" in statement.lists):
        fail(statement.file, statement.line, f"{statement.name}: a COPY, and no other statement, has a `copy` list")
    if sum(kind in statement.lists for kind in ("out", "value", "copy")) + statement.count > 1:
        fail(statement.file, statement.line, f"{statement.name}: expected one of `out`, `value`, `copy`")
    if len(statement.lists.get("value", [None])) != 1:
        fail(statement.file, statement.line, f"{statement.name}: `value` is one column")
    outs = [member for member in statement.lists.get("out", []) if member.type != "void"]
    # With bytes the whole result comes in binary form.
    if any(m.type == "bytes" for m in outs) and any(m.type not in BINARY for m in outs):
        fail(statement.file, statement.line, f"{statement.name}: beside bytes only {', '.join(BINARY[1:])} are read")
    if statement.also not in (None, "once"):
        fail(statement.file, statement.line, f"{statement.name}: also: expected once, got {statement.also}")
    if statement.plan not in (None, "generic") or (statement.plan and statement.is_copy):
        fail(statement.file, statement.line, f"{statement.name}: plan: expected generic, of no COPY, got {statement.plan}")
    if statement.arrays and statement.arrays in KEYWORDS | {m.name for m in statement.lists.get("in", [])}:
        fail(statement.file, statement.line, f"{statement.name}: arrays: {statement.arrays} is taken")
    if statement.arrays and sum(m.type in ARRAYS for m in statement.lists.get("in", [])) < 2:
        fail(statement.file, statement.line, f"{statement.name}: `arrays` is for two or more of them")
    if statement.row and not outs:
        fail(statement.file, statement.line, f"{statement.name}: `row` names the struct of `out`, which is not there")


def read_file(path, found):
    statement, pending = None, None  # pending: a list that may go on: kind, text, line

    def close():
        nonlocal pending
        if pending:
            take_list(statement, *pending)
        pending = None

    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        more = MORE.match(line) if pending else None
        if more:
            pending = (pending[0], f"{pending[1]} {more[1]}", pending[2])
            continue
        close()
        if match := NAME.match(line):
            if match[1] in found:
                fail(path, number, f"statement {match[1]} is there twice")
            statement = found[match[1]] = Statement(match[1], path, number)
        elif statement and not statement.lines and (match := LIST.match(line)):
            pending = (match[1], match[2], number)
        elif line.startswith("--"):
            if statement and not statement.lines:
                statement.prose.append(line[2:].strip())
        elif line.strip():
            if statement is None:
                fail(path, number, "SQL before the first '-- name:'")
            statement.lines.append(line)


def columns(statement):
    return sorted((member.name, member.type) for member in statement.lists["out"])


def read(folder):
    """All statements, sorted by name."""
    found = {}
    for path in sorted(folder.glob("*.sql")):
        read_file(path, found)
    for statement in found.values():
        check(statement)
    rows = {}
    for statement in found.values():
        if statement.row and columns(rows.setdefault(statement.row, statement)) != columns(statement):
            fail(statement.file, statement.line,
                 f"{statement.name}: row {statement.row} has other columns in {rows[statement.row].name}")
    return [found[name] for name in sorted(found)]
