/* The figures of this run as a file that `perfci push` reads: see studies.h. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <jansson.h>

#include "bench/studies/accel/studies.h"

static json_t *figures; /* {benchmark: {measure: {"value": x}}}; NULL: none so far */

void study_figure(const char *measure, double value, const char *format, ...)
{
    char name[160];
    json_t *benchmark;
    va_list args;

    va_start(args, format);
    vsnprintf(name, sizeof(name), format, args);
    va_end(args);
    for (char *c = name; *c; c++)
        if (*c == ' ' || *c == ',')
            *c = '-';
    if (!figures)
        figures = json_object();
    benchmark = json_object_get(figures, name);
    if (!benchmark) {
        json_object_set_new(figures, name, json_object());
        benchmark = json_object_get(figures, name);
    }
    json_object_set_new(benchmark, measure, json_pack("{s:f}", "value", value));
}

pfc_code study_figures_write(const char *path, pfc_err *err)
{
    pfc_code code = PFC_OK;

    if (path && figures && json_dump_file(figures, path, JSON_INDENT(1)) != 0)
        code = pfc_err_set(err, PFC_EIO, "cannot write %s: %s", path, strerror(errno));
    json_decref(figures);
    figures = NULL;
    return code;
}
