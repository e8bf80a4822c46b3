/* The JSON compilation database: an array of {"directory", "file", "command" | "arguments",
 * "output"}. */
#include <string.h>

#include "core/objects/objects.h"
#include "core/wire/wire.h"

enum { MAX_ENTRIES = 200000 };

/* The word after "-o", in the buffer; "" without one. Quotes are dropped where they stand alone. */
static const char *output_of_command(const char *command, char *word, size_t cap)
{
    const char *at = command ? strstr(command, " -o ") : NULL;
    size_t len = 0;

    word[0] = '\0';
    if (!at)
        return word;
    at += strlen(" -o ");
    at += strspn(at, " \"'");
    len = strcspn(at, " \"'");
    if (len < cap) {
        memcpy(word, at, len);
        word[len] = '\0';
    }
    return word;
}

static const char *output_of(const json_t *entry, char *word, size_t cap)
{
    const char *output = json_string_value(json_object_get(entry, "output"));
    const json_t *args = json_object_get(entry, "arguments");

    if (output)
        return output;
    for (size_t i = 0; i + 1 < json_array_size(args); i++)
        if (pfc_streq(json_string_value(json_array_get(args, i)), "-o")) {
            output = json_string_value(json_array_get(args, i + 1));
            return output ? output : "";
        }
    return output_of_command(json_string_value(json_object_get(entry, "command")), word, cap);
}

pfc_code pfc_objects_commands(const char *text, size_t len, pfc_objects_sink sink, void *arg,
                              pfc_err *err)
{
    char word[PFC_OBJECTS_NAME];
    json_t *doc = NULL;
    pfc_code code = pfc_json_parse(text, len, &doc, err);

    if (code)
        return pfc_err_wrap(err, "compile_commands.json");
    if (!json_is_array(doc) || json_array_size(doc) > MAX_ENTRIES)
        code = pfc_err_set(err, PFC_EINVAL,
                           "compile_commands.json: expected an array of at most %d entries",
                           MAX_ENTRIES);
    for (size_t i = 0; !code && i < json_array_size(doc); i++) {
        const json_t *entry = json_array_get(doc, i);
        const char *file = json_string_value(json_object_get(entry, "file"));
        const char *dir = json_string_value(json_object_get(entry, "directory"));

        if (!file || !dir)
            code = pfc_err_set(
                err, PFC_EINVAL,
                "compile_commands.json: entry %zu: expected \"file\" and \"directory\"", i);
        else if (strlen(file) < PFC_OBJECTS_NAME && strlen(dir) < PFC_OBJECTS_NAME)
            sink(arg, output_of(entry, word, sizeof(word)), file, dir);
    }
    json_decref(doc);
    return code;
}
