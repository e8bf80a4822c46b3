/* Units: one spelling, one base. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "core/import/reader/reader.h"

typedef struct unit {
    const char *name; /* as tools write it, compared without case after exact ones failed */
    const char *spelled;
    const char *base;
    double scale; /* value * scale is in `base` */
} unit;

#define KIB 1024.0
#define MIB (KIB * 1024.0)
#define GIB (MIB * 1024.0)
#define TIB (GIB * 1024.0)

/* Exact spellings first: "Mbyte" and "mbyte" are the same, "MB" and "mb" here, too, but "s" is no
 * "S". Kbyte, Mbyte and Gbyte of ncu are powers of ten. */
static const unit units[] = {
    { "ns", "ns", "ns", 1 },
    { "us", "us", "ns", 1e3 },
    { "\xc2\xb5s", "us", "ns", 1e3 }, /* U+00B5 micro sign */
    { "\xce\xbcs", "us", "ns", 1e3 }, /* U+03BC Greek mu */
    { "ms", "ms", "ns", 1e6 },
    { "s", "s", "ns", 1e9 },
    { "ps", "ps", "ns", 1e-3 },
    { "fs", "fs", "ns", 1e-6 },
    { "m", "min", "ns", 60e9 },
    { "min", "min", "ns", 60e9 },
    { "h", "h", "ns", 3600e9 },
    { "sec", "s", "ns", 1e9 },
    { "secs", "s", "ns", 1e9 },
    { "second", "s", "ns", 1e9 },
    { "seconds", "s", "ns", 1e9 },
    { "msec", "ms", "ns", 1e6 },
    { "msecond", "ms", "ns", 1e6 },
    { "millisecond", "ms", "ns", 1e6 },
    { "milliseconds", "ms", "ns", 1e6 },
    { "usec", "us", "ns", 1e3 },
    { "usecond", "us", "ns", 1e3 },
    { "microsecond", "us", "ns", 1e3 },
    { "microseconds", "us", "ns", 1e3 },
    { "nsec", "ns", "ns", 1 },
    { "nsecond", "ns", "ns", 1 },
    { "nanosecond", "ns", "ns", 1 },
    { "nanoseconds", "ns", "ns", 1 },
    { "picoseconds", "ps", "ns", 1e-3 },
    { "minutes", "min", "ns", 60e9 },

    { "B", "bytes", "bytes", 1 },
    { "byte", "bytes", "bytes", 1 },
    { "bytes", "bytes", "bytes", 1 },
    { "kB", "kB", "bytes", 1e3 },
    { "MB", "MB", "bytes", 1e6 },
    { "GB", "GB", "bytes", 1e9 },
    { "TB", "TB", "bytes", 1e12 },
    { "Kbyte", "kB", "bytes", 1e3 },
    { "Mbyte", "MB", "bytes", 1e6 },
    { "Gbyte", "GB", "bytes", 1e9 },
    { "Tbyte", "TB", "bytes", 1e12 },
    { "Megabytes", "Megabytes", "bytes", 1e6 },
    { "KiB", "KiB", "bytes", KIB },
    { "MiB", "MiB", "bytes", MIB },
    { "GiB", "GiB", "bytes", GIB },
    { "TiB", "TiB", "bytes", TIB },

    { "B/s", "B/s", "B/s", 1 },
    { "byte/s", "B/s", "B/s", 1 },
    { "bytes/s", "B/s", "B/s", 1 },
    { "byte/second", "B/s", "B/s", 1 },
    { "bytes/second", "B/s", "B/s", 1 },
    { "kB/s", "kB/s", "B/s", 1e3 },
    { "MB/s", "MB/s", "B/s", 1e6 },
    { "GB/s", "GB/s", "B/s", 1e9 },
    { "TB/s", "TB/s", "B/s", 1e12 },
    { "MB/sec", "MB/s", "B/s", 1e6 },
    { "GB/sec", "GB/s", "B/s", 1e9 },
    { "Gbps", "GB/s", "B/s", 1e9 }, /* what kernels' tools mean by it; bits are written Gbit/s */
    { "Kbyte/second", "kB/s", "B/s", 1e3 },
    { "Mbyte/second", "MB/s", "B/s", 1e6 },
    { "Gbyte/second", "GB/s", "B/s", 1e9 },
    { "Tbyte/second", "TB/s", "B/s", 1e12 },
    { "Kbyte/s", "kB/s", "B/s", 1e3 },
    { "Mbyte/s", "MB/s", "B/s", 1e6 },
    { "Gbyte/s", "GB/s", "B/s", 1e9 },
    { "Tbyte/s", "TB/s", "B/s", 1e12 },
    { "KiB/s", "KiB/s", "B/s", KIB },
    { "MiB/s", "MiB/s", "B/s", MIB },
    { "GiB/s", "GiB/s", "B/s", GIB },
    { "TiB/s", "TiB/s", "B/s", TIB },

    { "hz", "Hz", "Hz", 1 },
    { "khz", "kHz", "Hz", 1e3 },
    { "mhz", "MHz", "Hz", 1e6 },
    { "ghz", "GHz", "Hz", 1e9 },
    { "cycle/second", "Hz", "Hz", 1 },
    { "cycle/nsecond", "GHz", "Hz", 1e9 },
    { "cycle/usecond", "MHz", "Hz", 1e6 },
    { "cycle/nsec", "GHz", "Hz", 1e9 },

    { "FLOP/s", "FLOP/s", "FLOP/s", 1 },
    { "FLOPS", "FLOP/s", "FLOP/s", 1 },
    { "MFLOPS", "MFLOP/s", "FLOP/s", 1e6 },
    { "MFLOP/s", "MFLOP/s", "FLOP/s", 1e6 },
    { "GFLOPS", "GFLOP/s", "FLOP/s", 1e9 },
    { "GFLOP/s", "GFLOP/s", "FLOP/s", 1e9 },
    { "GFLOPS/s", "GFLOP/s", "FLOP/s", 1e9 },
    { "TFLOPS", "TFLOP/s", "FLOP/s", 1e12 },
    { "TFLOP/s", "TFLOP/s", "FLOP/s", 1e12 },
    { "TFLOPS/s", "TFLOP/s", "FLOP/s", 1e12 },
    { "TFLOP", "TFLOP/s", "FLOP/s", 1e12 },
    { "PFLOPS", "PFLOP/s", "FLOP/s", 1e15 },
    { "TOPS", "TOP/s", "OP/s", 1e12 },
    { "TOP/s", "TOP/s", "OP/s", 1e12 },
    { "GOPS", "GOP/s", "OP/s", 1e9 },

    { "elem/s", "items/s", "items/s", 1 },
    { "Kelem/s", "Kitems/s", "items/s", 1e3 },
    { "Melem/s", "Mitems/s", "items/s", 1e6 },
    { "Gelem/s", "Gitems/s", "items/s", 1e9 },
    { "items/s", "items/s", "items/s", 1 },
    { "i/s", "items/s", "items/s", 1 },
    { "ops/sec", "ops/s", "ops/s", 1 },
    { "ops/s", "ops/s", "ops/s", 1 },
    { "op/s", "ops/s", "ops/s", 1 },

    { "cycle", "cycles", "cycles", 1 },
    { "cycles", "cycles", "cycles", 1 },
    { "Kcycle", "Kcycles", "cycles", 1e3 },
    { "Mcycle", "Mcycles", "cycles", 1e6 },
    { "percent", "%", "%", 1 },
    { "%", "%", "%", 1 },
    { "pct", "%", "%", 1 },
};

static const unit *find(const char *name)
{
    for (size_t i = 0; i < PFC_ARRAY_LEN(units); i++) {
        if (units[i].name[0] == name[0] && strcmp(units[i].name, name) == 0)
            return &units[i];
    }
    /* "m" is minutes and "M" nothing: short names only as they are written. */
    for (size_t i = 0; strlen(name) > 1 && i < PFC_ARRAY_LEN(units); i++) {
        if (strcasecmp(units[i].name, name) == 0)
            return &units[i];
    }
    return NULL;
}

const char *pfc_import_unit_spelled(const char *name)
{
    const unit *u = find(name);

    return u ? u->spelled : name;
}

const char *pfc_import_unit_base(const char *name, double *scale)
{
    const unit *u = find(name);

    *scale = u ? u->scale : 1.0;
    return u ? u->base : name;
}

const char *pfc_import_unit_time(const char *name, double *scale)
{
    const unit *u = find(name);

    if (u && strcmp(u->base, "ns") == 0) {
        *scale = u->scale;
        return "ns";
    }
    *scale = 1.0;
    return u ? u->spelled : name;
}

double pfc_import_unit_ns(const char *name)
{
    const unit *u = find(name);

    return u && strcmp(u->base, "ns") == 0 ? u->scale : (double)NAN;
}
