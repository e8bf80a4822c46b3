#include "cli/output/output.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/explain/explain.h"
#include "core/base/fs.h"

static bool ends_with(const char *text, const char *end)
{
    const size_t len = strlen(text);

    return len > strlen(end) && strcmp(text + len - strlen(end), end) == 0;
}

const char *explain_format(const pfc_cli *cli, const explain_opts *o)
{
    static const struct {
        const char *ending, *format;
    } endings[] = { { ".html", "html" }, { ".md", "markdown" }, { ".json", "json" } };

    if (o->format)
        return o->format;
    if (cli->json)
        return "json";
    for (size_t i = 0; o->out && i < PFC_ARRAY_LEN(endings); i++)
        if (ends_with(o->out, endings[i].ending))
            return endings[i].format;
    return "text";
}

static void render(const char *format, const pfc_report *r, const json_t *json, pfc_buf *out)
{
    if (strcmp(format, "json") == 0) {
        char *text = json_dumps(json, JSON_COMPACT | JSON_REAL_PRECISION(17));

        pfc_buf_puts(out, text);
        pfc_buf_putc(out, '\n');
        free(text);
    } else if (strcmp(format, "html") == 0) {
        pfc_report_html(r, out);
    } else if (strcmp(format, "markdown") == 0) {
        pfc_report_markdown(r, out);
    } else {
        pfc_report_text(r, out);
    }
}

pfc_code explain_write(const explain_opts *o, const pfc_report *r, json_t *json, pfc_err *err)
{
    pfc_buf out;
    pfc_code code;

    pfc_buf_init(&out, PFC_REPORT_MAX_BYTES);
    render(o->format, r, json, &out);
    code = pfc_buf_check(&out, "the report", err);
    if (!code && o->out && strcmp(o->out, "-") != 0)
        code = pfc_fs_write_atomic(o->out, pfc_buf_text(&out), out.len, 0644, err);
    else if (!code)
        pfc_out("%s", pfc_buf_text(&out));
    pfc_buf_clear(&out);
    json_decref(json);
    return code;
}

int explain_command(pfc_cli *cli, const pfc_subcommand *command, int argc, char **argv,
                    explain_part *part)
{
    explain_opts o = { 0 };
    explain_input in = { 0 };
    pfc_explain_rules rules = { 0 };
    int status = PFC_EXIT_OK;
    pfc_err err = { 0 };
    pfc_code code;

    pfc_cli_parse(cli, command, argc, argv, &o);
    o.cli = cli;
    o.format = explain_format(cli, &o);
    code = pfc_explain_rules_load(o.rules, &rules, &err);
    if (!code)
        code = explain_input_read(&o, &in, &err);
    if (!code)
        code = part(&o, &rules, &in, &status, &err);
    explain_input_clear(&in);
    pfc_explain_rules_clear(&rules);
    return code ? pfc_cli_fail(cli, &err) : status;
}
