/* Expressions: refused with the place, or evaluated to a finite number or a reason. */
#include <math.h>
#include <string.h>

#include "core/analysis/expr/expr.h"

#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const pfc_expr_place place = { "x.yaml", 1, 1 };
    pfc_expr *e = NULL;
    pfc_expr_scope scope;
    pfc_expr_result r;
    pfc_profile p;
    pfc_err err = { 0 };
    char reason[160];

    if (pfc_expr_parse((const char *)data, size, &place, NULL, &e, &err)) {
        FUZZ_CHECK(e == NULL && strncmp(err.msg, "x.yaml:", 7) == 0);
        return 0;
    }
    pfc_profile_init(&p, "x");
    FUZZ_CHECK(pfc_profile_set(&p, "cycles", 1000, &err) == PFC_OK);
    FUZZ_CHECK(pfc_profile_set(&p, "a", 0, &err) == PFC_OK);
    pfc_expr_scope_init(&scope, NULL, &p);
    r = pfc_expr_eval(e, &scope);
    pfc_expr_reason(&r, reason, sizeof(reason));
    FUZZ_CHECK(r.available ? isfinite(r.number) && !reason[0] : isnan(r.number) && reason[0]);
    pfc_profile_clear(&p);
    pfc_expr_free(e);
    return 0;
}
