/*
 * Classifies a path by its name: the part of a suspect's evidence that needs no build.
 */
#include <fnmatch.h>
#include <string.h>
#include <strings.h>

#include "core/suspects/suspects.h"

typedef struct rule {
    const char *text;
    pfc_path_kind kind;
} rule;

/* Whole components of the path, any case. */
static const rule components[] = {
    { ".github", PFC_PATH_CI },
    { ".gitlab", PFC_PATH_CI },
    { ".circleci", PFC_PATH_CI },
    { ".ci", PFC_PATH_CI },
    { ".vscode", PFC_PATH_CI },
    { ".azure-pipelines", PFC_PATH_CI },
    { "debian", PFC_PATH_CI },
    { "packaging", PFC_PATH_CI },
    { "doc", PFC_PATH_DOC },
    { "docs", PFC_PATH_DOC },
    { "documentation", PFC_PATH_DOC },
    { "man", PFC_PATH_DOC },
    { "test", PFC_PATH_TEST },
    { "tests", PFC_PATH_TEST },
    { "testing", PFC_PATH_TEST },
    { "unittest", PFC_PATH_TEST },
    { "gtests", PFC_PATH_TEST },
    { "ctest", PFC_PATH_TEST },
    { "utest", PFC_PATH_TEST },
    { "fuzz", PFC_PATH_TEST },
    { "bench", PFC_PATH_HARNESS },
    { "benchmark", PFC_PATH_HARNESS },
    { "benchmarks", PFC_PATH_HARNESS },
    { "perf", PFC_PATH_HARNESS },
    { "third_party", PFC_PATH_DEPENDENCY },
    { "third-party", PFC_PATH_DEPENDENCY },
    { "thirdparty", PFC_PATH_DEPENDENCY },
    { "vendor", PFC_PATH_DEPENDENCY },
    { "vendored", PFC_PATH_DEPENDENCY },
    { "deps", PFC_PATH_DEPENDENCY },
    { "external", PFC_PATH_DEPENDENCY },
    { "submodules", PFC_PATH_DEPENDENCY },
    { "vendored-meson", PFC_PATH_DEPENDENCY },
};

/* Whole file names; a '*' at the end matches any suffix. */
static const rule names[] = {
    { ".gitmodules", PFC_PATH_DEPENDENCY },
    { "requirements*", PFC_PATH_DEPENDENCY },
    { "Cargo.lock", PFC_PATH_DEPENDENCY },
    { "package-lock.json", PFC_PATH_DEPENDENCY },
    { "go.sum", PFC_PATH_DEPENDENCY },
    { "poetry.lock", PFC_PATH_DEPENDENCY },
    { "conanfile*", PFC_PATH_DEPENDENCY },
    { "vcpkg.json", PFC_PATH_DEPENDENCY },
    { "WORKSPACE*", PFC_PATH_DEPENDENCY },
    { "MODULE.bazel*", PFC_PATH_DEPENDENCY },
    { "CMakeLists.txt", PFC_PATH_BUILD },
    { "CMakePresets.json", PFC_PATH_BUILD },
    { "Makefile*", PFC_PATH_BUILD },
    { "GNUmakefile*", PFC_PATH_BUILD },
    { "configure*", PFC_PATH_BUILD },
    { "meson*", PFC_PATH_BUILD },
    { "BUILD*", PFC_PATH_BUILD },
    { "setup.py", PFC_PATH_BUILD },
    { "pyproject.toml", PFC_PATH_BUILD },
    { "Cargo.toml", PFC_PATH_BUILD },
    { "SConstruct", PFC_PATH_BUILD },
    { "SConscript", PFC_PATH_BUILD },
    { "README*", PFC_PATH_DOC },
    { "LICENSE*", PFC_PATH_DOC },
    { "COPYING*", PFC_PATH_DOC },
    { "CHANGELOG*", PFC_PATH_DOC },
    { "CONTRIBUTING*", PFC_PATH_DOC },
    { "AUTHORS*", PFC_PATH_DOC },
    { "CONTRIBUTORS*", PFC_PATH_DOC },
    { "CODEOWNERS", PFC_PATH_DOC },
    { ".travis.yml", PFC_PATH_CI },
    { ".cirrus.yml", PFC_PATH_CI },
    { "appveyor.yml", PFC_PATH_CI },
    { ".gitignore", PFC_PATH_CI },
    { ".gitattributes", PFC_PATH_CI },
    { ".mailmap", PFC_PATH_CI },
    { ".clang-format", PFC_PATH_CI },
    { ".clang-tidy", PFC_PATH_CI },
    { ".editorconfig", PFC_PATH_CI },
    { "Dockerfile*", PFC_PATH_CI },
};

static const rule endings[] = {
    { ".md", PFC_PATH_DOC },      { ".rst", PFC_PATH_DOC },      { ".adoc", PFC_PATH_DOC },
    { ".png", PFC_PATH_DOC },     { ".svg", PFC_PATH_DOC },      { ".html", PFC_PATH_DOC },
    { ".pdf", PFC_PATH_DOC },     { ".txt", PFC_PATH_DOC },      { ".scd", PFC_PATH_DOC },
    { ".cmake", PFC_PATH_BUILD }, { ".mk", PFC_PATH_BUILD },     { ".bzl", PFC_PATH_BUILD },
    { ".bazel", PFC_PATH_BUILD }, { ".am", PFC_PATH_BUILD },     { ".build", PFC_PATH_BUILD },
    { ".c", PFC_PATH_SOURCE },    { ".h", PFC_PATH_SOURCE },     { ".cc", PFC_PATH_SOURCE },
    { ".cpp", PFC_PATH_SOURCE },  { ".cxx", PFC_PATH_SOURCE },   { ".hpp", PFC_PATH_SOURCE },
    { ".hh", PFC_PATH_SOURCE },   { ".hxx", PFC_PATH_SOURCE },   { ".inc", PFC_PATH_SOURCE },
    { ".inl", PFC_PATH_SOURCE },  { ".def", PFC_PATH_SOURCE },   { ".s", PFC_PATH_SOURCE },
    { ".asm", PFC_PATH_SOURCE },  { ".cu", PFC_PATH_SOURCE },    { ".cuh", PFC_PATH_SOURCE },
    { ".cl", PFC_PATH_SOURCE },   { ".metal", PFC_PATH_SOURCE }, { ".in", PFC_PATH_SOURCE },
    { ".f", PFC_PATH_SOURCE },    { ".f90", PFC_PATH_SOURCE },   { ".rs", PFC_PATH_SOURCE },
    { ".go", PFC_PATH_SOURCE },   { ".py", PFC_PATH_SOURCE },    { ".pyx", PFC_PATH_SOURCE },
    { ".src", PFC_PATH_SOURCE },  { ".td", PFC_PATH_SOURCE },    { ".mlir", PFC_PATH_SOURCE },
    { ".m", PFC_PATH_SOURCE },    { ".mm", PFC_PATH_SOURCE },    { ".java", PFC_PATH_SOURCE },
};

static bool name_fits(const char *name, const char *pattern)
{
    const size_t len = strlen(pattern);

    if (len && pattern[len - 1] == '*')
        return strncmp(name, pattern, len - 1) == 0;
    return strcmp(name, pattern) == 0;
}

static bool has_component(const char *path, const char *component)
{
    const size_t len = strlen(component);

    for (const char *at = path; at; at = strchr(at, '/')) {
        at += *at == '/';
        if (strncasecmp(at, component, len) == 0 && at[len] == '/')
            return true;
    }
    return false;
}

/* "test_gemm.c", "gemm_test.cc", "gemm.test.ts" wherever they lie. */
static bool is_test_name(const char *name)
{
    const char *dot = strchr(name, '.');
    const size_t stem = dot ? (size_t)(dot - name) : strlen(name);

    if (strncasecmp(name, "test_", 5) == 0 || strncasecmp(name, "test-", 5) == 0)
        return true;
    if (stem >= 5 && (strncasecmp(name + stem - 5, "_test", 5) == 0 ||
                      strncasecmp(name + stem - 5, "-test", 5) == 0))
        return true;
    return dot && strncasecmp(dot, ".test.", 6) == 0;
}

pfc_path_kind pfc_path_kind_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    const char *name = slash ? slash + 1 : path;
    const char *dot = strrchr(name, '.');

    /* A file's own name says more than where it lies, except that everything about tests is a test
     * and everything vendored is a dependency. */
    for (size_t i = 0; i < PFC_ARRAY_LEN(components); i++) {
        const pfc_path_kind kind = components[i].kind;

        if ((kind == PFC_PATH_CI || kind == PFC_PATH_TEST || kind == PFC_PATH_DEPENDENCY) &&
            has_component(path, components[i].text))
            return kind;
    }
    if (is_test_name(name))
        return PFC_PATH_TEST;
    for (size_t i = 0; i < PFC_ARRAY_LEN(names); i++) {
        if (name_fits(name, names[i].text))
            return names[i].kind;
    }
    for (size_t i = 0; i < PFC_ARRAY_LEN(components); i++) {
        if (has_component(path, components[i].text))
            return components[i].kind;
    }
    for (size_t i = 0; dot && i < PFC_ARRAY_LEN(endings); i++) {
        if (strcasecmp(dot, endings[i].text) == 0)
            return endings[i].kind;
    }
    return PFC_PATH_OTHER;
}

bool pfc_path_fits(const char *path, char *const *globs, size_t globs_len)
{
    for (size_t i = 0; i < globs_len; i++) {
        size_t len = strlen(globs[i]);

        if (fnmatch(globs[i], path, 0) == 0)
            return true;
        while (len > 0 && globs[i][len - 1] == '/')
            len--;
        if (len > 0 && strncmp(globs[i], path, len) == 0 && path[len] == '/')
            return true;
    }
    return false;
}
