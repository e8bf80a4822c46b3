/*
 * Series as the service answers them, so that what `perfci series --json` prints can be judged
 * again.
 */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <jansson.h>

#include "cli/detect/series_read.h"

bool pfc_series_is_api(const char *text, size_t len)
{
    static const char start[] = "\"series\"";

    while (len && strchr(" \t\r\n{", *text)) {
        text++;
        len--;
    }
    if (len <= sizeof(start) || memcmp(text, start, sizeof(start) - 1) != 0)
        return false;
    for (text += sizeof(start) - 1; strchr(" \t\r\n:", *text) && *text; text++)
        continue;
    return *text == '[' || *text == '{';
}

static const char *text_of(const json_t *obj, const char *key)
{
    const char *text = json_string_value(json_object_get(obj, key));

    return text ? text : "";
}

/* Seconds of a time of the API, which is a number or RFC 3339; else the place. */
static double time_of(const json_t *value, size_t place)
{
    struct tm tm = { 0 };

    if (json_is_number(value))
        return json_number_value(value);
    if (json_is_string(value) && strptime(json_string_value(value), "%Y-%m-%dT%H:%M:%S", &tm))
        return (double)timegm(&tm);
    return (double)place;
}

/* One series: its description, and its medians with their times (NULL: their places count). */
static void put(const json_t *about, const json_t *medians, const json_t *times,
                const json_t *infra, const pfc_series_sink *sink, pfc_series_in *s)
{
    pfc_series_reset(s);
    s->id = pfc_format("%lld %s %s %s", (long long)json_integer_value(json_object_get(about, "id")),
                       text_of(about, "benchmark"), text_of(about, "metric"),
                       text_of(about, "backend"));
    free(s->unit);
    s->unit = pfc_strdup(text_of(about, "unit"));
    s->higher_is_better = strcmp(text_of(about, "direction"), "higher") == 0;
    for (size_t i = 0; i < json_array_size(medians); i++) {
        const json_t *v = json_array_get(medians, i);

        /* Points that were measured during an event of the machine are never judged. */
        if (json_is_number(v) && !json_is_true(json_array_get(infra, i)))
            pfc_series_point(s, time_of(json_array_get(times, i), i), json_number_value(v));
    }
    sink->series(sink->arg, s, 1);
}

void pfc_series_parse_api(const char *text, size_t len, const pfc_series_sink *sink)
{
    json_error_t fault;
    json_t *doc = json_loadb(text, len, 0, &fault);
    const json_t *list = json_object_get(doc, "series");
    const json_t *columns = json_object_get(doc, "columns");
    pfc_series_in s = { 0 };

    if (!doc)
        sink->bad(sink->arg, (size_t)fault.line, fault.text);
    else if (json_is_object(list) && json_is_object(columns))
        put(list, json_object_get(columns, "median"), json_object_get(columns, "time"),
            json_object_get(columns, "infra"), sink, &s);
    else if (json_is_array(list))
        for (size_t i = 0; i < json_array_size(list); i++) {
            const json_t *one = json_array_get(list, i);

            if (json_is_array(json_object_get(one, "spark")))
                put(one, json_object_get(one, "spark"), NULL, NULL, sink, &s);
            else
                sink->bad(sink->arg, 1, "a series without points: expected \"spark\"");
        }
    else
        sink->bad(sink->arg, 1, "expected \"series\" with its \"columns\", or a list of series");
    pfc_series_clear(&s);
    json_decref(doc);
}
