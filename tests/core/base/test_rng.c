/* Random numbers, digests, clocks. */
#include <math.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/base/hash.h"
#include "core/base/rng.h"

#include "tests/check/check.h"

Test(rng, a_seed_fixes_the_sequence)
{
    pfc_rng a;
    pfc_rng b;

    pfc_rng_seed(&a, 42);
    pfc_rng_seed(&b, 42);
    for (int i = 0; i < 1000; i++)
        cr_assert(eq(u64, pfc_rng_u64(&a), pfc_rng_u64(&b)));
    pfc_rng_seed(&b, 43);
    cr_assert(ne(u64, pfc_rng_u64(&a), pfc_rng_u64(&b)));
}

/* First value of xoshiro256** from the state 1, 2, 3, 4: rotl(2 * 5, 7) * 9 = 1280 * 9 = 11520;
 * the second from s[1] = 2 ^ 1 ^ 3 = 0 (by the published update), so 0. */
Test(rng, first_values_follow_the_published_recurrence)
{
    pfc_rng rng = { { 1, 2, 3, 4 } };

    cr_assert(eq(u64, pfc_rng_u64(&rng), 11520));
    cr_assert(eq(u64, pfc_rng_u64(&rng), 0));
}

/* Means of 40,000 draws: five standard errors around the true values. */
Test(rng, uniform_normal_and_bounded_have_their_moments)
{
    enum { N = 40000 };
    double uniform = 0;
    double normal = 0;
    double square = 0;
    size_t counts[3] = { 0 };
    pfc_rng rng;

    pfc_rng_seed(&rng, 7);
    for (int i = 0; i < N; i++) {
        double u = pfc_rng_double(&rng);
        double z = pfc_rng_normal(&rng);

        cr_assert(u >= 0 && u < 1);
        uniform += u / N;
        normal += z / N;
        square += z * z / N;
        counts[pfc_rng_below(&rng, 3)]++;
    }
    cr_assert(epsilon_eq(dbl, uniform, 0.5, 5 * sqrt(1.0 / 12 / N)));
    cr_assert(epsilon_eq(dbl, normal, 0.0, 5 / sqrt(N)));
    cr_assert(epsilon_eq(dbl, square, 1.0, 5 * sqrt(2.0 / N)));
    for (int i = 0; i < 3; i++)
        cr_assert(epsilon_eq(dbl, (double)counts[i] / N, 1.0 / 3, 5 * sqrt(2.0 / 9 / N)));
}

Test(rng, shuffle_keeps_every_item)
{
    size_t items[50];
    bool seen[50] = { false };
    pfc_rng rng;

    pfc_rng_seed(&rng, 1);
    for (size_t i = 0; i < 50; i++)
        items[i] = i;
    pfc_rng_shuffle(&rng, items, 50);
    for (size_t i = 0; i < 50; i++) {
        cr_assert_not(seen[items[i]]);
        seen[items[i]] = true;
    }
}

Test(rng, ids_are_32_digits_and_differ)
{
    char a[33];
    char b[33];

    pfc_random_id(a);
    pfc_random_id(b);
    cr_assert(eq(sz, strlen(a), 32));
    cr_assert(eq(sz, strspn(a, "0123456789abcdef"), 32));
    cr_assert(ne(str, a, b));
}

/* FIPS 180-4's example: the digest of "abc". */
Test(hash, sha256_of_abc)
{
    char hex[PFC_SHA256_HEX];

    pfc_sha256_hex("abc", 3, hex);
    cr_assert(eq(str, hex, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"));
}

/* RFC 4231, test cases 2 and 6: a short key, and one longer than a block. */
Test(hash, hmac_of_the_rfcs_examples)
{
    const char *text = "what do ya want for nothing?";
    const char *other = "Test Using Larger Than Block-Size Key - Hash Key First";
    unsigned char key[131];
    char hex[PFC_SHA256_HEX];

    pfc_hmac_hex("Jefe", 4, text, strlen(text), hex);
    cr_assert(eq(str, hex, "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"));
    memset(key, 0xaa, sizeof(key));
    pfc_hmac_hex(key, sizeof(key), other, strlen(other), hex);
    cr_assert(eq(str, hex, "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54"));
}

Test(hash, secrets_compare)
{
    cr_assert(pfc_secret_equal("abc", "abc"));
    cr_assert_not(pfc_secret_equal("abc", "abd"));
    cr_assert_not(pfc_secret_equal("abc", "abcd"));
    cr_assert(pfc_secret_equal("", ""));
}

Test(clock, monotonic_time_does_not_go_back_and_sleep_is_not_shorter)
{
    int64_t start = pfc_clock_ns();

    pfc_clock_sleep_ns(2000000);
    cr_assert(ge(i64, pfc_clock_ns() - start, 2000000));
    cr_assert(gt(dbl, pfc_clock_unix_s(), 1.6e9));
}
