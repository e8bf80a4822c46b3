/*
 * perfci down and perfci status: the other end of `perfci up`.
 */
#include <stdio.h>
#include <stdlib.h>

#include "cli/commands.h"
#include "cli/local/stack.h"
#include "cli/output/output.h"

enum { LOCK_S = 180 };

typedef struct down {
    const char *data;
    bool remove;
} down;

static const pfc_option down_options[] = {
    PFC_OPT_TEXT("data", "DIR", down, data, "Data folder", .fallback = "$XDG_DATA_HOME/perfci"),
    PFC_OPT_FLAG("delete", down, remove,
                 "Then remove the data folder and its database, without asking"),
    { 0 },
};

static const pfc_option options[] = {
    PFC_OPT_TEXT("data", "DIR", down, data, "Data folder", .fallback = "$XDG_DATA_HOME/perfci"),
    { 0 },
};

static const char down_doc[] =
    "Stops the service that `perfci up` started: runner, server, PostgreSQL."
    "\vNothing stored is lost. Not running is no error. With --delete all that `perfci up` made is "
    "removed "
    "afterwards: the database, also where it is outside the data folder, logs, tokens, the "
    "runner's checkouts, "
    "and the folder itself when nothing else is in it.\n"
    "\n"
    "Examples:\n"
    "  perfci down\n"
    "  perfci down --data /srv/perfci\n"
    "  perfci down --delete --data /srv/perfci\n";

static bool anything_runs(const pfc_stack *s)
{
    return pfc_member_alive(&s->postgres) || pfc_member_alive(&s->server) ||
           pfc_member_alive(&s->runner);
}

/* The removed paths, a line each; on stdout, because they are the result. */
static void print_removed(const json_t *removed, const char *data, size_t left)
{
    const json_t *path;
    size_t i;

    json_array_foreach(removed, i, path) pfc_out("removed %s\n", json_string_value(path));
    if (left)
        pfc_out("kept %zu other %s in %s\n", left, left == 1 ? "entry" : "entries", data);
}

static int cmd_down(pfc_cli *cli, int argc, char **argv)
{
    json_t *removed = json_array();
    down d = { 0 };
    pfc_stack stack;
    pfc_err err = { 0 };
    int status = PFC_EXIT_OK;
    bool ran = false;
    size_t left = 0;
    pfc_code code;

    pfc_cli_parse(cli, &pfc_cmd_down, argc, argv, &d);
    pfc_cli_catch_signals();
    code = pfc_stack_open(&stack, d.data, false, &err);
    if (code == PFC_OK && d.remove)
        code = pfc_stack_deletable(&stack, &err); /* before the lock, which is a file of its own */
    if (code == PFC_OK)
        code = pfc_stack_lock(&stack, LOCK_S, &err);
    if (code == PFC_OK) {
        ran = anything_runs(&stack);
        code = pfc_stack_stop(&stack, cli, &err);
    }
    if (code == PFC_OK && d.remove && anything_runs(&stack))
        code = pfc_err_set(&err, PFC_EUNAVAIL, "%s still runs something: nothing is removed",
                           stack.data);
    if (code == PFC_OK && d.remove)
        code = pfc_stack_delete(&stack, removed, &left, &err);
    if (code == PFC_ENOTFOUND)
        pfc_cli_note(cli, "%s: %s", cli->name, err.msg);
    else if (code)
        status = pfc_cli_fail(cli, &err);
    else
        pfc_cli_note(cli, ran ? "stopped" : "nothing was running in %s", stack.data);
    if (cli->json && status == PFC_EXIT_OK) {
        json_t *doc = json_pack("{s:b}", "was_running", ran);

        if (d.remove) {
            json_object_set(doc, "removed", removed);
            json_object_set_new(doc, "kept", json_integer((json_int_t)left));
        }
        pfc_cli_print_json(doc);
    } else {
        print_removed(removed, stack.data, left);
    }
    json_decref(removed);
    pfc_stack_close(&stack);
    return status;
}

static const char status_doc[] = "Shows what runs of the service that `perfci up` started."
                                 "\vExit status 0 when the service answers, 5 when it does not or\n"
                                 "refuses the token of its runner.\n"
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

static int cmd_status(pfc_cli *cli, int argc, char **argv)
{
    static const pfc_table_col cols[] = { { "MEMBER", false },
                                          { "PID", true },
                                          { "STATE", false } };
    down d = { 0 };
    bool replaced = false;
    char why[PFC_ERR_MAX] = "never started";
    bool ready = false;
    pfc_stack s;
    pfc_err err = { 0 };
    pfc_code code;

    pfc_cli_parse(cli, &pfc_cmd_status, argc, argv, &d);
    code = pfc_stack_open(&s, d.data, false, &err);
    if (code && code != PFC_ENOTFOUND) {
        pfc_stack_close(&s);
        return pfc_cli_fail(cli, &err);
    }
    if (code == PFC_OK)
        ready = pfc_member_alive(&s.server) && pfc_stack_ready(&s, why);
    /* The server checks its database once a second, so its state can be one second old. */
    if (ready && s.cluster && !pfc_member_alive(&s.postgres)) {
        ready = false;
        (void)snprintf(why, sizeof(why), "PostgreSQL is gone: run perfci up");
    }
    if (ready && pfc_member_alive(&s.runner) && pfc_stack_runner_token(&s) == PFC_EDENIED) {
        ready = false;
        (void)snprintf(why, sizeof(why),
                       "the service refuses the runner's token (revoked or expired), so it gets no "
                       "jobs: run perfci up, which makes a new one");
    }
    replaced = code == PFC_OK && pfc_cluster_replaced(&s);
    if (!pfc_member_alive(&s.server) && code == PFC_OK)
        (void)snprintf(why, sizeof(why), "no server runs");
    if (cli->json) {
        json_t *doc = json_pack("{s:b,s:s?,s:s?,s:s?,s:b,s:[o,o,o]}", "ready", ready, "reason",
                                ready ? NULL : why, "url", s.url, "data", s.data, "restart_needed",
                                replaced, "members", member_json(&s.postgres),
                                member_json(&s.server), member_json(&s.runner));

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
            pfc_out("not ready: %s\n", why);
        if (replaced)
            pfc_out("restart needed: PostgreSQL's programs were replaced while it ran; run perfci "
                    "up\n");
    }
    pfc_stack_close(&s);
    return ready ? PFC_EXIT_OK : PFC_EXIT_INFRA;
}

const pfc_subcommand pfc_cmd_down = {
    .name = "down",
    .summary = "stop it",
    .run = cmd_down,
    .options = down_options,
    .doc = down_doc,
};

const pfc_subcommand pfc_cmd_status = {
    .name = "status",
    .summary = "show what runs",
    .run = cmd_status,
    .options = options,
    .doc = status_doc,
};
