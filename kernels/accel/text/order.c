/*
 * The order of tokens. A command may wait only for tokens that earlier commands signal. A later
 * command makes either a cycle of commands that wait for each other, which is named in full, or a
 * stream whose lines are only in the wrong order.
 */
#include <stdlib.h>
#include <string.h>

#include "kernels/accel/text/parts.h"

#define MAX_NAMED 8 /* commands of a cycle that the message lists */

/* Nodes are commands, then tokens. A command points at the one before it in its queue and at the
 * tokens that it waits for, a token at the commands that signal it. */
typedef struct graph {
    const pfc_accel_program *p;
    uint32_t *before;  /* by command: earlier in its queue; UINT32_MAX: none */
    uint32_t *first;   /* by token: its first signal in `signals` */
    uint32_t *signals; /* commands, by token */
    uint32_t *edge;    /* by node: the next edge to follow */
    uint8_t *state;    /* by node: 0 new, 1 on the path, 2 done */
    uint32_t *path;
    size_t path_len;
} graph;

static size_t queue_of(const pfc_accel_cmd *cmd)
{
    return cmd->unit == PFC_ACCEL_UNIT_DMA ? 2 + (size_t)cmd->queue : cmd->unit;
}

static void graph_build(graph *g, const pfc_accel_program *p)
{
    const size_t nodes = p->len + p->tokens_len;
    uint32_t last[2 + UINT8_MAX + 1];
    uint32_t *fill = pfc_calloc((size_t)p->tokens_len + 1, sizeof(*fill));

    g->p = p;
    g->before = pfc_calloc(p->len + 1, sizeof(*g->before));
    g->first = pfc_calloc((size_t)p->tokens_len + 1, sizeof(*g->first));
    g->signals = pfc_calloc(p->len + 1, sizeof(*g->signals));
    g->edge = pfc_calloc(nodes + 1, sizeof(*g->edge));
    g->state = pfc_calloc(nodes + 1, sizeof(*g->state));
    g->path = pfc_calloc(nodes + 1, sizeof(*g->path));
    memset(last, 0xff, sizeof(last));
    for (size_t i = 0; i < p->len; i++) {
        g->before[i] = last[queue_of(&p->cmds[i])];
        last[queue_of(&p->cmds[i])] = (uint32_t)i;
        g->first[p->cmds[i].token + 1]++;
    }
    for (size_t t = 0; t < p->tokens_len; t++) {
        g->first[t + 1] += g->first[t];
        fill[t] = g->first[t];
    }
    for (size_t i = 0; i < p->len; i++)
        g->signals[fill[p->cmds[i].token]++] = (uint32_t)i;
    free(fill);
}

static void graph_free(graph *g)
{
    free(g->before);
    free(g->first);
    free(g->signals);
    free(g->edge);
    free(g->state);
    free(g->path);
}

/* The next node that `node` waits for; false when there are no more. */
static bool next_edge(graph *g, uint32_t node, uint32_t *to)
{
    const uint32_t edge = g->edge[node]++;

    if (node >= g->p->len) {
        const uint32_t at = g->first[node - g->p->len] + edge;

        if (at >= g->first[node - g->p->len + 1])
            return false;
        *to = g->signals[at];
        return true;
    }
    if (edge < g->p->cmds[node].waits_len) {
        *to = (uint32_t)g->p->len + g->p->cmds[node].waits[edge];
        return true;
    }
    *to = g->before[node];
    return edge == g->p->cmds[node].waits_len && *to != UINT32_MAX;
}

/* Follows what `node` waits for; true when that leads back to a node of the path, in *back. */
static bool find_cycle(graph *g, uint32_t node, uint32_t *back)
{
    g->path_len = 0;
    if (g->state[node])
        return false;
    g->state[node] = 1;
    g->path[g->path_len++] = node;
    while (g->path_len > 0) {
        const uint32_t top = g->path[g->path_len - 1];
        uint32_t to = 0;

        if (!next_edge(g, top, &to)) {
            g->state[top] = 2;
            g->path_len--;
            continue;
        }
        if (g->state[to] == 1) {
            *back = to;
            return true;
        }
        if (g->state[to] == 0) {
            g->state[to] = 1;
            g->path[g->path_len++] = to;
        }
    }
    return false;
}

static void describe(const pfc_accel_assembler *s, uint32_t cmd, pfc_buf *out)
{
    pfc_buf_printf(out, "command %u (line %u, %s)", cmd, s->out->lines[cmd],
                   pfc_accel_op_name(s->out->program->cmds[cmd].op));
}

/* The cycle is what lies on the path from `back` on; the message begins at a command of it. */
static pfc_code report_cycle(pfc_accel_assembler *s, const graph *g, uint32_t back)
{
    const uint32_t len = (uint32_t)g->p->len;
    size_t from = 0;
    size_t named = 0;
    size_t turn;
    size_t nodes;
    pfc_buf text;
    pfc_code code;

    while (g->path[from] != back)
        from++;
    nodes = g->path_len - from;
    turn = back >= len;
    pfc_buf_init(&text, 2048);
    s->line = s->out->lines[g->path[from + turn % nodes]];
    describe(s, g->path[from + turn % nodes], &text);
    for (size_t i = 0; i < nodes; i++) {
        const uint32_t node = g->path[from + (i + turn) % nodes];
        const uint32_t to = g->path[from + (i + turn + 1) % nodes];
        char name[64];

        if (node >= len)
            continue;
        if (++named > MAX_NAMED) {
            pfc_buf_puts(&text, ", and so on");
            break;
        }
        pfc_buf_puts(&text, named > 1 ? ", which" : "");
        if (to < len) {
            pfc_buf_puts(&text, " follows in its queue ");
            describe(s, to, &text);
            continue;
        }
        pfc_accel_token_name(s, to - len, name, sizeof(name));
        pfc_buf_printf(&text, " waits for %s of ", name);
        describe(s, g->path[from + (i + turn + 2) % nodes], &text);
    }
    code = pfc_accel_at(s, "expected an order of commands, got a cycle: %s", pfc_buf_text(&text));
    pfc_buf_clear(&text);
    return code;
}

/* Command i waits for a token that a later command signals, in *last. */
static pfc_code report_late(pfc_accel_assembler *s, uint32_t i, uint32_t token, uint32_t last)
{
    graph g = { 0 };
    uint32_t back = 0;
    char name[64];
    pfc_code code;

    graph_build(&g, s->out->program);
    if (find_cycle(&g, i, &back)) {
        code = report_cycle(s, &g, back);
    } else {
        pfc_accel_token_name(s, token, name, sizeof(name));
        s->line = s->out->lines[i];
        code = pfc_accel_at(s,
                            "wait: expected a token that earlier commands signal, got %s, which "
                            "command %u of line %u signals later",
                            name, last, s->out->lines[last]);
    }
    graph_free(&g);
    return code;
}

pfc_code pfc_accel_order_check(pfc_accel_assembler *s)
{
    const pfc_accel_program *p = s->out->program;
    uint32_t *last = pfc_calloc((size_t)p->tokens_len + 1, sizeof(*last)); /* and 1; 0: no signal */
    pfc_code code = PFC_OK;

    for (size_t i = 0; i < p->len; i++)
        last[p->cmds[i].token] = (uint32_t)i + 1;
    for (size_t i = 0; i < p->len && !code; i++) {
        for (size_t w = 0; w < p->cmds[i].waits_len && !code; w++) {
            const uint32_t token = p->cmds[i].waits[w];
            char name[64];

            if (last[token] == 0) {
                pfc_accel_token_name(s, token, name, sizeof(name));
                s->line = s->out->lines[i];
                code =
                    pfc_accel_at(s, "wait: expected a token that a command signals, got %s", name);
            } else if (last[token] > i) {
                code = report_late(s, (uint32_t)i, token, last[token] - 1);
            }
        }
    }
    free(last);
    return code;
}
