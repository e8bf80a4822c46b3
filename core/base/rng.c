/* xoshiro256** seeded by splitmix64, and the kernel's random bytes. */
#include "core/base/rng.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <sys/random.h>

void pfc_rng_seed(pfc_rng *rng, uint64_t seed)
{
    for (size_t i = 0; i < 4; i++) {
        uint64_t z = (seed += 0x9e3779b97f4a7c15ULL);

        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
        z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
        rng->s[i] = z ^ (z >> 31);
    }
}

static uint64_t rotate_left(uint64_t x, unsigned k)
{
    return (x << k) | (x >> (64 - k));
}

uint64_t pfc_rng_u64(pfc_rng *rng)
{
    uint64_t *s = rng->s;
    uint64_t result = rotate_left(s[1] * 5, 7) * 9;
    uint64_t t = s[1] << 17;

    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= t;
    s[3] = rotate_left(s[3], 45);
    return result;
}

uint64_t pfc_rng_below(pfc_rng *rng, uint64_t bound)
{
    /* Values under 2^64 mod bound would make the small remainders likelier: draw again. */
    uint64_t skip = (UINT64_MAX - bound + 1) % bound;
    uint64_t x;

    do {
        x = pfc_rng_u64(rng);
    } while (x < skip);
    return x % bound;
}

double pfc_rng_double(pfc_rng *rng)
{
    return (double)(pfc_rng_u64(rng) >> 11) * 0x1.0p-53;
}

double pfc_rng_normal(pfc_rng *rng)
{
    double u;
    double v;
    double s;

    do {
        u = 2.0 * pfc_rng_double(rng) - 1.0;
        v = 2.0 * pfc_rng_double(rng) - 1.0;
        s = u * u + v * v;
    } while (s >= 1.0 || s <= 0.0);
    return u * sqrt(-2.0 * log(s) / s);
}

void pfc_rng_shuffle(pfc_rng *rng, size_t *items, size_t n)
{
    for (size_t i = n; i > 1; i--) {
        size_t j = (size_t)pfc_rng_below(rng, i);
        size_t kept = items[i - 1];

        items[i - 1] = items[j];
        items[j] = kept;
    }
}

void pfc_random_bytes(void *out, size_t len)
{
    unsigned char *p = out;

    while (len > 0) {
        ssize_t got = getrandom(p, len, 0);

        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            pfc_die("the kernel gives no random bytes");
        p += got;
        len -= (size_t)got;
    }
}

void pfc_random_id(char out[33])
{
    unsigned char bytes[16];

    pfc_random_bytes(bytes, sizeof bytes);
    for (size_t i = 0; i < sizeof bytes; i++)
        snprintf(out + 2 * i, 3, "%02x", bytes[i]);
}
