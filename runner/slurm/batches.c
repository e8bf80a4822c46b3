/* Batch jobs: submit, list, cancel. */
#include <stdlib.h>
#include <string.h>

#include "core/base/parse.h"
#include "core/base/process/proc.h"
#include "runner/slurm/slurm_priv.h"

#define ANSWER_S   20.0      /* Slurm's own limit is 10 s, then it says why */
#define MAX_OUTPUT (8 << 20) /* lines of 10^5 jobs */
#define MAX_ARGS   (PFC_SLURM_MAX_OPTIONS + 80)

bool pfc_slurm_split(char *line, char **fields, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        fields[i] = line;
        if (i + 1 == len)
            return true;
        line = strchr(line, '|');
        if (!line)
            return false;
        *line++ = '\0';
    }
    return len > 0;
}

/* A program's message, on one line. */
static void one_line(char *text)
{
    size_t len = strlen(text);

    while (len && (text[len - 1] == '\n' || text[len - 1] == ' '))
        text[--len] = '\0';
    for (; *text; text++)
        if ((unsigned char)*text < 0x20)
            *text = ' ';
}

static bool is_out_of_reach(const char *words)
{
    static const char *const signs[] = { "Unable to contact slurm controller",
                                         "timed out",
                                         "Socket timed out",
                                         "Connection refused",
                                         "Zero Bytes were transmitted",
                                         "Transport endpoint" };

    for (size_t i = 0; i < PFC_ARRAY_LEN(signs); i++)
        if (strcasestr(words, signs[i]))
            return true;
    return false;
}

static const char *program_of(const char *const *argv)
{
    while (strcmp(argv[0], "env") == 0 || strchr(argv[0], '=') || argv[0][0] == '-')
        argv++;
    return argv[0];
}

pfc_code pfc_slurm_ask(const char *const *argv, const char *input, char **out, pfc_err *err)
{
    const pfc_proc_opts opts = { .argv = argv,
                                 .input = input,
                                 .input_len = input ? strlen(input) : 0,
                                 .max_output_bytes = MAX_OUTPUT,
                                 .timeout_s = ANSWER_S };
    const char *program = program_of(argv);
    pfc_proc_result res = { 0 };
    char why[80], *words;
    pfc_code code = pfc_proc_run(&opts, &res, err);

    if (code)
        return code == PFC_ENOTFOUND
                   ? pfc_err_set(err, PFC_ENOTFOUND,
                                 "%s: not found: --executor slurm needs Slurm's client programs "
                                 "here (Debian: apt-get install slurm-client)",
                                 program)
                   : code;
    words = pfc_strdup(pfc_buf_text(&res.err));
    one_line(words);
    pfc_proc_describe(&res, why, sizeof(why));
    if (res.timed_out || (res.exit_status != 0 && is_out_of_reach(words)))
        code = pfc_err_set(err, PFC_EUNAVAIL, "%s: %s: %s", program, why, words);
    else if (res.exit_status == 127 && !pfc_buf_text(&res.out)[0] && strstr(words, "No such file"))
        code = pfc_err_set(err, PFC_ENOTFOUND, "%s: not found: install slurm-client", program);
    else if (res.exit_status != 0)
        code = pfc_err_set(err, PFC_EINVAL, "%s: %s: %s", program, why, words);
    else if (res.truncated)
        code =
            pfc_err_set(err, PFC_EINVAL, "%s: more than %d bytes of output", program, MAX_OUTPUT);
    else
        *out = pfc_strdup(pfc_buf_text(&res.out));
    free(words);
    pfc_proc_result_clear(&res);
    return code;
}

void pfc_slurm_batches_clear(pfc_slurm_batches *batches)
{
    free(batches->items);
    *batches = (pfc_slurm_batches){ 0 };
}

static pfc_code parse_batch(char *line, pfc_slurm_batch *batch, pfc_err *err)
{
    char *fields[5];

    *batch = (pfc_slurm_batch){ 0 };
    if (!pfc_slurm_split(line, fields, 5))
        return pfc_err_set(err, PFC_EINVAL,
                           "squeue: expected ID|STATE|NAME|NODE|REASON, got \"%.200s\"", line);
    batch->pending = strcmp(fields[1], "PENDING") == 0;
    (void)snprintf(batch->name, sizeof(batch->name), "%s", fields[2]);
    (void)snprintf(batch->node, sizeof(batch->node), "%s", fields[3]);
    (void)snprintf(batch->reason, sizeof(batch->reason), "%s", fields[4]);
    /* Entries such as "17_[1-4]" are job arrays of other programs, because this one submits
     * none. */
    if (pfc_parse_i64(fields[0], 1, INT64_MAX, "squeue: id", &batch->id, NULL))
        batch->id = 0;
    return PFC_OK;
}

pfc_code pfc_slurm_batches_parse(const char *text, pfc_slurm_batches *out, pfc_err *err)
{
    pfc_slurm_batches batches = { 0 };
    char *copy = pfc_strdup(text), *rest = NULL;
    pfc_code code = PFC_OK;

    for (char *line = strtok_r(copy, "\n", &rest); line && !code;
         line = strtok_r(NULL, "\n", &rest)) {
        batches.items = pfc_grow(batches.items, batches.len, &batches.cap, sizeof(*batches.items));
        code = parse_batch(line, &batches.items[batches.len], err);
        batches.len += !code;
    }
    free(copy);
    if (code) {
        pfc_slurm_batches_clear(&batches);
        return code;
    }
    pfc_slurm_batches_clear(out);
    *out = batches;
    return PFC_OK;
}

pfc_code pfc_slurm_batches_read(pfc_slurm_batches *out, pfc_err *err)
{
    static const char *const argv[] = { "squeue", "--noheader", "--me", "--format=%i|%T|%j|%N|%r",
                                        NULL };
    char *text = NULL;
    pfc_code code = pfc_slurm_ask(argv, NULL, &text, err);

    if (!code)
        code = pfc_slurm_batches_parse(text, out, err);
    free(text);
    return code;
}

const pfc_slurm_batch *pfc_slurm_batch_find(const pfc_slurm_batches *batches, const char *name)
{
    for (size_t i = 0; i < batches->len; i++)
        if (strcmp(batches->items[i].name, name) == 0)
            return &batches->items[i];
    return NULL;
}

/* Arguments of a call; texts made for it are freed with it. */
typedef struct args {
    const char *argv[MAX_ARGS];
    char *owned[MAX_ARGS];
    size_t len, owned_len;
} args;

static void add(args *a, const char *text)
{
    if (a->len < MAX_ARGS - 1)
        a->argv[a->len++] = text;
}

static void add_owned(args *a, char *text)
{
    a->owned[a->owned_len++] = text;
    add(a, text);
}

static void add_variable(args *a, const char *name)
{
    const char *value = getenv(name);

    if (value && a->owned_len < MAX_ARGS / 2)
        add_owned(a, pfc_format("%s=%s", name, value));
}

/* The batch job gets the environment that sbatch has: without `env -i` also the runner's token. A
 * list of --export would make Slurm start the user's login shell on the node for the rest. */
static void add_environment(args *a, const pfc_slurm_opts *opts)
{
    static const char *const kept[] = { "PATH", "SLURM_CONF", "HOME", "LANG", "TZ" };

    add(a, "env");
    add(a, "-i");
    for (size_t i = 0; i < PFC_ARRAY_LEN(kept); i++)
        add_variable(a, kept[i]);
    for (size_t i = 0; opts->variables && opts->variables[i]; i++)
        add_variable(a, opts->variables[i]);
}

/* "h100,sm90" as Slurm takes it: all of them. */
static char *constraint_of(const char *features)
{
    char *text = pfc_format("--constraint=%s", features);

    for (char *at = text; *at; at++)
        if (*at == ',')
            *at = '&';
    return text;
}

pfc_code pfc_slurm_submit(const pfc_slurm_opts *opts, const pfc_slurm_kind *kind, const char *name,
                          const char *script, int64_t *id, pfc_err *err)
{
    args a = { .len = 0 };
    char *text = NULL;
    pfc_code code;

    add_environment(&a, opts);
    add(&a, "sbatch");
    add(&a, "--parsable");
    add_owned(&a, pfc_format("--job-name=%s", name));
    add(&a, "--nodes=1");
    add(&a, "--exclusive");
    add(&a, "--requeue");
    add(&a, "--export=ALL");
    add(&a, "--chdir=/");
    add(&a, "--output=/dev/null"); /* the runner's log is in its folder on the node */
    if (opts->partition)
        add_owned(&a, pfc_format("--partition=%s", opts->partition));
    if (kind->features[0])
        add_owned(&a, constraint_of(kind->features));
    if (kind->gres[0]) /* an exclusive node does not imply its devices */
        add_owned(&a, pfc_format("--gres=%s", kind->gres));
    for (size_t i = 0; opts->options && opts->options[i]; i++)
        add(&a, opts->options[i]);
    code = pfc_slurm_ask(a.argv, script, &text, err);
    for (size_t i = 0; i < a.owned_len; i++)
        free(a.owned[i]);
    if (code)
        return code;
    text[strcspn(text, ";\n")] = '\0'; /* ID;CLUSTER on a federation */
    code = pfc_parse_i64(text, 1, INT64_MAX, "sbatch: id", id, err);
    free(text);
    return code;
}

pfc_code pfc_slurm_cancel(int64_t id, bool pending, pfc_err *err)
{
    char number[24], *text = NULL;
    const char *argv[] = { "scancel", number, pending ? "--state=PENDING" : NULL, NULL };
    pfc_code code;

    (void)snprintf(number, sizeof(number), "%lld", (long long)id);
    code = pfc_slurm_ask(argv, NULL, &text, err);
    free(text);
    return code;
}

static void put_quoted(pfc_buf *to, const char *text)
{
    pfc_buf_puts(to, "'");
    for (; *text; text++) {
        if (*text == '\'')
            pfc_buf_puts(to, "'\\''");
        else
            pfc_buf_append(to, text, 1);
    }
    pfc_buf_puts(to, "'");
}

/* `exec`, so that Slurm's signals reach the runner and no shell is between. */
char *pfc_slurm_script(const pfc_slurm_opts *opts, const pfc_slurm_kind *kind, const char *document)
{
    pfc_buf text;
    char *script;

    pfc_buf_init(&text, strlen(document) + (1 << 20));
    pfc_buf_puts(&text, "#!/bin/sh\numask 077\ndir=");
    put_quoted(&text, opts->node_dir);
    /* Two nodes may see the same folder. */
    pfc_buf_puts(&text, "/$SLURMD_NODENAME\nmkdir -p \"$dir\" || exit 5\nexec ");
    put_quoted(&text, opts->program);
    pfc_buf_puts(&text, " --job - --work \"$dir\" --name \"$SLURMD_NODENAME\" --class ");
    put_quoted(&text, kind->machine_class);
    pfc_buf_puts(&text, " --url ");
    put_quoted(&text, opts->url);
    for (size_t i = 0; opts->node_flags && opts->node_flags[i]; i++) {
        pfc_buf_puts(&text, " ");
        put_quoted(&text, opts->node_flags[i]);
    }
    /* One line of JSON cannot be the line that ends it. */
    pfc_buf_printf(&text, " 2>>\"$dir/runner.log\" <<'PERFCI_JOB'\n%s\nPERFCI_JOB\n", document);
    script = pfc_strdup(pfc_buf_text(&text));
    pfc_buf_clear(&text);
    return script;
}
