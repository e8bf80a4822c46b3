/* Files that builds write: each format as its tool writes it, and malformed. */
#include <stdlib.h>
#include <string.h>

#include "core/base/fs.h"
#include "core/objects/objects.h"

#include "tests/check/check.h"

/* Appends "object<file@dir;" for each call. */
static void note(void *arg, const char *object, const char *file, const char *dir)
{
    pfc_buf_printf(arg, "%s<%s@%s;", object, file, dir);
}

#define HEARD(call)                                                                                \
    pfc_buf_reset(&heard);                                                                         \
    call;

static pfc_buf heard;

static void setup(void)
{
    pfc_buf_init(&heard, 1024 * 1024);
}

static void teardown(void)
{
    pfc_buf_clear(&heard);
}

TestSuite(objects, .init = setup, .fini = teardown);

static const char *of_depfile(const char *text)
{
    HEARD(pfc_objects_depfile(text, strlen(text), note, &heard));
    return pfc_buf_text(&heard);
}

Test(objects, a_depfile_names_what_an_object_was_made_of)
{
    cr_assert(eq(str, (char *)of_depfile("a.o: a.c \\\n b.h ../c.h\n\nb.h:\n\n../c.h:\n"),
                 (char *)"a.o<a.c@;a.o<b.h@;a.o<../c.h@;"));
    cr_assert(eq(str, (char *)of_depfile("x/a.o : my\\ file.c cost$$.h \\\r\n \\#odd.h"),
                 (char *)"x/a.o<my file.c@;x/a.o<cost$.h@;x/a.o<#odd.h@;"));
    cr_assert(eq(str, (char *)of_depfile("C:/x.o: C:/x.c\nsecond: two"),
                 (char *)"C:/x.o<C:/x.c@;second<two@;"));
    cr_assert(eq(str, (char *)of_depfile("int main() { return 0; }\n"), (char *)""));
    cr_assert(eq(str, (char *)of_depfile(""), (char *)""));
    cr_assert(eq(str, (char *)of_depfile("a.o: b.c \\\n"), (char *)"a.o<b.c@;"));
    cr_assert(eq(str, (char *)of_depfile("a.o: b.c \\\r\n"), (char *)"a.o<b.c@;"));
}

Test(objects, names_longer_than_any_path_are_cut)
{
    char *text = pfc_alloc(20000);

    memset(text, 'a', 19999);
    memcpy(text, "o: ", 3);
    of_depfile(text);
    cr_assert(lt(sz, heard.len, PFC_OBJECTS_NAME + 10));
    free(text);
}

static pfc_code of_commands(const char *text, pfc_err *err)
{
    pfc_code code;

    HEARD(code = pfc_objects_commands(text, strlen(text), note, &heard, err));
    return code;
}

Test(objects, a_compilation_database_says_where_the_compiler_ran)
{
    pfc_err err = { 0 };

    cr_assert(eq(int,
                 of_commands("[{\"directory\": \"/b\", \"file\": \"a.c\", \"output\": \"a.o\"},"
                             "{\"directory\": \"/b\", \"file\": \"/s/b.c\", \"command\": "
                             "\"cc -c -o dir/b.o /s/b.c\"},"
                             "{\"directory\": \"/b\", \"file\": \"c.c\", \"arguments\": "
                             "[\"cc\", \"-o\", \"c.o\"]}]",
                             &err),
                 PFC_OK));
    cr_assert(
        eq(str, (char *)pfc_buf_text(&heard), (char *)"a.o<a.c@/b;dir/b.o</s/b.c@/b;c.o<c.c@/b;"));
    cr_assert(eq(int, of_commands("[{\"file\": \"a.c\"}]", &err), PFC_EINVAL));
    cr_assert(ne(ptr, strstr(err.msg, "entry 0"), NULL));
    cr_assert(eq(int, of_commands("{}", &err), PFC_EINVAL));
    cr_assert(eq(int, of_commands("[{", &err), PFC_EINVAL));
    cr_assert(eq(int, of_commands("[7]", &err), PFC_EINVAL));
}

/* ---- ninja ---- */

static void put_u32(pfc_buf *b, uint32_t v)
{
    pfc_buf_append(b, &v, sizeof(v));
}

static void put_name(pfc_buf *b, const char *name, uint32_t id)
{
    const size_t padded = (strlen(name) + 3) / 4 * 4;

    put_u32(b, (uint32_t)padded + 4);
    pfc_buf_puts(b, name);
    for (size_t i = strlen(name); i < padded; i++)
        pfc_buf_putc(b, '\0');
    put_u32(b, ~id);
}

static void put_log(pfc_buf *b, uint32_t version)
{
    pfc_buf_puts(b, "# ninjadeps\n");
    put_u32(b, version);
    put_name(b, "a.o", 0);
    put_name(b, "../a.c", 1);
    put_name(b, "../long.h", 2);
    put_u32(b, (version == 4 ? 20u : 16u) | 0x80000000u);
    put_u32(b, 0);
    put_u32(b, 77);
    if (version == 4)
        put_u32(b, 0);
    put_u32(b, 1);
    put_u32(b, 2);
}

/* Dependencies of a.o on one name. */
static void put_deps(pfc_buf *b, uint32_t on)
{
    put_u32(b, 16u | 0x80000000u);
    put_u32(b, 0);
    put_u32(b, 77);
    put_u32(b, 0);
    put_u32(b, on);
}

Test(objects, ninjas_log_is_read_in_both_versions_and_with_a_torn_end)
{
    for (uint32_t version = 3; version <= 4; version++) {
        pfc_buf log;
        pfc_err err = { 0 };

        pfc_buf_init(&log, 4096);
        put_log(&log, version);
        for (size_t cut = 0; cut < log.len; cut++) {
            HEARD(cr_assert(eq(int,
                               pfc_objects_ninja_deps(log.data, log.len - cut, note, &heard, &err),
                               log.len - cut >= 16 ? PFC_OK : PFC_EINVAL)));
            cr_assert(eq(str, (char *)pfc_buf_text(&heard),
                         (char *)(cut ? "" : "a.o<../a.c@;a.o<../long.h@;")));
        }
        pfc_buf_clear(&log);
    }
}

Test(objects, every_record_of_ninjas_log_is_read_up_to_one_of_an_odd_size)
{
    pfc_buf log;
    pfc_err err = { 0 };

    pfc_buf_init(&log, 4096);
    put_log(&log, 4);
    put_deps(&log, 1);
    put_name(&log, "late", 3);
    put_deps(&log, 3);
    HEARD(
        cr_assert(eq(int, pfc_objects_ninja_deps(log.data, log.len, note, &heard, &err), PFC_OK)));
    cr_assert(
        eq(str, (char *)pfc_buf_text(&heard), "a.o<../a.c@;a.o<../long.h@;a.o<../a.c@;a.o<late@;"));
    put_u32(&log, 18u | 0x80000000u); /* not of whole numbers: the end */
    for (int i = 0; i < 5; i++)
        put_u32(&log, 0);
    put_deps(&log, 1);
    HEARD(
        cr_assert(eq(int, pfc_objects_ninja_deps(log.data, log.len, note, &heard, &err), PFC_OK)));
    cr_assert(
        eq(str, (char *)pfc_buf_text(&heard), "a.o<../a.c@;a.o<../long.h@;a.o<../a.c@;a.o<late@;"));
    pfc_buf_clear(&log);
}

Test(objects, a_log_that_lies_about_its_names_ends_there)
{
    pfc_buf log;
    pfc_err err = { 0 };

    pfc_buf_init(&log, 4096);
    pfc_buf_puts(&log, "# ninjadeps\n");
    put_u32(&log, 4);
    put_name(&log, "a.o", 7);
    put_u32(&log, 16u | 0x80000000u);
    for (int i = 0; i < 4; i++)
        put_u32(&log, 900);
    HEARD(
        cr_assert(eq(int, pfc_objects_ninja_deps(log.data, log.len, note, &heard, &err), PFC_OK)));
    cr_assert(eq(sz, heard.len, 0));
    pfc_buf_clear(&log);
}

/* ---- maps ---- */

Test(objects, a_map_names_the_objects_that_went_in)
{
    static const char map[] = "Archive member included to satisfy reference by file (symbol)\n\n"
                              "lib/libk.a(gemm.c.o)    main.o (gemm)\n\n"
                              "LOAD build/main.o\n .text  0x1000 0x40 build/main.o\n"
                              "  201000 201000 5 1   obj/x.o:(.text)\n"
                              " 1 1 1 1 lib/libq.a(y.o):(.text)\n"
                              "LOAD /usr/lib/libc.so\n";

    cr_assert(pfc_objects_is_link_map(map, strlen(map)));
    cr_assert(not(pfc_objects_is_link_map("{\"version\":3}", 13)));
    HEARD(pfc_objects_link_map(map, strlen(map), note, &heard));
    cr_assert(eq(str, (char *)pfc_buf_text(&heard),
                 (char *)"gemm.c.o<@;main.o<@;main.o<@;main.o<@;x.o<@;y.o<@;"));
}

/* ---- programs ---- */

static pfc_code hash_of(const char *bytes, size_t len, char out[PFC_SHA256_HEX])
{
    pfc_err err = { 0 };

    return pfc_objects_code_hash(bytes, len, "/nowhere", out, &err);
}

Test(objects, the_hash_of_a_program_is_of_what_it_loads)
{
    char one[PFC_SHA256_HEX] = "", two[PFC_SHA256_HEX] = "";
    char *bytes = NULL;
    size_t len = 0;
    pfc_err err = { 0 };
    const char *text;

    cr_assert(eq(int, pfc_fs_read("/proc/self/exe", 64u << 20, &bytes, &len, &err), PFC_OK));
    cr_assert(pfc_objects_is_program(bytes, len));
    cr_assert(eq(int, hash_of(bytes, len, one), PFC_OK));
    /* This constant is loaded. */
    text = memmem(bytes, len, "to satisfy reference by", 23);
    cr_assert(ne(ptr, text, NULL));
    bytes[text - bytes] ^= 1;
    cr_assert(eq(int, hash_of(bytes, len, two), PFC_OK));
    cr_assert(ne(str, (char *)one, (char *)two));
    free(bytes);
}

Test(objects, programs_whose_headers_lie_are_refused)
{
    char hash[PFC_SHA256_HEX];
    char *bytes = NULL;
    size_t len = 0;
    pfc_err err = { 0 };

    cr_assert(eq(int, pfc_fs_read("/proc/self/exe", 64u << 20, &bytes, &len, &err), PFC_OK));
    for (size_t cut = 0; cut < 64; cut++)
        cr_assert(eq(int, hash_of(bytes, cut, hash), PFC_EINVAL));
    cr_assert(eq(int, hash_of(bytes, len / 2, hash), PFC_EINVAL));
    memset(bytes + 40, 0xff, 8); /* e_shoff */
    cr_assert(eq(int, hash_of(bytes, len, hash), PFC_EINVAL));
    free(bytes);
}
