/*
 * Settings: flag, then environment PERFCI_*, then perfci.yaml (nearest upwards), then the user's
 * config file ($XDG_CONFIG_HOME/perfci/config.yaml). Unknown keys in perfci.yaml are an error with
 * file, line and the known keys.
 */
#ifndef PFC_CORE_BASE_CONFIG_CONF_H
#define PFC_CORE_BASE_CONFIG_CONF_H

#include "core/base/config/rerun.h"
#include "core/base/direction.h"
#include "core/base/err.h"

#define PFC_CONF_MAX_BYTES (64 * 1024)
#define PFC_DEFAULT_LISTEN "127.0.0.1:7420"
#define PFC_DEFAULT_URL    "http://127.0.0.1:7420"
#define PFC_NIGHT_BUDGET_S 1800.0 /* defaults of `budget` and `margin` */
#define PFC_NIGHT_MARGIN   0.03

/** `build_network`: which isolated builds of a runner may use the network. */
typedef enum pfc_build_network {
    PFC_BUILD_NETWORK_NONE,
    PFC_BUILD_NETWORK_BRANCHES, /* all but those of jobs for pull requests */
    PFC_BUILD_NETWORK_ALL,
} pfc_build_network;

/** perfci.yaml; every string is owned and NULL when the key is absent. */
typedef struct pfc_conf {
    char *path;            /* the file it came from, NULL when there is none */
    char *project;         /* slug */
    char *branch;          /* e.g. main */
    char *server;          /* URL */
    char *build;           /* shell command run in a checkout before measuring */
    char *measure;         /* shell command that prints a number or JSON */
    char *suite;           /* suite file or name, relative to the repository */
    char *relink;          /* shell command that rebuilds with another layout */
    char *metric;          /* the metric `measure` prints, when it is a bare number */
    char *unit;            /* its unit */
    bool has_better;       /* `better: higher|lower` is there: the direction of what names none */
    bool higher_is_better; /* that direction; false when it is not */
    pfc_direction *directions; /* `directions: {NAME: higher|lower}`; the names are owned */
    size_t directions_len;
    bool time;    /* `time: true`: the command's times and memory are the result */
    char **paths; /* globs of the benchmark's files */
    size_t paths_len;
    char *anchor; /* revision that every night measures along, so that its ratios join; NULL: chosen
                   */
    double budget_s;      /* of a night's measuring; 0: absent */
    double margin;        /* relative change that does not matter to a night; 0: absent */
    char **runtime_files; /* globs of files that the measured program reads while it runs */
    size_t runtime_files_len;
    double timeout_s;                /* of one build or measurement; default 600 */
    pfc_build_network build_network; /* default: none */
    pfc_rerun_rules rerun; /* of the service, which the runner sends with the job's result */
} pfc_conf;

/** Reads perfci.yaml text (bounded, depth-bounded before libfyaml sees it). `name` for errors. */
pfc_code pfc_conf_parse(const char *text, size_t len, const char *name, pfc_conf *out,
                        pfc_err *err) PFC_MUSTCHECK;
/** The nearest perfci.yaml from `dir` upwards; without one *out is all defaults and path NULL. */
pfc_code pfc_conf_find(const char *dir, pfc_conf *out, pfc_err *err) PFC_MUSTCHECK;
/** Fills in `server` from the user's own file where it is not set. */
pfc_code pfc_conf_add_user(pfc_conf *conf, pfc_err *err) PFC_MUSTCHECK;
void pfc_conf_clear(pfc_conf *conf);

/** First of: flag (may be NULL), getenv(env), yaml (may be NULL), fallback. Not owned. */
const char *pfc_conf_pick(const char *flag, const char *env, const char *yaml,
                          const char *fallback);
/** Data folder: flag, PERFCI_DATA, $XDG_DATA_HOME/perfci, ~/.local/share/perfci; caller frees. */
char *pfc_conf_data_dir(const char *flag);
/** The first line of the file that a flag or a setting names for its secret; "-" is standard input.
 * A world-readable file is logged with level WARN. PFC_EINVAL when the line is empty or not text,
 * else the codes of pfc_fs_read; messages name the file and never its content. The caller frees
 * *out. */
pfc_code pfc_conf_secret_file(const char *path, char **out, pfc_err *err) PFC_MUSTCHECK;
/** A secret by NAME: the environment, else the file named by NAME_FILE, else systemd's
 *  $CREDENTIALS_DIRECTORY/NAME. Trailing newline cut; a world-readable file is logged with level
 * WARN. PFC_ENOTFOUND when none is set, PFC_EINVAL when the named file does not exist; the caller
 * frees. */
pfc_code pfc_conf_secret(const char *name, char **out, pfc_err *err) PFC_MUSTCHECK;
/** True when a libpq URI or conninfo string holds a password: it must not be passed on a command
 * line, which other users can read. */
bool pfc_conf_url_has_password(const char *url);

#endif
