/* Which PostgreSQL is used, and the package that the message names when there is none. */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/fs.h"
#include "core/base/process/pgbin.h"

#include "tests/check/check.h"

static char folder[] = "/tmp/pfc-pgbin-XXXXXX";

static void put(const char *name, const char *text)
{
    char *path = pfc_fs_join(folder, name);
    pfc_err err = { 0 };

    cr_assert(eq(int, pfc_fs_write_atomic(path, text, strlen(text), 0755, &err), PFC_OK), "%s",
              err.msg);
    free(path);
}

/* A folder whose programs say that they are of this version. */
static void install(const char *version)
{
    char *text =
        pfc_format("#!/bin/sh\necho 'postgres (PostgreSQL) %s (Debian %s-1)'\n", version, version);

    cr_assert(ne(ptr, mkdtemp(folder), NULL));
    put("postgres", text);
    put("initdb", "#!/bin/sh\n");
    put("pg_ctl", "#!/bin/sh\n");
    free(text);
}

static void remove_folder(void)
{
    if (pfc_fs_remove_tree(folder, NULL))
        cr_log_warn("%s stays", folder);
}

TestSuite(pgbin, .fini = remove_folder);

Test(pgbin, the_versions_from_15_to_18_are_taken)
{
    pfc_pg pg = { 0 };
    pfc_err err = { 0 };

    install("18.2");
    setenv("PERFCI_PG_BIN", folder, 1);
    cr_assert(eq(int, pfc_pg_find(0, &pg, &err), PFC_OK), "%s", err.msg);
    cr_assert(eq(int, pg.major, 18));
    cr_assert(eq(str, pg.bin, folder));
    cr_assert(eq(int, pfc_pg_find(18, &pg, &err), PFC_OK), "%s", err.msg);
    cr_assert(eq(int, pfc_pg_find(17, &pg, &err), PFC_EUNAVAIL));
    cr_assert(
        ne(ptr, strstr(err.msg, "expected version 17, and installed here is 18 in /tmp/"), NULL),
        "%s", err.msg);
}

Test(pgbin, older_and_newer_ones_are_refused_by_number)
{
    static const char *const versions[] = { "14.19", "19beta1" };
    pfc_pg pg = { 0 };

    for (size_t i = 0; i < PFC_ARRAY_LEN(versions); i++) {
        pfc_err err = { 0 };
        char *text =
            pfc_format("expected version 15 to 18, and installed here is %.2s in ", versions[i]);

        strcpy(folder, "/tmp/pfc-pgbin-XXXXXX");
        install(versions[i]);
        setenv("PERFCI_PG_BIN", folder, 1);
        cr_assert(eq(int, pfc_pg_find(0, &pg, &err), PFC_EUNAVAIL));
        cr_assert(ne(ptr, strstr(err.msg, text), NULL), "%s", err.msg);
        cr_assert(
            eq(str, strstr(err.msg, folder), folder)); /* the last word: one folder is listed */
        cr_assert(eq(int, pg.major, 0));
        free(text);
        cr_assert(eq(int, pfc_fs_remove_tree(folder, &err), PFC_OK), "%s", err.msg);
    }
}

Test(pgbin, the_folder_that_pg_config_prints_is_searched)
{
    pfc_pg pg = { 0 };
    pfc_err err = { 0 };
    char *path = NULL;
    char *text = NULL;

    install("18.0");
    text = pfc_format("#!/bin/sh\n[ \"$1\" = --bindir ] && echo %s\n", folder);
    put("pg_config", text);
    path = pfc_format("%s:%s", folder, getenv("PATH"));
    setenv("PATH", path, 1);
    unsetenv("PERFCI_PG_BIN");
    cr_assert(eq(int, pfc_pg_find(18, &pg, &err), PFC_OK), "%s", err.msg);
    cr_assert(eq(int, pg.major, 18));
    cr_assert(eq(int, pfc_pg_find(0, &pg, &err), PFC_OK), "%s", err.msg);
    cr_assert(eq(int, pg.major, 18), "the newest of those that are installed");
    free(text);
    free(path);
}

/* A relative folder would name another one in each working folder. */
Test(pgbin, a_relative_folder_of_pg_config_is_not_searched)
{
    pfc_pg pg = { 0 };
    pfc_err err = { 0 };
    char *path = NULL;
    char *text = NULL;

    install("18.0");
    text = pfc_format("#!/bin/sh\n[ \"$1\" = --bindir ] && echo %s\n", folder + 1);
    put("pg_config", text);
    path = pfc_format("%s:%s", folder, getenv("PATH"));
    setenv("PATH", path, 1);
    unsetenv("PERFCI_PG_BIN");
    cr_assert(eq(int, chdir("/"), 0)); /* from here it would be found */
    if (pfc_pg_find(18, &pg, &err) == PFC_OK)
        cr_assert(eq(ptr, strstr(pg.bin, "pfc-pgbin"), NULL), "%s", pg.bin);
    free(text);
    free(path);
}

Test(pgbin, the_usual_folders_are_searched_without_any_help)
{
    pfc_pg pg = { 0 };
    pfc_err err = { 0 };
    bool any = false;

    for (int major = PFC_PG_OLDEST; major <= PFC_PG_NEWEST; major++) {
        char *initdb = pfc_format("/usr/lib/postgresql/%d/bin/initdb", major);

        any = any || pfc_fs_exists(initdb);
        free(initdb);
    }
    if (!any)
        cr_skip_test("no PostgreSQL of the distribution is installed");
    setenv("PATH", "/nonexistent", 1);
    unsetenv("PERFCI_PG_BIN");
    cr_assert(eq(int, pfc_pg_find(0, &pg, &err), PFC_OK), "%s", err.msg);
    cr_assert(eq(int, strncmp(pg.bin, "/usr/lib/postgresql/", 20), 0), "%s", pg.bin);
}

Test(pgbin, a_folder_without_the_programs_is_named)
{
    pfc_pg pg = { 0 };
    pfc_err err = { 0 };

    setenv("PERFCI_PG_BIN", "/nowhere/at all", 1);
    cr_assert(eq(int, pfc_pg_find(0, &pg, &err), PFC_EUNAVAIL));
    cr_assert(ne(ptr, strstr(err.msg, "got \"/nowhere/at all\""), NULL), "%s", err.msg);
}

Test(pgbin, the_hint_names_the_package_of_the_distribution)
{
    static const struct {
        const char *release;
        int major;
        const char *command;
    } cases[] = {
        { "ID=debian\nVERSION_ID=\"12\"\n", 0, "apt-get install postgresql-15" },
        { "PRETTY_NAME=\"Debian GNU/Linux 13 (trixie)\"\nVERSION_ID=\"13\"\nID=debian\n", 0,
          "apt-get install postgresql-17" },
        { "ID=debian\nVERSION_ID=\"13\"\n", 15, "apt-get install postgresql-15" },
        { "ID=ubuntu\nID_LIKE=debian\nVERSION_ID=\"24.04\"\n", 0, "apt-get install postgresql-16" },
        { "ID=linuxmint\nID_LIKE=\"ubuntu debian\"\nVERSION_ID=\"22\"\n", 0,
          "apt-get install postgresql" },
        { "ID=\"rocky\"\nID_LIKE=\"rhel centos fedora\"\nVERSION_ID=\"9.5\"\n", 0,
          "dnf install postgresql-server" },
        { "ID=arch\n", 0, "pacman -S postgresql" },
        { "ID=nixos\n", 0, NULL },
    };

    cr_assert(ne(ptr, mkdtemp(folder), NULL));
    for (size_t i = 0; i < PFC_ARRAY_LEN(cases); i++) {
        char *path = pfc_fs_join(folder, "os-release");
        char command[64] = "";

        put("os-release", cases[i].release);
        setenv("PERFCI_OS_RELEASE", path, 1);
        cr_assert(eq(int, pfc_pg_install_command(cases[i].major, command, sizeof(command)),
                     cases[i].command != NULL),
                  "case %zu", i);
        if (cases[i].command)
            cr_assert(eq(str, command, (char *)cases[i].command), "case %zu", i);
        free(path);
    }
}

Test(pgbin, a_cluster_tells_the_version_that_made_it)
{
    pfc_err err = { 0 };
    int major = 0;

    cr_assert(ne(ptr, mkdtemp(folder), NULL));
    put("PG_VERSION", "16\n");
    cr_assert(eq(int, pfc_pg_cluster_major(folder, &major, &err), PFC_OK), "%s", err.msg);
    cr_assert(eq(int, major, 16));
    put("PG_VERSION", "sixteen\n");
    cr_assert(eq(int, pfc_pg_cluster_major(folder, &major, &err), PFC_EINVAL));
    cr_assert(ne(ptr, strstr(err.msg, "PG_VERSION"), NULL), "%s", err.msg);
}
