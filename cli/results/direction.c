/*
 * --direction NAME=higher, and directions: of perfci.yaml.
 */
#include "cli/results/direction.h"

#include <string.h>

void pfc_directions_add(pfc_directions *to, char *arg, struct argp_state *state)
{
    char *equals = strrchr(arg, '=');
    const bool higher = equals && pfc_streq(equals + 1, "higher");

    if (!equals || equals == arg || !(higher || pfc_streq(equals + 1, "lower")))
        pfc_cli_usage(state, "--direction: expected NAME=higher or NAME=lower, got \"%s\"", arg);
    if (to->len == PFC_MAX_DIRECTIONS)
        pfc_cli_usage(state, "--direction: at most %d", PFC_MAX_DIRECTIONS);
    *equals = '\0';
    to->items[to->len++] = (pfc_direction){ arg, higher };
}

void pfc_directions_add_conf(pfc_directions *to, const pfc_conf *conf)
{
    for (size_t i = 0; i < conf->directions_len && to->len < PFC_MAX_DIRECTIONS; i++)
        to->items[to->len++] = conf->directions[i];
}
