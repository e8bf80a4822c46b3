/* Commands in comments: the first line that begins with "/perfci", where Markdown shows it as text.
 */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "core/base/parse.h"
#include "core/forge/webhook.h"

enum { ARGUMENT_BYTES = 500, WORD_BYTES = 40 };

typedef enum argument { NO_ARGUMENT, MAY_HAVE, ONE_WORD, SENTENCE } argument;

static const struct {
    const char *word;
    pfc_bot_command_kind kind;
    argument argument;
    const char *expected; /* when the argument is missing */
} commands[] = {
    { "bench", PFC_BOT_BENCH, MAY_HAVE, NULL },
    { "bisect", PFC_BOT_BISECT, ONE_WORD, "a metric, such as \"/perfci bisect gemm_tflops\"" },
    { "rerun", PFC_BOT_RERUN, NO_ARGUMENT, NULL },
    { "accept", PFC_BOT_ACCEPT, SENTENCE,
      "a reason, such as \"/perfci accept the new check costs 2 %\"" },
    { "why", PFC_BOT_WHY, NO_ARGUMENT, NULL },
    { "help", PFC_BOT_HELP, NO_ARGUMENT, NULL },
    { "allow", PFC_BOT_ALLOW, NO_ARGUMENT, NULL },
};

/* ---- which lines are text ---- */

typedef struct scan {
    char fence; /* '`' or '~' inside a fenced block, else 0 */
    size_t fence_len;
    bool comment; /* inside <!-- ... --> */
    bool quote;   /* after a quoted line: a line without a blank one between continues it */
} scan;

/* The marks of a fence at the line's start: three or more of one kind; 0: none. */
static size_t fence_of(const char *line, size_t len, char *mark)
{
    size_t at = 0, marks = 0;

    while (at < len && at < 3 && line[at] == ' ')
        at++;
    if (at == len || (line[at] != '`' && line[at] != '~'))
        return 0;
    *mark = line[at];
    while (at + marks < len && line[at + marks] == *mark)
        marks++;
    return marks >= 3 ? marks : 0;
}

/* A closing fence has nothing behind its marks. */
static bool closes(const scan *s, const char *line, size_t len)
{
    char mark = 0;
    const size_t marks = fence_of(line, len, &mark);

    while (len > 0 && (line[len - 1] == ' ' || line[len - 1] == '\t'))
        len--;
    return marks >= s->fence_len && mark == s->fence && line[len - 1] == mark;
}

static const char *find(const char *at, const char *end, const char *what)
{
    const size_t len = strlen(what);

    return at < end ? memmem(at, (size_t)(end - at), what, len) : NULL;
}

/* Follows HTML comments through the line. */
static void pass_comments(scan *s, const char *line, size_t len)
{
    const char *at = line;
    const char *const end = line + len;

    while (at) {
        at = find(at, end, s->comment ? "-->" : "<!--");
        if (at) {
            s->comment = !s->comment;
            at += s->comment ? 4 : 3;
        }
    }
}

/* Is the line text at its first column? Keeps the state for the next one. */
static bool is_text(scan *s, const char *line, size_t len)
{
    const bool was_comment = s->comment;
    const size_t blanks = strspn(line, " \t");
    char mark = 0;
    size_t marks;

    if (s->fence) {
        if (closes(s, line, len))
            s->fence = 0;
        return false;
    }
    marks = s->comment ? 0 : fence_of(line, len, &mark);
    if (marks) {
        s->fence = mark;
        s->fence_len = marks;
        s->quote = false;
        return false;
    }
    pass_comments(s, line, len);
    if (was_comment)
        return false;
    if (blanks >= len)
        s->quote = false;
    else if (blanks < 4 && line[blanks] == '>')
        s->quote = true;
    return !s->quote && blanks == 0;
}

/* ---- the command on a line ---- */

/* Behind "/perfci" or "@perfci", which end the line or are followed by a blank; NULL: neither. */
static const char *after_name(const char *line, const char *end)
{
    static const size_t len = sizeof("/perfci") - 1;

    if ((size_t)(end - line) < len || (line[0] != '/' && line[0] != '@') ||
        strncmp(line + 1, "perfci", len - 1) != 0)
        return NULL;
    line += len;
    return line == end || *line == ' ' || *line == '\t' ? line : NULL;
}

static const char *skip_blanks(const char *at, const char *end)
{
    while (at < end && (*at == ' ' || *at == '\t'))
        at++;
    return at;
}

static pfc_code take_argument(size_t which, const char *at, const char *end, pfc_bot_command *out,
                              pfc_err *err)
{
    const argument kind = commands[which].argument;
    size_t len;

    while (end > at && (end[-1] == ' ' || end[-1] == '\t'))
        end--;
    len = (size_t)(end - at);
    out->kind = commands[which].kind;
    if (kind == NO_ARGUMENT)
        return PFC_OK;
    if (kind == ONE_WORD && (memchr(at, ' ', len) || memchr(at, '\t', len)))
        return pfc_err_set(err, PFC_EINVAL, "\"/perfci %s\" takes one word", commands[which].word);
    if (len > ARGUMENT_BYTES)
        return pfc_err_set(err, PFC_EINVAL,
                           "\"/perfci %s\" takes an argument of at most %d bytes, got %zu",
                           commands[which].word, ARGUMENT_BYTES, len);
    if (len == 0)
        return kind == MAY_HAVE ? PFC_OK
                                : pfc_err_set(err, PFC_EINVAL, "\"/perfci %s\" needs %s",
                                              commands[which].word, commands[which].expected);
    out->argument = pfc_strndup(at, len);
    pfc_text_plain(out->argument, false);
    return PFC_OK;
}

static pfc_code read_command(const char *at, const char *end, pfc_bot_command *out, pfc_err *err)
{
    size_t len = 0;

    at = skip_blanks(at, end);
    while (at + len < end && at[len] != ' ' && at[len] != '\t')
        len++;
    if (len == 0) {
        out->kind = PFC_BOT_HELP;
        return PFC_OK;
    }
    for (size_t i = 0; i < PFC_ARRAY_LEN(commands); i++) {
        if (strlen(commands[i].word) == len && strncasecmp(commands[i].word, at, len) == 0)
            return take_argument(i, skip_blanks(at + len, end), end, out, err);
    }
    out->kind = PFC_BOT_UNKNOWN;
    out->argument = pfc_strndup(at, len);
    out->argument[pfc_utf8_cut(out->argument, WORD_BYTES)] = '\0';
    pfc_text_plain(out->argument, false);
    return PFC_OK;
}

pfc_code pfc_bot_command_find(const char *body, pfc_bot_command *out, pfc_err *err)
{
    scan s = { 0 };

    *out = (pfc_bot_command){ 0 };
    for (const char *line = body; *line;) {
        const size_t whole = strcspn(line, "\n");
        const size_t len = whole > 0 && line[whole - 1] == '\r' ? whole - 1 : whole;
        const char *const rest = is_text(&s, line, len) ? after_name(line, line + len) : NULL;

        if (rest)
            return read_command(rest, line + len, out, err);
        line += whole + (line[whole] == '\n');
    }
    return PFC_ENOTFOUND;
}

void pfc_bot_command_clear(pfc_bot_command *command)
{
    free(command->argument);
    *command = (pfc_bot_command){ 0 };
}
