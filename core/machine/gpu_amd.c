/*
 * AMD GPUs by the files of the amdgpu driver: pp_dpm_sclk and pp_dpm_mclk (the line with the star
 * is the clock now), hwmon (temperature, power), gpu_metrics (a binary table whose third byte says
 * its kind) for what throttles.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include "core/base/parse.h"
#include "core/machine/gpu_source.h"
#include "core/machine/sysfs.h"

#define VENDOR       "0x1002"
#define MAX_CARDS    256
#define MAX_LEVELS   1024 /* bytes of a pp_dpm file */
#define METRICS_READ 512

typedef struct amd {
    char *root;
    char cards[PFC_GPUS_MAX][16]; /* "card0" */
} amd;

/* Bits of indep_throttle_status (drivers/gpu/drm/amd/pm/swsmu/inc/amdgpu_smu.h) by group. The hot
 * spot's bit is reported but does not count as throttling: newer boards set it all the time under
 * load. */
static const struct {
    int first, last;
    const char *what;
    bool slows;
} groups[] = {
    { 0, 7, "power cap", true },           { 16, 23, "current limit", true },
    { 32, 35, "thermal slowdown", true },  { 36, 36, "hot spot temperature", false },
    { 37, 43, "thermal slowdown", true },  { 44, 47, "voltage regulator or PROCHOT", true },
    { 56, 57, "reliability limit", true },
};

/* "1: 1801Mhz *" gives 1801. */
static double starred_mhz(const amd *a, const char *card, const char *file)
{
    char text[MAX_LEVELS + 1];
    const size_t len =
        pfc_sysfs_bytes(a->root, text, MAX_LEVELS, "/sys/class/drm/%s/device/%s", card, file);
    char *save = NULL;

    text[len] = '\0';
    for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
        const char *colon = strchr(line, ':');
        double mhz;
        if (strchr(line, '*') && colon && sscanf(colon + 1, "%lf", &mhz) == 1 && mhz > 0.0)
            return mhz;
    }
    return (double)NAN;
}

static double hwmon(const amd *a, const char *card, const char *file, double scale)
{
    char *pattern = pfc_format("/sys/class/drm/%s/device/hwmon/hwmon*", card);
    size_t len = 0;
    char **names = pfc_sysfs_list(a->root, pattern, 8, &len);
    double out = (double)NAN;

    for (size_t i = 0; i < len && isnan(out); i++) {
        int64_t value = 0;
        if (pfc_sysfs_i64(a->root, &value, "/sys/class/drm/%s/device/hwmon/%s/%s", card, names[i],
                          file))
            out = (double)value * scale;
    }
    pfc_sysfs_list_free(names, len);
    free(pattern);
    return out;
}

static uint64_t little_endian(const unsigned char *at, size_t bytes)
{
    uint64_t v = 0;

    for (size_t i = 0; i < bytes; i++)
        v |= (uint64_t)at[i] << (8 * i);
    return v;
}

/* The tables of discrete GPUs: format 1, contents 1 to 3, as in the kernel's kgd_pp_interface.h. */
static void read_metrics(const amd *a, const char *card, pfc_gpu *out)
{
    enum { DEPENDENT_AT = 68, INDEPENDENT_AT = 112 };
    unsigned char m[METRICS_READ];
    const size_t len =
        pfc_sysfs_bytes(a->root, m, sizeof(m), "/sys/class/drm/%s/device/gpu_metrics", card);
    uint64_t bits;

    if (len < 4 || m[2] != 1 || m[3] < 1 || m[3] > 3)
        return;
    if (m[3] == 3 && len >= INDEPENDENT_AT + 8) {
        bits = little_endian(m + INDEPENDENT_AT, 8);
        for (size_t i = 0; i < PFC_ARRAY_LEN(groups); i++) {
            const int width = groups[i].last - groups[i].first + 1;
            const uint64_t mask = ((UINT64_C(1) << width) - 1) << groups[i].first;
            /* all ones: the board does not fill it in */
            if (bits != UINT64_MAX && (bits & mask) && !strstr(out->reasons, groups[i].what))
                pfc_gpu_reason(out, groups[i].what, groups[i].slows);
        }
        if (bits == UINT64_MAX)
            return;
    } else if (len >= DEPENDENT_AT + 4) {
        char text[48];
        bits = little_endian(m + DEPENDENT_AT, 4);
        if (bits == UINT32_MAX)
            return;
        snprintf(text, sizeof(text), "throttle status 0x%llx", (unsigned long long)bits);
        if (bits)
            pfc_gpu_reason(out, text, true);
    } else {
        return;
    }
    if (!out->reasons[0])
        pfc_gpu_reason(out, "none", false);
}

static void set_text(char *out, size_t cap, char *text)
{
    if (text)
        snprintf(out, cap, "%s", text);
    free(text);
}

/* The module's version where AMD's own package provides it, else that of the kernel it is part of.
 */
static char *driver(const amd *a)
{
    char *version = pfc_sysfs_line(a->root, "/sys/module/amdgpu/version");
    struct utsname uts;
    char *out;

    if (version) {
        out = pfc_format("amdgpu %s", version);
        free(version);
        return out;
    }
    return uname(&uts) == 0 ? pfc_format("amdgpu of Linux %s", uts.release) : NULL;
}

static void read_gpu(void *arg, size_t i, pfc_gpu *out)
{
    const amd *a = arg;
    const char *card = a->cards[i];
    char *name = pfc_sysfs_line(a->root, "/sys/class/drm/%s/device/product_name", card);
    char *id = pfc_sysfs_line(a->root, "/sys/class/drm/%s/device/device", card);
    char *errors = pfc_sysfs_line(a->root, "/sys/class/drm/%s/device/ras/umc_err_count", card);
    int64_t ecc = 0;

    if (!name && id)
        name = pfc_format("AMD GPU %s", id);
    free(id);
    set_text(out->name, sizeof(out->name), name);
    set_text(out->uuid, sizeof(out->uuid),
             pfc_sysfs_line(a->root, "/sys/class/drm/%s/device/unique_id", card));
    set_text(out->driver, sizeof(out->driver), driver(a));
    out->sm_mhz = starred_mhz(a, card, "pp_dpm_sclk");
    out->mem_mhz = starred_mhz(a, card, "pp_dpm_mclk");
    out->temperature_c = hwmon(a, card, "temp1_input", 1e-3); /* from thousandths */
    out->power_w = hwmon(a, card, "power1_average", 1e-6);    /* from microwatts */
    if (isnan(out->power_w))
        out->power_w = hwmon(a, card, "power1_input", 1e-6);
    /* "ue: 3" first, then the corrected ones */
    if (errors && strncmp(errors, "ue: ", 4) == 0 &&
        pfc_parse_i64(errors + 4, 0, INT64_MAX, "errors", &ecc, NULL) == PFC_OK)
        out->ecc_errors = (double)ecc;
    free(errors);
    read_metrics(a, card, out);
}

static void close_amd(void *arg)
{
    amd *a = arg;

    free(a->root);
    free(a);
}

pfc_gpu_source pfc_gpu_amd(const char *root)
{
    size_t len = 0;
    char **names = pfc_sysfs_list(root, "/sys/class/drm/card*", MAX_CARDS, &len);
    pfc_gpu_source out = { .read = read_gpu, .close = close_amd };
    amd *a = pfc_calloc(1, sizeof(*a));

    a->root = pfc_strdup(root);
    for (size_t i = 0; i < len && out.count < PFC_GPUS_MAX; i++) {
        char *vendor = pfc_sysfs_line(root, "/sys/class/drm/%s/device/vendor", names[i]);
        /* "card0-DP-1" is a connector of card0; another vendor's or no amdgpu has no clock levels
         */
        char *clocks = pfc_sysfs_line(root, "/sys/class/drm/%s/device/pp_dpm_sclk", names[i]);
        if (!strchr(names[i], '-') && vendor && clocks && strcmp(vendor, VENDOR) == 0)
            snprintf(a->cards[out.count++], sizeof(a->cards[0]), "%s", names[i]);
        free(vendor);
        free(clocks);
    }
    pfc_sysfs_list_free(names, len);
    if (out.count == 0)
        close_amd(a);
    else
        out.arg = a;
    return out;
}
