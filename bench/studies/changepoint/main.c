/*
 * perfci-bench-detect --data DIR|FILE.jsonl [--out FILE.jsonl] [--replay] [--peers [--categories] |
 * --score] perfci-bench-detect --fdr [--commits N] [--series N] [--seed N] [--shared PERCENT]
 * [--changes PERCENT] perfci-bench-detect --speed [--seed N]
 *
 * Runs the detector over every series DIR/ID.json or DIR/series/ID.json (the input of
 * `perfci detect`), or every line of FILE.jsonl, scores it where the series have labels, and prints
 * how fast it was. --out writes
 * {"id": ..., "changes": [...]} a line. --replay also cuts every series at each of its last points
 * and counts confirmed changes that a further point made vanish. --peers runs re-implemented rivals
 * beside it, in turns; --score prints our figures alone, as JSON. --fdr and --speed need no data:
 * alerts on simulated commits without a change, or with one in --changes of them, and --shared of
 * the noise common to all series; made series, whole and a point at a time. Without data: "not
 * available", exit 5.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "bench/studies/changepoint/bench.h"
#include "core/base/parse.h"
#include "core/changepoint/changepoint.h"

#define ROUNDS 3 /* the fastest of these is the speed */

static int write_changes(const pfc_corpus *c, FILE *out)
{
    for (size_t i = 0; i < c->len; i++) {
        pfc_detection found;
        if (!pfc_bench_detect_one(&c->items[i], c->items[i].len, &found))
            return 5;
        fprintf(out, "{\"id\": \"%s\", \"changes\": [", c->items[i].id);
        for (size_t k = 0; k < found.changes_len; k++)
            fprintf(out, "%s%zu", k ? ", " : "", found.changes[k].index);
        fprintf(out, "], \"sets\": [");
        for (size_t k = 0; k < found.changes_len; k++)
            fprintf(out, "%s[%zu, %zu]", k ? ", " : "", found.changes[k].index_low,
                    found.changes[k].index_high);
        fprintf(out, "]}\n");
        pfc_detection_clear(&found);
    }
    return 0;
}

static int time_all(const pfc_corpus *c)
{
    double best = INFINITY;
    for (int round = 0; round < ROUNDS; round++) {
        int64_t from = pfc_bench_cpu_ns();
        for (size_t i = 0; i < c->len; i++) {
            pfc_detection found;
            if (!pfc_bench_detect_one(&c->items[i], c->items[i].len, &found))
                return 5;
            pfc_detection_clear(&found);
        }
        best = fmin(best, (double)(pfc_bench_cpu_ns() - from) * 1e-9);
    }
    printf("%zu series, %zu points, %.3f CPU s, %.2f M points/s\n", c->len, c->points, best,
           (double)c->points / best * 1e-6);
    return 0;
}

/* The very same place and set, and still confirmed. */
static bool holds(const pfc_detection *now, const pfc_change *change)
{
    for (size_t k = 0; k < now->changes_len; k++) {
        const pfc_change *c = &now->changes[k];
        if (c->confirmed && c->index == change->index && c->index_low == change->index_low &&
            c->index_high == change->index_high)
            return true;
    }
    return false;
}

static int replay(const pfc_corpus *c)
{
    size_t lost = 0;
    size_t confirmed = 0;
    size_t cuts = 0;
    for (size_t i = 0; i < c->len; i++) {
        const pfc_labelled *s = &c->items[i];
        size_t n = PFC_MIN(s->len, (size_t)400);
        pfc_detection before = { 0 };
        for (size_t cut = 1; cut <= n; cut++) {
            pfc_detection now;
            if (!pfc_bench_detect_one(s, cut, &now))
                return 5;
            for (size_t k = 0; k < before.changes_len; k++) {
                confirmed += before.changes[k].confirmed;
                lost += before.changes[k].confirmed && !holds(&now, &before.changes[k]);
            }
            pfc_detection_clear(&before);
            before = now;
            cuts++;
        }
        pfc_detection_clear(&before);
    }
    printf("replay: %zu cuts, %zu confirmed changes seen again, %zu lost\n", cuts, confirmed, lost);
    return 0;
}

static int write_file(const pfc_corpus *c, const char *path)
{
    FILE *out = fopen(path, "w");
    if (!out) {
        fprintf(stderr, "perfci-bench-detect: %s: %s\n", path, strerror(errno));
        return 5;
    }
    int status = write_changes(c, out);
    return fclose(out) == 0 ? status : 5;
}

typedef struct args {
    const char *data, *out;
    bool replay, peers, categories, score, fdr, speed;
    int64_t commits, series, seed, shared, changes;
} args;

static int usage(void)
{
    fprintf(stderr,
            "usage: perfci-bench-detect --data DIR|FILE.jsonl [--out FILE.jsonl] [--replay] "
            "[--peers [--categories] | --score]\n"
            "       perfci-bench-detect --fdr [--commits N] [--series N] [--seed N] [--shared "
            "PERCENT] [--changes PERCENT]\n"
            "       perfci-bench-detect --speed [--seed N]\n");
    return 2;
}

static bool flag(const char *arg, args *a)
{
    static const char *const names[] = { "--replay", "--peers", "--categories",
                                         "--score",  "--fdr",   "--speed" };
    bool *const targets[] = {
        &a->replay, &a->peers, &a->categories, &a->score, &a->fdr, &a->speed
    };
    for (size_t i = 0; i < PFC_ARRAY_LEN(names); i++) {
        if (strcmp(arg, names[i]) == 0) {
            *targets[i] = true;
            return true;
        }
    }
    return false;
}

static bool number(const char *name, const char *text, args *a)
{
    const struct {
        const char *name;
        int64_t least, most, *target;
    } all[] = { { "--commits", 1, 1000000, &a->commits },
                { "--series", 1, 1000000, &a->series },
                { "--seed", 1, 1000000, &a->seed },
                { "--shared", 0, 100, &a->shared },
                { "--changes", 0, 100, &a->changes } };
    for (size_t i = 0; i < PFC_ARRAY_LEN(all); i++) {
        if (strcmp(name, all[i].name) == 0)
            return pfc_parse_i64(text, all[i].least, all[i].most, name, all[i].target, NULL) ==
                   PFC_OK;
    }
    return false;
}

static bool parse(int argc, char **argv, args *a)
{
    for (int i = 1; i < argc; i++) {
        if (flag(argv[i], a))
            continue;
        if (i + 1 >= argc)
            return false;
        if (strcmp(argv[i], "--data") == 0)
            a->data = argv[++i];
        else if (strcmp(argv[i], "--out") == 0)
            a->out = argv[++i];
        else if (number(argv[i], argv[i + 1], a))
            i++;
        else
            return false;
    }
    return a->data || a->fdr || a->speed;
}

/* A folder of series, or a file with one a line. */
static bool load(pfc_corpus *c, const char *path)
{
    struct stat st;
    pfc_err err = { 0 };
    if (stat(path, &st) == 0 && S_ISREG(st.st_mode)) {
        if (pfc_corpus_load_lines(c, path, &err)) {
            fprintf(stderr, "perfci-bench-detect: %s\n", err.msg);
            return false;
        }
    } else {
        pfc_corpus_load(c, path);
    }
    if (c->len == 0)
        printf("not available: no series in %s\n", path);
    return c->len > 0;
}

int main(int argc, char **argv)
{
    args a = { .commits = 1000, .series = 500, .seed = 1 };
    pfc_corpus c = { 0 };
    int status = 0;
    if (!parse(argc, argv, &a))
        return usage();
    if (a.fdr) {
        const pfc_fdr_plan plan = { .commits = (size_t)a.commits,
                                    .series = (size_t)a.series,
                                    .seed = (uint64_t)a.seed,
                                    .shared = (double)a.shared / 100.0,
                                    .changes = (double)a.changes / 100.0 };
        status = pfc_bench_false_discoveries(&plan);
    }
    if (a.speed && status == 0)
        pfc_bench_speed((uint64_t)a.seed);
    if (!a.data || status)
        return status;
    if (!load(&c, a.data)) {
        pfc_corpus_clear(&c);
        return 5;
    }
    if (a.score)
        status = pfc_bench_score(&c);
    else
        status = a.peers ? pfc_bench_side_by_side(&c, a.categories) : time_all(&c);
    if (status == 0 && a.out)
        status = write_file(&c, a.out);
    if (status == 0 && a.replay)
        status = replay(&c);
    pfc_corpus_clear(&c);
    return status;
}
