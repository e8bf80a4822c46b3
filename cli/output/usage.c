/*
 * Wrong usage, in sentences: see usage.h.
 */
#include "cli/output/usage.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/output/output.h"

enum { MAX_OPTIONS = 128 };

/* The options of a command by name, argp's own included. */
typedef struct option_list {
    const char *names[MAX_OPTIONS + 1]; /* "--limit": as typed; NULL-terminated */
    const struct argp_option *items[MAX_OPTIONS];
    size_t len;
} option_list;

static PFC_NORETURN void fail_with_hint(const char *name, const char *hint, const char *fmt,
                                        va_list ap)
{
    fflush(stdout);
    pfc_out_err("%s: ", name);
    pfc_out_to(stderr, fmt, ap);
    if (hint)
        pfc_out_err("\nhint: did you mean \"%s\"? \"%s --help\" lists the options\n", hint, name);
    else
        pfc_out_err("\nhint: \"%s --help\" shows the options and examples\n", name);
    exit(PFC_EXIT_USAGE);
}

void pfc_usage_fail(const char *name, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    fail_with_hint(name, NULL, fmt, ap);
}

void pfc_cli_usage(const struct argp_state *state, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    fail_with_hint(state->name, NULL, fmt, ap);
}

static PFC_NORETURN void fail_near(const char *name, const char *near, const char *fmt, ...)
    PFC_PRINTF(3, 4);
static PFC_NORETURN void fail_near(const char *name, const char *near, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    fail_with_hint(name, near, fmt, ap);
}

static void add(option_list *list, const struct argp_option *options)
{
    for (; options && (options->name || options->key || options->doc); options++)
        if (options->name && list->len < MAX_OPTIONS) {
            list->items[list->len] = options;
            list->names[list->len++] = pfc_format("--%s", options->name);
        }
}

/* An alias takes a value where the option before it does. */
static bool takes_value(const struct argp_option *o)
{
    while (o->flags & OPTION_ALIAS)
        o--;
    return o->arg && !(o->flags & OPTION_ARG_OPTIONAL);
}

/* The option that `typed` (without value) names: whole, or by a beginning that fits one option
 * only. */
static const struct argp_option *find(const option_list *list, const char *name, const char *typed)
{
    const struct argp_option *found = NULL;

    for (size_t i = 0; i < list->len; i++) {
        if (strcmp(list->names[i], typed) == 0)
            return list->items[i];
        if (strncmp(list->names[i], typed, strlen(typed)) == 0) {
            if (found && found->key != list->items[i]->key)
                pfc_usage_fail(name, "option \"%s\" is ambiguous: \"--%s\" or \"%s\"", typed,
                               found->name, list->names[i]);
            found = list->items[i];
        }
    }
    if (!found)
        fail_near(name, pfc_cli_nearest(typed, list->names), "unknown option \"%s\"", typed);
    return found;
}

/* Looks at argv[i]; the index of its last word, its value if that stands behind it. */
static int check_long(const option_list *list, const char *name, int i, int argc, char **argv)
{
    const char *equals = strchr(argv[i], '=');
    char *typed = pfc_strndup(argv[i], equals ? (size_t)(equals - argv[i]) : strlen(argv[i]));
    const struct argp_option *o = find(list, name, typed);

    if (equals && !o->arg)
        pfc_usage_fail(name, "option \"%s\" takes no value, got \"%s\"", typed, equals + 1);
    if (!equals && takes_value(o) && ++i == argc)
        pfc_usage_fail(name, "option \"%s\" needs a value", typed);
    free(typed);
    return i;
}

static int check_short(const option_list *list, const char *name, int i, int argc, char **argv)
{
    for (const char *p = argv[i] + 1; *p; p++) {
        const struct argp_option *o = NULL;

        for (size_t k = 0; k < list->len && !o; k++)
            if (list->items[k]->key == *p)
                o = list->items[k];
        if (!o)
            pfc_usage_fail(name, "unknown option \"-%c\"", *p);
        if (takes_value(o) && !p[1] && ++i == argc)
            pfc_usage_fail(name, "option \"-%c\" needs a value", *p);
        if (o->arg)
            break;
    }
    return i;
}

void pfc_usage_check(const pfc_cli *cli, const struct argp_option *own,
                     const struct argp_option *global, int argc, char **argv)
{
    static const struct argp_option argps[] = { { "help", '?', 0, 0, "", 0 },
                                                { "usage", 1, 0, 0, "", 0 },
                                                { "version", 'V', 0, 0, "", 0 },
                                                { 0 } };
    option_list list = { .len = 0 };

    add(&list, own);
    add(&list, global);
    add(&list, argps);
    for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++) {
        if (strncmp(argv[i], "--", 2) == 0)
            i = check_long(&list, cli->name, i, argc, argv);
        else if (argv[i][0] == '-' && argv[i][1])
            i = check_short(&list, cli->name, i, argc, argv);
    }
    for (size_t i = 0; i < list.len; i++)
        free((char *)(uintptr_t)list.names[i]);
}

/* Edits (insert, delete, change, swap neighbours) between two short words, Damerau's restricted
 * distance over three rows; anything longer than the rows is simply far. */
static size_t edit_distance(const char *a, const char *b)
{
    enum { MAX = 40 };
    size_t rows[3][MAX + 1];
    const size_t na = strlen(a);
    const size_t nb = strlen(b);

    if (na > MAX || nb > MAX)
        return MAX;
    memset(rows, 0, sizeof(rows));
    for (size_t j = 0; j <= nb; j++)
        rows[0][j] = j;
    for (size_t i = 1; i <= na; i++) {
        size_t *row = rows[i % 3];
        const size_t *up = rows[(i - 1) % 3];
        const size_t *up2 = rows[(i + 1) % 3];

        row[0] = i;
        for (size_t j = 1; j <= nb; j++) {
            size_t d = up[j - 1] + (a[i - 1] != b[j - 1]);

            d = PFC_MIN(d, PFC_MIN(up[j] + 1, row[j - 1] + 1));
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                d = PFC_MIN(d, up2[j - 2] + 1);
            row[j] = d;
        }
    }
    return rows[na % 3][nb];
}

const char *pfc_cli_nearest(const char *typed, const char *const *names)
{
    const char *best = NULL;
    /* A third of the letters may be wrong; more, and the guess would only confuse. */
    size_t best_distance = strlen(typed) / 3 + 2;

    for (size_t i = 0; names[i]; i++) {
        const size_t d = edit_distance(typed, names[i]);

        if (d < best_distance) {
            best_distance = d;
            best = names[i];
        }
    }
    return best;
}
