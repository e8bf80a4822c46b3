/*
 * perfci admin backup, restore, check, migrate: the whole database into a file and back, whether
 * what is stored holds together, and the schema where the server may not change it.
 *
 * Other programs do the work, as child processes: pg_dump takes one snapshot while the service goes
 * on, pg_restore brings it back in one transaction or not at all, perfci-server --migrate migrates.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/commands.h"
#include "cli/local/pg_programs.h"
#include "cli/local/stack.h"
#include "cli/output/output.h"
#include "core/base/config/conf.h"
#include "core/base/fs.h"
#include "core/base/process/proc.h"

#include "schema/schema.h"

#define HOURS_MAX_S PFC_PG_LONGEST_S

typedef struct store_opts {
    const char *data, *role;
    const char *words[2]; /* what, FILE */
    size_t words_len;
} store_opts;

static const pfc_option options[] = {
    PFC_OPT_TEXT("data", "DIR", store_opts, data,
                 "Data folder of `perfci up`, unless PERFCI_DATABASE_URL is set", .letter = 'd'),
    PFC_OPT_TEXT("server-role", "NAME", store_opts, role,
                 "With migrate: grant this role the rights that servers need"),
    { 0 },
};

static const char doc[] =
    "Backs the database up, brings a backup back, checks what is stored, migrates."
    "\vThe database is the one of PERFCI_DATABASE_URL (or PERFCI_DATABASE_URL_FILE), else that of "
    "the\n"
    "running `perfci up`. A password belongs into PGPASSWORD or ~/.pgpass, not into the URL: the\n"
    "arguments of running programs can be seen by everyone.\n"
    "restore requires an empty database and writes everything in one transaction.\n"
    "check exits with 0 when all holds, 5 when something does not.\n"
    "migrate is for servers that connect as a role which owns nothing: as the role that owns the\n"
    "database, or as a superuser, it brings the schema up to date; others migrate when they "
    "start.\n"
    "\n"
    "Examples:\n"
    "  perfci admin backup nightly.dump\n"
    "  createdb perfci2 && PERFCI_DATABASE_URL=postgresql:///perfci2 perfci admin restore "
    "nightly.dump\n"
    "  perfci admin check --json\n"
    "  PERFCI_DATABASE_URL=dbname=perfci perfci admin migrate --server-role perfci-server\n";

static error_t parse(int key, char *arg, struct argp_state *state)
{
    store_opts *o = state->input;
    bool file;

    switch (key) {
    case ARGP_KEY_ARG:
        if (o->words_len == PFC_ARRAY_LEN(o->words))
            pfc_cli_usage(state, "too many arguments");
        o->words[o->words_len++] = arg;
        return 0;
    case ARGP_KEY_END:
        if (o->words_len == 0 ||
            (strcmp(o->words[0], "backup") != 0 && strcmp(o->words[0], "restore") != 0 &&
             strcmp(o->words[0], "check") != 0 && strcmp(o->words[0], "migrate") != 0))
            pfc_cli_usage(state, "expected backup FILE, restore FILE, check or migrate");
        file = o->words_len &&
               (strcmp(o->words[0], "backup") == 0 || strcmp(o->words[0], "restore") == 0);
        if (o->words_len != (file ? 2u : 1u))
            pfc_cli_usage(state, file ? "expected a FILE" : "%s takes no FILE", o->words[0]);
        if (o->role && strcmp(o->words[0], "migrate") != 0)
            pfc_cli_usage(state, "--server-role is for migrate");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

/* ---- the database ---- */

static pfc_code find_database(const char *data, char **out, pfc_err *err)
{
    pfc_stack stack;
    pfc_code code = pfc_conf_secret("PERFCI_DATABASE_URL", out, err);

    if (code == PFC_OK && pfc_conf_url_has_password(*out)) {
        free(*out);
        *out = NULL;
        return pfc_err_set(
            err, PFC_EINVAL,
            "PERFCI_DATABASE_URL: it holds a password, which others could see in the "
            "arguments of pg_dump; put it into PGPASSWORD or ~/.pgpass");
    }
    if (code != PFC_ENOTFOUND)
        return code;
    code = pfc_stack_open(&stack, data, false, err);
    if (code == PFC_ENOTFOUND)
        code = pfc_err_set(err, PFC_EINVAL,
                           "no database: set PERFCI_DATABASE_URL (or PERFCI_DATABASE_URL_FILE), or "
                           "name the folder of a running `perfci up` by --data");
    if (!code && !pfc_member_alive(&stack.postgres))
        code = pfc_err_set(err, PFC_EUNAVAIL,
                           "no database: set PERFCI_DATABASE_URL, or start the service of %s",
                           stack.data);
    if (!code)
        *out = pfc_cluster_url(&stack);
    pfc_stack_close(&stack);
    return code;
}

/* ---- backup and restore ---- */

/* One thread reads and one transaction restores: from here on each takes hours, and the results of
 * those hours are in no backup. */
#define BACKUP_LARGE_GIB 50

static void warn_of_size(const char *url)
{
    char *bytes = NULL;
    pfc_err unused = { 0 };
    long long gib = 0;

    /* A backup needs no psql: without it there is no warning. */
    if (pfc_pg_rows(url, "SELECT pg_database_size(current_database())", &bytes, &unused) == PFC_OK)
        gib = strtoll(bytes, NULL, 10) >> 30;
    if (gib >= BACKUP_LARGE_GIB)
        fprintf(
            stderr,
            "warning: the database has %lld GiB: from %d GiB on use base backups by pgBackRest, "
            "see docs/how-to/high-availability.md\n",
            gib, BACKUP_LARGE_GIB);
    free(bytes);
}

static pfc_code backup(const char *url, const char *file, pfc_err *err)
{
    char *partial = pfc_format("%s.partial", file);
    const char *const argv[] = { "pg_dump", "-Fc",   "--no-owner", "--no-privileges", "-d", url,
                                 "-f",      partial, NULL };
    mode_t old = umask(0077); /* the file holds all data, tokens included */
    pfc_code code;

    warn_of_size(url);
    code = pfc_pg_run(argv, NULL, err);
    (void)umask(old);
    /* The file gets its name only when it is complete, so an existing name means a complete
     * backup. */
    if (!code && rename(partial, file))
        code = pfc_err_set(err, PFC_EIO, "%s: cannot be renamed to %s", partial, file);
    if (code)
        (void)unlink(partial);
    free(partial);
    return code;
}

/* The newest version in what psql or pg_restore printed of schema_migrations, its rows a line each
 * and the version first; 0: none. */
static long newest_of(const char *rows)
{
    long newest = 0;

    for (const char *line = rows; *line; line += strcspn(line, "\n"), line += *line == '\n') {
        char *end;
        long version = strtol(line, &end, 10);

        if (end > line && *end == '\t')
            newest = PFC_MAX(newest, version);
    }
    return newest;
}

/* Checks that the file is a backup that this program can read, before anything is changed. */
static pfc_code look_into(const char *file, pfc_err *err)
{
    const char *const argv[] = { "pg_restore",        "--data-only", "-n", "public", "-t",
                                 "schema_migrations", "-f",          "-",  file,     NULL };
    const long known = pfc_migrations[pfc_migrations_len - 1].version;
    char *rows = NULL;
    long version;
    pfc_code code = pfc_pg_run(argv, &rows, err);

    if (code)
        return code;
    version = newest_of(rows);
    free(rows);
    if (version == 0)
        return pfc_err_set(err, PFC_EINVAL, "%s: holds no database of perfci", file);
    if (version > known)
        return pfc_err_set(err, PFC_EINVAL,
                           "%s: its schema is version %ld, this program knows %ld: update perfci, "
                           "then restore",
                           file, version, known);
    return PFC_OK;
}

/* The runs that runners send again name the jobs that were made after the backup: no other job
 * may get those ids. A backup holds no privileges, so that without this every role could call
 * functions of the owner. Plans are made from statistics, which a backup does not hold. */
static const char after_restore[] =
    "SELECT setval('jobs_id_seq', last_value + 1000000) FROM jobs_id_seq;"
    " DO $$ DECLARE f regprocedure; BEGIN FOR f IN SELECT oid FROM pg_proc WHERE prosecdef"
    " AND pronamespace = 'public'::regnamespace LOOP"
    " EXECUTE format('REVOKE EXECUTE ON FUNCTION %s FROM PUBLIC', f); END LOOP; END $$;"
    " ANALYZE";

static pfc_code restore(const char *url, const char *file, pfc_err *err)
{
    const char *const argv[] = { "pg_restore",
                                 "--single-transaction",
                                 "--exit-on-error",
                                 "--no-owner",
                                 "--no-privileges",
                                 "-d",
                                 url,
                                 file,
                                 NULL };
    char *there = NULL;
    pfc_code code;

    if (access(file, R_OK))
        return pfc_err_set(err, PFC_ENOTFOUND, "%s: cannot be read: %s", file, strerror(errno));
    code = look_into(file, err);
    if (!code)
        code = pfc_pg_rows(
            url, "SELECT count(*) FROM pg_class WHERE relnamespace = 'public'::regnamespace",
            &there, err);
    if (!code && strtoll(there, NULL, 10) != 0)
        code = pfc_err_set(err, PFC_EINVAL, "the database is not empty: restore into a new one");
    free(there);
    if (!code)
        code = pfc_pg_run(argv, NULL, err);
    return code ? code : pfc_pg_rows(url, after_restore, NULL, err);
}

/* ---- check ---- */

static const char *statement(const char *name)
{
    for (size_t i = 0; i < pfc_statements_len; i++) {
        if (strcmp(pfc_statements[i].name, name) == 0)
            return pfc_statements[i].sql;
    }
    pfc_die("no statement is called %s", name);
}

/* The statements of the check are of this program's schema. */
static pfc_code same_schema(const char *url, pfc_err *err)
{
    const long known = pfc_migrations[pfc_migrations_len - 1].version;
    char *rows = NULL;
    long version;
    pfc_code code =
        pfc_pg_rows(url, "SELECT to_regclass('public.schema_migrations') IS NOT NULL", &rows, err);

    if (!code && rows[0] != 't')
        code = pfc_err_set(err, PFC_EINVAL, "the database holds nothing of perfci");
    free(rows);
    rows = NULL;
    if (!code)
        code = pfc_pg_rows(url, "SELECT version, name FROM schema_migrations", &rows, err);
    if (code)
        return code;
    version = newest_of(rows);
    free(rows);
    if (version == known)
        return PFC_OK;
    return pfc_err_set(err, PFC_EINVAL,
                       "the database's schema is version %ld, this program checks %ld: %s", version,
                       known, version > known ? "update it" : "start the server once, it migrates");
}

/* Not a fault of what is stored, so the check holds: it says what a fail-over may take. */
static pfc_code warnings(const char *url, json_t *list, pfc_err *err)
{
    char *standbys = NULL;
    pfc_code code = pfc_pg_rows(url, statement("standbys_unsynced"), &standbys, err);

    if (!code && strtoll(standbys, NULL, 10) > 0)
        json_array_append_new(
            list, json_pack("s", "the primary has standbys and synchronous_standby_names is empty: "
                                 "a fail-over may lose acknowledged results"));
    free(standbys);
    return code;
}

/* "what<TAB>wrong", a line an invariant. */
static pfc_code check(const pfc_cli *cli, const char *url, bool *holds, pfc_err *err)
{
    static const pfc_table_col cols[] = { { "WRONG", true }, { "WHAT", false } };
    json_t *list = json_array(), *warned = json_array();
    pfc_table *table = NULL;
    char *rows = NULL;
    pfc_code code = same_schema(url, err);

    *holds = true;
    if (!code)
        code = pfc_pg_rows(url, statement("store_checks"), &rows, err);
    if (!code)
        code = warnings(url, warned, err);
    if (code)
        goto done;
    table = cli->json ? NULL : pfc_table_new(cli, cols, PFC_ARRAY_LEN(cols));
    for (char *rest = rows, *line = strsep(&rest, "\n"); line; line = strsep(&rest, "\n")) {
        char *tab = strchr(line, '\t');
        long long wrong;

        if (!tab)
            continue;
        *tab = '\0';
        wrong = strtoll(tab + 1, NULL, 10);
        *holds = *holds && wrong == 0;
        json_array_append_new(list,
                              json_pack("{s:s, s:I}", "what", line, "wrong", (json_int_t)wrong));
        if (table) {
            pfc_table_row(table);
            pfc_table_setf(table, 0, "%lld", wrong);
            pfc_table_set(table, 1, line);
            pfc_table_color(table, 0, wrong ? "red" : "green");
        }
    }
    if (json_array_size(list) == 0)
        code = pfc_err_set(err, PFC_EBUG, "check: psql answered nothing");
    else if (table)
        pfc_table_print(table);
    else
        pfc_cli_print_json(
            json_pack("{s:b, s:O, s:O}", "holds", *holds, "checks", list, "warnings", warned));
    for (size_t i = 0; !code && i < json_array_size(warned); i++)
        fprintf(stderr, "warning: %s\n", json_string_value(json_array_get(warned, i)));

done:
    free(rows);
    json_decref(list);
    json_decref(warned);
    return code;
}

/* ---- migrate ---- */

static pfc_code migrate(const char *url, const char *role, pfc_err *err)
{
    char *folder = NULL, *program = NULL;
    pfc_proc_result res;
    pfc_code code = pfc_fs_program_dir(&folder, err);

    if (code)
        return code;
    program = pfc_fs_join(folder, "perfci-server");
    {
        const char *const argv[] = { program,
                                     "--database",
                                     url,
                                     "--log-level",
                                     "error",
                                     "--migrate",
                                     role ? "--server-role" : NULL,
                                     role,
                                     NULL };
        const pfc_proc_opts opts = { .argv = argv,
                                     .timeout_s = HOURS_MAX_S,
                                     .cancelled = pfc_cli_interrupted };

        code = pfc_proc_run(&opts, &res, err);
    }
    if (code)
        goto done;
    if (res.exit_status != 0) {
        const char *said = pfc_buf_text(&res.err);

        code = pfc_err_set(err, res.exit_status == 2 ? PFC_EINVAL : PFC_EUNAVAIL, "%.500s",
                           *said ? said : "perfci-server --migrate failed");
        err->msg[strcspn(err->msg, "\n")] = '\0';
    }
    pfc_proc_result_clear(&res);

done:
    free(program);
    free(folder);
    return code;
}

static int cmd_admin(pfc_cli *cli, int argc, char **argv)
{
    store_opts o = { 0 };
    char *url = NULL;
    bool holds = true;
    pfc_err err = { 0 };
    pfc_code code;

    pfc_cli_parse(cli, &pfc_cmd_admin, argc, argv, &o);
    pfc_cli_catch_signals();
    code = find_database(o.data, &url, &err);
    if (!code && strcmp(o.words[0], "backup") == 0)
        code = backup(url, o.words[1], &err);
    else if (!code && strcmp(o.words[0], "restore") == 0)
        code = restore(url, o.words[1], &err);
    else if (!code && strcmp(o.words[0], "migrate") == 0)
        code = migrate(url, o.role, &err);
    else if (!code)
        code = check(cli, url, &holds, &err);
    free(url);
    if (code)
        return pfc_cli_fail(cli, &err);
    if (strcmp(o.words[0], "check") != 0)
        pfc_cli_note(cli, "%s: done", o.words[o.words_len - 1]);
    return holds ? PFC_EXIT_OK : PFC_EXIT_INFRA;
}

const pfc_subcommand pfc_cmd_admin = {
    .name = "admin",
    .summary = "back the database up, restore, check, migrate it",
    .run = cmd_admin,
    .options = options,
    .parse = parse,
    .args_doc = "backup FILE\nrestore FILE\ncheck\nmigrate",
    .doc = doc,
};
