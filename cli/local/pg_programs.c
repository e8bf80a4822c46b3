/* See pg_programs.h. */
#include "cli/local/pg_programs.h"

#include <stdio.h>
#include <string.h>

#include "cli/cli.h"
#include "core/base/process/proc.h"

pfc_code pfc_pg_run(const char *const *argv, char **out, pfc_err *err)
{
    static const char *const env[] = { "LC_ALL=C", "PGTZ=UTC", NULL };
    const pfc_proc_opts opts = {
        .argv = argv, .env = env, .timeout_s = PFC_PG_LONGEST_S, .cancelled = pfc_cli_interrupted
    };
    pfc_proc_result res;
    pfc_code code = pfc_proc_run(&opts, &res, err);

    if (code == PFC_ENOTFOUND)
        return pfc_err_set(err, PFC_ENOTFOUND, "%s is not installed (package postgresql-client)",
                           argv[0]);
    if (code)
        return code;
    if (res.exit_status != 0) {
        char how[128];

        pfc_proc_describe(&res, how, sizeof(how));
        code =
            pfc_err_set(err, PFC_EUNAVAIL, "%s: %s: %.300s", argv[0], how, pfc_buf_text(&res.err));
        err->msg[strcspn(err->msg, "\n")] = '\0';
    } else if (out) {
        *out = pfc_strdup(pfc_buf_text(&res.out));
    }
    pfc_proc_result_clear(&res);
    return code;
}

pfc_code pfc_pg_rows(const char *url, const char *sql, char **out, pfc_err *err)
{
    /* Names are looked up as the server does. Compiling the plan of the checks takes seconds,
     * running them on a small store a tenth of one. */
    static const char settings[] = "SET search_path = public, pg_temp; SET jit = off";
    const char *const argv[] = { "psql", "-XAtq", "-F", "	", "-v", "ON_ERROR_STOP=1",
                                 "-d",   url,     "-c", settings,  "-c", sql,
                                 NULL };

    return pfc_pg_run(argv, out, err);
}
