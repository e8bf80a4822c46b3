/* What series that changed together have in common. */
#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include "server/services/internal.h"

static void expect(const char *want, const pfc_slice_series *series, size_t len)
{
    char *text = pfc_slice_summary(series, len);

    cr_assert(eq(str, text, (char *)want));
    free(text);
}

Test(slice, names_what_sets_the_changed_series_apart)
{
    json_t *small = json_pack("{s:s, s:s}", "dtype", "bf16", "k", "64");
    json_t *large = json_pack("{s:s, s:s}", "dtype", "bf16", "k", "512");
    pfc_slice_series s[] = {
        { "gemm/a", "time_ns", "cpu-avx2", "zen4", small, true },
        { "gemm/b", "time_ns", "cpu-avx2", "zen4", small, true },
        { "gemm/a", "time_ns", "cpu-scalar", "zen4", small, false },
        { "gemm/c", "time_ns", "cpu-avx2", "zen4", large, false },
        { "norm/a", "time_ns", "cpu-avx2", "zen4", NULL, false },
    };

    expect("2 of 5 series: gemm, cpu-avx2, dtype=bf16 only", s, 5);
    s[4].hit = true; /* nothing but the backend is left */
    expect("3 of 5 series: cpu-avx2 only", s, 5);
    s[2].hit = true; /* gemm and norm, both backends */
    expect("4 of 5 series", s, 5);
    s[3].hit = true;
    expect("all 5 series", s, 5);
    expect("1 of 1 series", s, 1);
    json_decref(small);
    json_decref(large);
}
