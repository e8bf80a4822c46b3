/*
 * The critical path of a traced run: each tick of the run is given to exactly one resource, and the
 * ticks that would be saved when a resource takes no time are projected by evaluating the run's
 * graph (commands in the order of their queues, waits and signals, the cost of each command by
 * resource) again without that resource's cost. Nothing is simulated: the trace of one run is all
 * that is read.
 *
 * Times are unions of intervals on the path, never sums over units, so a resource that works in the
 * shadow of another one has no ticks on the path.
 */
#ifndef PFC_CORE_ANALYSIS_PATH_PATH_H
#define PFC_CORE_ANALYSIS_PATH_PATH_H

#include "core/analysis/profile/profile.h"
#include "core/trace/trace.h"

#define PFC_PATH_MAX_PHASES   24
#define PFC_PATH_MAX_SEGMENTS 512         /* of the strip */
#define PFC_PATH_MAX_WAITS    16          /* the longest waits that are listed */
#define PFC_PATH_MAX_LINES    64          /* texts of lines of the schedule */
#define PFC_PATH_MAX_RECORDS  16000000ull /* a longer trace is refused with that number */

/** A stretch of the path; neighbours of one phase and resource are joined. */
typedef struct pfc_path_segment {
    uint64_t begin, end; /* ticks from the begin of the run */
    uint16_t phase;
    uint8_t resource;
    uint32_t command; /* number of the (first) command in the program */
} pfc_path_segment;

/** A wait on the path and what ended it. */
typedef struct pfc_path_wait {
    uint64_t begin, ticks;
    uint32_t command;  /* that waited */
    uint32_t ended_by; /* command whose signal ended the wait */
    uint16_t line;     /* of the schedule or assembly text, from 1; 0: not known */
} pfc_path_wait;

typedef struct pfc_path {
    uint64_t total; /* ticks from the first command to the last result */
    uint64_t model; /* the total as the model of the projection has it; its distance from `total`
                       tells how well the model describes the run */
    size_t phases_len;
    char phases[PFC_PATH_MAX_PHASES][48];
    uint64_t blocking[PFC_PATH_MAX_PHASES][PFC_RESOURCES_LEN]; /* sums to `total` */
    /* [a][b]: waits of commands of phase b that a command of phase a ended, on the path or not */
    uint64_t edges[PFC_PATH_MAX_PHASES][PFC_PATH_MAX_PHASES];
    uint64_t hidden[PFC_RESOURCES_LEN];      /* ticks that the resource worked off the path */
    uint64_t recoverable[PFC_RESOURCES_LEN]; /* ticks saved when the resource takes no time */
    /* In order of time, from 0 to `total`. When there are too many, short ones are joined and have
     * the name of the longest of them. */
    pfc_path_segment segments[PFC_PATH_MAX_SEGMENTS];
    size_t segments_len;
    pfc_path_wait waits[PFC_PATH_MAX_WAITS]; /* the longest first */
    size_t waits_len;
    size_t lines_len;
    char lines[PFC_PATH_MAX_LINES][80]; /* text of line i + 1; "": not known */
    uint64_t records;                   /* of the trace that were read */
    uint64_t commands;                  /* that the run executed */
} pfc_path;

/**
 * Reads the rest of a trace and finds its path. The trace has `command` records and costs (minor
 * version 1 of the format or later).
 *
 * PFC_EINVAL, with the record's number, when the trace contradicts itself: an end without a begin,
 * a wait that nothing ended, costs that are longer than their command, dropped records, no
 * commands. PFC_ETOOBIG past PFC_PATH_MAX_RECORDS. Takes some 180 bytes for each command and
 * 12 for each wait.
 */
pfc_code pfc_path_read(pfc_trace_reader *reader, pfc_path *out, pfc_err *err) PFC_MUSTCHECK;

/** The same for a run in this process: a consumer of its trace (pfc_trace_writer_open_consumer). */
typedef struct pfc_path_builder pfc_path_builder;

pfc_path_builder *pfc_path_builder_new(void);
/** Accepts NULL. */
void pfc_path_builder_free(pfc_path_builder *b);
/** To be given to the writer of the trace; lives as long as the builder. */
const pfc_trace_consumer *pfc_path_builder_consumer(pfc_path_builder *b);
/** After the writer was closed: the path of what the builder took. Errors as pfc_path_read. Call it
 *  once. */
pfc_code pfc_path_builder_finish(pfc_path_builder *b, pfc_path *out, pfc_err *err) PFC_MUSTCHECK;

/** Adds "path.PHASE.RESOURCE" (parts of 0 are left out), "edge.PHASE.PHASE" (likewise),
 *  "recoverable_RESOURCE_cycles" and "projection_cycles" (path->model) to a profile. */
pfc_code pfc_path_store(const pfc_path *path, pfc_profile *p, pfc_err *err) PFC_MUSTCHECK;

#endif
