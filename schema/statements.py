"""Writes C for the named statements of schema/queries: a header a file, and one source for all.

usage: statements.py SCHEMA_DIR OUT_DIR

For each statement X the header has, as far as X has parameters and columns:

    pfc_sql_X_args   its parameters
    pfc_sql_X_row    a row of its result
    pfc_sql_X_rows   the list of them: {items, len, next, hold}; pfc_rows_clear frees it
    pfc_sql_X(tx, &(pfc_sql_X_args){ .a = 1 }, &rows, err)
    pfc_sql_X_once   the same on a pfc_db, with `also: once`

Of a COPY: pfc_sql_X_add(&copy, &row) and pfc_sql_X(tx, &copy, err), pfc_sql_X_commit(tx, &copy, err).
"""

import pathlib
import sys

import named_sql

FOLDER = "server/repo/sql"
C_TYPES = {
    "id": "int64_t ", "i64": "int64_t ", "i32": "int32_t ", "f64": "double ", "bool": "bool ",
    "text": "const char *", "json": "const char *", "timestamp": "const char *", "date": "const char *",
    "bytes": "pfc_bytes ", "text[]": "const char *const *", "i64[]": "const int64_t *", "u32[]": "const uint32_t *",
    "f64[]": "const double *", "bool[]": "const bool *",
}
KINDS = {
    "id": "ID", "i64": "I64", "i32": "I32", "f64": "F64", "bool": "BOOL", "text": "TEXT", "json": "JSON",
    "timestamp": "TIMESTAMP", "date": "DATE", "bytes": "BYTES", "void": "VOID", "text[]": "TEXTS", "i64[]": "I64S",
    "u32[]": "U32S", "f64[]": "F64S", "bool[]": "BOOLS",
}


def field(member):
    """JSON text has a name that says so."""
    return f"{member.name}_json" if member.type == "json" and not member.name.endswith("_json") else member.name


def length_of(member, arrays):
    return arrays or f"{field(member)}_len"


def struct(name, members, results, arrays=None):
    lines = [f"typedef struct {name} {{"]
    for member in members:
        if member.type == "void":
            continue
        comment = ""
        if member.type == "id":
            comment = " /* 0: NULL */"
        elif member.nullable and member.type != "bool":
            comment = " /* may be NULL */"
        if results and member.type.endswith("[]"):
            lines.append(f"    pfc_array_text {field(member)};")
        else:
            c_type = "pfc_maybe " if member.type == "bool" and member.nullable else C_TYPES[member.type]
            lines.append(f"    {c_type}{field(member)};{comment}")
            if member.type.endswith("[]") and not arrays:
                lines.append(f"    size_t {length_of(member, None)};")
    if arrays:
        lines.append(f"    size_t {arrays}; /* of each array */")
    return lines + [f"}} {name};"]


def result_of(statement):
    """The parameter that takes the result, NULL without one."""
    if statement.count:
        return "size_t *changed"
    if "value" in statement.lists:
        return f"{C_TYPES[statement.lists['value'][0].type]}*value".replace(" *", " *")
    if has_rows(statement):
        return f"{row_name(statement)}s *out"
    return None


def has_rows(statement):
    return any(member.type != "void" for member in statement.lists.get("out", []))


def row_name(statement):
    return f"pfc_sql_{statement.row or statement.name}_row"


def prototype(statement, once=False):
    parts = ["pfc_db *db" if once else "pfc_tx *tx"]
    if statement.lists.get("in"):
        parts.append(f"const pfc_sql_{statement.name}_args *args")
    if result_of(statement):
        parts.append(result_of(statement))
    return f"pfc_code pfc_sql_{statement.name}{'_once' if once else ''}({', '.join(parts)}, pfc_err *err)"


def copy_prototypes(statement):
    name = f"pfc_sql_{statement.name}"
    return [
        f"void {name}_add(pfc_copy *copy, const {name}_row *row)",
        f"pfc_code {name}(pfc_tx *tx, pfc_copy *copy, pfc_err *err)",
        f"pfc_code {name}_commit(pfc_tx *tx, pfc_copy *copy, pfc_err *err)",
    ]


def header(stem, statements, written_rows):
    guard = f"PFC_SERVER_REPO_SQL_{stem.upper()}_H"
    lines = [f"/* Made by schema/statements.py from schema/queries/{stem}.sql; edit that instead. */",
             f"#ifndef {guard}", f"#define {guard}", "", '#include "server/repo/statements/statement.h"']
    lines += sorted({f'#include "{FOLDER}/{written_rows[s.row]}.h"' for s in statements
                     if s.row and written_rows.get(s.row, stem) != stem})
    for statement in statements:
        lines += ["", f"/* ---- {statement.name} ---- */", ""]
        if statement.prose:
            lines += ["/*"] + [f" * {line}".rstrip().replace("*/", "* /") for line in statement.prose] + [" */"]
        if statement.is_copy:
            lines += struct(f"pfc_sql_{statement.name}_row", statement.lists["copy"], False)
            first, *others = copy_prototypes(statement)
            lines += [f"{first};"] + [f"{other} PFC_MUSTCHECK;" for other in others]
            continue
        if statement.lists.get("in"):
            lines += struct(f"pfc_sql_{statement.name}_args", statement.lists["in"], False, statement.arrays)
        if has_rows(statement) and (not statement.row or statement.row not in written_rows):
            lines += struct(row_name(statement), statement.lists["out"], True)
            lines.append(f"PFC_ROWS({row_name(statement)}s, {row_name(statement)});")
            if statement.row:
                written_rows[statement.row] = stem
        lines.append(f"{prototype(statement)} PFC_MUSTCHECK;")
        if statement.also:
            lines.append(f"{prototype(statement, once=True)} PFC_MUSTCHECK;")
    return "\n".join(lines + ["", "#endif", ""])


def members_table(statement, kind, struct_name):
    lines = [f"static const pfc_sql_member {statement.name}_{kind}[] = {{"]
    for member in statement.lists[kind]:
        parts = [f'"{member.name}"', f"PFC_SQL_{KINDS[member.type]}", "true" if member.nullable else "false"]
        if kind == "value":
            parts += ["0", "0"]
        elif member.type != "void":
            parts.append(f"offsetof({struct_name}, {field(member)})")
            counted = kind == "in" and member.type.endswith("[]")
            parts.append(f"offsetof({struct_name}, {length_of(member, statement.arrays)})" if counted else "0")
        else:
            parts += ["0", "0"]
        lines.append(f"    {{ {', '.join(parts)} }},")
    return lines + ["};"]


COPY_CALLS = {"i64": "i64", "i32": "i32", "f64": "f64", "json": "json", "f64[]": "f64s", "u32[]": "u32s"}


def copy_functions(statement):
    name, columns = f"pfc_sql_{statement.name}", statement.lists["copy"]
    add, store, store_commit = copy_prototypes(statement)
    lines = [add, "{", f"    pfc_copy_row(copy, {len(columns)});"]
    for column in columns:
        length = f", row->{field(column)}_len" if column.type.endswith("[]") else ""
        call = f"pfc_copy_{COPY_CALLS[column.type]}(copy, row->{field(column)}{length});"
        if column.nullable:
            lines += [f"    if (row->{field(column)})", f"        {call}", "    else", "        pfc_copy_null(copy);"]
        else:
            lines.append(f"    {call}")
    lines += ["}", ""]
    for proto, function in ((store, "pfc_tx_copy"), (store_commit, "pfc_tx_copy_commit")):
        lines += [proto, "{", f'    return {function}(tx, "{statement.name}", copy, err);', "}", ""]
    return lines


def function(statement, index):
    args = "args" if statement.lists.get("in") else "NULL"
    call = f"&pfc_sql_statements[{index}], {args}"
    lines = [prototype(statement), "{"]
    if statement.count:
        lines.append(f"    return pfc_sql_count(tx, {call}, changed, err);")
    elif "value" in statement.lists:
        lines.append(f"    return pfc_sql_value(tx, {call}, value, err);")
    elif has_rows(statement):
        lines += ["    pfc_rows rows = { 0 };",
                  f"    pfc_code code = pfc_sql_run(tx, {call}, out ? &rows : NULL, err);", "",
                  "    if (!code && out)", "        PFC_ROWS_INTO(out, rows);", "    return code;"]
    else:
        lines.append(f"    return pfc_sql_run(tx, {call}, NULL, err);")
    return lines + ["}", ""]


def once_function(statement):
    parts = ["tx"] + (["args"] if statement.lists.get("in") else [])
    if result_of(statement):
        parts.append(result_of(statement).split("*")[-1])
    return [prototype(statement, once=True), "{", "    pfc_tx *tx = NULL;",
            "    pfc_code code = pfc_tx_begin(&tx, db, PFC_TX_AUTO, err);", "", "    if (!code)",
            f"        code = pfc_sql_{statement.name}({', '.join(parts)}, err);", "    pfc_tx_free(tx);",
            "    return code;", "}", ""]


def source(stems, statements):
    lines = ["/* Made by schema/statements.py from schema/queries; edit that instead. */", "#include <stddef.h>", ""]
    lines += [f'#include "{FOLDER}/{stem}.h"' for stem in stems] + [""]
    table = []
    for statement in statements:
        parts = {"in": ("NULL", 0), "out": ("NULL", 0)}
        size, binary = "0", "false"
        for kind in ("in", "out", "value"):
            if not statement.lists.get(kind):
                continue
            owner = row_name(statement) if kind == "out" else f"pfc_sql_{statement.name}_args"
            lines += members_table(statement, kind, owner)
            parts["out" if kind == "value" else kind] = (f"{statement.name}_{kind}", len(statement.lists[kind]))
            if kind == "out" and has_rows(statement):
                size = f"sizeof({owner})"
                binary = "true" if any(m.type == "bytes" for m in statement.lists[kind]) else "false"
            elif kind == "value":
                size = f"sizeof({C_TYPES[statement.lists[kind][0].type].strip()})"
        table.append(f'    {{ "{statement.name}", {parts["in"][0]}, {parts["in"][1]}, {parts["out"][0]}, '
                     f'{parts["out"][1]}, {size}, {binary} }},')
    lines += ["", "const pfc_sql_statement pfc_sql_statements[] = {"] + table + ["};"]
    lines += [f"const size_t pfc_sql_statements_len = {len(statements)};", ""]
    for index, statement in enumerate(statements):
        lines += copy_functions(statement) if statement.is_copy else function(statement, index)
        if statement.also:
            lines += once_function(statement)
    return "\n".join(lines)


def write_changed(path, text):
    """A file that stays as it was keeps its time, so that what includes it is not compiled again."""
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")


def main():
    if len(sys.argv) != 3:
        sys.exit("usage: statements.py SCHEMA_DIR OUT_DIR")
    queries, out = pathlib.Path(sys.argv[1]) / "queries", pathlib.Path(sys.argv[2])
    statements = named_sql.read(queries)
    out.mkdir(parents=True, exist_ok=True)
    stems = sorted({statement.file.stem for statement in statements})
    written_rows = {}
    for stem in stems:
        own = sorted((s for s in statements if s.file.stem == stem), key=lambda s: s.line)
        write_changed(out / f"{stem}.h", header(stem, own, written_rows))
    (out / "statements.c").write_text(source(stems, statements), encoding="utf-8")


if __name__ == "__main__":
    main()
