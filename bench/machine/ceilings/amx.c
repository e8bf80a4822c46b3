/* The loops of loops.h for the tile registers (AMX): 16 x 16 results of 64 bytes of each operand.
 */
#include <immintrin.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "bench/machine/ceilings/loops.h"

#define ARCH_REQ_XCOMP_PERM 0x1023 /* <asm/prctl.h> of Linux 5.16 and later */
#define XFEATURE_XTILEDATA  18

/* The layout that LDTILECFG reads (Intel SDM, volume 1, chapter 18). */
typedef struct tile_config {
    uint8_t palette;
    uint8_t start_row;
    uint8_t reserved[14];
    uint16_t row_bytes[16];
    uint8_t rows[16];
} tile_config;

bool pfc_amx_enable(void)
{
    return syscall(SYS_arch_prctl, ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA) == 0;
}

static void configure(void)
{
    tile_config c;

    memset(&c, 0, sizeof(c));
    c.palette = 1;
    for (int i = 0; i < 8; i++) {
        c.row_bytes[i] = 64;
        c.rows[i] = 16;
    }
    _tile_loadconfig(&c);
    _tile_zero(0);
    _tile_zero(1);
    _tile_zero(2);
    _tile_zero(3);
    _tile_zero(4);
    _tile_zero(5);
    _tile_zero(6);
    _tile_zero(7);
}

/* Six sums: a tile product takes 16 cycles and 52 until its result can be added to. */
double pfc_bf16_amx(uint64_t iterations)
{
    configure();
    for (uint64_t i = 0; i < iterations; i++) {
        _tile_dpbf16ps(0, 6, 7);
        _tile_dpbf16ps(1, 6, 7);
        _tile_dpbf16ps(2, 6, 7);
        _tile_dpbf16ps(3, 6, 7);
        _tile_dpbf16ps(4, 6, 7);
        _tile_dpbf16ps(5, 6, 7);
    }
    _tile_release();
    return 6.0 * 2.0 * 16 * 16 * 32 * (double)iterations;
}

double pfc_int8_amx(uint64_t iterations)
{
    configure();
    for (uint64_t i = 0; i < iterations; i++) {
        _tile_dpbusd(0, 6, 7);
        _tile_dpbusd(1, 6, 7);
        _tile_dpbusd(2, 6, 7);
        _tile_dpbusd(3, 6, 7);
        _tile_dpbusd(4, 6, 7);
        _tile_dpbusd(5, 6, 7);
    }
    _tile_release();
    return 6.0 * 2.0 * 16 * 16 * 64 * (double)iterations;
}
