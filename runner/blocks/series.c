/*
 * Turns the visits of a session into series for the design and runs for the server.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "runner/blocks/blocks_priv.h"

enum { MAX_FILTER = 32 * 1024 };

/* ---- series ---- */

static bool is_of(const pfc_block_series *s, const pfc_measurement *m)
{
    return pfc_streq(s->benchmark, m->benchmark) && pfc_streq(s->metric, m->metric) &&
           pfc_streq(s->backend, m->backend);
}

static pfc_block_series *series_of(pfc_blocks_session *s, const pfc_measurement *m)
{
    pfc_block_series *one;

    for (size_t i = 0; i < s->series_len; i++)
        if (is_of(&s->series[i], m))
            return &s->series[i];
    s->series = pfc_grow(s->series, s->series_len, &s->series_cap, sizeof *s->series);
    one = &s->series[s->series_len++];
    *one = (pfc_block_series){ .benchmark = pfc_strdup(m->benchmark),
                               .metric = pfc_strdup(m->metric),
                               .backend = pfc_strdup(m->backend),
                               .number = PFC_BLOCKS_NONE,
                               .seen = pfc_calloc(s->len, sizeof(bool)) };
    return one;
}

/* The canary is the machine's, and what a command costs beside its result is not worth more blocks.
 */
static bool counts(const pfc_measurement *m)
{
    return m->status == PFC_STATUS_OK && m->samples_len &&
           !pfc_streq(m->benchmark, PFC_CANARY_BENCHMARK) &&
           !pfc_streq(pfc_labels_get(&m->extra, PFC_ROLE), PFC_ROLE_SECONDARY);
}

pfc_code pfc_blocks_tell(pfc_blocks_session *s, const pfc_block_visit *visit, pfc_err *err)
{
    pfc_code code = PFC_OK;

    for (size_t i = 0; i < visit->run->measurements_len && s->design && !code; i++) {
        const pfc_measurement *m = &visit->run->measurements[i];
        pfc_visit added = { .build = (uint32_t)visit->build,
                            .block = visit->at.block,
                            .position = visit->at.position,
                            .value = pfc_measurement_median(m) };
        pfc_block_series *one;

        if (!counts(m))
            continue;
        one = series_of(s, m);
        /* No ratio can be formed from it: the values of the first rounds are kept, and no further
         * block is measured for it. */
        if (!(added.value > 0) && !one->dead) {
            one->dead = true;
            if (one->number != PFC_BLOCKS_NONE)
                pfc_design_forget(s->design, one->number);
        }
        if (one->dead || (m->exact && one->seen[visit->build]))
            continue;
        if (one->number == PFC_BLOCKS_NONE)
            one->number = pfc_design_series(s->design, m->exact);
        one->seen[visit->build] = true;
        code = pfc_design_add(s->design, one->number, &added, err);
    }
    return code;
}

void pfc_blocks_series_clear(pfc_blocks_session *s)
{
    for (size_t i = 0; i < s->series_len; i++) {
        free(s->series[i].benchmark);
        free(s->series[i].metric);
        free(s->series[i].backend);
        free(s->series[i].seen);
    }
    free(s->series);
    s->series = NULL;
    s->series_len = s->series_cap = 0;
}

/* ---- suites that are measured in part ---- */

static void put_name(pfc_buf *out, const char *name)
{
    for (; *name; name++) {
        if (strchr(".[]{}()*+?^$|\\", *name))
            pfc_buf_putc(out, '\\');
        pfc_buf_putc(out, *name);
    }
}

static bool named_before(const pfc_blocks_session *s, size_t i)
{
    for (size_t k = 0; k < i; k++)
        if (s->series[k].number != PFC_BLOCKS_NONE && !s->series[k].dead &&
            pfc_design_wants(s->design, s->series[k].number) &&
            pfc_streq(s->series[k].benchmark, s->series[i].benchmark))
            return true;
    return false;
}

char *pfc_blocks_narrow(const pfc_blocks_session *s, const char **backend)
{
    size_t wanted = 0, idle = 0;
    bool several = false, whole = false; /* a headline metric needs all benchmarks of its group */
    pfc_buf buf;

    *backend = NULL;
    pfc_buf_init(&buf, MAX_FILTER);
    pfc_buf_puts(&buf, "^(");
    for (size_t i = 0; i < s->series_len && s->design; i++) {
        const pfc_block_series *one = &s->series[i];

        if (one->number == PFC_BLOCKS_NONE || one->dead)
            continue;
        if (!pfc_design_wants(s->design, one->number)) {
            idle++;
            continue;
        }
        wanted++;
        several = several || (*backend && !pfc_streq(*backend, one->backend));
        *backend = one->backend;
        whole = whole || pfc_streq(one->benchmark, "headline");
        if (named_before(s, i))
            continue;
        if (wanted > 1)
            pfc_buf_putc(&buf, '|');
        put_name(&buf, one->benchmark);
    }
    pfc_buf_puts(&buf, ")$");
    if (several || (*backend && !**backend))
        *backend = NULL;
    if (wanted && idle && !buf.overflow && !whole)
        return pfc_buf_take(&buf);
    if (!wanted || !idle || !whole)
        *backend = NULL;
    pfc_buf_clear(&buf);
    return NULL;
}

/* ---- runs ---- */

/* A visit is one launch as the document counts them, however many processes a suite starts in it.
 */
static void place(pfc_run *run, const pfc_session_position *at)
{
    for (size_t i = 0; i < run->measurements_len; i++) {
        pfc_measurement *m = &run->measurements[i];

        if (m->status != PFC_STATUS_OK || !m->samples_len)
            continue;
        free(m->visits);
        m->visits = pfc_calloc(1, sizeof *m->visits);
        m->visits[0] = *at;
        m->blocks = pfc_realloc(m->blocks, 1, sizeof *m->blocks);
        m->blocks[0] = (uint32_t)m->samples_len;
        m->blocks_len = 1;
    }
}

void pfc_blocks_keep(pfc_blocks_session *s, pfc_block_visit *visit)
{
    pfc_block_commit *c = &s->out->commits[s->builds[visit->build]];

    place(visit->run, &visit->at);
    visit->run->session_id = pfc_strdup(s->out->session);
    c->visits++;
    if (c->run)
        pfc_run_merge(c->run, visit->run);
    else
        c->run = visit->run;
    visit->run = NULL;
}
