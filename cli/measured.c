/* What a command measures, in one line. */
#include "cli/measured.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/parse.h"

enum { SHOWN_BYTES = 300 };

/* A command of several lines as one; it comes from a repository, so that it may hold anything. */
static char *one_line(const char *text)
{
    const size_t len = strlen(text);
    char *line = pfc_format("%.*s%s", SHOWN_BYTES, text, len > SHOWN_BYTES ? "..." : "");
    size_t end = strlen(line);

    while (end > 0 && line[end - 1] == '\n')
        line[--end] = '\0';
    for (char *p = line; *p; p++)
        if (*p == '\n' || *p == '\t')
            *p = ' ';
    pfc_utf8_mend(line);
    return line;
}

void pfc_measured_say(const pfc_cli *cli, const pfc_measured *m)
{
    char *what = one_line(m->measure ? m->measure : m->suite ? m->suite : "nothing");
    char *file = one_line(m->conf->path ? m->conf->path : "none");
    char *metric = one_line(m->metric ? m->metric : "every one in the output");
    char *unit = one_line(m->unit ? m->unit : "");
    const bool has_unit = m->metric && m->unit;

    pfc_cli_note(cli, "config: %s; %s: %s; metric: %s%s%s%s%s", file,
                 m->measure ? "measure" : "suite", what, metric, has_unit ? " (" : "",
                 has_unit ? unit : "", has_unit ? ")" : "",
                 m->metric && m->higher_is_better ? ", higher is better" : "");
    free(what);
    free(file);
    free(metric);
    free(unit);
}

pfc_code pfc_measured_nothing(const pfc_conf *conf, const char *dir, pfc_err *err)
{
    if (conf->path)
        pfc_err_set(err, PFC_EINVAL,
                    "nothing to measure: %.300s has neither \"measure\" nor \"suite\"", conf->path);
    else
        pfc_err_set(err, PFC_EINVAL, "nothing to measure: no perfci.yaml for %.300s", dir);
    return pfc_err_hint(err,
                        "run \"perfci init\", or write a line such as \"measure: ./build/bench "
                        "--benchmark_format=json\" into perfci.yaml; \"--suite quick\" measures "
                        "perfci's own kernels");
}
