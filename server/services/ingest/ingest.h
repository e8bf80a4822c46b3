/*
 * Storing runs: one by one, or in groups from many concurrent requests; partitions and retention of
 * what was stored. service.h has the general rules.
 */
#ifndef PFC_SERVER_SERVICES_INGEST_INGEST_H
#define PFC_SERVER_SERVICES_INGEST_INGEST_H

#include <stdatomic.h>

#include "core/wire/wire.h"
#include "server/services/access/access.h"

/* ---- runs ---- */

typedef struct pfc_ingest_result {
    int64_t run_id;
    char id[33];
    int64_t series;  /* measurements of this document that belong to a series */
    int64_t samples; /* raw samples of this document */
    bool repeated;   /* it was stored before: respond with 200 instead of 201 */
} pfc_ingest_result;

/**
 * Stores a run in one transaction: run, machine, series, measurements, and its detect job.
 * Idempotent by run->id and by `key` (Idempotency-Key, at most 200 bytes, or NULL): the same
 * document again gives the same result. Another document under either is PFC_ECONFLICT, unless it
 * is a further part of a split run (same header, other measurements). project_id is that of
 * run->project (the caller has checked the token against it). PFC_EINVAL: the run has no commit.
 */
pfc_code pfc_run_ingest(pfc_db *db, const char *actor, int64_t project_id, const pfc_run *run,
                        const char *key, pfc_ingest_result *out, pfc_err *err) PFC_MUSTCHECK;

/** The stored document with the measurements of all its parts; caller frees with pfc_run_free. */
pfc_code pfc_run_load(pfc_db *db, int64_t project_id, int64_t run_id, pfc_run **out,
                      pfc_err *err) PFC_MUSTCHECK;

/* ---- group commit: runs of concurrent requests ---- */

/**
 * Group commit: reader threads parse request bodies; writer threads store all queued runs in one
 * transaction and call done(). The HTTP threads therefore never work for long, and probes and pages
 * get responses while many runs arrive. A ticket is one run that is being ingested. The caller owns
 * it and may free it at any time: a queued run is stored anyway.
 */
typedef struct pfc_writer pfc_writer;

typedef struct pfc_ingest_ticket pfc_ingest_ticket;

typedef struct pfc_writer_opts {
    pfc_db *db;
    unsigned threads; /* 0: 2, which is enough for two cores and leaves one to PostgreSQL */
    unsigned readers; /* threads that parse documents; 0: 2 */
    double run_ns;    /* assumed time to store one run, until it is measured; 0: 0.5 ms */
    /* Called by a writer when the tickets with these tags are done; must not block. */
    void (*done)(void *context, const uint64_t *tags, size_t len);
    void *context;
} pfc_writer_opts;

typedef struct pfc_writer_counts {
    size_t waiting, room; /* queued runs, and their limit at the current storing rate */
    uint64_t groups;      /* group transactions, including those with one run */
    uint64_t grouped;     /* runs stored by them */
    uint64_t alone;       /* runs that needed a transaction of their own */
} pfc_writer_counts;

pfc_code pfc_writer_start(pfc_writer **out, const pfc_writer_opts *opts,
                          pfc_err *err) PFC_MUSTCHECK;
/** Stores the queued runs, ends the threads, frees. Accepts NULL. */
void pfc_writer_stop(pfc_writer *writer);
/** Queues the ticket; `tag` is passed to done(). PFC_EUNAVAIL: the queue is full. Its limit is one
 *  second of work at the measured rate, but at least 256 and at most 4,096 runs, and 64 MiB. */
pfc_code pfc_writer_submit(pfc_writer *writer, pfc_ingest_ticket *ticket, uint64_t tag,
                           pfc_err *err) PFC_MUSTCHECK;

/** Fails a ticket that was not queued with this error. */
void pfc_writer_refuse(pfc_ingest_ticket *ticket, const pfc_err *err);
void pfc_writer_figures(pfc_writer *writer, pfc_writer_counts *out);

/** A run as the request sent it. */
typedef struct pfc_ingest_request {
    const char *actor;
    int64_t only_project; /* of the token that sent it; 0: any */
    pfc_lease_id lease;   /* likewise: stores the results of this lease alone; job_id 0: any */
    const char *body;     /* JSON, schema/json/run.schema.json */
    size_t body_len;
    const char *key; /* Idempotency-Key; NULL: none */
} pfc_ingest_request;

/** Copies the request; a reader thread parses it later. `cache` must outlive the ticket. */
void pfc_ingest_ticket_request(const pfc_ingest_request *request, pfc_cache *cache,
                               pfc_ingest_ticket **out);
/** Checks a run and computes its statistics, without the database. Takes ownership of `run`, also
 *  on failure. bytes: approximate size of the document. Errors as for pfc_run_ingest. */
pfc_code pfc_ingest_ticket_new(const char *actor, int64_t project_id, pfc_run *run, const char *key,
                               size_t bytes, pfc_ingest_ticket **out, pfc_err *err) PFC_MUSTCHECK;

/** Returns the ticket's result. A ticket that was never submitted is stored now, in its own
 *  transaction. PFC_EUNAVAIL: it is still queued and has no result yet. */
pfc_code pfc_ingest_ticket_take(pfc_db *db, pfc_ingest_ticket *ticket, pfc_ingest_result *out,
                                pfc_err *err) PFC_MUSTCHECK;

/** Accepts NULL. */
void pfc_ingest_ticket_free(pfc_ingest_ticket *ticket);

/* ---- upkeep, by the server's background threads ---- */

/** The width of partitions that the load of the database needs. */
typedef struct pfc_partition_width {
    const char *width; /* "month", "week" or "day": the widest whose indexes fit in half of the
                          memory, or "day" */
    double index_bytes_a_day; /* by which indexes grow: mean of the partitions of 28 days, without
                                 the days before the first run */
    double memory_bytes;      /* the larger of shared_buffers and effective_cache_size */
    int64_t partitions;       /* that exist */
    bool short_of_locks;      /* a query of all of them takes over half of the database's locks */
} pfc_partition_width;

pfc_code pfc_partition_width_choose(pfc_db *db, pfc_partition_width *out,
                                    pfc_err *err) PFC_MUSTCHECK;

/** Creates partitions of measurements for the present "month", "week" or "day" (width; UTC, weeks
 *  begin on Monday) and `ahead` more of them. Partitions of other widths stay as they are: new ones
 *  begin where these end, and end with their width. *moved: rows stored before there was a
 *  partition for them. PFC_EUNAVAIL: blocked by readers; retry later. Several servers may call it
 *  concurrently, also with several widths. */
pfc_code pfc_partitions_create(pfc_db *db, const char *width, int ahead, int64_t *moved,
                               pfc_err *err) PFC_MUSTCHECK;
/** Deletes up to `limit` of the server's own jobs (detect, notify) that ended over `days` ago. */
pfc_code pfc_jobs_prune(pfc_db *db, int days, int limit, size_t *pruned,
                        pfc_err *err) PFC_MUSTCHECK;
/** Deletes the stored lease request numbers of runners that are older than `days`. */
pfc_code pfc_questions_prune(pfc_db *db, int days, pfc_err *err) PFC_MUSTCHECK;
/** Merges the rows of the stored counts (migration 0022: a row per database process) into few; the
 *  totals stay. Several servers may call it concurrently, also while runs are stored. */
pfc_code pfc_tallies_fold(pfc_db *db, pfc_err *err) PFC_MUSTCHECK;
/** *unsynced: the standbys that a commit does not wait for; above 0 a fail-over may lose
 *  acknowledged results. Logs when that begins, and when it ends. */
pfc_code pfc_standbys_look(pfc_db *db, atomic_int_fast64_t *unsynced, pfc_err *err) PFC_MUSTCHECK;

/** Retention of old measurements, and the width of new partitions. Commits that a change, an
 *  alert, an accepted level, a bisection or an environment event refers to are always kept, with 30
 *  commits on either side. */
typedef struct pfc_retention {
    int raw_months;   /* whole months kept unthinned; 0: all */
    int day_months;   /* months kept; after raw_months one measurement per series and day; 0: all */
    int audit_months; /* of the audit log; 0: all */
    char width[8];    /* "month", "week" or "day"; "auto" or "": pfc_partition_width_choose's */
} pfc_retention;

typedef struct pfc_retained {
    char since[16], until[16]; /* its first day and the day after its last one; "": none was due */
    int64_t rows_before, rows_after;
} pfc_retained;

/** Deletes entries of the audit log that are older than `months` (0: none), in short transactions;
 *  the log gets entries that say how many. *pruned is right after an error, too. Several servers
 *  may call it concurrently. */
pfc_code pfc_audit_prune(pfc_db *db, int months, int64_t *pruned, pfc_err *err) PFC_MUSTCHECK;

/** Thins the oldest partition that is due, in one transaction: one of which all days lie before the
 *  months that are kept. PFC_EUNAVAIL: blocked by readers; retry later. Several servers may call it
 *  concurrently. */
pfc_code pfc_retention_step(pfc_db *db, const pfc_retention *keep, pfc_retained *out,
                            pfc_err *err) PFC_MUSTCHECK;

#endif
