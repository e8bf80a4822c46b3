/* Applies an action of advice to a problem and its tiles. */
#include <stdlib.h>
#include <string.h>

#include "cli/accel/advice/advice.h"
#include "core/base/base.h"
#include "core/base/parse.h"

static pfc_code set_type(pfc_accel_problem *problem, int64_t bytes, pfc_err *err)
{
    static const pfc_accel_dtype types[] = { PFC_ACCEL_F32, PFC_ACCEL_BF16, PFC_ACCEL_INT8 };

    for (size_t i = 0; i < PFC_ARRAY_LEN(types); i++) {
        if ((int64_t)pfc_accel_dtype_bytes(types[i]) == bytes) {
            problem->dtype = types[i];
            return PFC_OK;
        }
    }
    return pfc_err_set(err, PFC_EINVAL, "dtype_bytes: expected 4, 2 or 1, got %lld",
                       (long long)bytes);
}

/* "NAME=VALUE", which it cuts at the sign. */
static pfc_code apply_one(char *word, advice_case *c, pfc_err *err)
{
    char *value = strchr(word, '=');
    int64_t number = 0;
    pfc_code code;

    if (!value)
        return pfc_err_set(err, PFC_EINVAL, "action: expected NAME=VALUE, got \"%.60s\"", word);
    *value++ = '\0';
    code = pfc_parse_i64(value, 0, PFC_ACCEL_MAX_DIM, word, &number, err);
    if (code)
        return code;
    if (strcmp(word, "dtype_bytes") == 0)
        return set_type(&c->problem, number, err);
    code = pfc_accel_tile_set(&c->tiles, word, (uint64_t)number, err);
    return code == PFC_ENOTFOUND ? pfc_err_set(err, PFC_EINVAL,
                                               "action: expected a number of tiles or dtype_bytes, "
                                               "got \"%.60s\"",
                                               word)
                                 : code;
}

pfc_code advice_apply(const char *action, advice_case *c, pfc_err *err)
{
    char *copy = pfc_strdup(action);
    char *rest = NULL;
    pfc_code code = PFC_OK;

    for (char *word = strtok_r(copy, " ", &rest); word && !code; word = strtok_r(NULL, " ", &rest))
        code = apply_one(word, c, err);
    free(copy);
    return code;
}
