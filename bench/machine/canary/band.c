/* Learns the normal variation of the canary. */
#include "bench/machine/canary/band.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/fs.h"
#include "core/base/hash.h"
#include "core/base/parse.h"
#include "core/stats/stats.h"

#define MAX_STATE_BYTES (64u * 1024)
#define MAX_READING_NS  1e9

void pfc_band_learn(const double *readings_ns, size_t len, pfc_canary_band *out)
{
    const size_t n = PFC_MIN(len, (size_t)PFC_BAND_WINDOW);
    const double *last = readings_ns + (len - n);
    double sd_rel;

    *out = (pfc_canary_band){ .center_ns = (double)NAN,
                              .width_rel = PFC_CANARY_BAND_REL,
                              .readings = n };
    if (n < PFC_BAND_LEAST)
        return;
    out->center_ns = pfc_stats_median(last, n);
    sd_rel = pfc_stats_mad(last, n) / out->center_ns;
    out->width_rel = fmin(fmax(PFC_BAND_SIGMAS * sd_rel, PFC_BAND_MIN_REL), PFC_BAND_MAX_REL);
}

bool pfc_band_moved(const pfc_canary_band *band, double before_ns, double after_ns)
{
    return fabs(log(after_ns / before_ns)) > log1p(band->width_rel);
}

bool pfc_band_left(const pfc_canary_band *band, double reading_ns)
{
    return !isnan(band->center_ns) && pfc_band_moved(band, band->center_ns, reading_ns);
}

/* The canary's speed can depend on each of these; a change of one starts a new history. */
char *pfc_band_path(const pfc_machine *machine)
{
    static const char *const parts[] = { "cpu",        "topology", "microcode", "governor", "turbo",
                                         "hypervisor", "kernel",   "compiler",  "flags" };
    const char *cache = getenv("XDG_CACHE_HOME");
    const char *home = getenv("HOME");
    char hash[PFC_SHA256_HEX];
    pfc_buf key;

    if ((!cache || cache[0] != '/') && (!home || home[0] != '/'))
        return NULL;
    pfc_buf_init(&key, 16 * 1024);
    for (size_t i = 0; i < PFC_ARRAY_LEN(parts); i++) {
        const char *value = pfc_labels_get(&machine->fingerprint, parts[i]);
        pfc_buf_printf(&key, "%s=%s\n", parts[i], value ? value : PFC_NOT_AVAILABLE);
    }
    pfc_sha256_hex(pfc_buf_text(&key), key.len, hash);
    pfc_buf_clear(&key);
    if (cache && cache[0] == '/')
        return pfc_format("%s/perfci/canary-%.16s.txt", cache, hash);
    return pfc_format("%s/.cache/perfci/canary-%.16s.txt", home, hash);
}

/* Fills the newest readings of the file; how many. */
static size_t read_state(const char *path, double *out)
{
    char *text = NULL;
    char *save = NULL;
    size_t len = 0;
    size_t n = 0;

    if (!path || pfc_fs_read(path, MAX_STATE_BYTES, &text, &len, NULL))
        return 0;
    for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
        double value;
        if (pfc_parse_double(line, 1.0, MAX_READING_NS, "reading", &value, NULL))
            continue;
        if (n == PFC_BAND_WINDOW)
            memmove(out, out + 1, --n * sizeof(*out));
        out[n++] = value;
    }
    free(text);
    return n;
}

void pfc_band_load(const char *path, pfc_canary_band *out)
{
    double readings[PFC_BAND_WINDOW];
    const size_t n = read_state(path, readings);

    pfc_band_learn(readings, n, out);
}

static pfc_code make_folder(const char *path, pfc_err *err)
{
    char *dir = pfc_strndup(path, (size_t)(strrchr(path, '/') - path));
    const pfc_code code = pfc_fs_mkdirs(dir, 0700, err);

    free(dir);
    return code;
}

/* Two runs at the same time may lose one reading. The band does not need every reading, so the file
 * has no lock. */
pfc_code pfc_band_add(const char *path, double reading_ns, pfc_err *err)
{
    double readings[PFC_BAND_WINDOW + 1];
    pfc_buf text;
    size_t n;
    pfc_code code;

    if (!path)
        return PFC_OK;
    n = read_state(path, readings);
    readings[n++] = reading_ns;
    pfc_buf_init(&text, MAX_STATE_BYTES);
    for (size_t i = n > PFC_BAND_WINDOW ? 1 : 0; i < n; i++)
        pfc_buf_printf(&text, "%.1f\n", readings[i]);
    code = make_folder(path, err);
    if (!code)
        code = pfc_fs_write_atomic(path, pfc_buf_text(&text), text.len, 0600, err);
    pfc_buf_clear(&text);
    return code ? pfc_err_wrap(err, "the canary's history") : PFC_OK;
}
