/*
 * The server's settings file. Properties: names are known ones and each stands once, values are
 * plain text within their limit, a refusal has a sentence with the line, and what was taken gives
 * the same again when it is written out.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/buf.h"
#include "server/settings_file.h"

#include "tests/fuzz/fuzz.h"

static const char *const known[] = { "PERFCI_LISTEN", "PERFCI_PUBLIC_READ", "PERFCI_RATE_TOKEN",
                                     NULL };

static void check_file(const pfc_settings_file *file)
{
    FUZZ_CHECK(file->len <= 3);
    for (size_t i = 0; i < file->len; i++) {
        FUZZ_CHECK(pfc_settings_file_get(file, file->names[i]) == file->values[i]);
        FUZZ_CHECK(strlen(file->values[i]) <= PFC_SETTINGS_FILE_MAX_VALUE);
        for (const char *at = file->values[i]; *at; at++)
            FUZZ_CHECK(!iscntrl((unsigned char)*at) && *at != '"');
    }
}

static void check_again(const pfc_settings_file *file)
{
    pfc_settings_file again;
    pfc_buf text;

    pfc_buf_init(&text, PFC_SETTINGS_FILE_MAX_BYTES);
    for (size_t i = 0; i < file->len; i++)
        pfc_buf_printf(&text, "%s=\"%s\"\n", file->names[i], file->values[i]);
    FUZZ_CHECK(pfc_settings_file_parse(pfc_buf_text(&text), text.len, "f", known, &again, NULL) ==
               PFC_OK);
    FUZZ_CHECK(again.len == file->len);
    for (size_t i = 0; i < file->len; i++)
        FUZZ_CHECK(strcmp(again.values[i], file->values[i]) == 0);
    pfc_settings_file_clear(&again);
    pfc_buf_clear(&text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    pfc_settings_file file;
    pfc_err err = { 0 };

    if (pfc_settings_file_parse((const char *)data, size, "f", known, &file, &err) == PFC_OK) {
        check_file(&file);
        check_again(&file);
        pfc_settings_file_clear(&file);
    } else {
        FUZZ_CHECK(strncmp(err.msg, "f:", 2) == 0 && file.len == 0);
    }
    return 0;
}
