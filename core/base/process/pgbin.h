/*
 * The PostgreSQL server programs (initdb, pg_ctl, postgres) of this machine.
 *
 * perfci runs with any major version from PFC_PG_OLDEST to PFC_PG_NEWEST. Distributions install
 * each version into a folder of its own that is not on PATH, so several can be installed at the
 * same time.
 */
#ifndef PFC_CORE_BASE_PROCESS_PGBIN_H
#define PFC_CORE_BASE_PROCESS_PGBIN_H

#include "core/base/err.h"

enum { PFC_PG_OLDEST = 15, PFC_PG_NEWEST = 18 };

typedef struct pfc_pg {
    int major;     /* e.g. 17 */
    char bin[256]; /* folder of its programs, absolute */
} pfc_pg;

/**
 * The newest supported version that is installed, or exactly `major` when that is not 0.
 *
 * PERFCI_PG_BIN names the folder and excludes all others. Without it: /usr/lib/postgresql/N/bin
 * (Debian, Ubuntu), /usr/pgsql-N/bin (packages of postgresql.org on RPM systems), the folder that
 * `pg_config
 * --bindir` of PATH prints, /usr/local/pgsql/bin, /usr/local/bin, /usr/bin.
 *
 * PFC_EUNAVAIL when there is none, with the versions that are installed, and a hint with the
 * package's name on this distribution. Thread-safe; runs `postgres --version` where the folder does
 * not name it.
 */
pfc_code pfc_pg_find(int major, pfc_pg *out, pfc_err *err) PFC_MUSTCHECK;

/** The command that installs a version (0: the distribution's own), such as "apt-get install
 *  postgresql-17"; false when the distribution is unknown. It is read from /etc/os-release, or from
 * the file that PERFCI_OS_RELEASE names. */
bool pfc_pg_install_command(int major, char *out, size_t cap);

/** The major version that made a cluster, from its PG_VERSION. PFC_EINVAL when the file is
 * malformed; errors of pfc_fs_read. */
pfc_code pfc_pg_cluster_major(const char *cluster, int *major, pfc_err *err) PFC_MUSTCHECK;

#endif
