/* One line that names what a command measures. */
#include "cli/measure/coverage_line.h"

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
    char *metric = one_line(m->time     ? "wall_time_ns, process_cpu_time_ns, max_rss_bytes"
                            : m->metric ? m->metric
                                        : "every one in the output");
    char *unit = one_line(m->unit ? m->unit : "");
    const bool has_unit = m->metric && m->unit && !m->time;
    const char *better = m->higher_is_better ? ", higher is better"
                         : m->cost           ? ", lower is better"
                                             : "";

    pfc_cli_note(cli, "config: %s%s; %s: %s; metric: %s%s%s%s%s", file, m->remark ? m->remark : "",
                 m->measure ? "measure" : "suite", what, metric, has_unit ? " (" : "",
                 has_unit ? unit : "", has_unit ? ")" : "", m->metric ? better : "");
    free(what);
    free(file);
    free(metric);
    free(unit);
}

pfc_code pfc_measured_nothing(const pfc_conf *conf, const char *dir, pfc_err *err)
{
    if (conf->path)
        pfc_err_set(err, PFC_EINVAL,
                    "nothing to measure: %.300s has no \"measure\" line and no \"suite\" line",
                    conf->path);
    else
        pfc_err_set(err, PFC_EINVAL, "nothing to measure: no perfci.yaml for %.300s", dir);
    return pfc_err_hint(err,
                        "run \"perfci init\", or write a line such as \"measure: ./build/bench "
                        "--benchmark_format=json\" into perfci.yaml; \"--suite quick\" measures "
                        "perfci's own kernels");
}

/* perfci.yaml as runners will read it; NULL when the branch has none. Caller frees. */
static char *text_of_branch(pfc_repo *repo, const char *branch, size_t *len)
{
    char *remote = pfc_format("origin/%s", branch ? branch : "HEAD");
    pfc_commit_id tip;
    char *text = NULL;
    pfc_code code = pfc_repo_resolve(repo, branch ? branch : "HEAD", &tip, NULL);

    if (code)
        code = pfc_repo_resolve(repo, remote, &tip, NULL);
    if (code)
        code = pfc_repo_resolve(repo, "HEAD", &tip, NULL);
    if (!code && pfc_repo_file(repo, &tip, PFC_PROJECT_FILE, PFC_CONF_MAX_BYTES, &text, len, NULL))
        text = NULL;
    free(remote);
    return text;
}

const char *pfc_measured_to_send(pfc_repo *repo, const char *branch,
                                 const pfc_project_source *source)
{
    size_t len = 0;
    char *theirs;
    bool same;

    if (!source->text || !repo)
        return source->text;
    theirs = text_of_branch(repo, branch, &len);
    same = theirs && len == source->len && memcmp(theirs, source->text, len) == 0;
    free(theirs);
    return same ? NULL : source->text;
}

pfc_code pfc_measured_remotely(const pfc_cli *cli, const pfc_conf *conf, const char *branch,
                               bool sent, const char *metric, pfc_err *err)
{
    const pfc_measured what = { .conf = conf,
                                .measure = conf->measure,
                                .suite = conf->suite,
                                .metric = metric,
                                .unit = conf->unit,
                                .higher_is_better = conf->higher_is_better,
                                .remark = sent ? " (sent with the jobs)" : NULL };

    if (conf->path && !conf->measure && !conf->suite)
        return pfc_measured_nothing(conf, "", err);
    if (conf->path)
        pfc_measured_say(cli, &what);
    else
        pfc_cli_note(cli, "config: none here; the runners read perfci.yaml of %s",
                     branch ? branch : "HEAD");
    return PFC_OK;
}

pfc_code pfc_measured_refused(pfc_code code, bool sent, pfc_err *err)
{
    if (code == PFC_EDENIED && sent)
        return pfc_err_hint(err,
                            "commit this perfci.yaml to the branch that the runners read, or use a "
                            "token of scope admin");
    return code;
}
