/*
 * Pairs in run documents.
 */
#include "core/comparison/document_pairs.h"

#include <stdlib.h>
#include <string.h>

void pfc_document_pairs_mark(pfc_run *run, char side, const char *session, const char *order)
{
    const char name[2] = { side, '\0' };

    for (size_t i = 0; i < run->measurements_len; i++) {
        pfc_labels *extra = &run->measurements[i].extra;

        pfc_labels_set(extra, "pair_session", session);
        pfc_labels_set(extra, "pair_side", name);
        pfc_labels_set(extra, "pair_order", order);
    }
}

void pfc_document_pairs_mark_canary(pfc_run *const *runs, size_t len, const char *session)
{
    for (size_t i = 0; i < len; i++)
        for (size_t k = 0; k < runs[i]->measurements_len; k++) {
            pfc_measurement *m = &runs[i]->measurements[k];

            if (pfc_streq(m->benchmark, PFC_CANARY_BENCHMARK))
                pfc_labels_set(&m->extra, "pair_session", session);
        }
}

bool pfc_document_pairs_same_canary(const pfc_measurement *a, const pfc_measurement *b)
{
    const char *session = pfc_labels_get(&a->extra, "pair_session");

    return pfc_streq(a->benchmark, PFC_CANARY_BENCHMARK) && session &&
           pfc_streq(session, pfc_labels_get(&b->extra, "pair_session"));
}

static size_t turns_of(const char *order, char side)
{
    size_t n = 0;

    for (; *order; order++)
        n += *order == side;
    return n;
}

const char *pfc_document_pairs_order(const pfc_measurement *a, const pfc_measurement *b,
                                     bool *swapped)
{
    const char *order = pfc_labels_get(&b->extra, "pair_order");
    const char *session = pfc_labels_get(&b->extra, "pair_session");
    const char *side_a = pfc_labels_get(&a->extra, "pair_side");
    const char *side_b = pfc_labels_get(&b->extra, "pair_side");

    if (!order || !session || !side_a || !side_b ||
        !pfc_streq(session, pfc_labels_get(&a->extra, "pair_session")) ||
        !pfc_streq(order, pfc_labels_get(&a->extra, "pair_order")) || strlen(side_a) != 1 ||
        strlen(side_b) != 1 || strcmp(side_a, side_b) == 0)
        return NULL;
    *swapped = side_a[0] == 'b';
    if (a->blocks_len != turns_of(order, side_a[0]) || b->blocks_len != turns_of(order, side_b[0]))
        return NULL;
    return order;
}

pfc_code pfc_document_pairs_judge_sides(const double *a, size_t na, const double *b, size_t nb,
                                        const char *order, bool swapped, double margin,
                                        pfc_interleaved_result *out, pfc_err *err)
{
    const pfc_seq_opts opts = { .margin = margin };
    char *named = pfc_strdup(order);
    pfc_code code;

    for (char *p = named; swapped && *p; p++)
        *p = *p == 'a' ? 'b' : 'a';
    code = pfc_interleaved_compare(a, na, b, nb, named, &opts, out, err);
    free(named);
    return code;
}
