/*
 * perfci capacity: what a load needs of a machine, and what is used up first. Asks no service but
 * its own (--measure).
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "cli/capacity/capacity.h"
#include "cli/commands.h"
#include "cli/output/output.h"
#include "core/base/parse.h"
#include "core/wire/wire.h"

#define LEAST_MEMORY 256e6
#define LEAST_DISK   1e9
#define MOST_BYTES   1e18

typedef struct capacity_opts {
    double commits, runs, growth, peak, changing;
    size_t series, points, samples, raw_months, day_months, months, cores;
    const char *memory, *disk; /* NULL: those of this machine */
    const char *width;         /* NULL: auto */
    bool measure;
} capacity_opts;

static const char *const widths[] = { "auto", "month", "week", "day", NULL };
static const double width_days[] = { 0, PFC_CAPACITY_MONTH_DAYS, 7, 1 };

/* The constants that are used, and which of them a measurement has replaced. */
typedef struct measurement {
    pfc_capacity_costs costs;
    bool taken;
    bool replaced[PFC_CAPACITY_CONSTANTS];
} measurement;

static const pfc_option capacity_options[] = {
    PFC_OPT_HEADING("Load"),
    PFC_OPT_NUMBER("commits", "N", capacity_opts, commits, 0.001, 1e6, "Commits measured a day"),
    PFC_OPT_NUMBER("runs", "N", capacity_opts, runs, 0.01, 1e4, "Runs of each commit",
                   .fallback = "1"),
    PFC_OPT_COUNT("series", "N", capacity_opts, series, 1, 100000000, "Series of all projects"),
    PFC_OPT_COUNT("points", "N", capacity_opts, points, 1, PFC_WIRE_MAX_MEASUREMENTS,
                  "Measurements of a run", .fallback = "the number of series"),
    PFC_OPT_COUNT("samples", "N", capacity_opts, samples, 1, PFC_WIRE_MAX_SAMPLES,
                  "Samples of a measurement", .fallback = "10"),
    PFC_OPT_NUMBER("changing", "R", capacity_opts, changing, 0, 1,
                   "Share of the measurements whose series changed within its last 20 points; "
                   "0.1 is a tenth",
                   .fallback = "0.01"),
    PFC_OPT_NUMBER("growth", "R", capacity_opts, growth, 0, 10,
                   "Growth of the runs a day in a year; 0.5 is by half", .fallback = "0"),
    PFC_OPT_NUMBER("peak", "R", capacity_opts, peak, 1, 100,
                   "Rate of the busiest hour by the mean of a day", .fallback = "3"),
    PFC_OPT_HEADING("Retention, as the options of perfci-server"),
    PFC_OPT_COUNT("retain-raw", "N", capacity_opts, raw_months, 0, 1200,
                  "Months with all measurements; 0: all months", .fallback = "0"),
    PFC_OPT_COUNT("retain-days", "N", capacity_opts, day_months, 0, 1200,
                  "Months after which measurements are deleted; 0: never", .fallback = "0"),
    PFC_OPT_WORD("partition-width", "W", widths, capacity_opts, width,
                 "Width of the partitions; auto: the widest that fits in the memory",
                 .fallback = "auto"),
    PFC_OPT_COUNT("months", "N", capacity_opts, months, 1, 1200,
                  "Compute the need after N months, from an empty database", .fallback = "24"),
    PFC_OPT_HEADING("Machine of the database and one server"),
    PFC_OPT_COUNT("cores", "N", capacity_opts, cores, 1, 4096, "Processor cores",
                  .fallback = "those of this machine"),
    PFC_OPT_TEXT("memory", "BYTES", capacity_opts, memory, "Memory, such as 64G",
                 .fallback = "that of this machine"),
    PFC_OPT_TEXT("disk", "BYTES", capacity_opts, disk, "Free disk for the database, such as 2T",
                 .fallback = "what is free in the current folder"),
    PFC_OPT_HEADING("Constants"),
    PFC_OPT_FLAG("measure", capacity_opts, measure,
                 "Take the constants on this machine first: a private service stores and judges "
                 "runs for a minute or two"),
    { 0 },
};

static const char capacity_doc[] =
    "Computes what a load needs of the machine with the database and a server: disk, memory, "
    "processor; which of them is used up first, and when."
    "\v"
    "Arithmetic on figures that were measured on one machine; bench/results/service.md has them "
    "with their commands and their errors against other loads. Not in the figures: pull requests, "
    "alerts, notices, trace files, backups, and measurements that thinning keeps around changes. "
    "Assumed: storing and judging may use half of the cores in the busiest hour (the rest is for "
    "reads, vacuum and backups), and the database 80 % of the disk.\n"
    "\n"
    "Examples:\n"
    "  perfci capacity --commits 200 --series 5000\n"
    "  perfci capacity --commits 30 --runs 40 --series 800000 --points 20000 --retain-raw 3\n"
    "  perfci capacity --commits 200 --series 5000 --cores 16 --memory 64G --disk 2T --json\n"
    "  perfci capacity --commits 200 --series 5000 --measure\n";

static error_t parse_capacity(int key, char *arg, struct argp_state *state)
{
    const capacity_opts *o = state->input;

    switch (key) {
    case ARGP_KEY_ARG:
        pfc_cli_usage(state, "expected no argument, got \"%.40s\"", arg);
    case ARGP_KEY_END:
        if (!(o->commits > 0))
            pfc_cli_usage(state, "missing --commits: the commits measured a day");
        if (o->series == 0)
            pfc_cli_usage(state, "missing --series: the number of series");
        if (o->points == 0 && o->series > PFC_WIRE_MAX_MEASUREMENTS)
            pfc_cli_usage(state,
                          "missing --points: a run has at most %d measurements, fewer than the "
                          "%zu series",
                          PFC_WIRE_MAX_MEASUREMENTS, o->series);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

/* Bytes of an option within least..MOST_BYTES. */
static pfc_code read_bytes(const char *text, const char *what, double least, double *out,
                           pfc_err *err)
{
    uint64_t bytes = 0;
    const pfc_code code = pfc_parse_bytes(text, what, &bytes, err);

    if (code)
        return code;
    if ((double)bytes < least || (double)bytes > MOST_BYTES)
        return pfc_err_set(err, PFC_EINVAL, "%s: expected %.0f MB to 10^9 GB, got \"%.40s\"", what,
                           least / 1e6, text);
    *out = (double)bytes;
    return PFC_OK;
}

static pfc_code read_machine(const capacity_opts *o, pfc_capacity_machine *m, pfc_err *err)
{
    struct statvfs fs = { 0 };
    pfc_code code = PFC_OK;

    m->cores = (double)o->cores;
    if (o->cores == 0)
        m->cores = fmax(1, (double)sysconf(_SC_NPROCESSORS_ONLN));
    if (o->memory)
        code = read_bytes(o->memory, "--memory", LEAST_MEMORY, &m->memory_bytes, err);
    else
        m->memory_bytes = (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE);
    if (code)
        return code;
    if (o->disk)
        return read_bytes(o->disk, "--disk", LEAST_DISK, &m->disk_bytes, err);
    if (statvfs(".", &fs) != 0)
        return pfc_err_set(err, PFC_EIO,
                           "the free disk of the current folder is unknown; "
                           "expected --disk BYTES");
    m->disk_bytes = (double)fs.f_bavail * (double)fs.f_frsize;
    return PFC_OK;
}

static pfc_capacity_load load_of(const capacity_opts *o)
{
    const size_t points = o->points ? o->points : o->series;
    size_t width = 0;

    while (o->width && strcmp(widths[width], o->width) != 0)
        width++;

    return (pfc_capacity_load){
        .runs_a_day = o->commits * o->runs,
        .series = (double)o->series,
        .points_a_run = (double)points,
        .samples = (double)o->samples,
        .changing = o->changing,
        .raw_months = (double)o->raw_months,
        .day_months = (double)o->day_months,
        .months = (double)o->months,
        .growth = o->growth,
        .peak = o->peak,
        .partition_days = width_days[width],
    };
}

/* ---- output ---- */

/* "1.2 GB" into out[32]; decimal units. */
static void show_bytes(double v, char out[32])
{
    static const char *const units[] = { "kB", "MB", "GB", "TB", "PB", "EB" };
    size_t unit = 0;

    v /= 1e3;
    while (v >= 999.5 && unit + 1 < PFC_ARRAY_LEN(units)) {
        v /= 1e3;
        unit++;
    }
    (void)snprintf(out, 32, v < 9.95 ? "%.1f %s" : "%.0f %s", v, units[unit]);
}

static void show_count(double v, char out[32])
{
    (void)snprintf(out, 32, v < 1e4 ? "%.4g" : "%.2e", v);
}

static void show_lasts(double days, char out[32])
{
    if (days == 0)
        (void)snprintf(out, 32, "used up today");
    else if (days > PFC_CAPACITY_MAX_DAYS)
        (void)snprintf(out, 32, "over 100 years");
    else if (days < 2 * 365)
        (void)snprintf(out, 32, "%.0f days", floor(days));
    else
        (void)snprintf(out, 32, "%.1f years", days / 365);
}

static void show_need(pfc_capacity_resource resource, double v, char out[32])
{
    if (resource == PFC_CAPACITY_CORES)
        (void)snprintf(out, 32, "%.2g cores", v);
    else
        show_bytes(v, out);
}

static void print_need(const pfc_cli *cli, const pfc_capacity_answer *a, double months)
{
    static const pfc_table_col cols[] = {
        { "RESOURCE", false }, { "NEEDED", true }, { "USABLE", true }, { "LASTS", true }
    };
    pfc_table *table = pfc_table_new(cli, cols, PFC_ARRAY_LEN(cols));
    char text[32];

    for (int i = 0; i < PFC_CAPACITY_RESOURCES; i++) {
        pfc_table_row(table);
        pfc_table_set(table, 0, pfc_capacity_name(i));
        show_need(i, a->need[i], text);
        pfc_table_number(table, 1, text, a->need[i]);
        show_need(i, a->may[i], text);
        pfc_table_number(table, 2, text, a->may[i]);
        show_lasts(a->lasts[i], text);
        pfc_table_number(table, 3, text, a->lasts[i]);
    }
    pfc_table_print(table);
    if (cli->csv)
        return;
    pfc_out("\nneeded after %.0f months; ", months);
    if (a->lasts[a->first] > PFC_CAPACITY_MAX_DAYS)
        pfc_out("nothing is used up within 100 years\n");
    else if (a->lasts[a->first] == 0)
        pfc_out("the %s does not do for the load of today\n", pfc_capacity_name(a->first));
    else
        pfc_out("the %s is used up first, on day %.0f\n", pfc_capacity_name(a->first),
                floor(a->lasts[a->first]));
}

static const char *width_name(double days)
{
    size_t i = 1;

    while (width_days[i] < days || width_days[i] > days)
        i++;
    return widths[i];
}

static void print_answer(const pfc_cli *cli, const pfc_capacity_load *l,
                         const pfc_capacity_answer *a)
{
    char today[32];
    char then[32];

    print_need(cli, a, l->months);
    if (cli->csv)
        return;
    show_count(a->points_a_day, today);
    show_count(a->points_a_day_then, then);
    pfc_out("measurements a day: %s, after %.0f months %s", today, l->months, then);
    show_count(a->points_stored, then);
    pfc_out("; %s are stored then\n", then);
    show_bytes(a->disk_bytes_a_day, today);
    show_bytes(a->log_bytes_a_day, then);
    pfc_out("disk a day: %s; write-ahead log a day, sent to each standby and to an archive: at "
            "least %s\n",
            today, then);
    show_count(a->points_a_series_then, then);
    pfc_out("processor: %.3g ms a measurement at first, %.3g behind %s points of each series\n",
            a->processor_ms_a_point, a->processor_ms_a_point_then, then);
    pfc_out("           each run judged before the next one comes; %.3g ms where runs wait and are "
            "judged together\n",
            a->processor_ms_a_point_waiting);
    pfc_out("memory: for the indexes of one %s\n", width_name(a->partition_days));
    pfc_out("high availability: %d standbys with the same disk and memory, one of which confirms "
            "each commit\n",
            PFC_CAPACITY_STANDBYS);
    if (!isfinite(a->shards))
        pfc_out("shards: no number of machines with so little memory does\n");
    else if (a->shards > 1)
        pfc_out("shards: %.0f services on such machines, each with a part of the projects, and "
                "each with its standbys\n",
                a->shards);
}

static json_t *whole(double v)
{
    return isfinite(v) ? json_real(v) : json_null();
}

/* The constants of this machine, and those that stayed as they are built in. */
static json_t *json_measured(const measurement *m)
{
    json_t *taken = json_object();
    json_t *kept = json_array();

    for (size_t i = 0; i < PFC_CAPACITY_CONSTANTS; i++) {
        double value;
        const char *name = pfc_capacity_constant(i, &m->costs, &value);

        if (m->replaced[i])
            json_object_set_new(taken, name, json_real(value));
        else
            json_array_append_new(kept, json_string(name));
    }
    return json_pack("{s:o, s:o}", "replaced", taken, "kept", kept);
}

static void print_measured(const pfc_cli *cli, const measurement *m)
{
    static const pfc_table_col cols[] = { { "CONSTANT", false },
                                          { "HERE", true },
                                          { "BUILT IN", true } };
    pfc_table *table = pfc_table_new(cli, cols, PFC_ARRAY_LEN(cols));
    size_t replaced = 0;

    for (size_t i = 0; i < PFC_CAPACITY_CONSTANTS; i++) {
        double here, built_in;
        const char *name = pfc_capacity_constant(i, &m->costs, &here);

        (void)pfc_capacity_constant(i, &PFC_CAPACITY_MEASURED, &built_in);
        pfc_table_row(table);
        pfc_table_set(table, 0, name);
        if (m->replaced[i])
            pfc_table_setf(table, 1, "%.3g", here);
        else
            pfc_table_set(table, 1, "not measurable");
        pfc_table_setf(table, 2, "%.3g", built_in);
        replaced += m->replaced[i];
    }
    pfc_table_print(table);
    if (!cli->csv)
        pfc_out(
            "\n%zu of %d constants were replaced by those of this machine; all others are built "
            "in\n\n",
            replaced, PFC_CAPACITY_CONSTANTS);
}

/* The constants that a check of the answer needs. */
static json_t *json_costs(const pfc_capacity_costs *c)
{
    return json_pack("{s:f, s:f, s:f, s:f, s:f, s:f, s:f}", "earlier_ms", c->earlier_ms,
                     "change_ms", c->change_ms, "chunk_bytes", c->chunk_bytes, "series_bytes",
                     c->series_bytes, "run_bytes", c->run_bytes, "core_share", c->core_share,
                     "disk_share", c->disk_share);
}

static json_t *json_of(const pfc_capacity_answer *a, const measurement *m)
{
    json_t *resources = json_array();

    for (int i = 0; i < PFC_CAPACITY_RESOURCES; i++)
        json_array_append_new(resources, json_pack("{s:s, s:s, s:f, s:f, s:o}", "resource",
                                                   pfc_capacity_name(i), "unit",
                                                   i == PFC_CAPACITY_CORES ? "cores" : "bytes",
                                                   "needed", a->need[i], "usable", a->may[i],
                                                   "lasts_days", whole(a->lasts[i])));
    return json_pack(
        "{s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:s, s:o, s:s?, s:i, s:o, s:o, s:o*}",
        "points_a_day", a->points_a_day, "points_a_day_then", a->points_a_day_then, "points_stored",
        a->points_stored, "disk_bytes_a_day", a->disk_bytes_a_day, "log_bytes_a_day",
        a->log_bytes_a_day, "processor_ms_a_point", a->processor_ms_a_point,
        "processor_ms_a_point_then", a->processor_ms_a_point_then, "processor_ms_a_point_waiting",
        a->processor_ms_a_point_waiting, "points_a_series_then", a->points_a_series_then,
        "partition_width", width_name(a->partition_days), "resources", resources, "first",
        isfinite(a->lasts[a->first]) ? pfc_capacity_name(a->first) : NULL, "standbys",
        PFC_CAPACITY_STANDBYS, "shards", whole(a->shards), "costs", json_costs(&m->costs),
        "measured", m->taken ? json_measured(m) : NULL);
}

static int cmd_capacity(pfc_cli *cli, int argc, char **argv)
{
    capacity_opts o = { .runs = 1, .samples = 10, .months = 24, .peak = 3, .changing = 0.01 };
    pfc_capacity_machine machine = { 0 };
    pfc_capacity_load load;
    pfc_capacity_answer answer;
    pfc_capacity_figures figures;
    measurement m = { .costs = PFC_CAPACITY_MEASURED };
    pfc_err err = { 0 };
    pfc_code code;

    pfc_cli_parse(cli, &pfc_cmd_capacity, argc, argv, &o);
    load = load_of(&o);
    code = pfc_capacity_check(&load, &err);
    if (!code)
        code = read_machine(&o, &machine, &err);
    if (!code && o.measure) {
        m.taken = true;
        code = pfc_capacity_measure(cli, &figures, &err);
        if (!code)
            pfc_capacity_solve(&figures, &m.costs, m.replaced);
    }
    if (code)
        return pfc_cli_fail(cli, &err);
    pfc_capacity_compute(&m.costs, &load, &machine, &answer);
    if (cli->json) {
        pfc_cli_print_json(json_of(&answer, &m));
        return PFC_EXIT_OK;
    }
    if (m.taken)
        print_measured(cli, &m);
    print_answer(cli, &load, &answer);
    return PFC_EXIT_OK;
}

const pfc_subcommand pfc_cmd_capacity = {
    .name = "capacity",
    .summary = "what a load needs of a machine, and what is used up first",
    .run = cmd_capacity,
    .options = capacity_options,
    .parse = parse_capacity,
    .doc = capacity_doc,
};
