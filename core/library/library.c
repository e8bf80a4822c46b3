/*
 * Version, errors, and structs whose size the caller states.
 */
#include "core/library/library.h"

#include <math.h>
#include <string.h>

static _Thread_local pfc_err last;

const char *perfci_version(void)
{
    return PFC_VERSION;
}

int perfci_abi(void)
{
    return PERFCI_ABI;
}

const char *perfci_error_message(void)
{
    return last.msg;
}

const char *perfci_error_field(void)
{
    return last.field;
}

const char *perfci_verdict_name(int verdict)
{
    return verdict >= 0 && verdict < PFC_CMP_VERDICTS ? pfc_cmp_name((pfc_cmp_verdict)verdict)
                                                      : "unknown";
}

pfc_err *library_err(void)
{
    last = (pfc_err){ 0 };
    return &last;
}

int library_code(pfc_code code)
{
    return code == PFC_OK || code == PFC_EINVAL || code == PFC_ENOTFOUND || code == PFC_EIO ||
                   code == PFC_ETOOBIG
               ? (int)code
               : PERFCI_EOTHER;
}

pfc_code library_need(const void *given, const char *what, pfc_err *err)
{
    return given ? PFC_OK
                 : pfc_err_set_field(err, PFC_EINVAL, what, "%s: expected one, got NULL", what);
}

pfc_code library_within(size_t i, size_t len, const char *what, pfc_err *err)
{
    return i < len ? PFC_OK
                   : pfc_err_set_field(err, PFC_EINVAL, what,
                                       "%s: expected a position below %zu, got %zu", what, len, i);
}

pfc_code library_number(double value, double low, double high, const char *what, pfc_err *err)
{
    if (value == 0 || (value >= low && value <= high))
        return PFC_OK;
    return pfc_err_set_field(err, PFC_EINVAL, what, "%s: expected 0 or %g..%g, got %g", what, low,
                             high, value);
}

static pfc_code size_of(const void *given, size_t least, const char *what, size_t *size,
                        pfc_err *err)
{
    pfc_code code = library_need(given, what, err);

    if (code)
        return code;
    memcpy(size, given, sizeof(*size));
    if (*size >= least)
        return PFC_OK;
    return pfc_err_set_field(err, PFC_EINVAL, what,
                             "%s: expected a member size of at least %zu bytes, got %zu", what,
                             least, *size);
}

pfc_code library_take(const void *given, size_t least, void *full, size_t full_size,
                      const char *what, pfc_err *err)
{
    size_t size = 0;
    pfc_code code = size_of(given, least, what, &size, err);

    if (code)
        return code;
    if (size > full_size + 4096)
        return pfc_err_set_field(err, PFC_EINVAL, what,
                                 "%s: expected a member size of at most %zu bytes, got %zu", what,
                                 full_size + 4096, size);
    /* Of a newer header: what is not known may not be asked for. */
    for (size_t i = full_size; i < size; i++)
        if (((const unsigned char *)given)[i])
            return pfc_err_set_field(err, PFC_EINVAL, what,
                                     "%s: a member at byte %zu is set, which libperfci %s does not "
                                     "know",
                                     what, i, PFC_VERSION);
    memset(full, 0, full_size);
    memcpy(full, given, PFC_MIN(size, full_size));
    return PFC_OK;
}

pfc_code library_give(void *given, size_t least, const void *full, size_t full_size,
                      const char *what, pfc_err *err)
{
    size_t size = 0;
    pfc_code code = size_of(given, least, what, &size, err);

    if (!code)
        memcpy((char *)given + sizeof(size), (const char *)full + sizeof(size),
               PFC_MIN(size, full_size) - sizeof(size));
    return code;
}
