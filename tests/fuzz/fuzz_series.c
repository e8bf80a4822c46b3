/* Input of `perfci detect`: JSON lines, an array, one document or CSV, recognised by the first
 * bytes. */
#include <math.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "cli/detect/series_read.h"
#include "core/changepoint/changepoint.h"

#include "tests/fuzz/fuzz.h"

static void on_series(void *arg, const pfc_series_in *series, size_t line)
{
    (void)arg;
    FUZZ_CHECK(line >= 1);
    FUZZ_CHECK(series->id && strlen(series->id) <= PFC_SERIES_MAX_ID);
    for (size_t i = 0; i < series->len; i++) {
        const pfc_point *p = &series->points[i];

        FUZZ_CHECK(!isinf(p->t)); /* NAN: not said */
        FUZZ_CHECK(!isinf(p->v));
        if (p->repeats_len > 0) {
            FUZZ_CHECK(p->repeats >= series->repeats);
            FUZZ_CHECK(p->repeats + p->repeats_len <= series->repeats + series->repeats_len);
        }
    }
}

static void on_bad(void *arg, size_t line, const char *why)
{
    (void)arg;
    FUZZ_CHECK(line >= 1 && why[0] != '\0');
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const pfc_series_sink sink = { .series = on_series, .bad = on_bad };
    int fd = memfd_create("series", MFD_CLOEXEC);
    pfc_err err = { 0 };

    FUZZ_CHECK(fd >= 0);
    FUZZ_CHECK(write(fd, data, size) == (ssize_t)size && lseek(fd, 0, SEEK_SET) == 0);
    FUZZ_CHECK(pfc_series_read(fd, size % 2 ? "stem" : NULL, &sink, &err) == PFC_OK);
    close(fd);
    return 0;
}
