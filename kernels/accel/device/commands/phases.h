/*
 * Phases of a program: commands of one operation on one operand, named after the operation and the
 * operand that the line of the schedule names first, for example "load_a" or "matmul_sum". Traces
 * and analyses sum time by phase. Private to kernels/accel/device.
 */
#ifndef PFC_KERNELS_ACCEL_DEVICE_COMMANDS_PHASES_H
#define PFC_KERNELS_ACCEL_DEVICE_COMMANDS_PHASES_H

#include "kernels/accel/device/device.h"

#define PFC_ACCEL_PHASE_BYTES 48 /* of a name, with its terminator */

typedef struct pfc_accel_phases {
    char (*names)[PFC_ACCEL_PHASE_BYTES]; /* distinct; letters, digits and '_' */
    size_t len, cap;
    uint16_t *of; /* by line, operation and argument: number of the phase, from 1; 0: none */
} pfc_accel_phases;

/** The phases of all commands, in the order of their first commands; end with the next function. */
void pfc_accel_phases_find(const pfc_accel_program *p, pfc_accel_phases *out);
void pfc_accel_phases_clear(pfc_accel_phases *phases);
/** Number of the command's phase, from 1. */
uint16_t pfc_accel_phase_of(const pfc_accel_phases *phases, const pfc_accel_cmd *cmd);

#endif
