/* Every key of a chip file at its limits and just past them, and what ties two keys together. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/buf.h"
#include "core/base/hash.h"

#include "tests/check/check.h"
#include "tests/kernels/accel/chips.h"

static pfc_accel_chip chip;
static pfc_err err;

static pfc_code parse(char *text)
{
    pfc_code code;

    err = (pfc_err){ 0 };
    code = pfc_accel_chip_parse(text, strlen(text), "x.chip", &chip, &err);
    free(text);
    return code;
}

static pfc_code parse_value(const char *name, const char *value)
{
    return parse(chip_text(name, value));
}

static uint64_t field(const chip_key *key)
{
    uint64_t value;

    memcpy(&value, (const char *)&chip + key->offset, sizeof value);
    return value;
}

static const chip_key *key_of(const char *name)
{
    for (size_t i = 0; i < chip_keys_len; i++)
        if (strcmp(chip_keys[i].name, name) == 0)
            return &chip_keys[i];
    cr_assert(false, "%s", name);
    return NULL;
}

static void check_accepted(const chip_key *key, uint64_t value)
{
    char text[32];

    snprintf(text, sizeof text, "%" PRIu64, value);
    cr_assert(eq(int, parse_value(key->name, text), PFC_OK), "%s = %s: %s", key->name, text,
              err.msg);
    cr_assert(eq(u64, field(key), value), "%s", key->name);
    /* Nothing else moved. */
    for (size_t i = 0; i < chip_keys_len; i++)
        if (&chip_keys[i] != key)
            cr_assert(eq(u64, field(&chip_keys[i]), chip_keys[i].usual), "%s after %s",
                      chip_keys[i].name, key->name);
}

static void check_refused(const chip_key *key, int64_t value)
{
    char text[32];

    snprintf(text, sizeof text, "%" PRId64, value);
    cr_assert(eq(int, parse_value(key->name, text), PFC_EINVAL), "%s = %s", key->name, text);
    cr_assert(strstr(err.msg, key->name) != NULL, "%s: %s", key->name, err.msg);
    cr_assert(strstr(err.msg, "x.chip:") != NULL, "%s: %s", key->name, err.msg);
}

Test(chip_keys, smallest_and_largest_values_are_accepted_and_the_next_ones_refused)
{
    for (size_t i = 0; i < chip_keys_len; i++) {
        const chip_key *key = &chip_keys[i];

        check_accepted(key, key->usual);
        check_accepted(key, key->min);
        check_accepted(key, key->max);
        check_refused(key, (int64_t)key->min - 1);
        check_refused(key, (int64_t)key->max + 1);
        if (key->power_of_two) {
            check_refused(key, (int64_t)key->min / 2);
            check_refused(key, (int64_t)key->max * 2);
        }
    }
}

Test(chip_keys, powers_of_two_are_wanted_of_three_keys_alone)
{
    for (size_t i = 0; i < chip_keys_len; i++) {
        const chip_key *key = &chip_keys[i];

        if (!key->power_of_two)
            continue;
        for (uint64_t v = key->min; v < key->max; v *= 2) {
            /* hbm_burst is at most hbm_interleave, which is tested below */
            if (strcmp(key->name, "hbm_interleave") != 0 || v >= 64)
                check_accepted(key, v);
            check_refused(key, (int64_t)v + (int64_t)v / 2);
            check_refused(key, (int64_t)v + 1);
        }
    }
}

/* The keys that are newer than chip files of others, with what a file without them gets. */
static const struct {
    const char *name;
    uint64_t fallback;
} newer[] = {
    { "array_load_rows", 1 }, { "pcie_read_bytes", 512 },  { "pcie_reads", 256 },
    { "host_call_ns", 1200 }, { "host_doorbell_ns", 150 }, { "host_irq_ns", 4000 },
    { "host_poll_ns", 200 },  { "queue_fetch_ns", 100 },   { "queue_semaphore_ns", 300 },
};

static bool may_be_missing(const char *name)
{
    for (size_t i = 0; i < PFC_ARRAY_LEN(newer); i++)
        if (strcmp(newer[i].name, name) == 0)
            return true;
    return false;
}

Test(chip_keys, newer_keys_have_fallbacks)
{
    for (size_t i = 0; i < PFC_ARRAY_LEN(newer); i++) {
        cr_assert(eq(int, parse_value(newer[i].name, NULL), PFC_OK), "%s: %s", newer[i].name,
                  err.msg);
        cr_assert(eq(u64, field(key_of(newer[i].name)), newer[i].fallback), "%s", newer[i].name);
    }
}

Test(chip_keys, every_key_is_wanted_once)
{
    static const char *const texts[] = { "name", "about", "mode" };

    for (size_t i = 0; i < chip_keys_len + PFC_ARRAY_LEN(texts); i++) {
        const char *name = i < chip_keys_len ? chip_keys[i].name : texts[i - chip_keys_len];
        char want[96];
        char *whole = chip_text(NULL, NULL);
        pfc_buf twice;

        snprintf(want, sizeof want, "the file ends without %s", name);
        if (!may_be_missing(name)) {
            cr_assert(eq(int, parse_value(name, NULL), PFC_EINVAL), "%s", name);
            cr_assert(strstr(err.msg, want) != NULL, "%s", err.msg);
        }
        pfc_buf_init(&twice, PFC_ACCEL_CHIP_MAX_BYTES);
        pfc_buf_printf(&twice, "%s%s = 1\n", whole, name);
        snprintf(want, sizeof want, "x.chip:%zu: %s is given twice", chip_keys_len + 4, name);
        cr_assert(eq(int, parse(pfc_strndup(pfc_buf_text(&twice), twice.len)), PFC_EINVAL));
        cr_assert(strstr(err.msg, want) != NULL, "%s: %s", want, err.msg);
        pfc_buf_clear(&twice);
        free(whole);
    }
}

/* Two keys at once: the second is appended in place of its own line. */
static pfc_code parse_pair(const char *first, const char *first_value, const char *second,
                           const char *second_value)
{
    char *most = chip_text(first, first_value);
    char *line = strstr(most, second);
    pfc_buf buf;
    char *text;

    while (line && (line[-1] != '\n' || line[strlen(second)] != ' '))
        line = strstr(line + 1, second);
    cr_assert(line != NULL, "%s", second);
    pfc_buf_init(&buf, PFC_ACCEL_CHIP_MAX_BYTES);
    pfc_buf_append(&buf, most, (size_t)(line - most));
    pfc_buf_printf(&buf, "%s = %s", second, second_value);
    pfc_buf_puts(&buf, strchr(line, '\n'));
    text = pfc_strndup(pfc_buf_text(&buf), buf.len);
    pfc_buf_clear(&buf);
    free(most);
    return parse(text);
}

Test(chip_keys, two_keys_that_contradict_each_other_are_refused)
{
    static const struct {
        const char *first, *first_value;
        const char *second, *second_value;
        const char *says; /* NULL: accepted */
    } rows[] = {
        { "hbm_interleave", "128", "hbm_burst", "128", NULL },
        { "hbm_interleave", "128", "hbm_burst", "256",
          "hbm_burst: expected at most hbm_interleave" },
        { "hbm_refresh_every", "5000", "hbm_refresh", "4999", NULL },
        { "hbm_refresh_every", "5000", "hbm_refresh", "5000",
          "expected less than hbm_refresh_every" },
        { "hbm_refresh_every", "5000", "hbm_refresh", "5001",
          "expected less than hbm_refresh_every" },
        { "sram_bytes", "4096", "sram_banks", "64", NULL },
        { "sram_bytes", "4160", "sram_banks", "1", NULL },
        { "sram_bytes", "4128", "sram_banks", "1", "sram_bytes: expected a multiple of 64" },
        { "sram_bytes", "4160", "sram_banks", "5", NULL },
        { "sram_bytes", "4160", "sram_banks", "2", "sram_bytes: expected a multiple of 64" },
    };

    for (size_t i = 0; i < PFC_ARRAY_LEN(rows); i++) {
        const pfc_code code =
            parse_pair(rows[i].first, rows[i].first_value, rows[i].second, rows[i].second_value);

        cr_assert(eq(int, code, rows[i].says ? PFC_EINVAL : PFC_OK), "row %zu: %s", i, err.msg);
        if (rows[i].says)
            cr_assert(strstr(err.msg, rows[i].says) != NULL, "%s", err.msg);
    }
}

Test(chip_keys, texts_are_bounded)
{
    char about[161];

    memset(about, 'a', sizeof about);
    about[160] = '\0';
    cr_assert(eq(int, parse_value("about", about), PFC_EINVAL));
    cr_assert(strstr(err.msg, "expected at most 159 bytes, got 160") != NULL, "%s", err.msg);
    about[159] = '\0';
    cr_assert(eq(int, parse_value("about", about), PFC_OK), "%s", err.msg);
    cr_assert(eq(str, chip.about, about));
    cr_assert(eq(str, chip.name, "made-up"));
    cr_assert(eq(int, parse_value("name", "Upper"), PFC_EINVAL));
    cr_assert(eq(int, parse_value("name", ""), PFC_EINVAL));
}

Test(chip_keys, a_file_as_long_as_allowed_is_read_to_its_end)
{
    char *text = chip_text(NULL, NULL);
    char *long_one = malloc(PFC_ACCEL_CHIP_MAX_BYTES + 2);

    memset(long_one, '#', PFC_ACCEL_CHIP_MAX_BYTES + 1);
    long_one[PFC_ACCEL_CHIP_MAX_BYTES - strlen(text) - 1] = '\n';
    memcpy(long_one + PFC_ACCEL_CHIP_MAX_BYTES - strlen(text), text, strlen(text));
    long_one[PFC_ACCEL_CHIP_MAX_BYTES] = '\n';
    cr_assert(eq(int, pfc_accel_chip_parse(long_one, 65536, "x", &chip, &err), PFC_OK), "%s",
              err.msg);
    cr_assert(eq(int, pfc_accel_chip_parse(long_one, 65537, "x", &chip, &err), PFC_ETOOBIG));
    free(long_one);
    free(text);
}

Test(chip_keys, blanks_comments_and_carriage_returns_are_left_out)
{
    char *text = chip_text("clock_mhz", "1234 # MHz");
    char *at = strstr(text, "mode = scalesim-is\n");
    pfc_buf buf;

    pfc_buf_init(&buf, PFC_ACCEL_CHIP_MAX_BYTES);
    pfc_buf_append(&buf, text, (size_t)(at - text));
    pfc_buf_puts(&buf, "\r\n \t \n# all comment\n\t mode\t=  onnxim-ws \t\r");
    pfc_buf_puts(&buf, strchr(at, '\n'));
    cr_assert(eq(int, parse(pfc_strndup(pfc_buf_text(&buf), buf.len)), PFC_OK), "%s", err.msg);
    cr_assert(eq(int, (int)chip.mode, PFC_ACCEL_ONNXIM_WS));
    cr_assert(eq(u64, chip.clock_mhz, 1234));
    pfc_buf_clear(&buf);
    free(text);
}

/* The hash is part of every machine's identity. */
Test(chip_keys, the_hash_is_the_beginning_of_the_digest_of_the_text)
{
    char hex[PFC_SHA256_HEX];
    char *text = chip_text(NULL, NULL);

    pfc_sha256_hex(text, strlen(text), hex);
    hex[16] = '\0';
    cr_assert(eq(int, parse(text), PFC_OK));
    cr_assert(eq(str, chip.hash, hex));
}

/* Each constant of a built-in chip file must name its source: its line ends in a tag such as [nki],
 * and the comment at the top of the file says which source the tag stands for. */
Test(chip_keys, every_constant_of_a_built_in_chip_names_its_source)
{
    for (size_t i = 0; pfc_accel_chip_name(i); i++) {
        char *copy = pfc_strdup(pfc_accel_chip_text(i));
        char *rest = copy;
        size_t constants = 0;

        for (char *line; (line = strsep(&rest, "\n")) != NULL;) {
            char tag[24] = "", head[32];

            if (!*line || *line == '#' || strncmp(line, "name ", 5) == 0 ||
                strncmp(line, "about ", 6) == 0 || strncmp(line, "mode ", 5) == 0)
                continue;
            constants++;
            cr_assert(eq(int, sscanf(line, "%*[^#]# [%20[a-z0-9-]]", tag), 1), "%s: %s",
                      pfc_accel_chip_name(i), line);
            snprintf(head, sizeof(head), "\n# [%s] ", tag);
            cr_assert(ne(ptr, strstr(pfc_accel_chip_text(i), head), NULL), "%s: nothing says [%s]",
                      pfc_accel_chip_name(i), tag);
        }
        cr_assert(eq(sz, constants, chip_keys_len), "%s", pfc_accel_chip_name(i));
        free(copy);
    }
}

/* Older chip files have no array_load_rows: one row a cycle, as they were measured. */
Test(chip_keys, a_file_without_the_newest_key_keeps_its_meaning)
{
    char *text = chip_text(NULL, NULL);
    char *line = strstr(text, "array_load_rows");

    memset(line, '#', (size_t)(strchr(line, '\n') - line));
    cr_assert(eq(int, parse(text), PFC_OK), "%s", err.msg);
    cr_assert(eq(u64, chip.array_load_rows, 1));
}

Test(chip_keys, chips_are_loaded_by_name_or_from_a_file)
{
    static const char *const builtin[] = { "pfc-edge", "pfc-server", "pfc-server2", "pfc-trn",
                                           "pfc-xf" };
    char path[] = "/tmp/perfci-chip-XXXXXX";
    char *text = chip_text(NULL, NULL);
    int file = mkstemp(path);

    for (size_t i = 0; i < PFC_ARRAY_LEN(builtin); i++) {
        cr_assert(eq(str, (char *)pfc_accel_chip_name(i), (char *)builtin[i]));
        cr_assert(eq(int, pfc_accel_chip_load(builtin[i], &chip, &err), PFC_OK));
        cr_assert(eq(str, chip.name, (char *)builtin[i]));
    }
    cr_assert(pfc_accel_chip_name(PFC_ARRAY_LEN(builtin)) == NULL);
    cr_assert(file >= 0 && write(file, text, strlen(text)) == (ssize_t)strlen(text));
    close(file);
    cr_assert(eq(int, pfc_accel_chip_load(path, &chip, &err), PFC_OK), "%s", err.msg);
    cr_assert(eq(str, chip.name, "made-up"));
    cr_assert(eq(u64, chip.launch_ns, key_of("launch_ns")->usual));
    unlink(path);
    free(text);
    cr_assert(eq(int, pfc_accel_chip_load(path, &chip, &err), PFC_ENOTFOUND));
    cr_assert(strstr(err.msg, "pfc-edge, pfc-server, pfc-server2, pfc-trn, pfc-xf") != NULL, "%s",
              err.msg);
}

Test(chip_keys, an_array_is_set_within_its_limits)
{
    static const struct {
        int64_t rows, cols;
        pfc_code code;
    } rows[] = {
        { 1, 1, PFC_OK },        { 1024, 1024, PFC_OK }, { 3, 5, PFC_OK },
        { 0, 1, PFC_EINVAL },    { 1, 0, PFC_EINVAL },   { 1025, 1, PFC_EINVAL },
        { 1, 1025, PFC_EINVAL }, { -1, 1, PFC_EINVAL },
    };

    for (size_t i = 0; i < PFC_ARRAY_LEN(rows); i++) {
        pfc_accel_chip set = { .array_rows = 7, .array_cols = 9 };

        cr_assert(eq(int, pfc_accel_chip_set_array(&set, rows[i].rows, rows[i].cols, &err),
                     rows[i].code));
        cr_assert(eq(u64, set.array_rows, rows[i].code ? 7 : (uint64_t)rows[i].rows));
        cr_assert(eq(u64, set.array_cols, rows[i].code ? 9 : (uint64_t)rows[i].cols));
    }
}

Test(chip_keys, modes_and_types_have_their_names)
{
    static const struct {
        const char *name;
        pfc_accel_mode mode;
        bool ideal;
    } modes[] = { { "pipelined-ws", PFC_ACCEL_PIPELINED_WS, false },
                  { "scalesim-ws", PFC_ACCEL_SCALESIM_WS, true },
                  { "scalesim-os", PFC_ACCEL_SCALESIM_OS, true },
                  { "scalesim-is", PFC_ACCEL_SCALESIM_IS, true },
                  { "onnxim-ws", PFC_ACCEL_ONNXIM_WS, true } };
    static const struct {
        const char *name;
        pfc_accel_dtype dtype;
        size_t bytes;
    } types[] = { { "f32", PFC_ACCEL_F32, 4 },
                  { "bf16", PFC_ACCEL_BF16, 2 },
                  { "int8", PFC_ACCEL_INT8, 1 } };
    pfc_accel_mode mode = PFC_ACCEL_ONNXIM_WS;
    pfc_accel_dtype dtype = PFC_ACCEL_INT8;

    for (size_t i = 0; i < PFC_ARRAY_LEN(modes); i++) {
        cr_assert(eq(int, pfc_accel_mode_parse(modes[i].name, &mode, &err), PFC_OK));
        cr_assert(eq(int, (int)mode, (int)modes[i].mode));
        cr_assert(eq(str, (char *)pfc_accel_mode_name(mode), (char *)modes[i].name));
        cr_assert(eq(int, pfc_accel_mode_ideal_memory(mode), modes[i].ideal));
    }
    for (size_t i = 0; i < PFC_ARRAY_LEN(types); i++) {
        cr_assert(eq(int, pfc_accel_dtype_parse(types[i].name, &dtype, &err), PFC_OK));
        cr_assert(eq(int, (int)dtype, (int)types[i].dtype));
        cr_assert(eq(str, (char *)pfc_accel_dtype_name(dtype), (char *)types[i].name));
        cr_assert(eq(sz, pfc_accel_dtype_bytes(dtype), types[i].bytes));
    }
    cr_assert(eq(int, pfc_accel_mode_parse("ws", &mode, &err), PFC_EINVAL));
    cr_assert(eq(int, pfc_accel_dtype_parse("f16", &dtype, &err), PFC_EINVAL));
    cr_assert(eq(int, (int)mode, PFC_ACCEL_ONNXIM_WS));
    cr_assert(eq(int, (int)dtype, PFC_ACCEL_INT8));
}
