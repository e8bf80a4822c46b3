/* Kinds of nodes, and the labels that jobs find them by. */
#include <stdlib.h>
#include <string.h>

#include "runner/slurm/cluster.h"
#include "runner/slurm/slurm_priv.h"

#define MAX_LABELS 64

static void kind_clear(pfc_slurm_kind *kind)
{
    free(kind->features);
    free(kind->gres);
    free(kind->machine_class);
    json_decref(kind->labels);
}

void pfc_slurm_kinds_clear(pfc_slurm_kinds *kinds)
{
    for (size_t i = 0; i < kinds->len; i++)
        kind_clear(&kinds->items[i]);
    free(kinds->items);
    *kinds = (pfc_slurm_kinds){ 0 };
}

static void label(json_t *labels, const char *name, const char *value)
{
    if (name[0] && json_object_size(labels) < MAX_LABELS)
        json_object_set_new(labels, name, json_string(value));
}

/* "h100,rack=7": {"h100": "yes", "rack": "7"}. */
static void label_features(json_t *labels, const char *features)
{
    char *text = pfc_strdup(features), *rest = NULL;

    for (char *word = strtok_r(text, ",", &rest); word; word = strtok_r(NULL, ",", &rest)) {
        char *is = strchr(word, '=');

        if (is)
            *is = '\0';
        label(labels, word, is ? is + 1 : "yes");
    }
    free(text);
}

/* "gpu:h100:4(S:0-1),nic:1": {"gres/gpu": "h100", "gres/nic": "yes"}. The number says nothing here:
 * a job has the whole node. */
static void label_gres(json_t *labels, const char *gres)
{
    char *text = pfc_strdup(gres), *rest = NULL;

    for (char *word = strtok_r(text, ",", &rest); word; word = strtok_r(NULL, ",", &rest)) {
        char *model = strchr(word, ':'), *number = NULL, *name;

        if (model) {
            *model++ = '\0';
            number = strchr(model, ':');
        }
        if (number)
            *number = '\0';
        name = pfc_format("gres/%s", word);
        label(labels, name, number ? model : "yes");
        free(name);
    }
    free(text);
}

static char *joined(const char *features)
{
    char *text = pfc_strdup(features[0] ? features : "slurm");

    for (char *at = text; *at; at++)
        if (*at == ',')
            *at = '+';
    return text;
}

/* gpu:1(S:0): the part in parentheses says which sockets it is near, and is no part of a request.
 */
static char *requested(const char *gres)
{
    char *text = pfc_strdup(gres), *to = text;
    int depth = 0;

    for (const char *at = gres; *at; at++) {
        depth += *at == '(';
        if (depth == 0)
            *to++ = *at;
        depth -= *at == ')';
    }
    *to = '\0';
    return text;
}

static pfc_slurm_kind *kind_for(pfc_slurm_kinds *kinds, const char *features, const char *gres,
                                const char *machine_class)
{
    char *wanted = requested(gres);
    pfc_slurm_kind *kind = NULL;

    for (size_t i = 0; i < kinds->len && !kind; i++)
        if (strcmp(kinds->items[i].features, features) == 0 &&
            strcmp(kinds->items[i].gres, wanted) == 0)
            kind = &kinds->items[i];
    if (kind) {
        free(wanted);
        return kind;
    }
    kinds->items = pfc_grow(kinds->items, kinds->len, &kinds->cap, sizeof(*kinds->items));
    kind = &kinds->items[kinds->len++];
    *kind = (pfc_slurm_kind){ .features = pfc_strdup(features),
                              .gres = wanted,
                              .machine_class =
                                  machine_class ? pfc_strdup(machine_class) : joined(features),
                              .labels = json_pack("{s:s}", "tasks", "blocks") };
    label_features(kind->labels, features);
    label_gres(kind->labels, wanted);
    return kind;
}

/* States are one word, with marks such as "*" (no answer) or "$" (maintenance) behind it. A node
 * that runs its last job before it is drained takes no other. */
static bool is_usable(const char *state)
{
    static const char *const takes[] = { "idle", "allocated",  "alloc",   "mixed", "mix",
                                         "comp", "completing", "planned", "plnd" };
    const size_t len = strcspn(state, "*~#!%$@^-+");

    if (state[len] == '*')
        return false;
    for (size_t i = 0; i < PFC_ARRAY_LEN(takes); i++)
        if (strlen(takes[i]) == len && strncmp(takes[i], state, len) == 0)
            return true;
    return false;
}

static const char *unless_null(const char *text)
{
    return strcmp(text, "(null)") == 0 ? "" : text;
}

pfc_code pfc_slurm_kinds_parse(const char *text, const char *machine_class, pfc_slurm_kinds *out,
                               pfc_err *err)
{
    pfc_slurm_kinds kinds = { 0 };
    char *copy = pfc_strdup(text), *rest = NULL;
    pfc_code code = PFC_OK;

    for (char *line = strtok_r(copy, "\n", &rest); line && !code;
         line = strtok_r(NULL, "\n", &rest)) {
        char *fields[4];

        if (!pfc_slurm_split(line, fields, 4))
            code = pfc_err_set(err, PFC_EINVAL,
                               "sinfo: expected NODE|STATE|FEATURES|GRES, got \"%.200s\"", line);
        else
            kind_for(&kinds, unless_null(fields[2]), unless_null(fields[3]), machine_class)
                ->usable += is_usable(fields[1]);
    }
    free(copy);
    if (code) {
        pfc_slurm_kinds_clear(&kinds);
        return code;
    }
    pfc_slurm_kinds_clear(out);
    *out = kinds;
    return PFC_OK;
}

pfc_code pfc_slurm_kinds_read(const pfc_slurm_opts *opts, pfc_slurm_kinds *out, pfc_err *err)
{
    const char *argv[] = { "sinfo",
                           "--noheader",
                           "--Node",
                           "--format=%N|%T|%f|%G",
                           opts->partition ? "--partition" : NULL,
                           opts->partition,
                           NULL };
    char *text = NULL;
    pfc_code code = pfc_slurm_ask(argv, NULL, &text, err);

    if (!code)
        code = pfc_slurm_kinds_parse(text, opts->machine_class, out, err);
    /* As runner/agent/agent.c does: the dispatcher ends on purpose. */
    for (size_t i = 0; !code && opts->once && i < out->len; i++)
        label(out->items[i].labels, "once", "yes");
    free(text);
    return code;
}
