/* Time zones of the system's data, files of RFC 8536. */
#include <stdlib.h>
#include <string.h>

#include "core/base/fs.h"
#include "core/schedule/zone_priv.h"

#define MAX_FILE_BYTES 65536
#define HEADER_BYTES   44

struct pfc_zone {
    int64_t *times; /* at which an offset begins, ascending */
    int64_t *offsets;
    size_t len;
    int64_t first; /* offset before them */
    pfc_zone_rule rule;
};

/* The counts of a header, in the order of the file. */
typedef struct zone_counts {
    size_t isut, isstd, leap, time, type, chars;
} zone_counts;

static uint64_t read_be(const unsigned char *p, size_t bytes)
{
    uint64_t v = 0;

    for (size_t i = 0; i < bytes; i++)
        v = v << 8 | p[i];
    return v;
}

static int64_t read_time(const unsigned char *p, size_t bytes)
{
    return bytes == 8 ? (int64_t)read_be(p, 8) : (int32_t)read_be(p, 4);
}

static bool read_header(const unsigned char *p, size_t len, zone_counts *c)
{
    if (len < HEADER_BYTES || memcmp(p, "TZif", 4) != 0)
        return false;
    *c = (zone_counts){ read_be(p + 20, 4), read_be(p + 24, 4), read_be(p + 28, 4),
                        read_be(p + 32, 4), read_be(p + 36, 4), read_be(p + 40, 4) };
    return c->isut <= MAX_FILE_BYTES && c->isstd <= MAX_FILE_BYTES && c->leap <= MAX_FILE_BYTES &&
           c->time <= MAX_FILE_BYTES && c->type >= 1 && c->type <= 256 &&
           c->chars <= MAX_FILE_BYTES;
}

static size_t block_bytes(const zone_counts *c, size_t time_bytes)
{
    return c->time * (time_bytes + 1) + c->type * 6 + c->chars + c->leap * (time_bytes + 4) +
           c->isstd + c->isut;
}

/* The table behind a header. */
static bool read_table(const unsigned char *p, const zone_counts *c, size_t time_bytes,
                       pfc_zone *zone)
{
    const unsigned char *types = p + c->time * time_bytes, *records = types + c->time;

    zone->len = c->time;
    zone->times = pfc_calloc(c->time + 1, sizeof(*zone->times));
    zone->offsets = pfc_calloc(c->time + 1, sizeof(*zone->offsets));
    zone->first = read_time(records, 4);
    for (size_t i = 0; i < c->time; i++) {
        zone->times[i] = read_time(p + i * time_bytes, time_bytes);
        if (types[i] >= c->type || (i && zone->times[i] <= zone->times[i - 1]))
            return false;
        zone->offsets[i] = read_time(records + (size_t)types[i] * 6, 4);
    }
    for (size_t i = 0; i < c->type; i++)
        if (llabs((long long)read_time(records + i * 6, 4)) >= 26 * 3600)
            return false;
    return c->leap == 0; /* "right" zones count leap seconds: POSIX time does not */
}

/* "\nTZ\n" at the end of the file. */
static bool read_footer(const unsigned char *p, size_t len, pfc_zone *zone)
{
    char text[128];

    if (len < 2 || len - 2 >= sizeof(text) || p[0] != '\n' || p[len - 1] != '\n')
        return false;
    memcpy(text, p + 1, len - 2);
    text[len - 2] = '\0';
    return pfc_zone_rule_parse(text, &zone->rule);
}

static bool read_zone(const unsigned char *p, size_t len, pfc_zone *zone)
{
    zone_counts c;
    size_t bytes;

    if (!read_header(p, len, &c))
        return false;
    bytes = block_bytes(&c, 4);
    if (bytes > len - HEADER_BYTES)
        return false;
    if (p[4] < '2')
        return read_table(p + HEADER_BYTES, &c, 4, zone);
    p += HEADER_BYTES + bytes; /* later versions repeat the data with times of 64 bits */
    len -= HEADER_BYTES + bytes;
    if (!read_header(p, len, &c))
        return false;
    bytes = block_bytes(&c, 8);
    return bytes <= len - HEADER_BYTES && read_table(p + HEADER_BYTES, &c, 8, zone) &&
           read_footer(p + HEADER_BYTES + bytes, len - HEADER_BYTES - bytes, zone);
}

pfc_code pfc_zone_parse(const char *name, const void *bytes, size_t len, pfc_zone **out,
                        pfc_err *err)
{
    pfc_zone *zone = pfc_calloc(1, sizeof(*zone));

    if (!read_zone(bytes, len, zone)) {
        pfc_zone_free(zone);
        return pfc_err_set(err, PFC_EIO,
                           "time zone \"%.64s\": expected a TZif file without leap seconds, got "
                           "another or a damaged one",
                           name);
    }
    *out = zone;
    return PFC_OK;
}

void pfc_zone_free(pfc_zone *zone)
{
    if (!zone)
        return;
    free(zone->times);
    free(zone->offsets);
    free(zone);
}

/* Names of zones are relative paths without dots. */
static bool is_name(const char *name)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                  "_+-/";
    const size_t len = strlen(name);

    return len > 0 && len <= PFC_ZONE_MAX_BYTES && strspn(name, letters) == len && name[0] != '/' &&
           name[len - 1] != '/' && !strstr(name, "//");
}

pfc_code pfc_zone_load(const char *name, const char *dir, pfc_zone **out, pfc_err *err)
{
    const char *where = dir ? dir : PFC_ZONE_DIR;
    char *path, *bytes = NULL;
    size_t len = 0;
    pfc_code code;

    if (strcmp(name, "UTC") == 0) {
        *out = pfc_calloc(1, sizeof(**out));
        return PFC_OK;
    }
    if (!is_name(name))
        return pfc_err_set(err, PFC_EINVAL,
                           "time zone: expected a name such as \"Europe/Berlin\" or \"UTC\", got "
                           "\"%.80s\"",
                           name);
    if (!pfc_fs_is_dir(where))
        return pfc_err_set(err, PFC_EUNAVAIL,
                           "time zone \"%s\": %s is missing: install the package tzdata, or use "
                           "UTC",
                           name, where);
    path = pfc_fs_join(where, name);
    code = pfc_fs_read(path, MAX_FILE_BYTES, &bytes, &len, NULL);
    free(path);
    if (code)
        return pfc_err_set(err, PFC_EINVAL, "time zone \"%s\": unknown: %s has no such zone", name,
                           where);
    code = pfc_zone_parse(name, bytes, len, out, err);
    free(bytes);
    return code;
}

/* How many entries of the table begin at or before unix_s. */
static size_t entries_until(const pfc_zone *zone, int64_t unix_s)
{
    size_t low = 0, high = zone->len;

    while (low < high) {
        const size_t middle = low + (high - low) / 2;

        if (zone->times[middle] <= unix_s)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static int64_t year_of(int64_t unix_s)
{
    int64_t year;
    int month, day;

    pfc_date_of(pfc_floor_div(unix_s, PFC_DAY_S), &year, &month, &day);
    return year;
}

/* *dst: whether daylight-saving time holds at unix_s by the rule; *next: the next change. */
static void rule_changes(const pfc_zone_rule *rule, int64_t unix_s, bool *dst, int64_t *next)
{
    const int64_t year = year_of(unix_s);
    int64_t newest = INT64_MIN;

    *next = INT64_MAX;
    for (int64_t y = year - 1; y <= year + 1; y++) {
        int64_t at[2];

        pfc_zone_rule_year(rule, y, &at[0], &at[1]);
        for (int i = 0; i < 2; i++) {
            if (at[i] > unix_s)
                *next = PFC_MIN(*next, at[i]);
            else if (at[i] >= newest) {
                newest = at[i];
                *dst = i == 0;
            }
        }
    }
}

int64_t pfc_zone_offset(const pfc_zone *zone, int64_t unix_s)
{
    const size_t n = entries_until(zone, unix_s);
    bool dst = false;
    int64_t next;

    if (n < zone->len || !zone->rule.known)
        return n ? zone->offsets[n - 1] : zone->first;
    if (!zone->rule.dst)
        return zone->rule.offset;
    rule_changes(&zone->rule, unix_s, &dst, &next);
    return dst ? zone->rule.dst_offset : zone->rule.offset;
}

int64_t pfc_zone_change(const pfc_zone *zone, int64_t unix_s)
{
    const size_t n = entries_until(zone, unix_s);
    bool dst = false;
    int64_t next = INT64_MAX;

    if (n < zone->len)
        return zone->times[n];
    if (zone->rule.known && zone->rule.dst)
        rule_changes(&zone->rule, unix_s, &dst, &next);
    return next;
}
