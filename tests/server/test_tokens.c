/* Tokens, partitions, events. */
#include <stdio.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/base/hash.h"
#include "server/services/access/access.h"

#include "tests/check/check.h"
#include "tests/server/fixture.h"
#include "tests/support/cluster_hooks.h"

Test(tokens, a_token_works_until_it_is_revoked)
{
    char *url = NULL;
    pfc_db *db = pfc_test_db_open(2, &url);
    int64_t p = fx_project(db), id = 0;
    char secret[PFC_TOKEN_TEXT];
    pfc_principal who = { 0 };
    pfc_err err = { 0 };

    cr_assert(eq(int, pfc_token_create(db, "test", "ci", PFC_SCOPE_INGEST, p, 0, &id, secret, &err),
                 PFC_OK),
              "%s", err.msg);
    cr_assert(eq(sz, strlen(secret), PFC_TOKEN_TEXT - 1));
    cr_assert(eq(int, strncmp(secret, "pfc_", 4), 0));
    cr_assert(eq(int, pfc_token_verify(db, secret, &who, &err), PFC_OK), "%s", err.msg);
    cr_assert(eq(i64, who.token_id, id));
    cr_assert(eq(i64, who.scopes, PFC_SCOPE_INGEST));
    cr_assert(eq(i64, who.project_id, p));
    char *used = pfc_test_sql_value(url, "SELECT last_used_at IS NOT NULL FROM tokens");
    cr_assert(eq(str, used, "t"));
    free(used);

    /* nothing in the database can be used to log in */
    char *sql = pfc_format("SELECT count(*) FROM tokens t WHERE t::text LIKE '%%%s%%'", secret + 4);
    char *leaks = pfc_test_sql_value(url, sql);
    cr_assert(eq(str, leaks, "0"));
    free(leaks);
    free(sql);

    cr_assert(eq(int, pfc_token_revoke(db, "test", id, &err), PFC_OK), "%s", err.msg);
    cr_assert(eq(int, pfc_token_verify(db, secret, &who, &err), PFC_EDENIED));
    cr_assert(eq(int, pfc_token_revoke(db, "test", 999999, &err), PFC_ENOTFOUND));
    free(url);
    pfc_db_close(db);
}

Test(tokens, wrong_expired_and_malformed_ones_are_denied_alike)
{
    pfc_db *db = pfc_test_db_open(2, NULL);
    char secret[PFC_TOKEN_TEXT], unknown[PFC_TOKEN_TEXT];
    pfc_principal who = { 0 };
    pfc_err err = { 0 };
    int64_t id = 0;

    cr_assert(eq(int, pfc_token_create(db, "test", NULL, PFC_SCOPE_READ, 0, 1.0, &id, secret, &err),
                 PFC_OK),
              "%s", err.msg);
    cr_assert(eq(int, pfc_token_verify(db, secret, &who, &err), PFC_EDENIED)); /* since 1970 */
    memcpy(unknown, secret, sizeof(unknown));
    unknown[10] = unknown[10] == '0' ? '1' : '0';
    cr_assert(eq(int, pfc_token_verify(db, unknown, &who, &err), PFC_EDENIED));
    cr_assert(eq(int, pfc_token_verify(db, "pfc_", &who, &err), PFC_EDENIED));
    cr_assert(eq(int, pfc_token_verify(db, "", &who, &err), PFC_EDENIED));
    cr_assert(eq(int, pfc_token_create(db, "t", "x", 0, 0, 0, &id, secret, &err), PFC_EINVAL));
    pfc_db_close(db);
}

Test(tokens, the_admin_token_of_the_data_folder_is_made_once_and_may_do_everything)
{
    char *url = NULL;
    pfc_db *db = pfc_test_db_open(2, &url);
    char secret[PFC_TOKEN_TEXT];
    pfc_principal who = { 0 };
    pfc_err err = { 0 };

    memcpy(secret, "pfc_", 4);
    memset(secret + 4, 'a', 64);
    secret[68] = '\0';
    for (int i = 0; i < 3; i++)
        cr_assert(eq(int, pfc_token_ensure(db, "admin", secret, &err), PFC_OK), "%s", err.msg);
    cr_assert(eq(int, pfc_token_verify(db, secret, &who, &err), PFC_OK));
    cr_assert(eq(i64, who.scopes, PFC_SCOPE_ALL));
    cr_assert(eq(str, who.actor, "token 1 (admin)"));
    char *n = pfc_test_sql_value(url, "SELECT count(*) FROM tokens");
    cr_assert(eq(str, n, "1"));
    free(n);
    free(url);
    pfc_db_close(db);
}

Test(tokens, scopes_have_the_names_of_the_api)
{
    cr_assert(eq(int, pfc_scope_parse("read"), PFC_SCOPE_READ));
    cr_assert(eq(int, pfc_scope_parse("admin"), PFC_SCOPE_ADMIN));
    cr_assert(eq(int, pfc_scope_parse("root"), 0));
}

/* A name of 64 bytes, every set of scopes but none, and any time to come. */
Test(tokens, are_made_at_their_limits_and_not_beyond)
{
    char name[66], secret[PFC_TOKEN_TEXT];
    static const struct {
        size_t name_len;
        int64_t scopes;
        const char *field;
    } rows[] = { { 64, 1, NULL },     { 65, 1, "name" },  { 1, PFC_SCOPE_ALL, NULL },
                 { 1, 32, "scopes" }, { 1, 0, "scopes" }, { 1, -1, "scopes" } };
    pfc_db *db = pfc_test_db_open(2, NULL);
    pfc_err err = { 0 };
    int64_t id;

    for (size_t i = 0; i < PFC_ARRAY_LEN(rows); i++) {
        memset(name, 'n', sizeof(name));
        name[rows[i].name_len] = '\0';
        cr_expect(eq(int, pfc_token_create(db, "t", name, rows[i].scopes, 0, 0, &id, secret, &err),
                     rows[i].field ? PFC_EINVAL : PFC_OK),
                  "%zu", i);
        if (rows[i].field)
            cr_expect(eq(str, err.field, (char *)(uintptr_t)rows[i].field), "%zu", i);
    }
    pfc_db_close(db);
}

/* Only what works is replaced, by one like it; the old one ends after the overlap, or at its own
 * end. */
Test(tokens, one_is_replaced_by_its_like_while_it_works)
{
    static const struct {
        const char *set; /* of the old one */
        double overlap_s;
        bool rotates;
        int64_t old_s, new_s; /* until they end; 0: never */
    } rows[] = {
        { "expires_at = NULL", 600, true, 600, 0 },
        { "expires_at = created_at + interval '1 hour'", 600, true, 600, 3600 },
        { "expires_at = created_at + interval '1 hour'", 7200, true, 3600, 3600 },
        { "expires_at = now() - interval '1 second'", 600, false, 0, 0 },
        { "revoked_at = now()", 600, false, 0, 0 },
    };
    char *url = NULL;
    pfc_db *db = pfc_test_db_open(2, &url);
    const int64_t p = fx_project(db);
    char secret[PFC_TOKEN_TEXT], fresh[PFC_TOKEN_TEXT];
    pfc_principal who = { 0 };
    pfc_err err = { 0 };

    for (size_t i = 0; i < PFC_ARRAY_LEN(rows); i++) {
        pfc_tokens made = { 0 };
        int64_t id = 0;
        char *sql, *left;

        cr_assert(eq(int,
                     pfc_token_create(db, "t", "ci", PFC_SCOPE_INGEST | PFC_SCOPE_READ, p, 0, &id,
                                      secret, &err),
                     PFC_OK));
        sql = pfc_format("UPDATE tokens SET %s WHERE id = %lld", rows[i].set, (long long)id);
        pfc_test_sql(url, sql);
        free(sql);
        cr_expect(eq(int, pfc_token_rotate(db, "t", id, rows[i].overlap_s, &made, fresh, &err),
                     rows[i].rotates ? PFC_OK : PFC_ENOTFOUND),
                  "%zu", i);
        if (!rows[i].rotates)
            continue;
        cr_expect(eq(int, pfc_token_verify(db, secret, &who, &err), PFC_OK), "%zu", i);
        cr_expect(eq(int, pfc_token_verify(db, fresh, &who, &err), PFC_OK), "%zu", i);
        cr_expect(eq(i64, who.token_id, made.items[0].id));
        cr_expect(eq(i64, who.scopes, PFC_SCOPE_INGEST | PFC_SCOPE_READ));
        cr_expect(eq(i64, who.project_id, p));
        cr_expect(eq(str, (char *)(uintptr_t)made.items[0].name, (char *)"ci"));
        sql = pfc_format("SELECT string_agg(coalesce(ceil(extract(epoch FROM expires_at - now()) /"
                         " 60) * 60, 0)::text, ' ' ORDER BY id) FROM tokens WHERE id IN (%lld, "
                         "%lld)",
                         (long long)id, (long long)made.items[0].id);
        left = pfc_test_sql_value(url, sql);
        free(sql);
        sql = pfc_format("%lld %lld", (long long)rows[i].old_s, (long long)rows[i].new_s);
        cr_expect(eq(str, left, sql), "%zu", i);
        free(sql);
        free(left);
        pfc_rows_clear(&made);
    }
    free(url);
    pfc_db_close(db);
}

Test(house, events_reach_a_listener)
{
    char *url = NULL;
    pfc_db *db = pfc_test_db_open(2, &url);
    int64_t p = fx_project(db), until = pfc_clock_ns() + 240 * PFC_NS_PER_S;
    pfc_run *run = fx_run(1);
    pfc_listener *listener = NULL;
    char event[PFC_EVENT_MAX];
    bool heard = false;
    pfc_err err = { 0 };

    cr_assert(eq(int, pfc_listener_open(&listener, url, &err), PFC_OK), "%s", err.msg);
    cr_assert(eq(int, pfc_listener_next(listener, 1000, event, &err), PFC_ETIMEOUT), "%s", err.msg);
    fx_measure(run, "gemm/a", "time_ns", 100, 0.01, 6, 1, 1);
    fx_ingest(db, p, run);
    while (!heard && pfc_clock_ns() < until) {
        pfc_code code = pfc_listener_next(listener, 1000, event, &err);

        cr_assert(code == PFC_OK || code == PFC_ETIMEOUT, "%s", err.msg);
        heard = code == PFC_OK && strstr(event, "\"type\" : \"run\"") != NULL;
    }
    cr_assert(heard);
    pfc_listener_wake(listener);
    cr_assert(eq(int, pfc_listener_next(listener, 60000, event, &err), PFC_ETIMEOUT));
    /* with a time-out of 0, only events that have arrived */
    pfc_test_sql(url, "NOTIFY perfci, 'at once'");
    for (heard = false; !heard && pfc_clock_ns() < until;)
        heard =
            pfc_listener_next(listener, 0, event, &err) == PFC_OK && strcmp(event, "at once") == 0;
    cr_assert(heard);
    pfc_listener_close(listener);
    free(url);
    pfc_db_close(db);
}

Test(cache, a_revoked_token_is_refused_although_it_was_remembered)
{
    pfc_db *db = pfc_test_db_open(2, NULL);
    pfc_cache *cache = pfc_cache_new(3600);
    char secret[PFC_TOKEN_TEXT];
    pfc_principal who = { 0 };
    pfc_err err = { 0 };
    int64_t id = 0;

    cr_assert(eq(int, pfc_token_create(db, "test", "a", PFC_SCOPE_READ, 0, 0, &id, secret, &err),
                 PFC_OK));
    pfc_cache_trust(cache, true);
    cr_assert(eq(int, pfc_token_verify_cached(db, cache, secret, &who, &err), PFC_OK));
    cr_assert(eq(int, pfc_token_revoke(db, "test", id, &err), PFC_OK));
    /* cached: the event is not delivered yet */
    cr_assert(eq(int, pfc_token_verify_cached(db, cache, secret, &who, &err), PFC_OK));
    pfc_cache_forget(cache);
    cr_assert(eq(int, pfc_token_verify_cached(db, cache, secret, &who, &err), PFC_EDENIED));
    pfc_cache_free(cache);
    pfc_db_close(db);
}

Test(cache, nothing_is_remembered_while_events_are_not_heard)
{
    pfc_db *db = pfc_test_db_open(2, NULL);
    pfc_cache *cache = pfc_cache_new(3600);
    char secret[PFC_TOKEN_TEXT];
    pfc_principal who = { 0 };
    pfc_err err = { 0 };
    int64_t id = 0;

    cr_assert(eq(int, pfc_token_create(db, "test", "a", PFC_SCOPE_READ, 0, 0, &id, secret, &err),
                 PFC_OK));
    cr_assert(eq(int, pfc_token_verify_cached(db, cache, secret, &who, &err), PFC_OK));
    cr_assert(eq(int, pfc_token_revoke(db, "test", id, &err), PFC_OK));
    cr_assert(eq(int, pfc_token_verify_cached(db, cache, secret, &who, &err), PFC_EDENIED));
    pfc_cache_free(cache);
    pfc_db_close(db);
}

/* Without the event connection revocations can be missed: the cache is unused then, and after the
 * reconnect it is empty, without entries that were read before it. */
Test(cache, what_was_remembered_ends_when_events_are_not_heard_and_stays_so)
{
    const pfc_principal stale = { .token_id = 7, .scopes = PFC_SCOPE_ALL };
    char *url = NULL;
    pfc_db *db = pfc_test_db_open(2, &url);
    pfc_cache *cache = pfc_cache_new(3600);
    int64_t p = fx_project(db), found = 0, id = 0;
    char secret[PFC_TOKEN_TEXT], hash[PFC_SHA256_HEX];
    pfc_principal who = { 0 };
    uint64_t generation = 0;
    pfc_err err = { 0 };

    cr_assert(eq(int, pfc_token_create(db, "test", "a", PFC_SCOPE_READ, 0, 0, &id, secret, &err),
                 PFC_OK));
    pfc_sha256_hex(secret, strlen(secret), hash);
    pfc_cache_trust(cache, true);
    cr_assert(eq(int, pfc_token_verify_cached(db, cache, secret, &who, &err), PFC_OK));
    cr_assert(eq(int, pfc_project_find(db, cache, "p", &found, &err), PFC_OK));
    cr_assert(pfc_cache_token(cache, hash, &who, &generation), "remembered");
    pfc_test_sql(url, "UPDATE tokens SET revoked_at = now(); UPDATE projects SET name = 'q'");
    cr_assert(eq(int, pfc_project_find(db, cache, "p", &found, &err), PFC_OK), "remembered");
    cr_assert(eq(i64, found, p));
    for (int heard = 0; heard < 2; heard++) {
        pfc_cache_trust(cache, heard);
        pfc_cache_keep_token(cache, hash, &stale, -1, generation);
        cr_expect(eq(int, pfc_token_verify_cached(db, cache, secret, &who, &err), PFC_EDENIED));
        cr_expect(eq(int, pfc_project_find(db, cache, "p", &found, &err), PFC_ENOTFOUND));
    }
    /* and nothing is kept that the next word would come too late for */
    cr_assert(not(pfc_cache_token(cache, hash, &who, &generation)));
    pfc_cache_forget(cache);
    pfc_cache_keep_token(cache, hash, &stale, -1, generation);
    cr_expect(not(pfc_cache_token(cache, hash, &who, &generation)));
    pfc_cache_trust(cache, false);
    cr_assert(eq(int, pfc_project_find(db, cache, "q", &found, &err), PFC_OK));
    pfc_test_sql(url, "UPDATE projects SET name = 'p'");
    cr_expect(eq(int, pfc_project_find(db, cache, "q", &found, &err), PFC_ENOTFOUND));
    pfc_cache_free(cache);
    pfc_db_close(db);
    free(url);
}

/* A token with the same slot, or the same hash except for its end, is another token. */
Test(cache, only_the_whole_hash_is_remembered)
{
    const pfc_principal who = { .token_id = 7, .scopes = PFC_SCOPE_ALL };
    pfc_cache *cache = pfc_cache_new(3600);
    char hash[PFC_SHA256_HEX], other[PFC_SHA256_HEX];
    pfc_principal found = { 0 };
    uint64_t generation = 0;

    pfc_sha256_hex("a", 1, hash);
    pfc_cache_trust(cache, true);
    cr_assert(not(pfc_cache_token(cache, hash, &found, &generation)));
    pfc_cache_keep_token(cache, hash, &who, -1, generation);
    cr_assert(pfc_cache_token(cache, hash, &found, &generation));
    cr_assert(eq(i64, found.token_id, 7));
    /* 1,024 places: some of the 65,535 are in the same one */
    for (unsigned i = 0; i < 0x10000; i++) {
        memcpy(other, hash, sizeof(other));
        (void)snprintf(other + sizeof(other) - 5, 5, "%04x", i);
        cr_assert(
            eq(int, pfc_cache_token(cache, other, &found, &generation), strcmp(other, hash) == 0));
    }
    pfc_cache_free(cache);
}

Test(cache, an_expiring_token_is_not_remembered_longer_than_it_lives)
{
    pfc_db *db = pfc_test_db_open(2, NULL);
    pfc_cache *cache = pfc_cache_new(3600);
    char secret[PFC_TOKEN_TEXT];
    pfc_principal who = { 0 };
    pfc_err err = { 0 };
    int64_t id = 0, until = pfc_clock_ns() + 240 * PFC_NS_PER_S;
    pfc_code code;

    pfc_cache_trust(cache, true);
    cr_assert(eq(int,
                 pfc_token_create(db, "test", "a", PFC_SCOPE_READ, 0, pfc_clock_unix_s() + 1, &id,
                                  secret, &err),
                 PFC_OK));
    /* valid or already expired on a slow machine; in the end expired in any case */
    while ((code = pfc_token_verify_cached(db, cache, secret, &who, &err)) == PFC_OK) {
        cr_assert(pfc_clock_ns() < until, "still valid");
        pfc_clock_sleep_ns(20 * PFC_NS_PER_MS);
    }
    cr_assert(eq(int, code, PFC_EDENIED));
    pfc_cache_free(cache);
    pfc_db_close(db);
}

Test(cache, projects_are_found_by_name)
{
    char *url = NULL;
    pfc_db *db = pfc_test_db_open(2, &url);
    pfc_cache *cache = pfc_cache_new(3600);
    int64_t p = fx_project(db), id = 0;
    pfc_err err = { 0 };

    pfc_cache_trust(cache, true);
    for (int i = 0; i < 2; i++) {
        cr_assert(eq(int, pfc_project_find(db, cache, "p", &id, &err), PFC_OK), "%s", err.msg);
        cr_assert(eq(i64, id, p));
    }
    cr_assert(eq(int, pfc_project_find(db, cache, "q", &id, &err), PFC_ENOTFOUND));
    pfc_cache_free(cache);
    cache = pfc_cache_new(0); /* what is remembered is over at once */
    pfc_cache_trust(cache, true);
    cr_assert(eq(int, pfc_project_find(db, cache, "p", &id, &err), PFC_OK));
    pfc_test_sql(url, "UPDATE projects SET name = 'q'");
    cr_assert(eq(int, pfc_project_find(db, cache, "p", &id, &err), PFC_ENOTFOUND));
    pfc_cache_free(cache);
    pfc_db_close(db);
    free(url);
}
