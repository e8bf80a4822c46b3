/* Tools that change what the service stores: only with --allow-write. */
#include "cli/mcp/mcp.h"

#define MAX_I 9007199254740991.0 /* 2^53 - 1: the largest number that every client keeps exact */

static const char *const states[] = {
    "untriaged", "acknowledged",   "investigating", "fixed",          "backed_out", "wont_fix",
    "noise",     "infrastructure", "duplicate",     "verified_fixed", NULL
};
static const char *const kinds[] = { "measure",  "nightly", "pull_request",
                                     "backfill", "verify",  NULL };

#define ALERT                                                                                      \
    {                                                                                              \
        .name = "id", .kind = MCP_INTEGER, .low = 1, .high = MAX_I, .required = true,              \
        .help = "The number of the alert."                                                         \
    }
#define PROJECT                                                                                    \
    {                                                                                              \
        .name = "project", .kind = MCP_PROJECT, .help = "The project's name."                      \
    }

static const mcp_argument triage[] = {
    ALERT,
    { .name = "state",
      .kind = MCP_WORD,
      .words = states,
      .required = true,
      .help = "The new state." },
    { .name = "reason",
      .kind = MCP_TEXT,
      .high = 4096,
      .required = true,
      .help = "Why, in one or two sentences for the people who read the alert." },
    { 0 },
};
static const mcp_argument accept[] = {
    ALERT,
    { .name = "reason",
      .kind = MCP_TEXT,
      .high = 4096,
      .required = true,
      .help = "Why the new level is the right one." },
    { 0 },
};
static const mcp_argument start_job[] = {
    PROJECT,
    { .name = "kind",
      .kind = MCP_WORD,
      .words = kinds,
      .required = true,
      .help = "What the job is for; it decides the priority. measure is for one commit alone." },
    { .name = "commit", .kind = MCP_COMMIT, .required = true, .help = "The full id to measure." },
    { .name = "branch", .kind = MCP_TEXT, .help = "The branch of the commit." },
    { .name = "suite", .kind = MCP_TEXT, .help = "A suite's name; without it the project's." },
    { .name = "filter",
      .kind = MCP_TEXT,
      .high = 4096,
      .help = "Only benchmarks whose name matches this regular expression." },
    { .name = "machine_class",
      .kind = MCP_TEXT,
      .as = "labels.machine_class",
      .help = "Only runners of this machine class." },
    { .name = "priority",
      .kind = MCP_INTEGER,
      .low = 0,
      .high = 100,
      .help = "Larger is earlier; without it that of the kind." },
    { 0 },
};
static const mcp_argument start_bisection[] = {
    PROJECT,
    { .name = "alert_id",
      .kind = MCP_INTEGER,
      .low = 1,
      .high = MAX_I,
      .help = "The alert whose range is searched; or give metric, good and bad." },
    { .name = "metric", .kind = MCP_TEXT, .help = "The metric, such as time_ns." },
    { .name = "benchmark", .kind = MCP_TEXT, .help = "The benchmark of the metric." },
    { .name = "backend", .kind = MCP_TEXT, .help = "The backend of the metric." },
    { .name = "machine_class", .kind = MCP_TEXT, .help = "Only runners of this machine class." },
    { .name = "good", .kind = MCP_COMMIT, .help = "The last commit known to be fast." },
    { .name = "bad", .kind = MCP_COMMIT, .help = "The first commit known to be slow." },
    { .name = "confidence",
      .kind = MCP_NUMBER,
      .low = 0.5,
      .high = 0.999999,
      .help = "Probability at which a culprit is named; without it 0.95." },
    { .name = "max_runs",
      .kind = MCP_INTEGER,
      .low = 2,
      .high = 100000,
      .help = "It gives up after as many runs." },
    { .name = "dry_run",
      .kind = MCP_TRUTH,
      .help = "Only estimate its cost in runs, builds and time; start nothing." },
    { 0 },
};

const mcp_tool mcp_tools_write[] = {
    { "alert_triage", "Set the state of an alert",
      "Sets the state of an alert, with a reason that is stored in its history under the name of "
      "the token.",
      triage, .requests = { { NULL, "PATCH", "/api/v1/alerts/{id}", "AlertAnswer" } },
      .writes = true, .destroys = true, .repeats = true },
    { "alert_accept", "Accept the level after an alert",
      "Accepts the level after an alert's change as the right one: the alert is closed (wont_fix), "
      "and the next change is looked for from there.",
      accept, .requests = { { NULL, "PATCH", "/api/v1/alerts/{id}", "AlertAnswer" } },
      .body = "{\"accept\": true}", .writes = true, .destroys = true, .repeats = true },
    { "job_start", "Queue a job",
      "Queues a job that builds and measures one commit on a runner. An open job of the same kind "
      "and commit is answered instead of a second one.",
      start_job, .requests = { { NULL, "POST", "/api/v1/jobs", "JobAnswer" } }, .writes = true,
      .repeats = true },
    { "bisection_start", "Start a bisection on the runners",
      "Starts the search for the commit that caused a regression, on the service's runners. It "
      "takes their time: with dry_run it only estimates how much.",
      start_bisection,
      .requests = { { NULL, "POST", "/api/v1/bisections", "BisectionStartedAnswer" } },
      .body = "{\"mode\": \"remote\"}", .writes = true },
};

const size_t mcp_tools_write_len = PFC_ARRAY_LEN(mcp_tools_write);
