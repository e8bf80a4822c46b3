/* Which ceilings apply to a benchmark. */
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "server/services/plot/roofline.h"

static bool of_backend(const char *pattern, const char *backend)
{
    const size_t len = strlen(pattern);

    if (len == 0)
        return true;
    if (pattern[len - 1] == '*')
        return strncmp(pattern, backend, len - 1) == 0;
    return strcmp(pattern, backend) == 0;
}

bool pfc_roofline_fits(const pfc_run_ceiling *c, const char *backend, const char *dtype)
{
    if (!of_backend(c->backend, backend))
        return false;
    return c->memory || !*c->dtype || (dtype && strcmp(c->dtype, dtype) == 0);
}

static double capacity(const pfc_run_ceiling *c)
{
    return c->capacity_bytes > 0 ? c->capacity_bytes : (double)INFINITY;
}

static bool better_memory(const pfc_run_ceiling *c, const pfc_run_ceiling *than)
{
    if (capacity(c) < capacity(than) || capacity(c) > capacity(than))
        return capacity(c) < capacity(than);
    return c->value > than->value;
}

void pfc_roofline_choose(const pfc_run_ceiling *ceilings, size_t len, const char *backend,
                         const char *dtype, double bytes, size_t *compute, size_t *memory)
{
    *compute = *memory = SIZE_MAX;
    for (size_t i = 0; i < len; i++) {
        const pfc_run_ceiling *c = &ceilings[i];

        if (!pfc_roofline_fits(c, backend, dtype) || (c->memory && bytes > capacity(c)))
            continue;
        if (c->memory && (*memory == SIZE_MAX || better_memory(c, &ceilings[*memory])))
            *memory = i;
        if (!c->memory && (*compute == SIZE_MAX || c->value > ceilings[*compute].value))
            *compute = i;
    }
}

double pfc_roofline_seconds(const char *unit)
{
    static const struct {
        const char *unit;
        double seconds;
    } units[] = { { "ns", 1e-9 },      { "us", 1e-6 }, { "\u00b5s", 1e-6 },
                  { "\u03bcs", 1e-6 }, { "ms", 1e-3 }, { "s", 1 } };

    for (size_t i = 0; i < PFC_ARRAY_LEN(units); i++)
        if (strcmp(units[i].unit, unit) == 0)
            return units[i].seconds;
    return 0;
}
