/* A server with one answer. */
#include "tests/runner/job_line.h"

#include <stdio.h>
#include <string.h>

#include "tests/check/check.h"

static void answer(const stand_in_req *req, pfc_buf *out, void *arg)
{
    clerk *c = arg;

    c->calls++;
    (void)snprintf(c->path, sizeof(c->path), "%s", req->path);
    (void)snprintf(c->request, sizeof(c->request), "%.*s", (int)req->body_len, req->body);
    if (c->refuse_asked && strstr(c->request, "\"asked\""))
        stand_in_json(out, 400, "{\"error\": {\"message\": \"no\", \"field\": \"asked\"}}");
    else if (c->status == 204)
        pfc_buf_puts(out, "HTTP/1.1 204 None\r\nConnection: close\r\n\r\n");
    else if (c->status)
        stand_in_json(out, c->status, c->body ? c->body : "{}");
}

void open_line(line *l, clerk *c)
{
    pfc_http_opts opts = { .token = "pfc_x" };
    pfc_err err = { 0 };

    stand_in_start(&l->server, answer, c);
    opts.url = l->server.url;
    cr_assert(eq(int, pfc_http_new(&opts, &l->http, &err), PFC_OK), "%s", err.msg);
}

void close_line(line *l)
{
    pfc_http_free(l->http);
    stand_in_stop(&l->server);
}
