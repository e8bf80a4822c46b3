/* Freed memory returns to the system, also from below a block that is still in use. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/process/proc_memory.h"

#include "tests/check/check.h"

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)

#define MIB         ((size_t)1024 * 1024)
#define BLOCK_BYTES 2048
#define CROWD_BYTES (160 * MIB)
#define BLOCKS      (CROWD_BYTES / BLOCK_BYTES)

static size_t resident(void)
{
    FILE *file = fopen("/proc/self/statm", "r");
    unsigned long pages = 0;

    cr_assert(file && fscanf(file, "%*u %lu", &pages) == 1);
    (void)fclose(file);
    return pages * (size_t)sysconf(_SC_PAGESIZE);
}

/* Takes all of it in small pieces, and leaves the last. */
static void *crowd(void *arg)
{
    char **blocks = pfc_calloc(BLOCKS, sizeof(*blocks));

    for (size_t i = 0; i < BLOCKS; i++) {
        blocks[i] = pfc_alloc(BLOCK_BYTES);
        memset(blocks[i], 1, BLOCK_BYTES);
    }
    for (size_t i = 0; i + 1 < BLOCKS; i++)
        free(blocks[i]);
    *(char **)arg = blocks[BLOCKS - 1];
    free(blocks);
    return NULL;
}

static void expect_given_back(size_t before, char *left)
{
    const size_t kept = resident();

    cr_expect(not(pfc_memory_give_back(2 * CROWD_BYTES)), "less than that is free");
    if (kept < before + CROWD_BYTES / 2)
        cr_skip_test("the system has most of it already: %zu of %zu bytes are resident",
                     kept - before, CROWD_BYTES);
    cr_expect(pfc_memory_give_back(CROWD_BYTES / 2));
    cr_expect(lt(sz, resident(), before + CROWD_BYTES / 4));
    cr_expect(eq(int, left[BLOCK_BYTES - 1], 1));
    cr_expect(not(pfc_memory_give_back(2 * CROWD_BYTES)));
    free(left);
}

Test(memory, of_a_thread_that_has_gone_is_given_back)
{
    const size_t before = resident();
    char *left = NULL;
    pthread_t thread;

    cr_assert(eq(int, pthread_create(&thread, NULL, crowd, &left), 0));
    cr_assert(eq(int, pthread_join(thread, NULL), 0));
    expect_given_back(before, left);
}

Test(memory, of_this_thread_is_given_back)
{
    const size_t before = resident();
    char *left = NULL;

    crowd(&left);
    expect_given_back(before, left);
}

#else

Test(memory, of_a_crowd_is_given_back)
{
    cr_skip_test("a sanitizer has an allocator of its own, which keeps what was freed");
}

#endif
