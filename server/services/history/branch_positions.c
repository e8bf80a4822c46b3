/*
 * Positions along a branch, computed from the graph only: the same commits get the same
 * positions, in whatever order they arrived.
 */
#include "server/services/history/history.h"

typedef struct node {
    size_t index;  /* into commits */
    size_t parent; /* first parent's index, or NONE when it is not known here */
    bool has_child;
    enum { FRESH, ON_LINE, OFF_LINE, WALKING } mark;
} node;

#define NONE SIZE_MAX

static int by_sha(const void *a, const void *b)
{
    return strcmp(((const pfc_line_commit *)a)->sha, ((const pfc_line_commit *)b)->sha);
}

/* Index of the commit whose id starts at `sha` (40 bytes), or NONE. */
static size_t find(const pfc_line_commit *commits, size_t n, const char *sha, size_t len)
{
    size_t low = 0, high = n;

    while (low < high) {
        size_t mid = low + (high - low) / 2;
        int order = strncmp(commits[mid].sha, sha, len);

        if (order == 0)
            return mid;
        if (order < 0)
            low = mid + 1;
        else
            high = mid;
    }
    return NONE;
}

static void link_parents(const pfc_line_commit *commits, size_t n, node *nodes)
{
    for (size_t i = 0; i < n; i++) {
        nodes[i] = (node){ .index = i, .parent = NONE };
    }
    for (size_t i = 0; i < n; i++) {
        const char *p = commits[i].parents;
        bool first = true;

        while (*p) {
            size_t len = strcspn(p, " ");
            size_t parent = find(commits, n, p, len);

            if (parent != NONE && parent != i)
                nodes[parent].has_child = true;
            if (first)
                nodes[i].parent = parent;
            first = false;
            p += len;
            p += *p == ' ';
        }
    }
}

/* Newest first, ties by id, so that the answer depends on the graph only. */
static int newest_first(const void *a, const void *b)
{
    const pfc_line_commit *x = *(const pfc_line_commit *const *)a;
    const pfc_line_commit *y = *(const pfc_line_commit *const *)b;

    if (x->time != y->time)
        return x->time > y->time ? -1 : 1;
    return strcmp(y->sha, x->sha);
}

/* Follows first parents from `head`. True: a separate chain that ends at a root or an unknown
 * parent; false: it joins a chain seen before. */
static bool walk(node *nodes, size_t head, size_t *length)
{
    size_t at = head;

    *length = 0;
    while (at != NONE && nodes[at].mark == FRESH) {
        nodes[at].mark = WALKING;
        (*length)++;
        at = nodes[at].parent;
    }
    return at == NONE;
}

static void mark_chain(pfc_line_commit *commits, node *nodes, size_t head, size_t length, bool on)
{
    size_t at = head;

    for (size_t i = 0; i < length; i++) {
        nodes[at].mark = on ? ON_LINE : OFF_LINE;
        /* counted from the chain's head for now: -1, -2, ... */
        commits[at].position = on ? -(int64_t)(i + 1) : 0;
        at = nodes[at].parent;
    }
}

void pfc_line_positions(pfc_line_commit *commits, size_t n)
{
    node *nodes = pfc_calloc(n, sizeof(*nodes));
    const pfc_line_commit **heads = pfc_calloc(n, sizeof(*heads));
    size_t *chain_head = pfc_calloc(n, sizeof(*chain_head));
    size_t *chain_len = pfc_calloc(n, sizeof(*chain_len));
    size_t heads_len = 0, chains = 0;
    int64_t before = 0;

    if (n)
        qsort(commits, n, sizeof(*commits), by_sha);
    link_parents(commits, n, nodes);
    for (size_t i = 0; i < n; i++) {
        commits[i].position = 0;
        if (!nodes[i].has_child)
            heads[heads_len++] = &commits[i];
    }
    if (heads_len)
        qsort(heads, heads_len, sizeof(*heads), newest_first);
    for (size_t h = 0; h < heads_len; h++) {
        size_t head = (size_t)(heads[h] - commits);
        size_t length;
        bool own = walk(nodes, head, &length);

        mark_chain(commits, nodes, head, length, own);
        if (own) {
            chain_head[chains] = head;
            chain_len[chains++] = length;
        }
    }
    /* The last chain is the oldest: it comes first. */
    for (size_t c = chains; c-- > 0;) {
        size_t at = chain_head[c];

        for (size_t i = 0; i < chain_len[c]; i++) {
            commits[at].position += before + (int64_t)chain_len[c] + 1;
            at = nodes[at].parent;
        }
        before += (int64_t)chain_len[c];
    }
    free(chain_len);
    free(chain_head);
    free(heads);
    free(nodes);
}

static int newest_added_first(const void *a, const void *b)
{
    const pfc_line_added *x = a, *y = b;

    if (x->time != y->time)
        return x->time > y->time ? -1 : 1;
    return strcmp(y->sha, x->sha);
}

/* The head of a chain decides the place of the chain, so a new commit is inserted between two
 * chains, never inside one: directly after the newest head that is older than the commit. */
bool pfc_line_insert(pfc_line_tail *tail, size_t tail_len, bool whole, pfc_line_added *added,
                     size_t added_len)
{
    int64_t next = (tail_len ? tail[0].position : 0) + (int64_t)added_len;
    size_t placed = 0;

    if (added_len)
        qsort(added, added_len, sizeof(*added), newest_added_first);
    for (size_t i = 0; i < tail_len && placed < added_len; i++) {
        const pfc_line_added head = { .sha = tail[i].sha, .time = tail[i].time };
        const char *child_of = i ? tail[i - 1].parent : NULL;

        if (!child_of || strcmp(child_of, tail[i].sha) != 0) {
            while (placed < added_len && newest_added_first(&added[placed], &head) < 0)
                added[placed++].position = next--;
        }
        tail[i].position = next--;
    }
    while (whole && placed < added_len)
        added[placed++].position = next--;
    return placed == added_len;
}
