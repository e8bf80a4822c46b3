/*
 * Memory that a process and its descendants hold, for those that watch over children, and what this
 * one holds without need.
 */
#ifndef PFC_CORE_BASE_PROCESS_PROC_MEMORY_H
#define PFC_CORE_BASE_PROCESS_PROC_MEMORY_H

#include <sys/types.h>

#include "core/base/base.h"

/**
 * True when `pid` and its descendants together hold more than `limit_bytes` of memory.
 *
 * Cheap while they are far below: the resident set of each is read from /proc, found by the
 * kernel's lists of children (no walk over all processes). Pages that several of them share count
 * in each, so once that sum is over the limit the exact share (PSS) decides. A process that
 * detached from its parent (a daemon) is not counted. False when nothing can be read.
 */
bool pfc_proc_tree_exceeds(pid_t pid, uint64_t limit_bytes);

/**
 * Returns freed pages to the system if there are more than keep_bytes. The C library keeps them
 * otherwise, because in each thread's arena memory in use lies above them. Returns true if it did.
 * Takes milliseconds for each gigabyte; thread-safe.
 */
bool pfc_memory_give_back(size_t keep_bytes);

/** Three quarters of the machine's memory, or of the control group's limit when that is lower. */
uint64_t pfc_proc_default_memory_limit(void);

#endif
