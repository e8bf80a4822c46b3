"""Turns schema/migrations/*.sql and the named blocks of schema/queries/*.sql into one C file.

usage: embed.py SCHEMA_DIR OUT.c
"""

import pathlib
import re
import sys

import named_sql
from named_sql import fail


def migrations(folder):
    found = []
    for path in sorted(folder.glob("*.sql")):
        match = re.fullmatch(r"(\d{4})_([a-z0-9_]+)", path.stem)
        if not match:
            fail(path, 1, "a migration is called NNNN_words.sql")
        if int(match[1]) != len(found) + 1:
            fail(path, 1, f"expected number {len(found) + 1:04d}: versions have no gaps")
        found.append((int(match[1]), path.stem, path.read_text(encoding="utf-8")))
    return found


def c_string(text):
    lines = text.split("\n")
    out = []
    for index, line in enumerate(lines):
        tail = "\\n" if index + 1 < len(lines) else ""
        escaped = line.replace("\\", "\\\\").replace('"', '\\"').replace("?", "\\?")
        out.append(f'        "{escaped}{tail}"')
    return "\n".join(out)


def main():
    schema, out = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    parts = ["/* Made by schema/embed.py; edit the SQL instead. */", '#include "schema/schema.h"', ""]
    # A string literal may be 4095 bytes by the standard; gcc and clang take far longer ones.
    parts.append('#pragma GCC diagnostic ignored "-Woverlength-strings"')
    parts.append("const pfc_migration pfc_migrations[] = {")
    found = migrations(schema / "migrations")
    for version, name, sql in found:
        parts.append(f'    {{ {version}, "{name}",\n{c_string(sql)} }},')
    parts += ["};", f"const size_t pfc_migrations_len = {len(found)};", ""]
    parts.append("const pfc_statement pfc_statements[] = {")
    named = named_sql.read(schema / "queries")
    for statement in named:
        copy = "true" if statement.is_copy else "false"
        generic = "true" if statement.plan else "false"
        parts.append(f'    {{ "{statement.name}",\n{c_string(statement.sql)}, {copy}, {generic} }},')
    parts += ["};", f"const size_t pfc_statements_len = {len(named)};", ""]
    out.write_text("\n".join(parts), encoding="utf-8")


if __name__ == "__main__":
    main()
