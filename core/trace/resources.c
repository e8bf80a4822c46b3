#include "core/trace/resources.h"

#include <stddef.h>
#include <string.h>

static const struct {
    const char *name, *meaning;
} rows[PFC_RESOURCES_LEN] = {
#define PFC_X(id, name, meaning) { name, meaning },
    PFC_RESOURCES(PFC_X)
#undef PFC_X
};

const char *pfc_resource_name(pfc_resource r)
{
    return r < PFC_RESOURCES_LEN ? rows[r].name : "none";
}

const char *pfc_resource_meaning(pfc_resource r)
{
    return r < PFC_RESOURCES_LEN ? rows[r].meaning : "";
}

bool pfc_resource_parse(const char *name, pfc_resource *out)
{
    *out = PFC_RESOURCE_NONE;
    for (size_t i = 0; i < PFC_RESOURCES_LEN; i++)
        if (strcmp(rows[i].name, name) == 0)
            *out = (pfc_resource)i;
    return *out != PFC_RESOURCE_NONE;
}
