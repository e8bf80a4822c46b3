/*
 * Whether the private PostgreSQL that runs can still be used.
 *
 * A package upgrade replaces programs and libraries under a running postmaster. Loaded code goes
 * on, but new backends can fail to load what they need: reads are answered and writes fail, until
 * it is restarted.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/local/postgres_host.h"
#include "core/base/fs.h"

enum { WRITE_TIMEOUT_S = 30 };

bool pfc_cluster_replaced(const pfc_stack *stack)
{
    static const char deleted[] = " (deleted)";
    char path[64];
    char target[PFC_PATH_MAX];
    ssize_t n;

    if (!pfc_member_alive(&stack->postgres))
        return false;
    snprintf(path, sizeof(path), "/proc/%ld/exe", (long)stack->postgres.pid);
    n = readlink(path, target, sizeof(target) - 1);
    if (n <= (ssize_t)sizeof(deleted))
        return false;
    target[n] = '\0';
    return strcmp(target + n - (ssize_t)(sizeof(deleted) - 1), deleted) == 0;
}

pfc_code pfc_cluster_write(const pfc_stack *stack, pfc_err *err)
{
    /* The check uses a new backend, which must load the library of PL/pgSQL and create the file of
     * a table. */
    static const char text[] = "SET statement_timeout = '20s'; BEGIN; DO $$ BEGIN CREATE TABLE "
                               "public.perfci_up_probe (x int);"
                               " INSERT INTO public.perfci_up_probe VALUES (1); END $$; ROLLBACK";
    const char *const args[] = { "-X", "-q",
                                 "-h", stack->socket,
                                 "-U", "perfci",
                                 "-v", "ON_ERROR_STOP=1",
                                 "-d", "dbname=perfci connect_timeout=10",
                                 "-c", text,
                                 NULL };
    pfc_host host;
    pfc_code code = pfc_host_find(&host, err);

    if (!code)
        code = pfc_host_programs(stack, &host, err);
    if (!code)
        code = pfc_host_run(&host, "psql", args, WRITE_TIMEOUT_S, NULL, err);
    return code ? pfc_err_wrap(err, "PostgreSQL accepts no writes") : PFC_OK;
}

pfc_code pfc_cluster_restartable(const pfc_stack *stack, pfc_err *err)
{
    pfc_host host;
    pfc_code code = pfc_host_find(&host, err);

    return code ? code : pfc_host_programs(stack, &host, err);
}
