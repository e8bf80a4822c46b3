/* Regions between two inaccessible pages: one file in memory, mapped twice. */
#include "tests/support/guard.h"

#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static sigjmp_buf back;
static const void *volatile touched;

static void give_up(const char *what)
{
    perror(what);
    abort();
}

/* The pages of `file` between two that nothing may touch. */
static unsigned char *map_between(int file, size_t size, size_t page, int protection)
{
    unsigned char *all = mmap(NULL, size + 2 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (all == MAP_FAILED)
        give_up("guard: mmap");
    if (mmap(all + page, size, protection, MAP_SHARED | MAP_FIXED, file, 0) == MAP_FAILED)
        give_up("guard: mmap of the pages");
    return all + page;
}

void pfc_guard_init(pfc_guard *guard, size_t most)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    const int file = memfd_create("guard", MFD_CLOEXEC);

    *guard = (pfc_guard){ 0 };
    guard->size = (most + 2 * PFC_GUARD_MARGIN_BYTES + 64 + page - 1) / page * page;
    if (file < 0 || ftruncate(file, (off_t)guard->size) != 0)
        give_up("guard: memfd");
    guard->view = map_between(file, guard->size, page, PROT_READ | PROT_WRITE);
    guard->sealed = map_between(file, guard->size, page, PROT_READ);
    close(file);
}

void pfc_guard_clear(pfc_guard *guard)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);

    munmap(guard->view - page, guard->size + 2 * page);
    munmap(guard->sealed - page, guard->size + 2 * page);
    *guard = (pfc_guard){ 0 };
}

static size_t margin_from(const pfc_guard *guard)
{
    return guard->at < PFC_GUARD_MARGIN_BYTES ? 0 : guard->at - PFC_GUARD_MARGIN_BYTES;
}

static size_t margin_to(const pfc_guard *guard)
{
    const size_t end = guard->at + guard->bytes;

    return guard->size - end < PFC_GUARD_MARGIN_BYTES ? guard->size : end + PFC_GUARD_MARGIN_BYTES;
}

void *pfc_guard_place(pfc_guard *guard, size_t bytes, pfc_guard_side side, size_t align)
{
    if (bytes + 2 * PFC_GUARD_MARGIN_BYTES + 64 > guard->size) {
        fprintf(stderr, "guard: %zu bytes are too many for a region of %zu\n", bytes, guard->size);
        abort();
    }
    guard->bytes = bytes;
    guard->at = 0;
    if (side == PFC_GUARD_END)
        guard->at = (guard->size - bytes) / align * align;
    else if (side == PFC_GUARD_MIDDLE)
        guard->at = PFC_GUARD_MARGIN_BYTES + (align < 64 ? align : 0);
    memset(guard->view + margin_from(guard), PFC_GUARD_MARGIN_BYTE, guard->at - margin_from(guard));
    memset(guard->view + guard->at + bytes, PFC_GUARD_MARGIN_BYTE,
           margin_to(guard) - guard->at - bytes);
    return guard->view + guard->at;
}

void *pfc_guard_sealed(const pfc_guard *guard)
{
    return guard->sealed + guard->at;
}

bool pfc_guard_margins_hold(const pfc_guard *guard)
{
    const size_t end = guard->at + guard->bytes;

    for (size_t i = margin_from(guard); i < margin_to(guard); i++)
        if ((i < guard->at || i >= end) && guard->view[i] != PFC_GUARD_MARGIN_BYTE)
            return false;
    return true;
}

static void on_fault(int signal, siginfo_t *info, void *context)
{
    (void)signal;
    (void)context;
    touched = info->si_addr;
    siglongjmp(back, 1);
}

bool pfc_guard_try(void (*call)(void *arg), void *arg, const void **address)
{
    struct sigaction action = { .sa_sigaction = on_fault, .sa_flags = SA_SIGINFO };
    struct sigaction before;
    volatile bool whole = false;

    sigaction(SIGSEGV, &action, &before);
    if (sigsetjmp(back, 1) == 0) {
        call(arg);
        whole = true;
    }
    sigaction(SIGSEGV, &before, NULL);
    *address = whole ? NULL : touched;
    return whole;
}
