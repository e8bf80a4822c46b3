/*
 * perfci-bisect-bench --data DIR [--sessions N] [--strategy S] [--only TEXT] [--no-prior]
 *                    [--no-relink] [--first] [--show]
 *
 * Bisects every scenario DIR/NAME.json, N sessions each, with the planner and with its rivals, and
 * prints how often the answer was right and what it cost. Without data: "not available", exit 5.
 *
 * right: something is named, and every named set holds one whole true set and at most 7 commits
 * beside it; without a regression: nothing is named. all: right, and every true set is named.
 * exact: right, and every named set is a true one.
 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/studies/bisect/scenario.h"
#include "bench/studies/bisect/strategy.h"
#include "core/base/fs.h"
#include "core/base/parse.h"

#define GROUPS_MAX     32
#define STRATEGIES_MAX 8
#define BINS           4 /* of stated probability: below .99, to .995, to .999, above */

typedef struct tally {
    char *group;
    size_t sessions, right, exact, all;
    double runs, builds, limit, most;
} tally;

/* Mean runs and right answers of one scenario, by strategy. */
typedef struct beside {
    double runs[STRATEGIES_MAX], right[STRATEGIES_MAX];
} beside;

typedef struct bench {
    const char *data, *only;
    const char *strategy;
    int64_t sessions;
    bool show, no_prior, no_relink, first_only;
    scenario *items;
    size_t len, cap;
    beside *beside; /* of each scenario */
    int64_t slowest_ns;
    size_t false_names; /* sets of one commit that are wrong */
    size_t bin_named[BINS], bin_true[BINS];
    double bin_sum[BINS];
} bench;

/* ---- scoring ---- */

static bool holds(const commit_set *outer, const commit_set *inner, size_t spare)
{
    return outer->first <= inner->first && inner->last <= outer->last &&
           (outer->last - outer->first) <= (inner->last - inner->first) + spare;
}

static bool any_truth(const scenario *s, const commit_set *set, size_t spare)
{
    for (size_t i = 0; i < s->truth_len; i++)
        if (holds(set, &s->truth[i], spare))
            return true;
    return false;
}

static bool named(const finding *f, const commit_set *truth)
{
    for (size_t i = 0; i < f->len; i++)
        if (holds(&f->sets[i], truth, SIZE_MAX / 2))
            return true;
    return false;
}

static void score(const scenario *s, const finding *f, tally *t)
{
    bool right = (f->len > 0) == (s->truth_len > 0);
    bool exact = true;
    bool all = true;
    for (size_t i = 0; i < f->len; i++) {
        right = right && any_truth(s, &f->sets[i], 7);
        exact = exact && any_truth(s, &f->sets[i], 0);
    }
    for (size_t i = 0; i < s->truth_len; i++)
        all = all && named(f, &s->truth[i]);
    t->sessions++;
    t->right += right;
    t->exact += right && exact;
    t->all += right && all;
}

static void calibrate(bench *b, const scenario *s, const finding *f)
{
    for (size_t i = 0; i < f->len; i++) {
        double p = f->probability[i];
        size_t bin = p < 0.99 ? 0 : p < 0.995 ? 1 : p < 0.999 ? 2 : 3;
        b->bin_named[bin]++;
        b->bin_sum[bin] += p;
        b->bin_true[bin] += any_truth(s, &f->sets[i], s->len);
        b->false_names += f->sets[i].first == f->sets[i].last && !any_truth(s, &f->sets[i], s->len);
    }
}

static void show(const scenario *s, int64_t number, const finding *f, size_t runs)
{
    printf("  %s session %lld: %zu runs, named", s->name, (long long)number, runs);
    for (size_t i = 0; i < f->len; i++)
        printf(" %zu..%zu (%.4f)", f->sets[i].first, f->sets[i].last, f->probability[i]);
    printf(" true");
    for (size_t i = 0; i < s->truth_len; i++)
        printf(" %zu..%zu", s->truth[i].first, s->truth[i].last);
    putchar('\n');
}

static void play(bench *b, const scenario *s, const char *strategy, tally *t)
{
    strategy_fn find = strategy_named(strategy);
    for (int64_t k = 0; k < b->sessions; k++) {
        finding f = { 0 };
        session n;
        size_t right = t->exact;
        session_begin(&n, s, (uint64_t)k);
        find(&n, &f);
        score(s, &f, t);
        t->runs += (double)n.runs;
        t->builds += (double)n.builds;
        t->most = PFC_MAX(t->most, (double)n.runs);
        t->limit += s->limit_runs;
        if (strcmp(strategy, "perfci") == 0) {
            calibrate(b, s, &f);
            b->slowest_ns = PFC_MAX(b->slowest_ns, f.slowest_ns);
        }
        if (b->show && (t->exact == right || f.len < s->truth_len))
            show(s, k, &f, n.runs);
        session_end(&n);
    }
}

/* ---- tables ---- */

static double share(size_t part, size_t of)
{
    return of ? 100.0 * (double)part / (double)of : 0;
}

static void print_line(const char *name, const tally *t)
{
    double n = (double)t->sessions;
    printf("%-26s %6.1f %6.1f %6.1f %8.1f %8.0f %8.1f %7.0f\n", name, share(t->right, t->sessions),
           share(t->exact, t->sessions), share(t->all, t->sessions), t->runs / n, t->most,
           t->limit / n, t->builds / n);
}

static void print_head(const char *strategy)
{
    printf("\n%s\n%-26s %6s %6s %6s %8s %8s %8s %7s\n", strategy, "", "right%", "exact%", "all%",
           "runs", "most", "limit", "builds");
}

static void add(tally *to, const tally *t)
{
    to->sessions += t->sessions;
    to->right += t->right;
    to->exact += t->exact;
    to->all += t->all;
    to->runs += t->runs;
    to->builds += t->builds;
    to->limit += t->limit;
    to->most = PFC_MAX(to->most, t->most);
}

static void run_strategy(bench *b, size_t number)
{
    const char *strategy = strategy_names[number];
    tally groups[GROUPS_MAX] = { { 0 } };
    tally total = { 0 };
    size_t len = 0;
    print_head(strategy);
    for (size_t i = 0; i < b->len; i++) {
        tally t = { 0 };
        size_t g = 0;
        play(b, &b->items[i], strategy, &t);
        print_line(b->items[i].name, &t);
        fflush(stdout);
        b->beside[i].runs[number] = t.runs / (double)t.sessions;
        b->beside[i].right[number] = share(t.right, t.sessions);
        while (g < len && strcmp(groups[g].group, b->items[i].group) != 0)
            g++;
        if (g == len && len < GROUPS_MAX)
            groups[len++].group = b->items[i].group;
        add(&groups[PFC_MIN(g, (size_t)GROUPS_MAX - 1)], &t);
        add(&total, &t);
    }
    for (size_t g = 0; g < len; g++) {
        char *name = pfc_format("[%s]", groups[g].group);
        print_line(name, &groups[g]);
        free(name);
    }
    print_line("all", &total);
}

/* Right answers and runs of all strategies, a scenario a line; the last column is how many times
 * the planner's runs Pinpoint's rule needs. */
static void print_beside(const bench *b)
{
    printf("\n%-26s", "right% @ runs");
    for (size_t k = 0; strategy_names[k]; k++)
        printf(" %14s", strategy_names[k]);
    printf(" %9s\n", "pinpoint:");
    for (size_t i = 0; i < b->len; i++) {
        const beside *x = &b->beside[i];
        printf("%-26s", b->items[i].name);
        for (size_t k = 0; strategy_names[k]; k++)
            printf(" %5.1f @ %6.1f", x->right[k], x->runs[k]);
        printf(" %8.2f\n", x->runs[0] > 0 ? x->runs[1] / x->runs[0] : 0);
    }
}

static void print_planner(const bench *b)
{
    static const char *const ranges[] = { "below 0.99", "0.99..0.995", "0.995..0.999",
                                          "above 0.999" };
    printf("\nstated probability     named   mean stated   true\n");
    for (size_t i = 0; i < BINS; i++) {
        double n = (double)b->bin_named[i];
        if (b->bin_named[i])
            printf("%-20s %7zu %12.2f%% %6.2f%%\n", ranges[i], b->bin_named[i],
                   100 * b->bin_sum[i] / n, share(b->bin_true[i], b->bin_named[i]));
    }
    printf("one commit named, and wrong: %zu times\n", b->false_names);
    printf("slowest decision: %.2f ms of processor time\n", (double)b->slowest_ns * 1e-6);
}

/* ---- data and arguments ---- */

static int by_name(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

static int is_scenario(const struct dirent *entry)
{
    size_t len = strlen(entry->d_name);
    return len > 5 && strcmp(entry->d_name + len - 5, ".json") == 0 &&
           strcmp(entry->d_name, "reference.json") != 0;
}

static pfc_code load_all(bench *b, pfc_err *err)
{
    struct dirent **names = NULL;
    pfc_code code = PFC_OK;
    char *below = pfc_fs_join(b->data, "scenarios");
    int count = scandir(below, &names, is_scenario, by_name);
    const char *dir = count > 0 ? below : b->data;
    if (count <= 0) {
        free(names);
        names = NULL;
        count = scandir(dir, &names, is_scenario, by_name);
    }
    for (int i = 0; i < count; i++) {
        char *path = pfc_fs_join(dir, names[i]->d_name);
        if (!code && strstr(names[i]->d_name, b->only)) {
            b->items = pfc_grow(b->items, b->len, &b->cap, sizeof *b->items);
            code = scenario_load(&b->items[b->len], path, err);
            if (b->no_prior)
                b->items[b->len].any_touches = false;
            b->items[b->len].fixed_layout = b->no_relink;
            b->items[b->len].first_only = b->first_only;
            b->len++;
        }
        free(path);
        free(names[i]);
    }
    free(names);
    free(below);
    return code;
}

static int usage(void)
{
    fprintf(stderr,
            "usage: perfci-bisect-bench --data DIR [--sessions N] [--strategy "
            "perfci|pinpoint|asv|halving-5|halving-3|git] [--only TEXT] [--no-prior] [--no-relink] "
            "[--first] [--show]\n");
    return 2;
}

static int parse(bench *b, int argc, char **argv)
{
    pfc_err err = { 0 };
    for (int i = 1; i < argc; i++) {
        const char *value = i + 1 < argc ? argv[i + 1] : NULL;
        if (strcmp(argv[i], "--show") == 0) {
            b->show = true;
            continue;
        }
        if (strcmp(argv[i], "--no-prior") == 0) {
            b->no_prior = true; /* what touched paths save, on the same histories */
            continue;
        }
        if (strcmp(argv[i], "--no-relink") == 0) {
            b->no_relink = true; /* builds differ by layout, and it cannot be randomised */
            continue;
        }
        if (strcmp(argv[i], "--first") == 0) {
            b->first_only = true; /* the limits' reference stops at its first culprit */
            continue;
        }
        if (!value)
            return usage();
        if (strcmp(argv[i], "--data") == 0)
            b->data = value;
        else if (strcmp(argv[i], "--only") == 0)
            b->only = value;
        else if (strcmp(argv[i], "--strategy") == 0 && strategy_named(value))
            b->strategy = value;
        else if (strcmp(argv[i], "--sessions") != 0)
            return usage();
        else if (pfc_parse_i64(value, 1, 100000, "--sessions", &b->sessions, &err)) {
            fprintf(stderr, "perfci-bisect-bench: %s\n", err.msg);
            return 2;
        }
        i++;
    }
    return b->data ? 0 : usage();
}

int main(int argc, char **argv)
{
    bench b = { .only = "", .sessions = 20 };
    pfc_err err = { 0 };
    int status = parse(&b, argc, argv);
    if (status)
        return status;
    if (load_all(&b, &err)) {
        fprintf(stderr, "perfci-bisect-bench: %s\n", err.msg);
        status = 2;
    } else if (!b.len) {
        printf("not available: no scenarios in %s\n", b.data);
        status = 5;
    } else {
        printf("%zu scenarios, %lld sessions each\n", b.len, (long long)b.sessions);
        b.beside = pfc_calloc(b.len, sizeof *b.beside);
        for (size_t i = 0; strategy_names[i]; i++)
            if (!b.strategy || strcmp(b.strategy, strategy_names[i]) == 0)
                run_strategy(&b, i);
        if (!b.strategy)
            print_beside(&b);
        if (!b.strategy || strcmp(b.strategy, "perfci") == 0)
            print_planner(&b);
    }
    for (size_t i = 0; i < b.len; i++)
        scenario_clear(&b.items[i]);
    free(b.items);
    free(b.beside);
    return status;
}
