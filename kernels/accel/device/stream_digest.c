/*
 * The digest of a command stream: fields one by one, little end first, so that padding and byte
 * order do not count. Blocks of commands are chained, since a stream may be longer than memory
 * should hold twice.
 */
#include <stdlib.h>
#include <string.h>

#include "core/base/hash.h"
#include "kernels/accel/device/device.h"

_Static_assert(PFC_ACCEL_DIGEST_SIZE == PFC_SHA256_HEX, "a digest is a SHA-256");

#define BLOCK  4096 /* commands */
#define FIELDS (25 + PFC_ACCEL_MAX_WAITS)

static uint8_t *put(uint8_t *to, uint64_t value)
{
    for (size_t i = 0; i < 8; i++)
        *to++ = (uint8_t)(value >> (8 * i));
    return to;
}

static uint8_t *put_command(uint8_t *to, const pfc_accel_cmd *c)
{
    uint32_t scale;
    uint64_t waits[PFC_ACCEL_MAX_WAITS] = { 0 };

    memcpy(&scale, &c->scale, sizeof(scale));
    for (size_t i = 0; i < c->waits_len; i++)
        waits[i] = c->waits[i];
    {
        const uint64_t fields[] = {
            c->unit,        c->op,    c->queue, c->waits_len, c->accumulate,
            c->transpose_b, c->first, c->arg,   c->token,     c->offset,
            c->stride,      c->m,     c->n,     c->k,         c->elem,
            c->a,           c->b,     c->acc,   c->acc2,      (uint64_t)c->diagonal,
            scale,          c->c,     c->act,   c->period,    c->batch,
        };

        for (size_t i = 0; i < PFC_ARRAY_LEN(fields); i++)
            to = put(to, fields[i]);
    }
    for (size_t i = 0; i < PFC_ACCEL_MAX_WAITS; i++)
        to = put(to, waits[i]);
    return to;
}

void pfc_accel_program_digest(const pfc_accel_program *p, char out[PFC_ACCEL_DIGEST_SIZE])
{
    uint8_t *bytes = pfc_alloc(PFC_SHA256_HEX + 16 + BLOCK * FIELDS * 8);

    memset(out, 0, PFC_ACCEL_DIGEST_SIZE);
    for (size_t at = 0; at == 0 || at < p->len; at += BLOCK) {
        uint8_t *to = bytes + PFC_SHA256_HEX;

        memcpy(bytes, out, PFC_SHA256_HEX);
        to = put(to, (uint64_t)p->dtype);
        to = put(to, (uint64_t)p->mode << 1 | p->ideal_memory);
        for (size_t i = at; i < PFC_MIN(p->len, at + BLOCK); i++)
            to = put_command(to, &p->cmds[i]);
        pfc_sha256_hex(bytes, (size_t)(to - bytes), out);
    }
    free(bytes);
}
