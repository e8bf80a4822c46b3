/*
 * Time zones inside core/schedule: the table of a TZif file, and the rule that continues it.
 */
#ifndef PFC_CORE_SCHEDULE_ZONE_PRIV_H
#define PFC_CORE_SCHEDULE_ZONE_PRIV_H

#include "core/schedule/schedule.h"

#define PFC_DAY_S 86400

/* A day of the year at which the clock changes. */
typedef enum pfc_rule_kind {
    PFC_RULE_MONTH,  /* Mm.w.d */
    PFC_RULE_JULIAN, /* Jn: 1..365, never counts 29 February */
    PFC_RULE_DAY,    /* n: 0..365, counts it */
} pfc_rule_kind;

typedef struct pfc_rule_day {
    pfc_rule_kind kind;
    int month, week, weekday; /* week 5: the last */
    int day;
    int64_t time_s; /* local time of that day, may be negative or beyond 24 h */
} pfc_rule_day;

/* A POSIX TZ string, such as "CET-1CEST,M3.5.0,M10.5.0/3". */
typedef struct pfc_zone_rule {
    bool known;                 /* false: the last offset of the table stays */
    bool dst;                   /* the clock changes twice a year */
    int64_t offset, dst_offset; /* seconds east of UTC */
    pfc_rule_day start, end;    /* of daylight-saving time */
} pfc_zone_rule;

/** False: `text` is no such string. An empty one sets known to false. */
bool pfc_zone_rule_parse(const char *text, pfc_zone_rule *out);
/** The instants at which the clock changes in a year of the Gregorian calendar. */
void pfc_zone_rule_year(const pfc_zone_rule *rule, int64_t year, int64_t *start, int64_t *end);

/* ---- calendar (calendar.c) ---- */

/** Days from 1970-01-01. Source: H. Hinnant, chrono-Compatible Low-Level Date Algorithms. */
int64_t pfc_days_of(int64_t year, int month, int day);
void pfc_date_of(int64_t days, int64_t *year, int *month, int *day);
/** 0: Sunday. */
int pfc_weekday_of(int64_t days);
/** Largest whole number of `unit` not above `value`; unit > 0. */
int64_t pfc_floor_div(int64_t value, int64_t unit);

#endif
