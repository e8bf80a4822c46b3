/*
 * Included before every file of a build with planted mutants (run.py). pfc_mutant(id) is true where
 * the environment variable PFC_MUTANT is that id. With PFC_MUTANT_REACHED=FOLDER each process makes
 * a file FOLDER/ID for every mutant whose expression it evaluates. Header only, with a state for
 * each source file, so that no library needs another one.
 */
#ifndef PFC_TESTS_MUTANT_H
#define PFC_TESTS_MUTANT_H

#include <asm/unistd.h> /* numbers of system calls only */

/* No header of the C library is included: each brings names (unistd.h: group_member) that a file of
 * the product which does not include it may use, and the build of CMake's own probes has no feature
 * macros. */
extern char *getenv(const char *name);
extern int atoi(const char *text);
extern long syscall(long number, ...);
extern int *__errno_location(void);

#define PFC_MUTANTS_MAX 8192

static int pfc_mutant_chosen = -2; /* -2: the environment was not read yet; -1: none */
static const char *pfc_mutant_folder;
static unsigned char pfc_mutant_seen[PFC_MUTANTS_MAX];

static inline __attribute__((unused, cold, noinline)) void pfc_mutant_read(void)
{
    const char *chosen = getenv("PFC_MUTANT");

    pfc_mutant_folder = getenv("PFC_MUTANT_REACHED");
    pfc_mutant_chosen = chosen ? atoi(chosen) : -1;
}

static inline __attribute__((unused, cold, noinline)) void pfc_mutant_note(int id)
{
    const int at_cwd = -100, write_create = 01 | 0100;
    const int before = *__errno_location(); /* the product may read it afterwards */
    char path[4096];
    long fd;

    pfc_mutant_seen[id] = 1;
    __builtin_snprintf(path, sizeof(path), "%s/%d", pfc_mutant_folder, id);
    fd = syscall(__NR_openat, at_cwd, path, write_create, 0666);
    if (fd >= 0)
        syscall(__NR_close, fd);
    *__errno_location() = before;
}

static inline __attribute__((unused)) int pfc_mutant(int id)
{
    if (__builtin_expect(pfc_mutant_chosen == -2, 0))
        pfc_mutant_read();
    if (__builtin_expect(pfc_mutant_folder && !pfc_mutant_seen[id], 0))
        pfc_mutant_note(id);
    return pfc_mutant_chosen == id;
}

#endif
