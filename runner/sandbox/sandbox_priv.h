/* Shared by the files of the sandbox: the opened sandbox, and lists of words for a command line. */
#ifndef PFC_RUNNER_SANDBOX_SANDBOX_PRIV_H
#define PFC_RUNNER_SANDBOX_SANDBOX_PRIV_H

#include "runner/sandbox/sandbox.h"

#define PFC_WORDS_MAX 384 /* of a command line, its end included */

struct pfc_sandbox {
    char *bwrap, *setpriv, *prlimit;
    char *etc; /* folder with the accounts that commands see */
    char *read_only[PFC_SANDBOX_MAX_PATHS + 1];
    char *variables[PFC_SANDBOX_MAX_PATHS + 1];
    uid_t uid; /* that commands run as */
    bool root; /* the runner is root: the uid is dropped inside */
    bool few_namespaces;
    char *socket, *starter; /* of perfci-sandbox, and the program; NULL: none */
    char description[160];
};

typedef struct pfc_words {
    char **items; /* PFC_WORDS_MAX, each owned; NULL-terminated */
    size_t len;
    bool full; /* a word was left out */
} pfc_words;

void pfc_words_add(pfc_words *a, const char *text);
/** Takes `text`. */
void pfc_words_add_owned(pfc_words *a, char *text);
void pfc_words_add2(pfc_words *a, const char *flag, const char *value);

/** Whether a variable of the runner's environment is on the allow-list for commands. */
bool pfc_sandbox_passes(const pfc_sandbox *s, const char *name);

/** As pfc_sandbox_wrap, for a sandbox with a socket: the program is `perfci-sandbox run`. */
pfc_code pfc_sandbox_wrap_remote(const pfc_sandbox *s, const pfc_sandbox_command *command,
                                 pfc_sandbox_start *out, pfc_err *err) PFC_MUSTCHECK;
/** Reads the report of a start with `reported`, as pfc_sandbox_ended. */
pfc_code pfc_sandbox_read_report(const pfc_sandbox_start *start, pfc_proc_result *res,
                                 pfc_err *err) PFC_MUSTCHECK;

#endif
