/* Error codes and the sentence that goes with them. */
#include "core/base/err.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core/base/parse.h"

pfc_code pfc_err_set(pfc_err *err, pfc_code code, const char *fmt, ...)
{
    va_list args;

    if (err == NULL)
        return code;
    err->code = code;
    err->field[0] = '\0';
    err->hint[0] = '\0';
    va_start(args, fmt);
    vsnprintf(err->msg, sizeof err->msg, fmt, args);
    va_end(args);
    pfc_utf8_mend(err->msg);
    return code;
}

pfc_code pfc_err_set_field(pfc_err *err, pfc_code code, const char *field, const char *fmt, ...)
{
    va_list args;

    if (err == NULL)
        return code;
    err->code = code;
    err->hint[0] = '\0';
    snprintf(err->field, sizeof err->field, "%s", field);
    pfc_utf8_mend(err->field);
    va_start(args, fmt);
    vsnprintf(err->msg, sizeof err->msg, fmt, args);
    va_end(args);
    pfc_utf8_mend(err->msg);
    return code;
}

pfc_code pfc_err_hint(pfc_err *err, const char *fmt, ...)
{
    va_list args;

    if (err == NULL)
        return PFC_EBUG;
    va_start(args, fmt);
    vsnprintf(err->hint, sizeof err->hint, fmt, args);
    va_end(args);
    pfc_utf8_mend(err->hint);
    return err->code;
}

pfc_code pfc_err_wrap(pfc_err *err, const char *fmt, ...)
{
    char context[PFC_ERR_MAX];
    char old[PFC_ERR_MAX];
    va_list args;
    size_t used;

    if (err == NULL)
        return PFC_EBUG;
    va_start(args, fmt);
    vsnprintf(context, sizeof context, fmt, args);
    va_end(args);
    memcpy(old, err->msg, sizeof old);
    used = (size_t)snprintf(err->msg, sizeof err->msg, "%.200s: ", context);
    snprintf(err->msg + used, sizeof err->msg - used, "%.*s", (int)(sizeof err->msg - used - 1),
             old);
    pfc_utf8_mend(err->msg);
    return err->code == PFC_OK ? PFC_EBUG : err->code;
}

const char *pfc_code_name(pfc_code code)
{
    switch (code) {
    case PFC_OK:
        return "OK";
    case PFC_EINVAL:
        return "EINVAL";
    case PFC_ENOTFOUND:
        return "ENOTFOUND";
    case PFC_ECONFLICT:
        return "ECONFLICT";
    case PFC_EUNAVAIL:
        return "EUNAVAIL";
    case PFC_ETIMEOUT:
        return "ETIMEOUT";
    case PFC_EIO:
        return "EIO";
    case PFC_EBUG:
        return "EBUG";
    case PFC_EDENIED:
        return "EDENIED";
    case PFC_ETOOBIG:
        return "ETOOBIG";
    case PFC_EBROKEN:
        return "EBROKEN";
    }
    return "UNKNOWN";
}

int pfc_code_exit(pfc_code code)
{
    switch (code) {
    case PFC_OK:
        return 0;
    case PFC_EINVAL:
    case PFC_ENOTFOUND:
    case PFC_ECONFLICT:
    case PFC_EDENIED:
    case PFC_ETOOBIG:
        return 2;
    case PFC_EBROKEN:
        return 4;
    case PFC_EUNAVAIL:
    case PFC_ETIMEOUT:
    case PFC_EIO:
    case PFC_EBUG:
        return 5;
    }
    return 5;
}
