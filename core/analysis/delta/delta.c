#include <string.h>

#include "core/analysis/delta/delta_priv.h"

pfc_code pfc_delta_of(const pfc_profile *before, const pfc_profile *after, pfc_delta *out,
                      pfc_err *err)
{
    pfc_code code = pfc_profile_check(before, err);

    memset(out, 0, sizeof(*out));
    if (!code)
        code = pfc_profile_check(after, err);
    if (code)
        return code;
    pfc_profile_total(before, &out->before);
    pfc_profile_total(after, &out->after);
    out->delta = out->after - out->before;
    pfc_delta_split(before, after, out);
    pfc_delta_differences(before, after, out);
    pfc_delta_causes(before, after, out);
    return PFC_OK;
}

const char *pfc_delta_kind_name(pfc_delta_kind kind)
{
    static const char *const names[] = {
        [PFC_DELTA_CHIP] = "chip",       [PFC_DELTA_CHOICE] = "choice",
        [PFC_DELTA_STREAM] = "stream",   [PFC_DELTA_SIMULATOR] = "simulator",
        [PFC_DELTA_UNKNOWN] = "unknown",
    };

    return names[kind];
}
