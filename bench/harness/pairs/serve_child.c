/* The parent's end of a serving child: a line out, a line back, and a deadline. */
#include <errno.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench/harness/block/reserved_core.h"
#include "bench/harness/pairs/pairs.h"
#include "core/base/clock.h"
#include "core/base/process/proc.h"

#define ANSWER_S    120.0 /* input, reference and warm-up on a busy machine */
#define MAX_ANSWER  (256u * 1024)
#define END_GRACE_S 2.0

static void end(void *arg)
{
    pfc_serve_child *child = arg;
    pfc_proc_result res;

    if (!child->pid)
        return;
    close(child->in); /* the child's loop ends with its input */
    if (pfc_proc_wait(child->pid, END_GRACE_S, &res, NULL) == PFC_OK)
        pfc_proc_result_clear(&res);
    else
        pfc_proc_stop(child->pid, 0.0);
    close(child->out);
    pfc_buf_clear(&child->pending);
    child->pid = 0;
}

/* A child that is gone must not take us with it. */
static pfc_code send_line(pfc_serve_child *child, const char *text, pfc_err *err)
{
    const struct sigaction ignore = { .sa_handler = SIG_IGN };
    struct sigaction old;
    const size_t len = strlen(text);
    size_t sent = 0;
    pfc_code code = PFC_OK;

    sigaction(SIGPIPE, &ignore, &old);
    while (!code && sent <= len) {
        const ssize_t n =
            sent < len ? write(child->in, text + sent, len - sent) : write(child->in, "\n", 1);
        if (n > 0)
            sent += (size_t)n;
        else if (n < 0 && errno != EINTR)
            code = pfc_err_set(err, PFC_EIO, "the measuring process ended");
    }
    sigaction(SIGPIPE, &old, NULL);
    return code;
}

/* One line of at most MAX_ANSWER bytes; caller frees. */
static pfc_code read_line(pfc_serve_child *child, char **out, pfc_err *err)
{
    const int64_t deadline = pfc_clock_ns() + (int64_t)(ANSWER_S * 1e9);
    char bytes[4096];

    for (;;) {
        struct pollfd fd = { .fd = child->out, .events = POLLIN };
        const int64_t left = deadline - pfc_clock_ns();
        const char *text = pfc_buf_text(&child->pending);
        const char *newline = memchr(text, '\n', child->pending.len);
        ssize_t n;

        if (newline) {
            /* The protocol has one answer for each request, so nothing can follow the line. */
            *out = pfc_strndup(text, (size_t)(newline - text));
            pfc_buf_reset(&child->pending);
            return PFC_OK;
        }
        if (left <= 0)
            return pfc_err_set(err, PFC_EIO, "the measuring process gave no answer within %.0f s",
                               ANSWER_S);
        if (poll(&fd, 1, (int)PFC_MIN(left / PFC_NS_PER_MS + 1, (int64_t)1000)) <= 0)
            continue;
        n = read(child->out, bytes, sizeof(bytes));
        if (n < 0 && (errno == EINTR || errno == EAGAIN))
            continue;
        if (n <= 0)
            return pfc_err_set(err, PFC_EIO, "the measuring process ended before its answer");
        pfc_buf_append(&child->pending, bytes, (size_t)n);
        if (child->pending.overflow)
            return pfc_err_set(err, PFC_EIO, "the measuring process answered more than %u bytes",
                               MAX_ANSWER);
    }
}

static pfc_code ask(pfc_serve_child *child, const char *question, json_t **out, pfc_err *err)
{
    char *text = NULL;
    pfc_code code = send_line(child, question, err);

    if (!code)
        code = read_line(child, &text, err);
    if (!code && pfc_json_parse(text, strlen(text), out, err))
        code = PFC_EIO; /* what it says cannot be trusted: as good as gone */
    free(text);
    return code;
}

static pfc_code read_launched(const json_t *doc, pfc_launched *out, pfc_err *err)
{
    char *status = NULL;
    int64_t calls = 1;
    pfc_code code = pfc_json_string(doc, NULL, "status", true, 16, &status, err);

    if (!code && !pfc_streq(status, "ok")) {
        out->status = pfc_streq(status, "skipped") ? PFC_STATUS_SKIPPED : PFC_STATUS_BROKEN;
        code = pfc_json_string(doc, NULL, "reason", false, PFC_WIRE_MAX_TEXT, &out->reason, err);
    } else if (!code) {
        code = pfc_json_i64(doc, NULL, "calls", true, 1, 1LL << 32, &calls, err);
        if (!code)
            code = pfc_json_bool(doc, NULL, "cpu_clock", true, &out->cpu_clock, err);
        if (!code) /* builds of before did not say */
            code = pfc_json_double(doc, NULL, "call_ns", false, 0.0, 1e15, &out->call_ns, err);
    }
    out->calls = (uint64_t)calls;
    free(status);
    return code;
}

static pfc_code launch(void *arg, const pfc_block_spec *spec, pfc_launched *out, pfc_err *err)
{
    pfc_serve_child *child = arg;
    const char *const argv[] = { child->program, "--serve", NULL };
    const pfc_proc_spawn_opts opts = { .argv = argv,
                                       .stdin_fd = &child->in,
                                       .stdout_fd = &child->out };
    char *question = NULL;
    json_t *doc = NULL;
    pfc_err inner = { 0 };
    pfc_code code;

    end(child);
    *out = (pfc_launched){ 0 };
    code = pfc_proc_spawn(&opts, &child->pid, err);
    if (code)
        return code;
    pfc_core_admit(child->pid);
    pfc_buf_init(&child->pending, MAX_ANSWER);
    question = pfc_block_spec_to_text(spec);
    code = ask(child, question, &doc, &inner);
    if (!code)
        code = read_launched(doc, out, &inner);
    if (code) {
        /* A crash is a result of this build and must not fail the comparison. */
        free(out->reason);
        *out = (pfc_launched){ .status = PFC_STATUS_BROKEN, .reason = pfc_strdup(inner.msg) };
    }
    if (out->status != PFC_STATUS_OK)
        end(child);
    json_decref(doc);
    free(question);
    return PFC_OK;
}

static pfc_code take_turn(void *arg, const pfc_pair_turn *turn, double *samples_ns,
                          uint64_t *preempted, pfc_err *err)
{
    pfc_serve_child *child = arg;
    char *question = pfc_format(
        "{\"warm\":%llu,\"calls\":%llu,\"per\":%llu,\"samples\":%zu,\"cpu_clock\":%s}",
        (unsigned long long)turn->warm, (unsigned long long)turn->calls,
        (unsigned long long)turn->per, turn->samples, turn->cpu_clock ? "true" : "false");
    json_t *doc = NULL;
    json_t *list = NULL;
    int64_t lost = 0;
    pfc_code code = ask(child, question, &doc, err);

    if (!code)
        code = pfc_json_array(doc, NULL, "samples", true, turn->samples, &list, err);
    if (!code && json_array_size(list) != turn->samples)
        code = pfc_err_set(err, PFC_EIO, "expected %zu samples of a turn, got %zu", turn->samples,
                           json_array_size(list));
    for (size_t i = 0; !code && i < turn->samples; i++) {
        samples_ns[i] = json_number_value(json_array_get(list, i));
        if (!(samples_ns[i] > 0.0) || !isfinite(samples_ns[i]))
            code = pfc_err_set(err, PFC_EIO, "sample %zu of a turn: expected a positive number", i);
    }
    if (!code)
        code = pfc_json_i64(doc, NULL, "preempted", false, 0, 1 << 30, &lost, err);
    *preempted += (uint64_t)lost;
    json_decref(doc);
    free(question);
    return code;
}

pfc_side pfc_side_of_program(pfc_serve_child *child, const char *program)
{
    *child = (pfc_serve_child){ .program = program, .in = -1, .out = -1 };
    return (pfc_side){ .launch = launch,
                       .turn = take_turn,
                       .end = end,
                       .block = pfc_block_launch,
                       .arg = child,
                       .block_arg = (void *)(uintptr_t)program };
}
