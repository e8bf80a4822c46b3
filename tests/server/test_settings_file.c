/* The server's settings file: what a line may be, at its limits. */
#include <stdlib.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/fs.h"
#include "server/settings_file.h"

#include "tests/check/check.h"
#include "tests/support/guarded_text.h"

static const char *const known[] = { "PERFCI_LISTEN", "PERFCI_LEASE", "PERFCI_LEASE_2", NULL };
static pfc_settings_file file;
static pfc_err err;

static pfc_code parse(const char *text)
{
    const size_t len = strlen(text);
    guard g = guard_open(len);
    pfc_code code;

    pfc_settings_file_clear(&file);
    err = (pfc_err){ 0 };
    code = pfc_settings_file_parse(guard_end(&g, text, len), len, "f", known, &file, &err);
    guard_close(&g);
    return code;
}

Test(settings_file, a_line_is_a_name_and_a_value)
{
    static const struct {
        const char *text, *value;
    } rows[] = {
        { "PERFCI_LEASE=90s", "90s" },
        { "PERFCI_LEASE=90s\r\n", "90s" },
        { " \t PERFCI_LEASE \t= \t90s \t\r", "90s" },
        { "PERFCI_LEASE=", "" },
        { "PERFCI_LEASE=\"\"", "" },
        { "PERFCI_LEASE=\"  a b  \"", "  a b  " },
        { "PERFCI_LEASE=a=b", "a=b" },
        { "PERFCI_LEASE=a b", "a b" },
        { "PERFCI_LEASE='a'", "'a'" },
        { "\n# PERFCI_LEASE=1\n   # x\nPERFCI_LEASE=2\n\n", "2" },
        { "PERFCI_LEASE=#1", "#1" },
    };

    for (size_t i = 0; i < PFC_ARRAY_LEN(rows); i++) {
        cr_assert(eq(int, parse(rows[i].text), PFC_OK), "%s: %s", rows[i].text, err.msg);
        cr_assert(eq(sz, file.len, 1));
        cr_assert(
            eq(str, (char *)pfc_settings_file_get(&file, "PERFCI_LEASE"), (char *)rows[i].value));
        cr_assert(eq(ptr, (void *)pfc_settings_file_get(&file, "PERFCI_LISTEN"), NULL));
    }
    cr_assert(eq(int, parse("PERFCI_LEASE_2=b\nPERFCI_LEASE=a\nPERFCI_LISTEN=c"), PFC_OK));
    cr_assert(eq(sz, file.len, 3));
    cr_assert(eq(str, (char *)pfc_settings_file_get(&file, "PERFCI_LEASE"), "a"));
    cr_assert(eq(str, (char *)pfc_settings_file_get(&file, "PERFCI_LEASE_2"), "b"));
    cr_assert(eq(str, (char *)pfc_settings_file_get(&file, "PERFCI_LISTEN"), "c"));
    cr_assert(eq(int, parse(""), PFC_OK));
    cr_assert(eq(sz, file.len, 0));
    pfc_settings_file_clear(&file);
}

Test(settings_file, each_fault_is_named_with_its_line_and_never_with_its_value)
{
    static const struct {
        const char *text, *message;
    } rows[] = {
        { "x", "f:1: expected NAME=value" },
        { "\n\n  x\n", "f:3: expected NAME=value" },
        { "PERFCI_LEAS=s3cret", "f:1: unknown setting \"PERFCI_LEAS\"; --help" },
        { "PERFCI_LEASE_=s3cret", "f:1: unknown setting \"PERFCI_LEASE_\"" },
        { "perfci_lease=s3cret", "f:1: unknown setting \"perfci_lease\"" },
        { "=s3cret", "f:1: unknown setting \"\"" },
        { "export PERFCI_LEASE=s3cret", "f:1: unknown setting (its name holds odd characters)" },
        { "PERFCI_LEASE=1\n#\nPERFCI_LEASE=1\n", "f:3: PERFCI_LEASE is set a second time" },
        { "PERFCI_LEASE=\"", "f:1: the value holds a quote" },
        { "PERFCI_LEASE=\"s3cret", "f:1: the value holds a quote" },
        { "PERFCI_LEASE=s3cret\"", "f:1: the value holds a quote" },
        { "PERFCI_LEASE=\"a\"b\"", "f:1: the value holds a quote" },
        { "PERFCI_LEASE=a\x01", "f:1: the value holds a quote or a control character" },
        { "PERFCI_LEASE=a\tb", "f:1: the value holds a quote or a control character" },
    };

    for (size_t i = 0; i < PFC_ARRAY_LEN(rows); i++) {
        cr_assert(eq(int, parse(rows[i].text), PFC_EINVAL), "%s", rows[i].text);
        cr_assert(eq(int, strncmp(err.msg, rows[i].message, strlen(rows[i].message)), 0),
                  "%s: expected %s, got %s", rows[i].text, rows[i].message, err.msg);
        cr_assert(eq(ptr, strstr(err.msg, "s3cret"), NULL));
        cr_assert(eq(sz, file.len, 0));
        cr_assert(eq(ptr, file.names, NULL));
    }
}

/* `c` times `len` between two texts. */
static char *between(const char *before, char c, size_t len, const char *after)
{
    pfc_buf buf;

    pfc_buf_init(&buf, 1 << 20);
    pfc_buf_puts(&buf, before);
    for (size_t i = 0; i < len; i++)
        pfc_buf_putc(&buf, c);
    pfc_buf_puts(&buf, after);
    return pfc_buf_take(&buf);
}

Test(settings_file, values_and_files_hold_at_their_limits)
{
    char *text;

    for (size_t more = 0; more <= 1; more++) {
        text = between("PERFCI_LEASE=", 'x', PFC_SETTINGS_FILE_MAX_VALUE + more, "");
        cr_assert(eq(int, parse(text), more ? PFC_EINVAL : PFC_OK), "%s", err.msg);
        free(text);
        text = between("PERFCI_LEASE=\"", 'x', PFC_SETTINGS_FILE_MAX_VALUE + more, "\"");
        cr_assert(eq(int, parse(text), more ? PFC_EINVAL : PFC_OK), "%s", err.msg);
        free(text);
        text = between("PERFCI_LEASE=1", '\n', PFC_SETTINGS_FILE_MAX_BYTES - 14 + more, "");
        cr_assert(eq(int, parse(text), more ? PFC_EINVAL : PFC_OK), "%s", err.msg);
        free(text);
    }
    cr_assert(eq(str, err.msg, "f: over 65536 bytes"));
    text = between("", 'N', 70, "=1");
    cr_assert(eq(int, parse(text), PFC_EINVAL));
    cr_assert(ne(ptr, strstr(err.msg, "\"NNNNNNNN"), NULL), "%s", err.msg);
    free(text);
}

Test(settings_file, a_file_is_read_or_named)
{
    char *dir = NULL;
    char *path;

    cr_assert(eq(int, pfc_fs_temp_dir("settings", &dir, &err), PFC_OK));
    path = pfc_fs_join(dir, "server.env");
    cr_assert(eq(int, pfc_settings_file_read(path, known, &file, &err), PFC_ENOTFOUND));
    cr_assert(eq(int, pfc_fs_write_atomic(path, "PERFCI_LEASE=9\n", 15, 0600, &err), PFC_OK));
    cr_assert(eq(int, pfc_settings_file_read(path, known, &file, &err), PFC_OK), "%s", err.msg);
    cr_assert(eq(str, (char *)pfc_settings_file_get(&file, "PERFCI_LEASE"), "9"));
    cr_assert(eq(int, pfc_fs_remove_tree(dir, &err), PFC_OK));
    pfc_settings_file_clear(&file);
    free(dir);
    free(path);
}
