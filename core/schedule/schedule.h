/*
 * When a schedule fires: cron expressions of five fields, in the local time of an IANA time zone.
 * Pure except pfc_zone_load, which reads a file; thread-safe; a loaded zone may be shared.
 *
 * Clock changes. A matching local time that is skipped fires once, at the first instant after the
 * gap; several matching times in one gap fire together, once. A matching local time that occurs
 * twice fires once, at its first occurrence.
 */
#ifndef PFC_CORE_SCHEDULE_SCHEDULE_H
#define PFC_CORE_SCHEDULE_SCHEDULE_H

#include "core/base/err.h"

#define PFC_CRON_MAX_BYTES 200 /* of an expression */
#define PFC_ZONE_MAX_BYTES 64  /* of a zone's name */
#define PFC_ZONE_DIR       "/usr/share/zoneinfo"

/* The matching values of each field, as bits. */
typedef struct pfc_cron {
    uint64_t minutes;  /* 0..59 */
    uint32_t hours;    /* 0..23 */
    uint32_t days;     /* of the month, 1..31 */
    uint32_t months;   /* 1..12 */
    uint32_t weekdays; /* 0..6, 0: Sunday */
    bool both_days;    /* day of month and weekday must both match, not only one of them */
} pfc_cron;

/**
 * Reads "MINUTE HOUR DAY MONTH WEEKDAY", separated by blanks. A field is a list, joined by commas,
 * of `*`, numbers, ranges `a-b` and steps over a range `a-b/n` or over all `* /n` (without the
 * blank). Months and weekdays may be names of three letters in any case; Sunday is 0, 7 or sun.
 * When day and weekday are both restricted (neither begins with `*`), one match suffices, as in
 * cron(8). Also @hourly, @daily or @midnight, @weekly, @monthly, @yearly or @annually.
 *
 * PFC_EINVAL names the field, the expected and the received value.
 * Source: crontab(5) of Vixie cron.
 */
pfc_code pfc_cron_parse(const char *text, pfc_cron *out, pfc_err *err) PFC_MUSTCHECK;

typedef struct pfc_zone pfc_zone;

/**
 * Loads a zone such as "Europe/Berlin" from the system's time zone data; "UTC" needs no data.
 *
 * dir   folder of the data; NULL: PFC_ZONE_DIR
 * out   caller frees with pfc_zone_free
 *
 * PFC_EINVAL: the zone is unknown, or its name is invalid; PFC_EUNAVAIL: there is no time zone data
 * on this machine; PFC_EIO: the file cannot be read or is damaged.
 * Source: RFC 8536 (TZif, versions 1 to 4).
 */
pfc_code pfc_zone_load(const char *name, const char *dir, pfc_zone **out,
                       pfc_err *err) PFC_MUSTCHECK;
/** Reads a zone from the bytes of a TZif file; `name` is for messages. As pfc_zone_load. */
pfc_code pfc_zone_parse(const char *name, const void *bytes, size_t len, pfc_zone **out,
                        pfc_err *err) PFC_MUSTCHECK;
/** Accepts NULL. */
void pfc_zone_free(pfc_zone *zone);
/** Seconds east of UTC at an instant. */
int64_t pfc_zone_offset(const pfc_zone *zone, int64_t unix_s);
/** The first instant after unix_s at which the offset may change; INT64_MAX: none. */
int64_t pfc_zone_change(const pfc_zone *zone, int64_t unix_s);

/**
 * The first instant after `after` (Unix seconds, 0 to 253402300799, the year 9999) at which the
 * expression fires. PFC_ENOTFOUND: it never fires within nine years, as on 30 February; a leap day
 * comes after at most eight.
 */
pfc_code pfc_cron_next(const pfc_cron *cron, const pfc_zone *zone, int64_t after, int64_t *next,
                       pfc_err *err) PFC_MUSTCHECK;

#endif
