/*
 * Rules that a distribution of the tables by project_id needs (Citus is what was tried), checked on
 * an ordinary PostgreSQL. Exceptions are listed in tests/data/shards.txt, each with its reason; one
 * that no longer applies is a fault, too.
 *
 * The tables of a project have project_id first in their primary key. Others are the service's.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/fs.h"

#include "schema/schema.h"
#include "tests/check/check.h"
#include "tests/support/support.h"

/* A fault is a rule and a name. Statements are searched without their comments and texts. */
static const char prepare[] = "CREATE SCHEMA test;"
                              "CREATE TABLE test.statements (name text, sql text);"
                              "CREATE TABLE test.listed (rule text, name text);"
                              "CREATE TABLE test.found (rule text, name text)";

static const char tables[] =
    "UPDATE test.statements SET sql = regexp_replace(regexp_replace(sql, '--[^\\n]*', '', 'g'),"
    "  '''([^'']|'''')*''', '''''', 'g');"
    "CREATE VIEW test.tables AS SELECT c.oid, c.relname AS name FROM pg_class c"
    " JOIN pg_index i ON i.indrelid = c.oid AND i.indisprimary"
    " JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = i.indkey[0]"
    " WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p')"
    "  AND NOT c.relispartition AND a.attname = 'project_id';"
    "CREATE TABLE test.asked AS SELECT s.name, s.sql,"
    "  s.sql ~ 'project_id\\s*=\\s*(ANY\\s*\\()?\\$\\d'"
    "   OR s.sql ~ 'unnest\\s*\\(.*\\)\\s*(WITH ORDINALITY )?AS \\w+ \\([^)]*\\mproject_id\\M'"
    "   OR s.sql ~ '(INSERT INTO|COPY)\\s+\\w+(\\s+AS\\s+\\w+)?\\s*\\(\\s*project_id\\M' AS named"
    " FROM test.statements s WHERE EXISTS (SELECT 1 FROM test.tables t"
    "  WHERE s.sql ~ ('(FROM|JOIN|UPDATE|INTO|USING|COPY|,)\\s+(ONLY\\s+)?' || t.name || '\\M'))";

static const char *const rules[] = {
    /* A statement on the tables of a project says which project. */
    "INSERT INTO test.found SELECT 'project', name FROM test.asked WHERE NOT named",
    /* Rows are locked in the shard of one project. */
    "INSERT INTO test.found SELECT 'lock', name FROM test.asked"
    " WHERE NOT named AND sql ~ '\\mFOR (NO KEY )?(UPDATE|SHARE|KEY SHARE)\\M'",
    /* An update computes the same on every copy of a shard. */
    "INSERT INTO test.found SELECT 'volatile', a.name FROM test.asked a"
    " WHERE regexp_replace(a.sql, '(FOR (NO KEY )?|DO )UPDATE', '', 'g') ~ '\\mUPDATE\\M'"
    "  AND EXISTS (SELECT 1 FROM pg_proc p WHERE p.provolatile = 'v' AND p.prokind = 'f'"
    "   AND a.sql ~ ('\\m' || p.proname || '\\s*\\('))",
    /* A row to be inserted is known without another question. */
    "INSERT INTO test.found SELECT 'values', name FROM test.asked"
    " WHERE sql ~ 'VALUES\\s*\\(([^()]|\\([^()]*\\))*\\(\\s*SELECT\\M'",
    /* A trigger runs where its row is. */
    "INSERT INTO test.found SELECT 'trigger', x.name || '.' || t.tgname FROM pg_trigger t"
    " JOIN test.tables x ON x.oid = t.tgrelid WHERE NOT t.tgisinternal AND t.tgtype & 1 = 0",
    /* A column has a sequence of its own. */
    "INSERT INTO test.found SELECT 'sequence', s.relname FROM pg_class s"
    " JOIN pg_depend d ON d.refobjid = s.oid AND d.classid = 'pg_attrdef'::regclass"
    " JOIN pg_attrdef f ON f.oid = d.objid WHERE s.relkind = 'S' GROUP BY s.relname"
    " HAVING count(DISTINCT f.adrelid) + (SELECT count(*) FROM pg_depend o WHERE o.objid = "
    "  min(s.oid::int8)::oid AND o.deptype = 'i') > 1",
    /* A reference stays within its project, or leads to a table that every shard has. */
    "INSERT INTO test.found SELECT 'reference', x.name || ' ' || y.relname FROM pg_constraint k"
    " JOIN test.tables x ON x.oid = k.conrelid JOIN pg_class y ON y.oid = k.confrelid"
    " WHERE k.contype = 'f' AND k.conparentid = 0 AND NOT EXISTS (SELECT 1 FROM"
    "  unnest(k.conkey, k.confkey) AS c (from_number, to_number)"
    "  JOIN pg_attribute a ON a.attrelid = k.conrelid AND a.attnum = c.from_number"
    "  JOIN pg_attribute b ON b.attrelid = k.confrelid AND b.attnum = c.to_number"
    "  WHERE a.attname = 'project_id' AND (b.attname = 'project_id' OR y.relname = 'projects'))",
    /* A key is unique within a shard, so it holds the project. */
    "INSERT INTO test.found SELECT 'unique', c.relname FROM pg_index i"
    " JOIN test.tables x ON x.oid = i.indrelid JOIN pg_class c ON c.oid = i.indexrelid"
    " WHERE i.indisunique AND NOT EXISTS (SELECT 1 FROM pg_attribute a WHERE a.attrelid = x.oid"
    "  AND a.attnum = ANY (i.indkey::int2[]) AND a.attname = 'project_id')",
    /* Deleting or changing a row never writes the project of another row. */
    "INSERT INTO test.found SELECT 'action', x.name || '.' || k.conname FROM pg_constraint k"
    " JOIN test.tables x ON x.oid = k.conrelid WHERE k.contype = 'f' AND k.conparentid = 0"
    "  AND (k.confdeltype IN ('n', 'd') OR k.confupdtype IN ('c', 'n', 'd'))",
    /* A table is distributed after those that it refers to: in the order in which the migrations
     * make the tables, or a line says otherwise. The oid of a table tells when it was made. */
    "CREATE VIEW test.references AS SELECT DISTINCT x.oid, x.name, y.oid AS to_oid,"
    "  y.name AS to_name FROM pg_constraint k JOIN test.tables x ON x.oid = k.conrelid"
    " JOIN test.tables y ON y.oid = k.confrelid"
    " WHERE k.contype = 'f' AND k.conparentid = 0 AND x.oid <> y.oid",
    "INSERT INTO test.found SELECT 'order', name || ' ' || to_name FROM test.references"
    " WHERE to_oid > oid",
    /* Without a circle there is such an order. */
    "INSERT INTO test.found WITH RECURSIVE reached AS (SELECT oid, name, to_oid FROM"
    "  test.references UNION SELECT r.oid, r.name, n.to_oid FROM reached r"
    "  JOIN test.references n ON n.oid = r.to_oid)"
    " SELECT DISTINCT 'circle', name FROM reached WHERE oid = to_oid",
    /* No table of the service refers to one of a project. */
    "INSERT INTO test.found SELECT 'reference', x.relname || ' ' || y.name FROM pg_constraint k"
    " JOIN pg_class x ON x.oid = k.conrelid JOIN test.tables y ON y.oid = k.confrelid"
    " WHERE k.contype = 'f' AND k.conparentid = 0 AND NOT x.relispartition"
    "  AND x.oid NOT IN (SELECT oid FROM test.tables)",
};

/* Adds what the file lists: a line "rule: reason" before lines of names, which begin with blanks.
 */
static void read_listed(pfc_buf *sql)
{
    char *text, *rest;
    char rule[32] = "";
    size_t len = 0;
    pfc_err err = { 0 };

    cr_assert(eq(int, pfc_fs_read(PFC_TEST_DATA "/shards.txt", 1 << 20, &text, &len, &err), PFC_OK),
              "%s", err.msg);
    for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
        char *names;

        if (*line == '#')
            continue;
        if (*line != ' ') {
            cr_assert(ne(ptr, strstr(line, ": "), NULL), "expected \"RULE: REASON\", got \"%s\"",
                      line);
            (void)snprintf(rule, sizeof(rule), "%.*s", (int)strcspn(line, ":"), line);
            continue;
        }
        for (char *name = strtok_r(line, ",", &names); name; name = strtok_r(NULL, ",", &names))
            pfc_buf_printf(sql, "INSERT INTO test.listed VALUES ('%s', trim('%s'));", rule, name);
    }
    free(text);
}

Test(shards, what_a_distribution_by_project_needs_is_kept_or_listed)
{
    char *url = pfc_test_db_url(false), *faults;
    pfc_buf sql;

    pfc_test_sql(url, prepare);
    pfc_buf_init(&sql, 4 << 20);
    for (size_t i = 0; i < pfc_statements_len; i++)
        pfc_buf_printf(&sql, "INSERT INTO test.statements VALUES ('%s', $shard$%s$shard$);",
                       pfc_statements[i].name, pfc_statements[i].sql);
    read_listed(&sql);
    pfc_test_sql(url, pfc_buf_text(&sql));
    pfc_buf_clear(&sql);
    pfc_test_sql(url, tables);
    for (size_t i = 0; i < PFC_ARRAY_LEN(rules); i++)
        pfc_test_sql(url, rules[i]);
    faults = pfc_test_sql_value(
        url, "SELECT string_agg(line, E'\\n' ORDER BY line) FROM ("
             " SELECT 'not listed: ' || rule || ' ' || name AS line FROM"
             "  (SELECT * FROM test.found EXCEPT SELECT * FROM test.listed) f"
             " UNION ALL SELECT 'listed, and does not apply: ' || rule || ' ' || name FROM"
             "  (SELECT * FROM test.listed EXCEPT SELECT * FROM test.found) l) lines");
    cr_assert(eq(str, faults ? faults : (char *)"", (char *)""));
    free(faults);
    free(url);
}
