/* A spool in a folder of its own, and a server that can be had otherwise with some runs. */
#include "tests/runner/spool_ground.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/fs.h"

#include "tests/check/check.h"

char *dir, *rejected, *sent;
pfc_spool *spool;

void open_spool(void)
{
    pfc_err err = { 0 };

    cr_assert(eq(int, pfc_spool_open(dir, &spool, &err), PFC_OK), "%s", err.msg);
}

void ground_init(void)
{
    pfc_err err = { 0 };

    cr_assert(eq(int, pfc_fs_temp_dir("perfci-spool", &dir, &err), PFC_OK), "%s", err.msg);
    rejected = pfc_fs_join(dir, "rejected");
    sent = pfc_fs_join(dir, "sent");
    open_spool();
}

void ground_clear(void)
{
    pfc_err err = { 0 };

    pfc_spool_close(spool);
    cr_assert(eq(int, pfc_fs_remove_tree(dir, &err), PFC_OK), "%s", err.msg);
    free(dir);
    free(rejected);
    free(sent);
}

pfc_run *make_run(unsigned number, size_t samples)
{
    pfc_run *run = pfc_run_new();
    pfc_measurement *m = pfc_run_add(run);

    run->id = pfc_format("%032x", number);
    run->project = pfc_strdup("demo");
    run->commit = pfc_strdup("0123456789abcdef0123456789abcdef01234567");
    run->suite = pfc_strdup("command");
    run->suite_hash = pfc_strdup("");
    run->started_at = run->finished_at = 1700000000.0;
    run->machine.name = pfc_strdup("host");
    run->machine.machine_class = pfc_strdup("class");
    m->benchmark = pfc_strdup("command");
    m->metric = pfc_strdup("value");
    m->backend = pfc_strdup("");
    m->unit = pfc_strdup("");
    m->samples = pfc_calloc(samples, sizeof(double));
    for (size_t i = 0; i < samples; i++)
        m->samples[i] = 1.0 + (double)i / 3.0;
    m->samples_len = samples;
    m->blocks = pfc_calloc(1, sizeof(uint32_t));
    m->blocks[0] = (uint32_t)samples;
    m->blocks_len = 1;
    return run;
}

pfc_code add(unsigned number, size_t samples, pfc_err *err)
{
    pfc_run *run = make_run(number, samples);
    pfc_code code = pfc_spool_add(spool, run, err);

    pfc_run_free(run);
    return code;
}

size_t files_in(const char *path)
{
    DIR *folder = opendir(path);
    const struct dirent *entry;
    size_t n = 0;

    cr_assert(ne(ptr, folder, NULL));
    while ((entry = readdir(folder)) != NULL)
        n += entry->d_type != DT_DIR;
    closedir(folder);
    return n;
}

static bool is_odd(const clerk *c, const char *id)
{
    for (size_t i = 0; i < PFC_ARRAY_LEN(c->odd) && c->odd[i]; i++)
        if (strtoul(id + 24, NULL, 16) == c->odd[i])
            return true;
    return false;
}

void take_run(const stand_in_req *req, pfc_buf *out, void *arg)
{
    clerk *c = arg;
    pfc_run *run = NULL;
    pfc_err err = { 0 };

    if (pfc_run_from_json(req->body, req->body_len, &run, &err) != PFC_OK) {
        stand_in_json(out, 400, "{\"error\": {\"message\": \"not a run document\"}}");
        return;
    }
    if (c->calls < CLERK_CALLS) {
        (void)snprintf(c->ids[c->calls], 33, "%s", run->id);
        c->fences[c->calls] = run->job_fence;
        c->marked[c->calls] = run->unsandboxed;
    }
    c->calls++;
    if (c->knows_no_number && run->job_fence)
        stand_in_json(out, 400,
                      "{\"error\": {\"message\": \"job_fence is not a member that is known here\","
                      " \"field\": \"job_fence\"}}");
    else if (c->knows_no_mark && run->unsandboxed)
        stand_in_json(out, 400,
                      "{\"error\": {\"message\": \"unsandboxed is not a member that is known "
                      "here\", \"field\": \"unsandboxed\"}}");
    else if (c->unknown && (run->ceilings_len || run->measurements[0].operations > 0)) {
        char *body = pfc_format("{\"error\": {\"message\": \"%s is not a member that is known "
                                "here\", \"field\": \"%s\"}}",
                                c->unknown, c->unknown);

        stand_in_json(out, 400, body);
        free(body);
    } else if (!is_odd(c, run->id))
        stand_in_json(out, c->status, c->body);
    else if (c->odd_status) /* 0: it hangs up */
        pfc_buf_printf(out,
                       "HTTP/1.1 %d Status\r\nContent-Length: 0\r\n%sConnection: close\r\n\r\n",
                       c->odd_status, c->odd_head ? c->odd_head : "");
    pfc_run_free(run);
}

pfc_code upload_to(clerk *c, pfc_spool_report *report, pfc_err *err)
{
    stand_in server;
    pfc_http_opts opts = { .token = "pfc_x" };
    pfc_http *http = NULL;
    pfc_code code;

    stand_in_start(&server, take_run, c);
    opts.url = server.url;
    cr_assert(eq(int, pfc_http_new(&opts, &http, err), PFC_OK), "%s", err->msg);
    code = pfc_spool_upload(spool, http, report, err);
    pfc_http_free(http);
    stand_in_stop(&server);
    return code;
}

void add_large(void)
{
    pfc_run *run = make_run(9, 50000);
    pfc_err err = { 0 };

    for (int i = 0; i < 29; i++) {
        pfc_measurement *m = pfc_run_add(run);
        const pfc_measurement *first = &run->measurements[0];

        m->benchmark = pfc_format("more/%d", i);
        m->metric = pfc_strdup("value");
        m->backend = pfc_strdup("");
        m->unit = pfc_strdup("");
        m->samples = pfc_calloc(first->samples_len, sizeof(double));
        memcpy(m->samples, first->samples, first->samples_len * sizeof(double));
        m->samples_len = first->samples_len;
        m->blocks = pfc_calloc(1, sizeof(uint32_t));
        m->blocks[0] = first->blocks[0];
        m->blocks_len = 1;
    }
    cr_assert(eq(int, pfc_spool_add(spool, run, &err), PFC_OK), "%s", err.msg);
    pfc_run_free(run);
}
