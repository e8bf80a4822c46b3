/*
 * One event a line on stderr: JSON lines, or plain text on a terminal.
 *
 *   pfc_log(PFC_INFO, "run accepted", "run", id, "samples", n);
 *
 * A constant event name first, then key, value pairs (at most eight); values may be any integer,
 * double, bool or string. ERROR: a person must act. WARN: handled, should be rare. INFO: one a
 * request or job. DEBUG: the rest. No secrets, no bodies. Thread-safe: lines never interleave. A
 * line that was written in part (the disk is full) is completed before the next. Lines that cannot
 * be written are counted.
 */
#ifndef PFC_CORE_BASE_LOG_H
#define PFC_CORE_BASE_LOG_H

#include "core/base/base.h"

typedef enum pfc_log_level { PFC_DEBUG, PFC_INFO, PFC_WARN, PFC_ERROR, PFC_OFF } pfc_log_level;

typedef struct pfc_log_arg {
    const char *key;
    enum { PFC_LOG_I64, PFC_LOG_U64, PFC_LOG_F64, PFC_LOG_STR, PFC_LOG_BOOL } kind;
    union {
        int64_t i64;
        uint64_t u64;
        double f64;
        const char *str;
        bool b;
    } value;
} pfc_log_arg;

void pfc_log_set_level(pfc_log_level level);
pfc_log_level pfc_log_get_level(void);
/** "debug", "info", "warn", "error", "off"; false when the word is none of them. */
bool pfc_log_level_parse(const char *text, pfc_log_level *out);
/** Adds `"name": value` to every later line, e.g. the program's name. Static strings only. */
void pfc_log_set_program(const char *program);
/** Request id put on lines of this thread until cleared with NULL; the string must outlive it. */
void pfc_log_set_request(const char *request_id);
/** For a service: a reader of stderr that stopped reading delays the logging threads by at most one
 * second a minute; after that, lines are dropped. Once it reads again, "log lines lost" reports how
 * many. Call it before any thread is started. */
void pfc_log_never_wait(void);
/** Lines that were dropped so far: the reader stopped, no space left, stderr closed. Thread-safe.
 */
uint64_t pfc_log_lost(void);
void pfc_log_write(pfc_log_level level, const char *event, const pfc_log_arg *args, size_t len);

static inline pfc_log_arg pfc_log_arg_i64(const char *key, int64_t v)
{
    return (pfc_log_arg){ .key = key, .kind = PFC_LOG_I64, .value.i64 = v };
}
static inline pfc_log_arg pfc_log_arg_u64(const char *key, uint64_t v)
{
    return (pfc_log_arg){ .key = key, .kind = PFC_LOG_U64, .value.u64 = v };
}
static inline pfc_log_arg pfc_log_arg_f64(const char *key, double v)
{
    return (pfc_log_arg){ .key = key, .kind = PFC_LOG_F64, .value.f64 = v };
}
static inline pfc_log_arg pfc_log_arg_str(const char *key, const char *v)
{
    return (pfc_log_arg){ .key = key, .kind = PFC_LOG_STR, .value.str = v };
}
static inline pfc_log_arg pfc_log_arg_bool(const char *key, bool v)
{
    return (pfc_log_arg){ .key = key, .kind = PFC_LOG_BOOL, .value.b = v };
}

/* clang-format off */
#define PFC_LOG_ARG(k, v) _Generic((v), \
    bool: pfc_log_arg_bool, char *: pfc_log_arg_str, const char *: pfc_log_arg_str, \
    float: pfc_log_arg_f64, double: pfc_log_arg_f64, \
    unsigned char: pfc_log_arg_u64, unsigned short: pfc_log_arg_u64,                               \
    unsigned int: pfc_log_arg_u64,                                                                 \
    unsigned long: pfc_log_arg_u64, unsigned long long: pfc_log_arg_u64, \
    default: pfc_log_arg_i64)((k), (v))
#define PFC_LOG_1(e) { .key = NULL }
#define PFC_LOG_3(e, k, v) PFC_LOG_ARG(k, v)
#define PFC_LOG_5(e, k, v, ...) PFC_LOG_ARG(k, v), PFC_LOG_3(e, __VA_ARGS__)
#define PFC_LOG_7(e, k, v, ...) PFC_LOG_ARG(k, v), PFC_LOG_5(e, __VA_ARGS__)
#define PFC_LOG_9(e, k, v, ...) PFC_LOG_ARG(k, v), PFC_LOG_7(e, __VA_ARGS__)
#define PFC_LOG_11(e, k, v, ...) PFC_LOG_ARG(k, v), PFC_LOG_9(e, __VA_ARGS__)
#define PFC_LOG_13(e, k, v, ...) PFC_LOG_ARG(k, v), PFC_LOG_11(e, __VA_ARGS__)
#define PFC_LOG_15(e, k, v, ...) PFC_LOG_ARG(k, v), PFC_LOG_13(e, __VA_ARGS__)
#define PFC_LOG_17(e, k, v, ...) PFC_LOG_ARG(k, v), PFC_LOG_15(e, __VA_ARGS__)
#define PFC_LOG_PICK(_1, _2, _3, _4, _5, _6, _7, _8, _9, _10, _11, _12, _13, _14, _15, _16, _17, \
                     name, ...) name
/* An even count (a key without its value) picks a name that does not exist: a compile error. */
#define PFC_LOG_LIST(...) PFC_LOG_PICK(__VA_ARGS__, PFC_LOG_17, PFC_LOG_BAD, PFC_LOG_15, \
    PFC_LOG_BAD, PFC_LOG_13, PFC_LOG_BAD, PFC_LOG_11, PFC_LOG_BAD, PFC_LOG_9, PFC_LOG_BAD, \
    PFC_LOG_7, PFC_LOG_BAD, PFC_LOG_5, PFC_LOG_BAD, PFC_LOG_3, PFC_LOG_BAD, PFC_LOG_1, \
    0)(__VA_ARGS__)
#define PFC_LOG_EVENT(event, ...) event
/* pfc_log(level, event, key, value, ...) */
#define pfc_log(level, ...) \
    do { \
        if ((level) >= pfc_log_get_level()) { \
            const pfc_log_arg pfc_log_args_[] = { PFC_LOG_LIST(__VA_ARGS__) }; \
            pfc_log_write((level), PFC_LOG_EVENT(__VA_ARGS__, 0), pfc_log_args_, \
                          PFC_ARRAY_LEN(pfc_log_args_)); \
        } \
    } while (0)
/* clang-format on */

#endif
