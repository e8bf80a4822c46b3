/*
 * The header of a trace: units and counters of the chip, its constants, and the names of the
 * kernel, of the lines of its schedule and of its phases. Private to kernels/accel/device.
 */
#ifndef PFC_KERNELS_ACCEL_DEVICE_TRACING_HEADER_H
#define PFC_KERNELS_ACCEL_DEVICE_TRACING_HEADER_H

#include "kernels/accel/device/commands/phases.h"
#include "kernels/accel/device/tracer.h"

/* Of the chip. */
#define PFC_ACCEL_TRACE_UNITS_MAX (PFC_ACCEL_TRACE_DMA + PFC_ACCEL_MAX_DMA)

/**
 * Opens the file or the consumer of the options.
 *
 * program, phases   whose lines and phases are named, behind the kernel; NULL: none
 * more              NULL: no further units
 *
 * Failures as pfc_trace_writer_open.
 */
pfc_code pfc_accel_trace_header_open(pfc_trace_writer **out, const pfc_accel_chip *chip,
                                     const pfc_accel_program *program,
                                     const pfc_accel_phases *phases,
                                     const pfc_accel_trace_opts *opts,
                                     const pfc_accel_trace_units *more, pfc_err *err) PFC_MUSTCHECK;

#endif
