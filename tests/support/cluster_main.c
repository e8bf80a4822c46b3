/*
 * pfc-cluster: the private cluster for tests that are scripts.
 *
 * Prints the connection string of an empty database as its first line, then obeys one word a line
 * on standard input, each answered by "ok": `halt` (as an administrator), `crash`, `resume`, and
 * `database NAME`, which creates an empty database and answers with its connection string. The end
 * of its input is the end of the cluster.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/parse.h"

#include "tests/support/support.h"

static void say(const char *text)
{
    (void)fprintf(stdout, "%s\n", text);
    (void)fflush(stdout);
}

static pfc_code add_database(const pfc_cluster *cluster, const char *name, pfc_err *err)
{
    char *admin = pfc_cluster_url(cluster, "postgres");
    char *url = pfc_cluster_url(cluster, name);
    pfc_code code = pfc_is_slug(name)
                        ? pfc_cluster_create(admin, name, NULL, err)
                        : pfc_err_set(err, PFC_EINVAL, "\"%s\" is no database's name", name);

    if (!code)
        say(url);
    free(admin);
    free(url);
    return code;
}

static pfc_code obey(pfc_cluster *cluster, const char *line, pfc_err *err)
{
    static const char word[] = "database ";
    pfc_code code;

    if (strncmp(line, word, sizeof(word) - 1) == 0)
        return add_database(cluster, line + sizeof(word) - 1, err);
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

int main(void)
{
    pfc_cluster *cluster = NULL;
    pfc_err err = { 0 };
    char line[100];
    pfc_code code = pfc_cluster_start(&cluster, &err);

    if (!code)
        code = add_database(cluster, "main", &err);
    while (!code && fgets(line, sizeof(line), stdin)) {
        line[strcspn(line, "\n")] = '\0';
        code = obey(cluster, line, &err);
    }
    pfc_cluster_free(cluster);
    if (code)
        (void)fprintf(stderr, "pfc-cluster: %s\n", err.msg);
    return code ? 5 : 0;
}
