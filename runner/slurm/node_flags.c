#include "runner/slurm/node_flags.h"

#include <stdlib.h>

typedef struct list {
    char **items;
    size_t len, cap;
} list;

static void add(list *flags, char *text)
{
    flags->items = pfc_grow(flags->items, flags->len, &flags->cap, sizeof(*flags->items));
    flags->items[flags->len++] = text;
}

char **pfc_slurm_node_flags(const pfc_agent_opts *opts, const char *log)
{
    static const char *const modes[] = { "auto", "require", "off" };
    list flags = { 0 };

    add(&flags, pfc_format("--sandbox=%s", modes[opts->sandbox]));
    for (size_t i = 0; opts->sandbox_paths && opts->sandbox_paths[i]; i++)
        add(&flags, pfc_format("--sandbox-path=%s", opts->sandbox_paths[i]));
    for (size_t i = 0; opts->sandbox_variables && opts->sandbox_variables[i]; i++)
        add(&flags, pfc_format("--job-env=%s", opts->sandbox_variables[i]));
    if (opts->build_network)
        add(&flags, pfc_strdup("--build-network"));
    if (opts->timeout_s > 0)
        add(&flags, pfc_format("--timeout=%.0fs", opts->timeout_s));
    if (opts->wait_quiet)
        add(&flags, pfc_format("--wait-quiet=%s", opts->wait_quiet));
    if (log)
        add(&flags, pfc_format("--log=%s", log));
    add(&flags, NULL);
    return flags.items;
}

void pfc_slurm_node_flags_free(char **flags)
{
    for (size_t i = 0; flags && flags[i]; i++)
        free(flags[i]);
    free(flags);
}
