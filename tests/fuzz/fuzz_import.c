/*
 * Other tools' results, each text as every format and as "auto": refused with a sentence, or at
 * least one measurement whose samples are finite and add up.
 */
#include <math.h>

#include "core/import/import.h"

#include "tests/fuzz/fuzz.h"

static void check_measurement(const pfc_measurement *m)
{
    size_t sum = 0;

    FUZZ_CHECK(m->benchmark && m->benchmark[0] && m->metric && m->metric[0]);
    FUZZ_CHECK((m->status == PFC_STATUS_OK) == (m->samples_len > 0));
    for (size_t b = 0; b < m->blocks_len; b++)
        sum += m->blocks[b];
    FUZZ_CHECK(sum == m->samples_len);
    for (size_t s = 0; s < m->samples_len; s++)
        FUZZ_CHECK(isfinite(m->samples[s]));
}

static void read_as(const char *format, const uint8_t *data, size_t size)
{
    const pfc_import_opts opts = { .format = format };
    pfc_run *run = NULL;
    pfc_err err = { 0 };

    if (pfc_import_text(&opts, (const char *)data, size, &run, &err)) {
        FUZZ_CHECK(run == NULL && err.msg[0] != '\0');
        return;
    }
    FUZZ_CHECK(run->measurements_len > 0);
    for (size_t i = 0; i < run->measurements_len; i++)
        check_measurement(&run->measurements[i]);
    free(pfc_run_to_text(run));
    pfc_run_free(run);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    read_as(NULL, data, size);
    for (const char *const *format = pfc_import_formats(); *format; format++)
        read_as(*format, data, size);
    return 0;
}
