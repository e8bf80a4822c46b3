/*
 * Included before every file of a build with planted mutants (run.py). pfc_mutant(id) is true where the environment
 * variable PFC_MUTANT is that id. With PFC_MUTANT_REACHED=FOLDER each process makes a file FOLDER/ID for every mutant
 * whose expression it evaluates. Header only, with a state for each source file, so that no library needs another one.
 */
#ifndef PFC_TESTS_MUTANT_H
#define PFC_TESTS_MUTANT_H

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

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
    const int before = errno; /* the product may look at it afterwards */
    char path[4096];
    int fd;

    pfc_mutant_seen[id] = 1;
    snprintf(path, sizeof(path), "%s/%d", pfc_mutant_folder, id);
    fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
    if (fd >= 0)
        close(fd);
    errno = before;
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
