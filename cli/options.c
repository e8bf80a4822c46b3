/*
 * Options of subcommands: see options.h.
 */
#include "cli/options.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/parse.h"

static bool is_end(const pfc_option *row)
{
    return !row->name && !row->help;
}

static char *help_of(const pfc_option *row)
{
    return row->fallback ? pfc_format("%s (default: %s)", row->help, row->fallback)
                         : pfc_strdup(row->help);
}

static int key_of(const pfc_option *rows, size_t i, int first_key)
{
    return rows[i].letter ? rows[i].letter : first_key + (int)i;
}

struct argp_option *pfc_options_argp(const pfc_option *rows, int first_key, int group)
{
    size_t len = 0;
    struct argp_option *out;

    while (rows && !is_end(&rows[len]))
        len++;
    out = pfc_calloc(len + 1, sizeof(*out));
    for (size_t i = 0; i < len; i++) {
        const pfc_option *row = &rows[i];

        if (!row->name)
            group++;
        out[i] = (struct argp_option){ .name = row->name,
                                       .arg = row->argument,
                                       .flags = row->optional ? OPTION_ARG_OPTIONAL : 0,
                                       .doc = help_of(row),
                                       .group = group };
        if (row->name)
            out[i].key = key_of(rows, i, first_key);
    }
    return out;
}

void pfc_options_free(struct argp_option *options)
{
    for (struct argp_option *o = options; o && o->doc; o++)
        free((char *)(uintptr_t)o->doc);
    free(options);
}

const pfc_option *pfc_options_find(const pfc_option *rows, int first_key, int key)
{
    for (size_t i = 0; rows && !is_end(&rows[i]); i++)
        if (rows[i].name && key == key_of(rows, i, first_key))
            return &rows[i];
    return NULL;
}

/* "1..1000", "1 or more" or "auto, always or never": what the value must be. */
static void put_expected(pfc_buf *out, const pfc_option *row)
{
    switch (row->kind) {
    case PFC_OPTION_COUNT:
    case PFC_OPTION_INTEGER:
        if (row->most == INT64_MAX)
            pfc_buf_printf(out, "%" PRId64 " or more", row->least);
        else
            pfc_buf_printf(out, "%" PRId64 "..%" PRId64, row->least, row->most);
        break;
    case PFC_OPTION_NUMBER:
        pfc_buf_printf(out, "%.15g..%.15g", row->low, row->high);
        break;
    case PFC_OPTION_DURATION:
    case PFC_OPTION_SECONDS:
        pfc_buf_puts(out, "a duration such as 90, 90s, 500ms, 5m, 2h or 1d");
        break;
    case PFC_OPTION_WORD:
        for (size_t i = 0; row->words[i]; i++)
            pfc_buf_printf(out, "%s%s",
                           i == 0              ? ""
                           : row->words[i + 1] ? ", "
                                               : " or ",
                           row->words[i]);
        break;
    case PFC_OPTION_FLAG:
    case PFC_OPTION_TEXT:
        pfc_buf_puts(out, "a text");
        break;
    }
}

static pfc_code refuse(const pfc_option *row, const char *text, pfc_err *err)
{
    const char *quote = pfc_parse_double(text, -1e308, 1e308, "", &(double){ 0 }, NULL) ? "\"" : "";
    pfc_buf expected;

    pfc_buf_init(&expected, 1024);
    put_expected(&expected, row);
    (void)pfc_err_set(err, PFC_EINVAL, "--%s: expected %s, got %s%.40s%s", row->name,
                      pfc_buf_text(&expected), quote, text, quote);
    pfc_buf_clear(&expected);
    return PFC_EINVAL;
}

static bool is_word(const pfc_option *row, const char *text)
{
    for (size_t i = 0; row->words[i]; i++)
        if (strcmp(row->words[i], text) == 0)
            return true;
    return false;
}

/* A value after it was checked. */
typedef struct checked {
    const char *text;
    int64_t integer;
    double number;
} checked;

static pfc_code check(const pfc_option *row, const char *text, checked *out)
{
    out->text = text;
    switch (row->kind) {
    case PFC_OPTION_FLAG:
    case PFC_OPTION_TEXT:
        break;
    case PFC_OPTION_WORD:
        return is_word(row, text) ? PFC_OK : PFC_EINVAL;
    case PFC_OPTION_DURATION:
    case PFC_OPTION_SECONDS:
        return pfc_parse_duration_s(text, row->name, &out->number, NULL);
    case PFC_OPTION_COUNT:
    case PFC_OPTION_INTEGER:
        return pfc_parse_i64(text, row->least, row->most, row->name, &out->integer, NULL);
    case PFC_OPTION_NUMBER:
        return pfc_parse_double(text, row->low, row->high, row->name, &out->number, NULL);
    }
    return PFC_OK;
}

pfc_code pfc_options_store(const pfc_option *row, const char *text, void *input, pfc_err *err)
{
    checked value = { 0 };
    void *member;

    if (text && check(row, text, &value))
        return refuse(row, text, err);
    if (row->at == PFC_NO_MEMBER)
        return PFC_OK;
    member = (char *)input + row->at;
    switch (row->kind) {
    case PFC_OPTION_FLAG:
        *(bool *)member = true;
        break;
    case PFC_OPTION_TEXT:
    case PFC_OPTION_WORD:
    case PFC_OPTION_DURATION:
        *(const char **)member = value.text;
        break;
    case PFC_OPTION_COUNT:
        *(size_t *)member = (size_t)value.integer;
        break;
    case PFC_OPTION_INTEGER:
        *(int64_t *)member = value.integer;
        break;
    case PFC_OPTION_SECONDS:
    case PFC_OPTION_NUMBER:
        *(double *)member = value.number;
        break;
    }
    return PFC_OK;
}

/* ---- JSON ---- */

static void set_text(json_t *to, const char *key, const char *text)
{
    if (text)
        json_object_set_new(to, key, json_string(text));
}

static json_t *option_json(const pfc_option *row, const char *heading)
{
    static const char *const kinds[] = {
        [PFC_OPTION_FLAG] = "flag",        [PFC_OPTION_TEXT] = "text",
        [PFC_OPTION_WORD] = "word",        [PFC_OPTION_DURATION] = "duration",
        [PFC_OPTION_SECONDS] = "duration", [PFC_OPTION_COUNT] = "integer",
        [PFC_OPTION_INTEGER] = "integer",  [PFC_OPTION_NUMBER] = "number",
    };
    const char letter[] = { row->letter, '\0' };
    json_t *out = json_object();

    set_text(out, "name", row->name);
    set_text(out, "letter", row->letter ? letter : NULL);
    set_text(out, "argument", row->argument);
    json_object_set_new(out, "type", json_string(kinds[row->kind]));
    if (row->kind == PFC_OPTION_COUNT || row->kind == PFC_OPTION_INTEGER) {
        json_object_set_new(out, "min", json_integer(row->least));
        json_object_set_new(out, "max", json_integer(row->most));
    } else if (row->kind == PFC_OPTION_NUMBER) {
        json_object_set_new(out, "min", json_real(row->low));
        json_object_set_new(out, "max", json_real(row->high));
    }
    if (row->words) {
        json_t *words = json_array();

        for (size_t i = 0; row->words[i]; i++)
            json_array_append_new(words, json_string(row->words[i]));
        json_object_set_new(out, "words", words);
    }
    set_text(out, "default", row->fallback);
    set_text(out, "group", heading);
    set_text(out, "help", row->help);
    return out;
}

json_t *pfc_options_json(const pfc_option *rows)
{
    json_t *out = json_array();
    const char *heading = NULL;

    for (const pfc_option *row = rows; row && !is_end(row); row++)
        if (row->name)
            json_array_append_new(out, option_json(row, heading));
        else
            heading = row->help;
    return out;
}

json_t *pfc_subcommand_json(const pfc_subcommand *command)
{
    json_t *out = json_object();

    set_text(out, "name", command->name);
    set_text(out, "summary", command->summary);
    set_text(out, "usage", command->args_doc);
    set_text(out, "doc", command->doc);
    json_object_set_new(out, "options", pfc_options_json(command->options));
    if (command->parts) {
        json_t *parts = json_array();

        for (size_t i = 0; command->parts[i]; i++)
            json_array_append_new(parts, pfc_subcommand_json(command->parts[i]));
        json_object_set_new(out, "parts", parts);
    }
    return out;
}
