/*
 * perfci down and perfci status: the other end of `perfci up`.
 */
#include <stdio.h>
#include <stdlib.h>

#include "cli/stack.h"

enum { KEY_DATA = 0x100 };
enum { LOCK_S = 180 };

static const struct argp_option options[] = {
    { "data", KEY_DATA, "DIR", 0, "Data folder (default $XDG_DATA_HOME/perfci)", 0 },
    { 0 },
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
    const char **data = state->input;

    switch (key) {
    case KEY_DATA:
        *data = arg;
        return 0;
    case ARGP_KEY_ARG:
        pfc_cli_usage(state, "there is no argument to give, got \"%s\"", arg);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const char down_doc[] =
    "Stops the service that `perfci up` started: runner, server, PostgreSQL."
    "\vNothing stored is lost. Not running is no error.\n"
    "\n"
    "Examples:\n"
    "  perfci down\n"
    "  perfci down --data /srv/perfci\n";

static bool anything_runs(const pfc_stack *s)
{
    return pfc_member_alive(&s->postgres) || pfc_member_alive(&s->server) ||
           pfc_member_alive(&s->runner);
}

int pfc_cmd_down(pfc_cli *cli, int argc, char **argv)
{
    const pfc_cmd_args args = { options, parse, NULL, down_doc, NULL };
    const char *data = NULL;
    pfc_stack stack;
    pfc_err err = { 0 };
    int status = PFC_EXIT_OK;
    bool ran = false;
    pfc_code code;

    pfc_cli_parse(cli, &args, argc, argv, &data);
    pfc_cli_catch_signals();
    code = pfc_stack_open(&stack, data, false, &err);
    if (code == PFC_OK)
        code = pfc_stack_lock(&stack, LOCK_S, &err);
    if (code == PFC_OK) {
        ran = anything_runs(&stack);
        code = pfc_stack_stop(&stack, cli, &err);
    }
    if (code == PFC_ENOTFOUND)
        pfc_cli_note(cli, "%s: %s", cli->name, err.msg);
    else if (code)
        status = pfc_cli_fail(cli, &err);
    else
        pfc_cli_note(cli, ran ? "stopped" : "nothing was running in %s", stack.data);
    if (cli->json && status == PFC_EXIT_OK)
        pfc_cli_print_json(json_pack("{s:b}", "was_running", ran));
    pfc_stack_close(&stack);
    return status;
}

static const char status_doc[] = "Shows what runs of the service that `perfci up` started."
                                 "\vExit status 0 when the service answers, 5 when it does not.\n"
                                 "\n"
                                 "Examples:\n"
                                 "  perfci status\n"
                                 "  perfci status --json --data /srv/perfci\n";

static json_t *member_json(const pfc_member *m)
{
    const bool alive = pfc_member_alive(m);
    json_t *doc = json_pack("{s:s,s:b}", "name", m->name, "running", alive);

    if (alive)
        json_object_set_new(doc, "pid", json_integer(m->pid));
    return doc;
}

static void member_row(pfc_table *table, const pfc_member *m)
{
    const bool alive = pfc_member_alive(m);

    pfc_table_row(table);
    pfc_table_set(table, 0, m->name);
    if (alive)
        pfc_table_setf(table, 1, "%ld", (long)m->pid);
    pfc_table_set(table, 2, alive ? "running" : m->pid ? "gone" : "not started");
    pfc_table_color(table, 2, alive ? "green" : "yellow");
}

int pfc_cmd_status(pfc_cli *cli, int argc, char **argv)
{
    static const pfc_col cols[] = { { "MEMBER", false }, { "PID", true }, { "STATE", false } };
    const pfc_cmd_args args = { options, parse, NULL, status_doc, NULL };
    const char *data = NULL;
    char why[PFC_ERR_MAX] = "never started";
    bool ready = false;
    pfc_stack s;
    pfc_err err = { 0 };
    pfc_code code;

    pfc_cli_parse(cli, &args, argc, argv, &data);
    code = pfc_stack_open(&s, data, false, &err);
    if (code && code != PFC_ENOTFOUND) {
        pfc_stack_close(&s);
        return pfc_cli_fail(cli, &err);
    }
    if (code == PFC_OK)
        ready = pfc_member_alive(&s.server) && pfc_stack_ready(&s, why);
    /* The server asks its database once a second: it may not know yet. */
    if (ready && s.cluster && !pfc_member_alive(&s.postgres)) {
        ready = false;
        (void)snprintf(why, sizeof(why), "PostgreSQL is gone: run perfci up");
    }
    if (cli->json) {
        json_t *doc = json_pack("{s:b,s:s?,s:s?,s:[o,o,o]}", "ready", ready, "url", s.url, "data",
                                s.data, "members", member_json(&s.postgres), member_json(&s.server),
                                member_json(&s.runner));

        pfc_cli_print_json(doc);
    } else {
        pfc_table *table = pfc_table_new(cli, cols, PFC_ARRAY_LEN(cols));

        member_row(table, &s.postgres);
        member_row(table, &s.server);
        member_row(table, &s.runner);
        pfc_table_print(table);
        if (ready)
            pfc_out("ready at %s\n", s.url);
        else
            pfc_out("not ready: %s\n", pfc_member_alive(&s.server) ? why : "no server runs");
    }
    pfc_stack_close(&s);
    return ready ? PFC_EXIT_OK : PFC_EXIT_INFRA;
}
