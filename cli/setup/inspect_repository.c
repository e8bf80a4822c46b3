/*
 * How a repository is built and measured. One walk collects facts, then the first rule that fits is
 * taken: the more a rule knows about the benchmark itself, the earlier it stands.
 */
#include "cli/setup/inspect_repository.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/buf.h"
#include "core/base/fs.h"

enum { MAX_TARGETS = 32, NAME_BYTES = 128, PATH_BYTES = 512 };

/* A program that links a benchmark library. */
typedef struct target {
    char name[NAME_BYTES];
    char dir[PATH_BYTES]; /* of its CMakeLists.txt or meson.build, "" for the root */
    const char *library;
} target;

static const char google[] = "Google Benchmark", catch2[] = "Catch2", nvbench[] = "NVBench";

typedef struct facts {
    size_t files;
    bool cmake, meson, cargo, go_mod, makefile; /* at the root */
    bool makefile_bench;                        /* it has a target bench or benchmark */
    char makefile_target[NAME_BYTES];
    char cargo_bench[NAME_BYTES]; /* the first [[bench]] of the root's Cargo.toml */
    bool criterion, go_bench, hidden_catch2;
    char python_file[PATH_BYTES]; /* a test with the fixture `benchmark` */
    size_t python_files;
    char triton_file[PATH_BYTES];
    char cmake_option[NAME_BYTES]; /* an option for benchmarks that is off */
    const char *included;          /* a benchmark library that some source includes */
    target targets[MAX_TARGETS];
    size_t targets_len;
} facts;

/* ---- reading words ---- */

static bool is_word(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

/* `word` as a whole word in the text; NULL: not in it. */
static const char *find_word(const char *text, const char *word)
{
    const size_t len = strlen(word);

    for (const char *at = strstr(text, word); at; at = strstr(at + 1, word))
        if ((at == text || !is_word(at[-1])) && !is_word(at[len]))
            return at;
    return NULL;
}

/* The next word of a CMake or Meson argument list that begins at `at`; quotes are left out. Returns
 * what is behind it, NULL at the closing bracket. */
static const char *next_word(const char *at, char *out, size_t cap)
{
    size_t len = 0;

    while (*at && (isspace((unsigned char)*at) || *at == '(' || *at == ',' || *at == '"' ||
                   *at == '\'' || *at == ';'))
        at++;
    if (!*at || *at == ')')
        return NULL;
    for (; *at && !isspace((unsigned char)*at) && !strchr("(),\"';", *at); at++)
        if (len + 1 < cap)
            out[len++] = *at;
    out[len] = '\0';
    return at;
}

/* Of characters that mean nothing to a shell. */
static bool plain_name(const char *name)
{
    return name[0] && name[strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                        "0123456789_-.+/")] == '\0';
}

static void copy(char *out, size_t cap, const char *text)
{
    if (strlen(text) < cap)
        memcpy(out, text, strlen(text) + 1);
}

/* ---- what a file says ---- */

static void add_target(facts *f, const char *name, const char *dir, const char *library)
{
    target *t;

    for (size_t i = 0; i < f->targets_len; i++)
        if (strcmp(f->targets[i].name, name) == 0 && strcmp(f->targets[i].dir, dir) == 0)
            return;
    if (f->targets_len == MAX_TARGETS || (dir[0] && !plain_name(dir)) ||
        strlen(name) >= NAME_BYTES || strlen(dir) >= PATH_BYTES)
        return;
    t = &f->targets[f->targets_len++];
    copy(t->name, sizeof(t->name), name);
    copy(t->dir, sizeof(t->dir), dir);
    t->library = library;
}

static const char *library_of(const char *word)
{
    if (strncmp(word, "benchmark::", 11) == 0 || strcmp(word, "benchmark") == 0 ||
        strcmp(word, "benchmark_main") == 0)
        return google;
    if (strncmp(word, "Catch2::", 8) == 0)
        return catch2;
    return strncmp(word, "nvbench::", 9) == 0 ? nvbench : NULL;
}

/* target_link_libraries(T ... benchmark::benchmark ...) */
static void read_links(facts *f, const char *text, const char *dir)
{
    const char call[] = "target_link_libraries";

    for (const char *at = find_word(text, call); at; at = find_word(at + 1, call)) {
        char name[NAME_BYTES], word[NAME_BYTES];
        const char *p = next_word(at + sizeof(call) - 1, name, sizeof(name));
        const char *library = NULL;

        while (p && !library && (p = next_word(p, word, sizeof(word))) != NULL)
            library = library_of(word);
        if (library && plain_name(name))
            add_target(f, name, dir, library);
    }
}

/* option(FOO_BUILD_BENCHMARKS "..." OFF), also as cmake_dependent_option. */
static void read_options(facts *f, const char *text)
{
    for (const char *at = find_word(text, "option"); at; at = find_word(at + 1, "option")) {
        char name[NAME_BYTES];
        const char *p = next_word(at + strlen("option"), name, sizeof(name));
        const char *end = p ? strchr(p, ')') : NULL;

        if (!end || f->cmake_option[0] || !strstr(name, "BENCH") || !plain_name(name))
            continue;
        while (end > p && isspace((unsigned char)end[-1]))
            end--;
        if (end - p > 3 && strncmp(end - 3, "OFF", 3) == 0)
            copy(f->cmake_option, sizeof(f->cmake_option), name);
    }
}

static void read_meson(facts *f, const char *text, const char *dir)
{
    char name[NAME_BYTES];

    if (!strstr(text, "dependency('benchmark") && !find_word(text, "benchmark_dep"))
        return;
    for (const char *at = find_word(text, "executable"); at; at = find_word(at + 1, "executable"))
        if (next_word(at + strlen("executable"), name, sizeof(name)) && strstr(name, "bench") &&
            plain_name(name))
            add_target(f, name, dir, google);
}

/* name = "x" of the first [[bench]] */
static void read_cargo(facts *f, const char *text, bool root)
{
    const char *bench = strstr(text, "[[bench]]");
    const char *name = bench ? find_word(bench, "name") : NULL;

    f->criterion = f->criterion || find_word(text, "criterion") != NULL;
    if (root && name && !f->cargo_bench[0] && (name = strchr(name, '"')) != NULL) {
        char word[NAME_BYTES];

        if (next_word(name, word, sizeof(word)) && plain_name(word))
            copy(f->cargo_bench, sizeof(f->cargo_bench), word);
    }
}

static void read_makefile(facts *f, const char *text)
{
    static const char *const names[] = { "bench", "benchmark", "benchmarks" };

    for (size_t i = 0; i < PFC_ARRAY_LEN(names) && !f->makefile_bench; i++)
        for (const char *at = find_word(text, names[i]); at; at = find_word(at + 1, names[i])) {
            const size_t len = strlen(names[i]);

            if ((at != text && at[-1] != '\n') || at[len] != ':' || at[len + 1] == '=')
                continue;
            f->makefile_bench = true;
            copy(f->makefile_target, sizeof(f->makefile_target), names[i]);
            break;
        }
}

/* A test function that takes the fixture of pytest-benchmark. */
static bool has_fixture(const char *text)
{
    for (const char *at = strstr(text, "def test"); at; at = strstr(at + 1, "def test")) {
        const char *open = strchr(at, '('), *close = open ? strchr(open, ')') : NULL;
        const char *found = open ? find_word(open, "benchmark") : NULL;

        if (found && close && found < close)
            return true;
    }
    return false;
}

static void read_python(facts *f, const char *text, const char *path)
{
    if (has_fixture(text)) {
        if (f->python_files++ == 0 && plain_name(path))
            copy(f->python_file, sizeof(f->python_file), path);
    } else if (!f->triton_file[0] && plain_name(path) && strstr(text, "triton.testing")) {
        copy(f->triton_file, sizeof(f->triton_file), path);
    }
}

static void read_source(facts *f, const char *text)
{
    if (strstr(text, "benchmark/benchmark.h"))
        f->included = google;
    else if (!f->included && strstr(text, "nvbench/nvbench.cuh"))
        f->included = nvbench;
    else if (!f->included && strstr(text, "catch2/") && strstr(text, "BENCHMARK("))
        f->included = catch2;
    f->hidden_catch2 = f->hidden_catch2 || strstr(text, "[!benchmark]") != NULL;
}

static bool ends_with(const char *text, const char *end)
{
    const size_t n = strlen(text), m = strlen(end);

    return n >= m && strcmp(text + n - m, end) == 0;
}

static bool is_source(const char *name)
{
    static const char *const ends[] = { ".c", ".cc", ".cpp", ".cxx", ".cu", ".cuh", ".h", ".hpp" };

    for (size_t i = 0; i < PFC_ARRAY_LEN(ends); i++)
        if (ends_with(name, ends[i]))
            return true;
    return false;
}

static bool is_interesting(const char *name)
{
    static const char *const names[] = { "CMakeLists.txt", "meson.build", "Cargo.toml", "go.mod",
                                         "Makefile",       "makefile",    "GNUmakefile" };

    for (size_t i = 0; i < PFC_ARRAY_LEN(names); i++)
        if (strcmp(name, names[i]) == 0)
            return true;
    return is_source(name) || ends_with(name, ".cmake") || ends_with(name, ".py") ||
           ends_with(name, "_test.go");
}

/* dir: from the root, "" for it; path: likewise, of the file. */
static void read_file(facts *f, const char *name, const char *dir, const char *path,
                      const char *text)
{
    const bool root = dir[0] == '\0';

    if (strcmp(name, "CMakeLists.txt") == 0 || ends_with(name, ".cmake")) {
        f->cmake = f->cmake || (root && strcmp(name, "CMakeLists.txt") == 0);
        read_links(f, text, dir);
        read_options(f, text);
    } else if (strcmp(name, "meson.build") == 0) {
        f->meson = f->meson || root;
        read_meson(f, text, dir);
    } else if (strcmp(name, "Cargo.toml") == 0) {
        f->cargo = f->cargo || root;
        read_cargo(f, text, root);
    } else if (strcmp(name, "go.mod") == 0) {
        f->go_mod = f->go_mod || root;
    } else if (ends_with(name, "_test.go")) {
        f->go_bench = f->go_bench || strstr(text, "func Benchmark") != NULL;
    } else if (ends_with(name, ".py")) {
        read_python(f, text, path);
    } else if (is_source(name)) {
        read_source(f, text);
    } else if (root) {
        f->makefile = true;
        read_makefile(f, text);
    }
}

/* ---- the walk ---- */

static bool is_foreign(const char *name)
{
    static const char *const names[] = { "node_modules", "target",     "vendor",      "third_party",
                                         "3rdparty",     "thirdparty", "external",    "extern",
                                         "deps",         "venv",       "__pycache__", "dist",
                                         "_deps",        "subprojects" };

    if (name[0] == '.' || strncmp(name, "build", 5) == 0 || strncmp(name, "cmake-build", 11) == 0)
        return true;
    for (size_t i = 0; i < PFC_ARRAY_LEN(names); i++)
        if (strcmp(name, names[i]) == 0)
            return true;
    return false;
}

/* The beginning of a regular file, NUL-terminated, of at most PFC_INSPECT_MAX_BYTES. */
static char *beginning_of(const char *path)
{
    const int fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
    char *text;
    ssize_t n;

    if (fd < 0)
        return NULL;
    text = pfc_alloc(PFC_INSPECT_MAX_BYTES + 1);
    n = read(fd, text, PFC_INSPECT_MAX_BYTES);
    close(fd);
    if (n < 0 || memchr(text, '\0', (size_t)n)) {
        free(text);
        return NULL;
    }
    text[n] = '\0';
    return text;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* The names of a folder, sorted so that the same tree gives the same answer everywhere. */
static char **names_of(const char *path, size_t *len)
{
    DIR *dir = opendir(path);
    const struct dirent *entry;
    char **names = NULL;
    size_t cap = 0;

    *len = 0;
    while (dir && (entry = readdir(dir)) != NULL && *len < PFC_INSPECT_MAX_FILES) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        names = pfc_grow(names, *len, &cap, sizeof(*names));
        names[(*len)++] = pfc_strdup(entry->d_name);
    }
    if (dir)
        closedir(dir);
    if (names)
        qsort(names, *len, sizeof(*names), by_name);
    return names;
}

static void walk(facts *f, const char *root, const char *dir, int depth)
{
    char *here = dir[0] ? pfc_fs_join(root, dir) : pfc_strdup(root);
    size_t len = 0;
    char **names = names_of(here, &len);

    for (int folders = 0; folders < 2; folders++) {
        for (size_t i = 0; i < len && f->files < PFC_INSPECT_MAX_FILES; i++) {
            char *full = pfc_fs_join(here, names[i]);
            char *path = dir[0] ? pfc_fs_join(dir, names[i]) : pfc_strdup(names[i]);
            struct stat st;
            const bool known = lstat(full, &st) == 0;
            char *text = NULL;

            if (known && S_ISDIR(st.st_mode) && folders == 1 && depth < PFC_INSPECT_MAX_DEPTH &&
                !is_foreign(names[i])) {
                walk(f, root, path, depth + 1);
            } else if (known && S_ISREG(st.st_mode) && folders == 0 && is_interesting(names[i])) {
                f->files++;
                text = beginning_of(full);
            }
            if (text)
                read_file(f, names[i], dir, path, text);
            free(text);
            free(path);
            free(full);
        }
    }
    for (size_t i = 0; i < len; i++)
        free(names[i]);
    free(names);
    free(here);
}

/* ---- the rules ---- */

/* The target that is named for a benchmark, else the first. */
static const target *best_target(const facts *f)
{
    for (size_t i = 0; i < f->targets_len; i++)
        if (strstr(f->targets[i].name, "bench") || strstr(f->targets[i].name, "Bench"))
            return &f->targets[i];
    return f->targets_len ? &f->targets[0] : NULL;
}

static const char *arguments_of(const facts *f, const char *library)
{
    if (library == nvbench)
        return "--json stdout --quiet";
    if (library == catch2)
        return f->hidden_catch2 ? "\"[!benchmark]\" --reporter xml" : "--reporter xml";
    return "--benchmark_format=json";
}

static void name_others(const facts *f, const target *taken, pfc_inspect *out)
{
    pfc_buf names;

    pfc_buf_init(&names, 4096);
    for (size_t i = 0; i < f->targets_len; i++)
        if (&f->targets[i] != taken)
            pfc_buf_printf(&names, "%s%s", names.len ? ", " : "", f->targets[i].name);
    if (names.len)
        out->others = pfc_buf_take(&names);
    pfc_buf_clear(&names);
}

static void by_target(const facts *f, const target *t, pfc_inspect *out)
{
    const char *slash = t->dir[0] ? "/" : "";

    out->program = pfc_strdup(t->name);
    out->measure =
        pfc_format("./build/%s%s%s %s", t->dir, slash, t->name, arguments_of(f, t->library));
    name_others(f, t, out);
    if (f->cmake) {
        out->kind = t->library == google   ? "CMake and Google Benchmark"
                    : t->library == catch2 ? "CMake and Catch2"
                                           : "CMake and NVBench";
        out->build =
            pfc_format("cmake -S . -B build -DCMAKE_BUILD_TYPE=Release%s%s%s && cmake --build "
                       "build --target %s -j \"$(nproc)\"",
                       f->cmake_option[0] ? " -D" : "", f->cmake_option,
                       f->cmake_option[0] ? "=ON" : "", t->name);
    } else {
        out->kind = "Meson and Google Benchmark";
        out->build =
            pfc_format("test -d build || meson setup build --buildtype=release; ninja -C build");
    }
}

static void by_python(const facts *f, pfc_inspect *out)
{
    const bool alone = f->python_files == 1 && f->python_file[0];

    out->kind = "pytest-benchmark";
    out->measure = pfc_format(
        "out=$(mktemp); trap 'rm -f \"$out\"' EXIT; python3 -m pytest -q -p no:cacheprovider "
        "--benchmark-only --benchmark-json=\"$out\"%s%s >&2 && cat \"$out\"",
        alone ? " " : "", alone ? f->python_file : "");
}

static bool by_language(const facts *f, pfc_inspect *out)
{
    if (f->cargo && (f->criterion || f->cargo_bench[0])) {
        out->kind = "Cargo and Criterion";
        out->build = pfc_strdup("cargo bench --no-run");
        out->measure = f->cargo_bench[0] ? pfc_format("cargo bench --bench %s", f->cargo_bench)
                                         : pfc_strdup("cargo bench");
    } else if (f->go_mod && f->go_bench) {
        out->kind = "Go";
        out->build = pfc_strdup("go build ./...");
        out->measure = pfc_strdup("go test -run '^$' -bench . ./...");
    } else if (f->python_files) {
        by_python(f, out);
    } else if (f->triton_file[0]) {
        out->kind = "Triton";
        out->measure = pfc_format("python3 %s", f->triton_file);
        out->todo =
            pfc_strdup("the program must print its numbers: the CSV of perf_report "
                       "(print_data=True), or JSON such as {\"metrics\": {\"softmax_ms\": 1.5}}");
    } else if (f->makefile_bench) {
        out->kind = "Makefile with a target for benchmarks";
        out->build = pfc_strdup("make -j \"$(nproc)\"");
        out->measure = pfc_format("make -s %s", f->makefile_target);
    } else {
        return false;
    }
    return true;
}

/* A build system without a known benchmark: the file gets a TODO for `measure`. */
static void by_build_alone(const facts *f, pfc_inspect *out)
{
    out->todo = f->included
                    ? pfc_format("name the program that uses %s", f->included)
                    : pfc_strdup("name a command that prints a number, {\"value\": x}, or what a "
                                 "benchmark library prints");
    if (f->cmake) {
        out->kind = "CMake";
        out->build =
            pfc_strdup("cmake -S . -B build -DCMAKE_BUILD_TYPE=Release && cmake --build build "
                       "-j \"$(nproc)\"");
    } else if (f->meson) {
        out->kind = "Meson";
        out->build =
            pfc_strdup("test -d build || meson setup build --buildtype=release; ninja -C build");
    } else if (f->cargo) {
        out->kind = "Cargo";
        out->build = pfc_strdup("cargo build --release");
    } else if (f->go_mod) {
        out->kind = "Go without benchmarks";
        out->build = pfc_strdup("go build ./...");
    } else if (f->makefile) {
        out->kind = "Makefile";
        out->build = pfc_strdup("make");
    }
}

void pfc_inspect_look(const char *root, pfc_inspect *out)
{
    facts *f = pfc_calloc(1, sizeof(*f));
    const target *t;

    *out = (pfc_inspect){ 0 };
    walk(f, root, "", 0);
    t = best_target(f);
    if (t && (f->cmake || f->meson))
        by_target(f, t, out);
    else if (!by_language(f, out))
        by_build_alone(f, out);
    free(f);
}

void pfc_inspect_clear(pfc_inspect *found)
{
    free(found->build);
    free(found->measure);
    free(found->todo);
    free(found->program);
    free(found->others);
    *found = (pfc_inspect){ 0 };
}

static char *find_below(const char *root, const char *dir, const char *program, int depth)
{
    char *here = pfc_fs_join(root, dir), *found = NULL;
    size_t len = 0;
    char **names = names_of(here, &len);

    for (size_t i = 0; i < len && !found; i++) {
        char *path = pfc_fs_join(dir, names[i]), *full = pfc_fs_join(root, path);
        struct stat st;

        if (lstat(full, &st) == 0 && S_ISREG(st.st_mode) && access(full, X_OK) == 0 &&
            strcmp(names[i], program) == 0)
            found = pfc_strdup(path);
        else if (lstat(full, &st) == 0 && S_ISDIR(st.st_mode) && depth < PFC_INSPECT_MAX_DEPTH &&
                 strcmp(names[i], "CMakeFiles") != 0)
            found = find_below(root, path, program, depth + 1);
        free(full);
        free(path);
    }
    for (size_t i = 0; i < len; i++)
        free(names[i]);
    free(names);
    free(here);
    return found;
}

char *pfc_inspect_find_program(const char *root, const char *program)
{
    return find_below(root, "build", program, 0);
}
