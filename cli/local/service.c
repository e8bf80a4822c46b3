/*
 * The service of a data directory as a whole: whether it is ready, the end of its logs, how it is
 * stopped.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/local/stack.h"
#include "core/base/fs.h"
#include "core/http/client.h"
#include "core/wire/wire.h"

enum { RUNNER_GRACE_S = 30, SERVER_GRACE_S = 20 };

char *pfc_stack_reason(const char *body, size_t len)
{
    static const char prefix[] = "not ready: ";
    json_t *doc = NULL;
    const char *text = NULL;
    char *reason = NULL;

    if (pfc_json_parse(body, len, &doc, NULL) == PFC_OK)
        text = json_string_value(json_object_get(json_object_get(doc, "error"), "message"));
    if (text)
        reason = pfc_strdup(
            strncmp(text, prefix, sizeof(prefix) - 1) == 0 ? text + sizeof(prefix) - 1 : text);
    json_decref(doc);
    return reason;
}

pfc_code pfc_stack_runner_token(const pfc_stack *stack)
{
    pfc_http_opts opts = { .url = stack->url, .connect_timeout_s = 5, .timeout_s = 10 };
    /* Every token may list its own sign-ins, and a refused read is in no log of refused writes. */
    const pfc_http_req req = { .path = "/api/v1/browser-sessions?limit=1" };
    char *path = pfc_stack_path(stack, "runner.token"), *token = NULL;
    pfc_http_answer answer = { 0 };
    pfc_http *http = NULL;
    size_t len = 0;
    pfc_code code = pfc_fs_read(path, 4096, &token, &len, NULL);

    free(path);
    if (!code) {
        token[strcspn(token, "\r\n")] = '\0';
        opts.token = token;
        code = pfc_http_new(&opts, &http, NULL);
    }
    if (!code)
        code = pfc_http_send(http, &req, &answer, NULL);
    if (!code && answer.status != 200)
        code = answer.status == 401 ? PFC_EDENIED : PFC_EUNAVAIL;
    pfc_http_answer_clear(&answer);
    pfc_http_free(http);
    free(token);
    return code;
}

bool pfc_stack_ready(const pfc_stack *stack, char *why)
{
    const pfc_http_opts opts = { .url = stack->url, .connect_timeout_s = 5, .timeout_s = 10 };
    const pfc_http_req req = { .path = "/readyz" };
    pfc_http_answer answer = { 0 };
    pfc_http *http = NULL;
    pfc_err err = { 0 };
    bool ready = false;

    snprintf(why, PFC_ERR_MAX, "never started");
    if (!stack->url)
        return false;
    if (pfc_http_new(&opts, &http, &err) || pfc_http_send(http, &req, &answer, &err)) {
        snprintf(why, PFC_ERR_MAX, "%s", err.msg);
        goto done;
    }
    ready = answer.status == 200;
    if (!ready) {
        char *reason = pfc_stack_reason(pfc_buf_text(&answer.body), answer.body.len);

        if (reason)
            snprintf(why, PFC_ERR_MAX, "%s", reason);
        else
            snprintf(why, PFC_ERR_MAX, "/readyz answers %d", answer.status);
        free(reason);
    }
    pfc_http_answer_clear(&answer);

done:
    pfc_http_free(http);
    return ready;
}

pfc_code pfc_stack_stop(pfc_stack *stack, const pfc_cli *cli, pfc_err *err)
{
    char *endpoint = pfc_stack_path(stack, "endpoint.json");

    /* The runner first: the server still accepts the run that is being measured. The cluster last:
     * no process writes to it then. */
    if (pfc_member_stop(&stack->runner, SIGTERM, RUNNER_GRACE_S))
        pfc_cli_warn(cli, "the runner did not stop within %d s: killed", RUNNER_GRACE_S);
    if (pfc_member_stop(&stack->server, SIGTERM, SERVER_GRACE_S))
        pfc_cli_warn(cli, "the server did not stop within %d s: killed", SERVER_GRACE_S);
    pfc_cluster_stop(stack);
    unlink(endpoint);
    free(endpoint);
    return pfc_stack_save(stack, err);
}

char *pfc_stack_log_tail(const pfc_stack *stack, const char *name)
{
    char *path = pfc_format("%s/logs/%s.log", stack->data, name);
    char text[2001] = "";
    const char *from = text;
    int fd = open(path, O_RDONLY | O_CLOEXEC);

    free(path);
    if (fd >= 0) {
        ssize_t n;
        bool cut = lseek(fd, -(off_t)(sizeof(text) - 1), SEEK_END) > 0;

        n = read(fd, text, sizeof(text) - 1);
        text[n > 0 ? n : 0] = '\0';
        /* Begin with a whole line. */
        if (cut && strchr(text, '\n'))
            from = strchr(text, '\n') + 1;
        close(fd);
    }
    return pfc_strdup(from);
}
