/* Files and code of a checkout's programs, built with the system's compiler. */
#include <stdlib.h>
#include <string.h>

#include "core/base/fs.h"
#include "runner/build/products.h"

#include "tests/check/check.h"

static char *top;

static void setup(void)
{
    pfc_err err = { 0 };

    cr_assert(eq(int, pfc_fs_temp_dir("pfc-built", &top, &err), PFC_OK));
}

static void teardown(void)
{
    pfc_err err = { 0 };

    cr_assert(eq(int, pfc_fs_remove_tree(top, &err), PFC_OK));
    free(top);
}

TestSuite(built, .init = setup, .fini = teardown);

static void put(const char *dir, const char *name, const char *text)
{
    char *path = pfc_format("%s/%s/%s", top, dir, name);
    char *slash = strrchr(path, '/');
    pfc_err err = { 0 };

    *slash = '\0';
    cr_assert(eq(int, pfc_fs_mkdirs(path, 0755, &err), PFC_OK));
    *slash = '/';
    cr_assert(eq(int, pfc_fs_write_atomic(path, text, strlen(text), 0644, &err), PFC_OK));
    free(path);
}

static void sh(const char *dir, const char *command)
{
    char *line = pfc_format("cd %s/%s && { %s; }", top, dir, command);

    cr_assert(eq(int, system(line), 0), "%s", line);
    free(line);
}

static pfc_built look(const char *dir, const char *measure)
{
    const pfc_commit_measure_opts opts = { .measure = measure };
    char *root = pfc_format("%s/%s", top, dir);
    pfc_built built;

    pfc_built_look(root, &opts, &built);
    free(root);
    return built;
}

/* "a b c" */
static const char *files(const pfc_built *built)
{
    static char text[2000];

    text[0] = '\0';
    for (size_t i = 0; i < built->files_len; i++)
        (void)snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s%s", i ? " " : "",
                       built->files[i]);
    return text;
}

#define MAIN                                                                                       \
    "#include \"k.h\"\n#include <stdio.h>\nint main(void) { return printf(\"%d\\n\", k()) < 0; "   \
    "}\n"

/* A kernel, a program that uses it, a test that is not measured. */
static void write_sources(const char *dir, const char *kernel)
{
    put(dir, "src/k.c", kernel);
    put(dir, "src/k.h", "int k(void);\n");
    put(dir, "src/main.c", MAIN);
    put(dir, "tests/check.c", "#include \"helper.h\"\nint main(void) { return helper; }\n");
    put(dir, "tests/helper.h", "enum { helper = 0 };\n");
}

#define BUILD                                                                                      \
    "for f in src/k src/main tests/check; do cc -O1 -g -MD -MP -c $f.c -o $f.o; done; "            \
    "cc src/k.o src/main.o -o bench; cc tests/check.o -o tests/check"

Test(built, depfiles_say_what_of_the_repository_is_in_it)
{
    pfc_built b;

    write_sources("a", "#include \"k.h\"\nint k(void) { return 1; }\n");
    sh("a", BUILD);
    b = look("a", "./bench");
    cr_assert(eq(str, (char *)files(&b),
                 (char *)"src/k.c src/k.h src/main.c tests/check.c tests/helper.h"));
    pfc_built_clear(&b);
}

Test(built, the_linkers_map_leaves_out_what_is_not_measured)
{
    pfc_built b;

    write_sources("a", "#include \"k.h\"\nint k(void) { return 1; }\n");
    sh("a", BUILD "; cc -Wl,-Map=bench.map src/k.o src/main.o -o bench");
    b = look("a", "./bench");
    cr_assert(eq(str, (char *)files(&b), (char *)"src/k.c src/k.h src/main.c"));
    pfc_built_clear(&b);
}

Test(built, a_database_alone_counts_every_header)
{
    char *json = pfc_format("[{\"directory\": \"%s/a/build\", \"file\": \"../src/k.c\"},"
                            "{\"directory\": \"%s/a/build\", \"file\": \"/usr/x.c\"},"
                            "{\"directory\": \"%s/a/build\", \"file\": \"../../other.c\"}]",
                            top, top, top);
    pfc_built b;

    write_sources("a", "int k(void) { return 1; }\n");
    put("a", "build/compile_commands.json", json);
    put(".", "other.c", "");
    b = look("a", "./bench");
    cr_assert(eq(str, (char *)files(&b), (char *)"src/k.c src/k.h tests/helper.h"));
    pfc_built_clear(&b);
    free(json);
}

Test(built, equal_code_is_equal_wherever_it_was_built_and_whatever_the_words)
{
    static const char kernel[] = "#include \"k.h\"\nconst char *where = __FILE__; int k(void) { "
                                 "return where[0]; }\n";
    pfc_built a, b, c, d;

    write_sources("aa", kernel);
    write_sources("bb", "#include \"k.h\"\nconst char *where = __FILE__; /* better words */ int "
                        "k(void) { return where[0]; }\n");
    write_sources("cc", "#include \"k.h\"\nconst char *where = __FILE__; int k(void) { return "
                        "where[0] + 1; }\n");
    sh("aa", "cc -O1 -g $PWD/src/k.c src/main.c -o bench");
    sh("bb", "cc -O1 -g $PWD/src/k.c src/main.c -o bench");
    sh("cc", "cc -O1 -g $PWD/src/k.c src/main.c -o bench");
    a = look("aa", "./bench --quick");
    b = look("bb", "./bench --quick");
    c = look("cc", "./bench --quick");
    d = look("aa", "python3 run.py ./bench");
    cr_assert(eq(sz, strlen(a.object), 64));
    cr_assert(eq(str, (char *)a.object, (char *)b.object));
    cr_assert(ne(str, (char *)a.object, (char *)c.object));
    cr_assert(eq(str, (char *)d.object, (char *)""));
    pfc_built_clear(&a);
    pfc_built_clear(&b);
    pfc_built_clear(&c);
    pfc_built_clear(&d);
}

Test(built, a_script_and_what_it_is_given_are_part_of_it)
{
    pfc_built a, b, none;

    write_sources("aa", "int k(void) { return 1; }\n");
    write_sources("bb", "int k(void) { return 1; }\n");
    put("aa", "measure.sh", "./bench 10\n");
    put("bb", "measure.sh", "./bench 20\n");
    sh("aa", "cc -O1 src/k.c src/main.c -o bench");
    none = look("bb", "sh measure.sh");
    cr_assert(eq(str, (char *)none.object, (char *)""));
    sh("bb", "cc -O1 src/k.c src/main.c -o bench");
    a = look("aa", "sh measure.sh");
    b = look("bb", "sh measure.sh");
    cr_assert(eq(sz, strlen(a.object), 64));
    cr_assert(ne(str, (char *)a.object, (char *)b.object));
    pfc_built_clear(&a);
    pfc_built_clear(&b);
    pfc_built_clear(&none);
}

Test(built, a_folder_without_any_of_it_says_nothing)
{
    const pfc_conf conf = { 0 };
    pfc_built b;

    put("a", "value", "3\n");
    put("a", "d.d", "this is no rule");
    put("a", "x.map", "{}");
    put("a", "compile_commands.json", "{\"broken\": ");
    put("a", ".ninja_deps", "# ninjadeps\n????");
    sh("a", "ln -s / loop; mkfifo pipe.d");
    b = look("a", "cat value");
    cr_assert(eq(sz, b.files_len, 0));
    cr_assert(eq(ptr, pfc_built_to_json(&b, "x", &conf), NULL));
    pfc_built_clear(&b);
}
