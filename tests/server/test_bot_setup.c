/* The bot's setup is replaced while threads hold it. */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/fs.h"
#include "server/bot/setup.h"

#include "tests/check/check.h"

enum { THREADS = 4, ROUNDS = 40 };

static char *dir;

static char *put(const char *name, const char *text)
{
    char *path = pfc_fs_join(dir, name);
    pfc_err err = { 0 };

    cr_assert(eq(int, pfc_fs_write_atomic(path, text, strlen(text), 0600, &err), PFC_OK));
    return path;
}

static void begin(void)
{
    pfc_err err = { 0 };

    cr_assert(eq(int, pfc_fs_temp_dir("setup", &dir, &err), PFC_OK));
}

static void end(void)
{
    pfc_err err = { 0 };

    cr_assert(eq(int, pfc_fs_remove_tree(dir, &err), PFC_OK));
    free(dir);
}

/* An account whose name is its secret's, and a link that names it, too. */
static pfc_bot_setup *setup_of(unsigned n)
{
    char *secret = pfc_format("account-%u-0123456789", n);
    char *secret_file = put("secret", secret);
    char *line = pfc_format("account-%u forge=github secret=%s\n", n, secret_file);
    char *file = put("forges", line);
    char *link = pfc_format("https://perf.example/account-%u/", n);
    pfc_bot_setup *setup = NULL;
    pfc_err err = { 0 };

    cr_assert(eq(int,
                 pfc_bot_setup_read(&(pfc_bot_setup_opts){ .forges = file, .public_url = link },
                                    &setup, &err),
                 PFC_OK),
              "%s", err.msg);
    free(link);
    free(file);
    free(line);
    free(secret_file);
    free(secret);
    return setup;
}

static bool is_whole(const pfc_bot_setup *setup)
{
    const pfc_forge_account *a = &setup->accounts.items[0];

    return strncmp(a->secret, a->name, strlen(a->name)) == 0 &&
           strcmp(strrchr(setup->link, '/') + 1, a->name) == 0;
}

Test(bot_setup, a_held_one_stays_whole_after_it_was_replaced, .init = begin, .fini = end)
{
    pfc_bot_setups *setups = pfc_bot_setups_new(setup_of(1));
    pfc_bot_setup *old = pfc_bot_setups_hold(setups), *now;

    cr_assert(eq(str, old->link, "https://perf.example/account-1"));
    cr_expect(eq(dbl, old->poll_s, 300));
    cr_expect(eq(dbl, old->retry_s, 30));
    pfc_bot_setups_replace(setups, setup_of(2));
    cr_assert(eq(str, old->accounts.items[0].name, "account-1"));
    cr_assert(is_whole(old));
    now = pfc_bot_setups_hold(setups);
    cr_assert(eq(str, now->accounts.items[0].name, "account-2"));
    pfc_bot_setup_release(old);
    pfc_bot_setup_release(now);
    pfc_bot_setups_free(setups);
    pfc_bot_setup_release(NULL);
    pfc_bot_setups_free(NULL);
}

typedef struct shared {
    pfc_bot_setups *setups;
    atomic_bool over;
    atomic_size_t held, torn;
} shared;

static void *hold_again_and_again(void *arg)
{
    shared *s = arg;

    while (!atomic_load(&s->over)) {
        pfc_bot_setup *setup = pfc_bot_setups_hold(s->setups);

        atomic_fetch_add(&s->torn, !is_whole(setup));
        pfc_bot_setup_release(setup);
        atomic_fetch_add(&s->held, 1);
    }
    return NULL;
}

/* Under the address sanitizer also: none is read after it was freed. */
Test(bot_setup, threads_that_hold_it_never_see_half_of_two, .init = begin, .fini = end)
{
    shared s = { .setups = pfc_bot_setups_new(setup_of(0)) };
    pthread_t threads[THREADS];

    for (size_t i = 0; i < THREADS; i++)
        cr_assert(eq(int, pthread_create(&threads[i], NULL, hold_again_and_again, &s), 0));
    for (unsigned n = 1; n <= ROUNDS; n++) {
        const size_t before = atomic_load(&s.held);

        pfc_bot_setups_replace(s.setups, setup_of(n));
        while (atomic_load(&s.held) == before)
            (void)sched_yield();
    }
    atomic_store(&s.over, true);
    for (size_t i = 0; i < THREADS; i++)
        cr_assert(eq(int, pthread_join(threads[i], NULL), 0));
    cr_expect(eq(sz, atomic_load(&s.torn), 0));
    pfc_bot_setups_free(s.setups);
}

Test(bot_setup, a_fault_of_the_file_or_the_link_is_one_sentence, .init = begin, .fini = end)
{
    char *file = put("forges", "a forge=bitbucket\n");
    pfc_bot_setup *setup = NULL;
    pfc_err err = { 0 };

    cr_expect(eq(int, pfc_bot_setup_read(&(pfc_bot_setup_opts){ .forges = file }, &setup, &err),
                 PFC_EINVAL));
    cr_expect(strstr(err.msg, "forges:1: expected forge=github") != NULL, "%s", err.msg);
    cr_expect(eq(
        int, pfc_bot_setup_read(&(pfc_bot_setup_opts){ .public_url = "https://a b" }, &setup, &err),
        PFC_EINVAL));
    cr_expect(strstr(err.msg, "--public-url: expected https://HOST") != NULL, "%s", err.msg);
    cr_expect(setup == NULL);
    free(file);
}
