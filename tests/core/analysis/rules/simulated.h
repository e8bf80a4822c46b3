/* Profiles of simulated kernels, for the tests of the built-in rules. */
#ifndef PFC_TESTS_CORE_ANALYSIS_RULES_SIMULATED_H
#define PFC_TESTS_CORE_ANALYSIS_RULES_SIMULATED_H

#include "core/analysis/profile/profile.h"
#include "kernels/accel/compiler/compiler.h"
#include "kernels/accel/device/whatif.h"

/** Simulates a problem on a chip. Fills the profile with the counters and the chip's constants that
 *  the rules name; the caller clears it. `whatif` and `tiles` may be NULL. PFC_ETOOBIG: the problem
 *  does not fit. */
pfc_code simulate(const pfc_accel_problem *problem, const pfc_accel_chip *chip,
                  const pfc_accel_gemm_tiles *tiles, pfc_profile *out, pfc_accel_whatif *whatif,
                  pfc_err *err) PFC_MUSTCHECK;

#endif
