/*
 * pfc-cluster: the private cluster for tests that are scripts.
 *
 * Prints the connection string of an empty database as its first line, then obeys one word a line
 * on standard input, each answered by "ok": `halt` (as an administrator), `crash`, `resume`, and
 * `database NAME` or `migrated NAME`, which create an empty database, or one with the newest schema
 * and no row, and answer with its connection string. The end of its input is the end of the
 * cluster.
 *
 * `pfc-cluster programs` only prints the folder of the PostgreSQL server programs that it would
 * use. `pfc-cluster prepare FOLDER` makes the folder with which others begin (prepared.h).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/parse.h"
#include "core/base/process/pgbin.h"

#include "tests/support/support.h"

static void say(const char *text)
{
    (void)fprintf(stdout, "%s\n", text);
    (void)fflush(stdout);
}

static pfc_code add_database(const pfc_cluster *cluster, const char *name,
                             const char *template_name, pfc_err *err)
{
    char *admin = pfc_cluster_url(cluster, "postgres");
    char *url = pfc_cluster_url(cluster, name);
    pfc_code code = pfc_is_slug(name)
                        ? pfc_cluster_create(admin, name, template_name, err)
                        : pfc_err_set(err, PFC_EINVAL, "\"%s\" is no database's name", name);

    if (!code)
        say(url);
    free(admin);
    free(url);
    return code;
}

static pfc_code begin(pfc_cluster *cluster, pfc_err *err)
{
    char *url;

    if (!pfc_cluster_is_prepared(cluster))
        return add_database(cluster, "main", NULL, err);
    url = pfc_cluster_url(cluster, "main");
    say(url);
    free(url);
    return PFC_OK;
}

/* The template is made when it is first asked for: many scripts never do. */
static pfc_code add_migrated(const pfc_cluster *cluster, const char *name, pfc_err *err)
{
    static bool made;
    pfc_code code = made ? PFC_OK : pfc_cluster_make_template(cluster, err);

    if (code)
        return code;
    made = true;
    return add_database(cluster, name, PFC_CLUSTER_TEMPLATE, err);
}

static pfc_code obey(pfc_cluster *cluster, const char *line, pfc_err *err)
{
    static const char empty[] = "database ";
    static const char migrated[] = "migrated ";
    pfc_code code;

    if (strncmp(line, empty, sizeof(empty) - 1) == 0)
        return add_database(cluster, line + sizeof(empty) - 1, NULL, err);
    if (strncmp(line, migrated, sizeof(migrated) - 1) == 0)
        return add_migrated(cluster, line + sizeof(migrated) - 1, err);
    if (strcmp(line, "resume") == 0)
        code = pfc_cluster_resume(cluster, err);
    else if (strcmp(line, "halt") == 0 || strcmp(line, "crash") == 0)
        code = pfc_cluster_halt(cluster, strcmp(line, "halt") == 0, err);
    else
        code = pfc_err_set(err, PFC_EINVAL, "unknown order \"%s\"", line);
    if (!code)
        say("ok");
    return code;
}

static pfc_code prepare(pfc_cluster *cluster, const char *folder, pfc_err *err)
{
    pfc_code code = pfc_cluster_make_template(cluster, err);

    return code ? code : pfc_cluster_keep(cluster, folder, err);
}

static int print_programs(void)
{
    pfc_pg pg;
    pfc_err err = { 0 };

    if (pfc_pg_find(0, &pg, &err)) {
        (void)fprintf(stderr, "pfc-cluster: %s\n", err.msg);
        return 5;
    }
    say(pg.bin);
    return 0;
}

int main(int argc, char **argv)
{
    const char *folder = argc > 2 && strcmp(argv[1], "prepare") == 0 ? argv[2] : NULL;
    pfc_cluster *cluster = NULL;
    pfc_err err = { 0 };
    char line[100];
    pfc_code code;

    if (argc > 1 && strcmp(argv[1], "programs") == 0)
        return print_programs();
    code = pfc_cluster_start(&cluster, &err);
    if (!code)
        code = begin(cluster, &err);
    if (!code && folder)
        code = prepare(cluster, folder, &err);
    while (!code && !folder && fgets(line, sizeof(line), stdin)) {
        line[strcspn(line, "\n")] = '\0';
        code = obey(cluster, line, &err);
    }
    pfc_cluster_free(cluster);
    if (code)
        (void)fprintf(stderr, "pfc-cluster: %s\n", err.msg);
    return code ? 5 : 0;
}
