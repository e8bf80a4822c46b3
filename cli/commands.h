/*
 * The subcommands of `perfci`; each is defined in its cmd_*.c.
 */
#ifndef PFC_CLI_COMMANDS_H
#define PFC_CLI_COMMANDS_H

#include "cli/options.h"

extern const pfc_subcommand pfc_cmd_up, pfc_cmd_down, pfc_cmd_status, pfc_cmd_doctor,
    pfc_cmd_config, pfc_cmd_run, pfc_cmd_compare, pfc_cmd_check, pfc_cmd_bisect, pfc_cmd_init,
    pfc_cmd_suite, pfc_cmd_push, pfc_cmd_import, pfc_cmd_detect, pfc_cmd_accel, pfc_cmd_trace,
    pfc_cmd_explain, pfc_cmd_report, pfc_cmd_nightly, pfc_cmd_comment, pfc_cmd_series,
    pfc_cmd_alerts, pfc_cmd_groups, pfc_cmd_jobs, pfc_cmd_notices, pfc_cmd_events, pfc_cmd_coverage,
    pfc_cmd_roofline, pfc_cmd_audit, pfc_cmd_why, pfc_cmd_replay, pfc_cmd_repro, pfc_cmd_accept,
    pfc_cmd_project, pfc_cmd_token, pfc_cmd_runner, pfc_cmd_schedule, pfc_cmd_suppress,
    pfc_cmd_triage, pfc_cmd_admin, pfc_cmd_capacity, pfc_cmd_mcp;

#endif
