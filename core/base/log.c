/* Log lines: JSON on a pipe or file, plain text on a terminal. */
#include "core/base/log.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/buf.h"
#include "core/base/clock.h"
#include "core/base/parse.h"

#define VALUE_MAX_BYTES 1024
#define SECRET_DIGITS   16
#define LINE_MAX_BYTES  (64u * 1024) /* room for eight values in which every byte is escaped */
/* how long to wait for a slow reader, at most once in CALM_NS: a stopped reader must not stop the
 * program */
#define STALL_MS        1000
#define CALM_NS         (60 * PFC_NS_PER_S)

/* Where lines go. A line that could be written in part only is finished before the next one. */
static struct {
    pthread_mutex_t lock;
    int fd;
    bool socket, patient; /* patient: wait for the reader without a limit */
    int64_t stall_ns;  /* when waiting for the reader last timed out; 0: never; guarded by lock */
    char *rest;        /* the rest of a line that was cut; guarded by lock */
    size_t rest_len;   /* guarded by lock */
    uint64_t reported; /* how many of `lost` a line has stated; guarded by lock */
} sink = { .lock = PTHREAD_MUTEX_INITIALIZER, .fd = STDERR_FILENO, .patient = true };
static atomic_uint_fast64_t lost;

static atomic_int level_now = PFC_INFO;
static const char *program_name = NULL;
static _Thread_local const char *request_now = NULL;
static const char *const level_names[] = { "debug", "info", "warn", "error", "off" };

void pfc_log_set_level(pfc_log_level level)
{
    atomic_store(&level_now, (int)level);
}

pfc_log_level pfc_log_get_level(void)
{
    return (pfc_log_level)atomic_load_explicit(&level_now, memory_order_relaxed);
}

bool pfc_log_level_parse(const char *text, pfc_log_level *out)
{
    for (size_t i = 0; i < PFC_ARRAY_LEN(level_names); i++) {
        if (pfc_streq(text, level_names[i])) {
            *out = (pfc_log_level)i;
            return true;
        }
    }
    return false;
}

void pfc_log_set_program(const char *program)
{
    program_name = program;
}

void pfc_log_set_request(const char *request_id)
{
    request_now = request_id;
}

/* Length of a secret at the beginning of the text: "pfc_" (a token), "pfs_" (a browser's session)
 * or another letter in its place, and many hexadecimal digits. Users put tokens into URLs and names
 * by mistake; the log must not repeat them. */
static size_t secret_len(const char *text, size_t len)
{
    size_t digits;

    if (len < 4 + SECRET_DIGITS || memcmp(text, "pf", 2) != 0 || text[3] != '_')
        return 0;
    digits = strspn(text + 4, "0123456789abcdefABCDEF");
    return digits >= SECRET_DIGITS ? 4 + PFC_MIN(digits, len - 4) : 0;
}

/* Writes the character as JSON; a character beyond the first plane needs two units of UTF-16. */
static void put_escaped(pfc_buf *line, uint32_t code)
{
    if (code >= 0x10000)
        pfc_buf_printf(line, "\\u%04x\\u%04x", 0xd800 + ((code - 0x10000) >> 10),
                       0xdc00 + ((code - 0x10000) & 0x3ff));
    else
        pfc_buf_printf(line, "\\u%04x", code);
}

/* A quoted JSON string, without characters that a terminal obeys; bytes that are not UTF-8 become
 * U+FFFD so that the line stays JSON. */
static void put_quoted(pfc_buf *line, const char *text)
{
    size_t len = strnlen(text, VALUE_MAX_BYTES);
    bool clean;

    if (len == VALUE_MAX_BYTES) {
        while (len > 0 && ((unsigned char)text[len] & 0xc0) == 0x80)
            len--; /* a character must not be cut, or the line would not be UTF-8 */
    }
    clean = pfc_is_utf8(text, len);
    pfc_buf_putc(line, '"');
    for (size_t i = 0; i < len; i++) {
        unsigned char c = (unsigned char)text[i];
        size_t hidden = c == 'p' ? secret_len(text + i, len - i) : 0, control;
        uint32_t code = 0;

        if (hidden > 0) {
            pfc_buf_printf(line, "%.4s...", text + i);
            i += hidden - 1;
        } else if (c == '"' || c == '\\')
            pfc_buf_printf(line, "\\%c", c);
        else if (c == '\n')
            pfc_buf_puts(line, "\\n");
        else if ((control = pfc_text_control(text + i, len - i, &code)) != 0) {
            put_escaped(line, code);
            i += control - 1;
        } else if (c >= 0x80 && !clean)
            pfc_buf_puts(line, "\xef\xbf\xbd");
        else
            pfc_buf_putc(line, (char)c);
    }
    pfc_buf_putc(line, '"');
}

static void put_value(pfc_buf *line, const pfc_log_arg *arg)
{
    switch (arg->kind) {
    case PFC_LOG_I64:
        pfc_buf_printf(line, "%" PRId64, arg->value.i64);
        break;
    case PFC_LOG_U64:
        pfc_buf_printf(line, "%" PRIu64, arg->value.u64);
        break;
    case PFC_LOG_F64:
        if (isfinite(arg->value.f64))
            pfc_buf_printf(line, "%.9g", arg->value.f64);
        else
            pfc_buf_puts(line, "null");
        break;
    case PFC_LOG_BOOL:
        pfc_buf_puts(line, arg->value.b ? "true" : "false");
        break;
    case PFC_LOG_STR:
        if (arg->value.str == NULL)
            pfc_buf_puts(line, "null");
        else
            put_quoted(line, arg->value.str);
        break;
    }
}

/* ---- to the reader ---- */

void pfc_log_never_wait(void)
{
    struct stat what;
    int fd = -1;

    sink.patient = false;
    if (fstat(STDERR_FILENO, &what))
        return;
    sink.socket = S_ISSOCK(what.st_mode);
    /* A new open file description: O_NONBLOCK on the inherited one would apply to every process
     * that shares it. */
    if (S_ISFIFO(what.st_mode) || S_ISCHR(what.st_mode))
        fd = open("/proc/self/fd/2", O_WRONLY | O_NONBLOCK | O_APPEND | O_CLOEXEC | O_NOCTTY);
    if (fd >= 0)
        sink.fd = fd;
}

uint64_t pfc_log_lost(void)
{
    return atomic_load(&lost);
}

static ssize_t put_some(const char *text, size_t len)
{
    ssize_t n;

    do {
        n = sink.socket && !sink.patient ? send(sink.fd, text, len, MSG_DONTWAIT | MSG_NOSIGNAL)
                                         : write(sink.fd, text, len);
    } while (n < 0 && errno == EINTR);
    return n;
}

/* Returns the number of bytes that the reader accepted. Called with the lock held. */
static size_t put_bytes(const char *text, size_t len)
{
    size_t done = 0;

    while (done < len) {
        struct pollfd reader = { .fd = sink.fd, .events = POLLOUT };
        const ssize_t n = put_some(text + done, len - done);

        if (n > 0) {
            done += (size_t)n;
            continue;
        }
        if (n == 0 || errno != EAGAIN)
            return done; /* the reader stopped, or the disk has no space left */
        if (sink.patient) {
            (void)poll(&reader, 1, -1);
            continue;
        }
        if (sink.stall_ns && pfc_clock_ns() - sink.stall_ns < CALM_NS)
            return done;
        if (poll(&reader, 1, STALL_MS) <= 0) {
            sink.stall_ns = pfc_clock_ns();
            return done;
        }
    }
    return done;
}

/* Writes the whole line; a rest that does not fit is kept and written before the next line, so that
 * no line is torn. Returns false if nothing was written. Called with the lock held. */
static bool put_line(const char *text, size_t len)
{
    size_t done;

    if (sink.rest) {
        done = put_bytes(sink.rest, sink.rest_len);
        memmove(sink.rest, sink.rest + done, sink.rest_len - done);
        sink.rest_len -= done;
        if (sink.rest_len)
            return false;
        free(sink.rest);
        sink.rest = NULL;
    }
    done = put_bytes(text, len);
    if (done == 0)
        return false;
    if (done < len) {
        sink.rest_len = len - done;
        sink.rest = pfc_alloc(sink.rest_len);
        memcpy(sink.rest, text + done, sink.rest_len);
    }
    return true;
}

static void begin_line(pfc_buf *line, bool plain, pfc_log_level level, const char *event)
{
    char now[32];

    pfc_buf_init(line, LINE_MAX_BYTES);
    pfc_clock_rfc3339(pfc_clock_unix_s(), now);
    if (plain) {
        pfc_buf_printf(line, "%.8s %-5s %s", now + 11, level_names[level], event);
        return;
    }
    pfc_buf_printf(line, "{\"time\":\"%s\",\"level\":\"%s\",\"event\":", now, level_names[level]);
    put_quoted(line, event);
    if (program_name != NULL)
        pfc_buf_printf(line, ",\"program\":\"%s\"", program_name);
}

/* Writes how many lines were dropped before this one. Called with the lock held. */
static void tell_lost(bool plain)
{
    const uint64_t now = atomic_load(&lost);
    pfc_buf line;

    if (now == sink.reported)
        return;
    begin_line(&line, plain, PFC_WARN, "log lines lost");
    pfc_buf_printf(&line, plain ? " lines=%" PRIu64 "\n" : ",\"lines\":%" PRIu64 "}\n",
                   now - sink.reported);
    if (put_line(pfc_buf_text(&line), line.len))
        sink.reported = now;
    pfc_buf_clear(&line);
}

void pfc_log_write(pfc_log_level level, const char *event, const pfc_log_arg *args, size_t len)
{
    bool plain = isatty(STDERR_FILENO) != 0;
    pfc_buf line;

    begin_line(&line, plain, level, event);
    if (request_now != NULL) {
        pfc_buf_puts(&line, plain ? " request=" : ",\"request\":");
        put_quoted(&line, request_now);
    }
    for (size_t i = 0; i < len; i++) {
        if (args[i].key == NULL)
            continue;
        pfc_buf_printf(&line, plain ? " %s=" : ",\"%s\":", args[i].key);
        put_value(&line, &args[i]);
    }
    pfc_buf_puts(&line, plain ? "\n" : "}\n");
    pthread_mutex_lock(&sink.lock);
    tell_lost(plain);
    /* Lines must stay in order: while earlier ones are still dropped, this one is dropped, too. */
    if (sink.reported != atomic_load(&lost) || !put_line(pfc_buf_text(&line), line.len))
        atomic_fetch_add(&lost, 1);
    pthread_mutex_unlock(&sink.lock);
    pfc_buf_clear(&line);
}
