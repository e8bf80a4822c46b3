/* Reads cron expressions. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "core/schedule/schedule.h"

typedef struct cron_field {
    const char *name;
    unsigned low, high;       /* of numbers */
    const char *const *names; /* of low, low + 1, ...; NULL: none */
    unsigned names_len;
} cron_field;

static const char *const months[] = { "jan", "feb", "mar", "apr", "may", "jun",
                                      "jul", "aug", "sep", "oct", "nov", "dec" };
static const char *const weekdays[] = { "sun", "mon", "tue", "wed", "thu", "fri", "sat" };

enum { MINUTE, HOUR, DAY, MONTH, WEEKDAY, FIELDS };

static const cron_field fields[FIELDS] = {
    [MINUTE] = { "minute", 0, 59, NULL, 0 },        [HOUR] = { "hour", 0, 23, NULL, 0 },
    [DAY] = { "day of the month", 1, 31, NULL, 0 }, [MONTH] = { "month", 1, 12, months, 12 },
    [WEEKDAY] = { "weekday", 0, 7, weekdays, 7 },
};

static const struct {
    const char *name, *meaning;
} words[] = {
    { "@hourly", "0 * * * *" },   { "@daily", "0 0 * * *" },   { "@midnight", "0 0 * * *" },
    { "@weekly", "0 0 * * 0" },   { "@monthly", "0 0 1 * *" }, { "@yearly", "0 0 1 1 *" },
    { "@annually", "0 0 1 1 *" },
};

static pfc_code refuse(const cron_field *f, const char *got, pfc_err *err)
{
    return pfc_err_set(err, PFC_EINVAL,
                       "cron: %s: expected %u to %u%s, a range a-b, a list or a step */n, got "
                       "\"%.40s\"",
                       f->name, f->low, f->high, f->names ? " or a name of three letters" : "",
                       got);
}

/* A number or a name at *at, which moves behind it. */
static bool take_value(const cron_field *f, const char **at, bool last, unsigned *value)
{
    const char *p = *at;
    unsigned n = 0;

    for (unsigned i = 0; i < f->names_len; i++) {
        if (strncasecmp(p, f->names[i], 3) == 0) {
            *value = f->low + i;
            /* The end of sat-sun. */
            if (last && f == &fields[WEEKDAY] && *value == 0)
                *value = 7;
            *at = p + 3;
            return true;
        }
    }
    if (!isdigit((unsigned char)*p))
        return false;
    for (; isdigit((unsigned char)*p); p++) {
        n = 10 * n + (unsigned)(*p - '0');
        if (n > f->high)
            return false;
    }
    *at = p;
    *value = n;
    return n >= f->low;
}

/* "/n" at *at; without one the step is 1. */
static bool take_step(const cron_field *f, const char **at, unsigned *step)
{
    const char *p = *at + 1;
    unsigned n = 0;

    *step = 1;
    if (**at != '/')
        return true;
    if (!isdigit((unsigned char)*p))
        return false;
    for (; isdigit((unsigned char)*p) && n <= f->high; p++)
        n = 10 * n + (unsigned)(*p - '0');
    *at = p;
    *step = n;
    return n >= 1 && n <= f->high;
}

/* One element of a list. */
static bool take_item(const cron_field *f, const char **at, uint64_t *bits)
{
    unsigned low = f->low, high = f == &fields[WEEKDAY] ? 6 : f->high, step = 1;
    bool range = true;

    if (**at == '*') {
        (*at)++;
    } else {
        if (!take_value(f, at, false, &low))
            return false;
        range = **at == '-';
        high = low;
        if (range) {
            (*at)++;
            if (!take_value(f, at, true, &high))
                return false;
        }
    }
    if ((**at == '/' && !range) || !take_step(f, at, &step) || low > high)
        return false;
    for (unsigned v = low; v <= high; v += step)
        *bits |= UINT64_C(1) << v;
    return true;
}

static pfc_code read_field(const cron_field *f, const char *text, uint64_t *bits, pfc_err *err)
{
    const char *p = text;

    *bits = 0;
    do {
        if (p != text)
            p++;
        if (!take_item(f, &p, bits))
            return refuse(f, text, err);
    } while (*p == ',');
    return *p ? refuse(f, text, err) : PFC_OK;
}

pfc_code pfc_cron_parse(const char *text, pfc_cron *out, pfc_err *err)
{
    char copy[PFC_CRON_MAX_BYTES + 1], *rest = NULL, *word[FIELDS + 1] = { NULL };
    uint64_t bits[FIELDS] = { 0 };
    size_t n = 0;

    if (strlen(text) > PFC_CRON_MAX_BYTES)
        return pfc_err_set(err, PFC_EINVAL, "cron: expected at most %d bytes, got %zu",
                           PFC_CRON_MAX_BYTES, strlen(text));
    for (size_t i = 0; text[0] == '@' && i < PFC_ARRAY_LEN(words); i++)
        if (strcmp(text, words[i].name) == 0)
            return pfc_cron_parse(words[i].meaning, out, err);
    if (text[0] == '@')
        return pfc_err_set(err, PFC_EINVAL,
                           "cron: expected @hourly, @daily, @weekly, @monthly or @yearly, got "
                           "\"%.40s\"",
                           text);
    (void)snprintf(copy, sizeof(copy), "%s", text);
    for (char *w = strtok_r(copy, " \t", &rest); w && n <= FIELDS; w = strtok_r(NULL, " \t", &rest))
        word[n++] = w;
    if (n != FIELDS)
        return pfc_err_set(err, PFC_EINVAL,
                           "cron: expected five fields (minute, hour, day, month, weekday), got "
                           "\"%.60s\"",
                           text);
    for (size_t i = 0; i < FIELDS; i++) {
        pfc_code code = read_field(&fields[i], word[i], &bits[i], err);

        if (code)
            return code;
    }
    *out = (pfc_cron){ .minutes = bits[MINUTE],
                       .hours = (uint32_t)bits[HOUR],
                       .days = (uint32_t)bits[DAY],
                       .months = (uint32_t)bits[MONTH],
                       .weekdays = (uint32_t)((bits[WEEKDAY] | bits[WEEKDAY] >> 7) & 0x7F),
                       .both_days = word[DAY][0] == '*' || word[WEEKDAY][0] == '*' };
    return PFC_OK;
}
