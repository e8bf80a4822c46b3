/*
 * One event a line on stderr: JSON lines, or plain text on a terminal.
 *
 *   pfc_log(PFC_INFO, "run accepted", "run", id, "samples", n);
 *
 * A constant event name first, then key, value pairs (at most eight); values may be any integer,
 * double, bool or string. ERROR: a person must act. WARN: handled, should be rare. INFO: one a
 * request or job. DEBUG: the rest. No secrets, no bodies. Thread-safe; a line is one write(2).
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
    unsigned char: pfc_log_arg_u64, unsigned short: pfc_log_arg_u64, unsigned int: pfc_log_arg_u64, \
    unsigned long: pfc_log_arg_u64, unsigned long long: pfc_log_arg_u64, \
    default: pfc_log_arg_i64)((k), (v))
#define PFC_LOG_0() { .key = NULL }
#define PFC_LOG_2(k, v) PFC_LOG_ARG(k, v)
#define PFC_LOG_4(k, v, ...) PFC_LOG_ARG(k, v), PFC_LOG_2(__VA_ARGS__)
#define PFC_LOG_6(k, v, ...) PFC_LOG_ARG(k, v), PFC_LOG_4(__VA_ARGS__)
#define PFC_LOG_8(k, v, ...) PFC_LOG_ARG(k, v), PFC_LOG_6(__VA_ARGS__)
#define PFC_LOG_10(k, v, ...) PFC_LOG_ARG(k, v), PFC_LOG_8(__VA_ARGS__)
#define PFC_LOG_12(k, v, ...) PFC_LOG_ARG(k, v), PFC_LOG_10(__VA_ARGS__)
#define PFC_LOG_14(k, v, ...) PFC_LOG_ARG(k, v), PFC_LOG_12(__VA_ARGS__)
#define PFC_LOG_16(k, v, ...) PFC_LOG_ARG(k, v), PFC_LOG_14(__VA_ARGS__)
#define PFC_LOG_PICK(_0, _1, _2, _3, _4, _5, _6, _7, _8, _9, _10, _11, _12, _13, _14, _15, _16, \
                     name, ...) name
#define PFC_LOG_LIST(...) PFC_LOG_PICK(_0 __VA_OPT__(,) __VA_ARGS__, PFC_LOG_16, PFC_LOG_BAD, \
    PFC_LOG_14, PFC_LOG_BAD, PFC_LOG_12, PFC_LOG_BAD, PFC_LOG_10, PFC_LOG_BAD, PFC_LOG_8, \
    PFC_LOG_BAD, PFC_LOG_6, PFC_LOG_BAD, PFC_LOG_4, PFC_LOG_BAD, PFC_LOG_2, PFC_LOG_BAD, \
    PFC_LOG_0)(__VA_ARGS__)
#define pfc_log(level, event, ...) \
    do { \
        if ((level) >= pfc_log_get_level()) { \
            const pfc_log_arg pfc_log_args_[] = { PFC_LOG_LIST(__VA_ARGS__) }; \
            pfc_log_write((level), (event), pfc_log_args_, PFC_ARRAY_LEN(pfc_log_args_)); \
        } \
    } while (0)
/* clang-format on */

#endif
