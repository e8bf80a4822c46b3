/* What series that changed together have in common. */
#include <math.h>

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
        { "gemm/a", "time_ns", "cpu-avx2", "zen4", small, true, NAN },
        { "gemm/b", "time_ns", "cpu-avx2", "zen4", small, true, NAN },
        { "gemm/a", "time_ns", "cpu-scalar", "zen4", small, false, NAN },
        { "gemm/c", "time_ns", "cpu-avx2", "zen4", large, false, NAN },
        { "norm/a", "time_ns", "cpu-avx2", "zen4", NULL, false, NAN },
    };

    expect("2 of 5 series: gemm, cpu-avx2, dtype=bf16, k=64 only, all of these", s, 5);
    s[4].hit = true;                              /* nothing but the backend is left */
    expect("3 of 5 series: cpu-avx2 only", s, 5); /* gemm/c has it, too */
    s[2].hit = true;                              /* gemm and norm, both backends */
    expect("4 of 5 series", s, 5);
    s[3].hit = true;
    expect("all 5 series", s, 5);
    expect("1 of 1 series", s, 1);
    json_decref(small);
    json_decref(large);
}

/* The bf16 products of long rows on one class of machine lost 6 to 8 %. */
Test(slice, says_where_numbers_end_and_how_large_the_change_is)
{
    static const char *const sizes[] = { "64", "512", "4096", "8192" };
    pfc_slice_series s[2 * 2 * 4];
    size_t n = 0;

    for (size_t type = 0; type < 2; type++) {
        for (size_t machine = 0; machine < 2; machine++) {
            for (size_t k = 0; k < 4; k++, n++) {
                s[n] = (pfc_slice_series){ "gemm/x",
                                           "time_ns",
                                           "cpu-avx512",
                                           machine ? "zen4" : "spr",
                                           json_pack("{s:s, s:s}", "dtype", type ? "bf16" : "f32",
                                                     "k", sizes[k]),
                                           type == 1 && machine == 1 && k >= 2,
                                           k == 2 ? 0.06 : 0.081 };
            }
        }
    }
    expect("2 of 16 series: zen4, dtype=bf16, k >= 4096 only, all of these; +6.0 % to +8.1 %", s,
           n);
    s[n - 1].hit = false; /* the longest did not: no bound holds, and one value is a value */
    expect("1 of 16 series: zen4, dtype=bf16, k=4096 only, all of these; +6.0 %", s, n);
    s[n - 1].hit = true;
    s[n - 3].hit = true;                                /* k = 512 */
    s[n - 2].rel_change = s[n - 3].rel_change = 0.0812; /* the same, as shown */
    expect("3 of 16 series: zen4, dtype=bf16, k >= 512 only, all of these; +8.1 %", s, n);
    s[n - 1].hit = s[n - 2].hit = false;
    s[n - 4].hit = true; /* 64 and 512 */
    s[n - 4].rel_change = (double)NAN;
    expect("2 of 16 series: zen4, dtype=bf16, k <= 512 only, all of these; +8.1 %", s, n);
    for (size_t i = 0; i < n; i++)
        json_decref((json_t *)(uintptr_t)s[i].params);
}
