/*
 * Reports as files: what a command found, for CI systems and code scanning, beside its own output.
 */
#ifndef PFC_CLI_OUTPUT_REPORTS_H
#define PFC_CLI_OUTPUT_REPORTS_H

#include "cli/cli.h"
#include "core/findings/findings.h"
#include "core/git/repo.h"

/** Files to write; NULL: not asked for. */
typedef struct pfc_report_files {
    const char *markdown, *html, *junit, *sarif;
} pfc_report_files;

/* Their options, of an input `type` that has them as its member `member`. */
#define PFC_REPORT_OPTIONS(type, member)                                                           \
    PFC_OPT_TEXT("report-markdown", "FILE", type, member.markdown,                                 \
                 "Also write the report there as Markdown"),                                       \
        PFC_OPT_TEXT("report-html", "FILE", type, member.html, "Likewise as a page"),              \
        PFC_OPT_TEXT("report-junit", "FILE", type, member.junit,                                   \
                     "Likewise as JUnit XML, a case a benchmark and commit"),                      \
        PFC_OPT_TEXT("report-sarif", "FILE", type, member.sarif,                                   \
                     "Likewise as SARIF 2.1.0, for code scanning")

/** True when any is asked for. */
bool pfc_reports_wanted(const pfc_report_files *files);
/** Before the measurement: PFC_EINVAL when the folder of a file is not there, or a file is named
 * twice. */
pfc_code pfc_reports_check(const pfc_report_files *files, pfc_err *err) PFC_MUSTCHECK;
/** Replaces each file as a whole. markdown: the report's text. */
pfc_code pfc_reports_write(const pfc_report_files *files, const pfc_findings *findings,
                           const char *markdown, pfc_err *err) PFC_MUSTCHECK;

/** When the command failed: one finding that says why, so that the report is there all the same.
 * markdown NULL: the error's sentence. PFC_OK when no file is asked for. */
pfc_code pfc_reports_write_failure(const pfc_report_files *files, const char *title,
                                   const char *markdown, const pfc_err *failure,
                                   pfc_err *err) PFC_MUSTCHECK;

/** Where a finding is shown in the code, for pfc_reports_place. */
typedef struct pfc_report_place {
    pfc_repo *repo;     /* NULL: none */
    const char *config; /* text of perfci.yaml; NULL: none */
} pfc_report_place;

/** Sets path and line of a finding. Of a change: the first source file that the commit touches.
 * Else, and where nothing is known of the commit, the line of perfci.yaml that names the benchmark,
 * or the measuring command, or the first. */
void pfc_reports_place(const pfc_report_place *place, pfc_findings_item *finding);

#endif
