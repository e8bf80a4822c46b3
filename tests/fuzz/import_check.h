/* Properties of every reader of results, for any input. For the fuzz targets of a family. */
#ifndef PFC_TESTS_FUZZ_IMPORT_CHECK_H
#define PFC_TESTS_FUZZ_IMPORT_CHECK_H

#include <math.h>

#include "core/import/import.h"

#include "tests/fuzz/fuzz.h"

static inline void import_check_measurement(const pfc_measurement *m)
{
    size_t sum = 0;

    FUZZ_CHECK(m->benchmark && m->benchmark[0] && m->metric && m->metric[0] && m->backend);
    FUZZ_CHECK((m->status == PFC_STATUS_OK) == (m->samples_len > 0));
    for (size_t b = 0; b < m->blocks_len; b++)
        sum += m->blocks[b];
    FUZZ_CHECK(sum == m->samples_len);
    for (size_t s = 0; s < m->samples_len; s++)
        FUZZ_CHECK(isfinite(m->samples[s]));
}

/* Refused with a sentence, or at least one measurement whose samples are finite and add up. */
static inline void import_check(const pfc_import_opts *opts, const uint8_t *data, size_t size)
{
    pfc_import_result r = { 0 };
    pfc_err err = { 0 };

    if (pfc_import_read(opts, (const char *)data, size, &r, &err)) {
        FUZZ_CHECK(r.runs == NULL && err.msg[0] != '\0');
        return;
    }
    FUZZ_CHECK(r.runs_len > 0 && r.format && r.format[0]);
    for (size_t k = 0; k < r.runs_len; k++) {
        FUZZ_CHECK(r.runs[k]->measurements_len > 0);
        for (size_t i = 0; i < r.runs[k]->measurements_len; i++) {
            import_check_measurement(&r.runs[k]->measurements[i]);
            (void)pfc_import_is_primary(r.runs[k], i);
        }
    }
    pfc_import_result_clear(&r);
}

static inline void import_check_format(const char *format, bool split, const uint8_t *data,
                                       size_t size)
{
    const pfc_import_opts opts = { .format = format, .split = split, .any_direction = split };

    import_check(&opts, data, size);
}

/* As the NULL-terminated formats, as one run and as a history. A committed document passes all of
 * them; an input that the fuzzer made through one, which its length chooses: lengths are what every
 * mutation changes, the fuzzer learns which one opens new paths, and an execution costs one reading
 * and not fifty. */
static inline int import_check_formats(const char *const *formats, const uint8_t *data, size_t size)
{
    size_t len = 0;

    while (formats[len])
        len++;
    if (FUZZ_ONE_FORM) {
        import_check_format(formats[size / 2 % len], size % 2, data, size);
        return 0;
    }
    for (size_t i = 0; i < len; i++) {
        import_check_format(formats[i], false, data, size);
        import_check_format(formats[i], true, data, size);
    }
    return 0;
}

#endif
