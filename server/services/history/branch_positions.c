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

/* The commits by their position, from 1, in an array of n + 2; NONE: there is none. before: is
 * subtracted from the positions. Caller frees. */
static size_t *by_position(const int64_t *positions, size_t n, int64_t before)
{
    size_t *at = pfc_calloc(n + 2, sizeof(*at));

    for (size_t i = 0; i < n + 2; i++)
        at[i] = NONE;
    for (size_t i = 0; i < n; i++)
        if (positions[i])
            at[positions[i] - before] = i;
    return at;
}

/* True when `child`, or NONE, has the commit as its first parent. */
static bool has_child(const pfc_line_commit *commits, size_t at, size_t child)
{
    return child != NONE &&
           strncmp(commits[child].parents, commits[at].sha, strlen(commits[at].sha)) == 0;
}

/* Each chain that became longer has a head that is as new as the one before: then the commits that
 * are off the line, and not read, are off it as before. at, old: by the new position, and by the
 * old one. */
static bool heads_are_no_older(const pfc_line_commit *commits, size_t n, const int64_t *was,
                               int64_t before, const size_t *at, const size_t *old)
{
    const pfc_line_commit *head = NULL;

    for (size_t p = n; p > 0; p--) {
        const size_t i = at[p];
        const pfc_line_commit *c = i == NONE ? NULL : &commits[i];

        if (c && !has_child(commits, i, at[p + 1]))
            head = c;
        if (c && was[i] && !has_child(commits, i, old[was[i] - before + 1]) &&
            newest_first(&head, &c) > 0)
            return false;
    }
    return true;
}

size_t pfc_line_parents(const pfc_line_commit *commits, size_t n)
{
    size_t parents = 0;

    for (size_t i = 0; i < n; i++)
        for (const char *p = commits[i].parents; *p; p += strspn(p, " ")) {
            p += strcspn(p, " ");
            parents++;
        }
    return parents;
}

/* Parents that are not among `commits`: of the new ones all, since one that was the head of a chain
 * is none now, of the others the first of those at which a chain ends. */
static size_t find_outside(const pfc_line_commit *commits, size_t n, const int64_t *was, bool whole,
                           const size_t *at, const char **out)
{
    size_t outside = 0;

    for (size_t p = whole ? 1 : 2; p <= n && at[p] != NONE; p++)
        if (was[at[p]] && *commits[at[p]].parents &&
            (p == 1 || !has_child(commits, at[p - 1], at[p])))
            out[outside++] = commits[at[p]].parents;
    for (size_t i = 0; i < n; i++) {
        for (const char *p = commits[i].parents; !was[i] && *p; p += strspn(p, " ")) {
            const size_t len = strcspn(p, " ");

            if (find(commits, n, p, len) == NONE)
                out[outside++] = p;
            p += len;
        }
    }
    return outside;
}

bool pfc_line_end(pfc_line_commit *commits, size_t n, const int64_t *was, int64_t before,
                  const char **outside, size_t *outside_len)
{
    int64_t *positions = pfc_calloc(n, sizeof(*positions));
    size_t *at, *old = by_position(was, n, before), first = 1;
    bool fine = true;

    pfc_line_positions(commits, n);
    for (size_t i = 0; i < n; i++) {
        positions[i] = commits[i].position;
        fine &= !was[i] || positions[i]; /* else the line takes another way */
    }
    at = by_position(positions, n, 0);
    while (first <= n && old[first] == NONE)
        first++;
    /* The commits before the first one keep their positions. */
    if (before)
        fine = fine && first <= n && positions[old[first]] == 1;
    fine = fine && heads_are_no_older(commits, n, was, before, at, old);
    if (fine)
        *outside_len = find_outside(commits, n, was, !before, at, outside);
    for (size_t i = 0; i < n; i++)
        commits[i].position += commits[i].position ? before : 0;
    free(old);
    free(at);
    free(positions);
    return fine;
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
