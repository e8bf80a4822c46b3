/* Tools that read from the service. */
#include "cli/mcp/mcp.h"

#define API   "/api/v1"
#define MAX_I 9007199254740991.0 /* 2^53 - 1: the largest number that every client keeps exact */

#define PROJECT                                                                                    \
    {                                                                                              \
        .name = "project", .kind = MCP_PROJECT,                                                    \
        .help = "The project's name. Without it: that of --project, PERFCI_PROJECT or "            \
                "perfci.yaml, where one of them names one."                                        \
    }
#define ID(text)                                                                                   \
    {                                                                                              \
        .name = "id", .kind = MCP_INTEGER, .low = 1, .high = MAX_I, .required = true,              \
        .help = (text)                                                                             \
    }
#define LIMIT(most)                                                                                \
    {                                                                                              \
        .name = "limit", .kind = MCP_INTEGER, .low = 1, .high = (most),                            \
        .help = "At most as many rows. A page of 20 is mostly enough."                             \
    }
#define CURSOR                                                                                     \
    {                                                                                              \
        .name = "cursor", .kind = MCP_INTEGER, .low = 1, .high = MAX_I,                            \
        .help = "next_cursor of the page before."                                                  \
    }
#define TEXT(name_, text)                                                                          \
    {                                                                                              \
        .name = (name_), .kind = MCP_TEXT, .help = (text)                                          \
    }
#define TRUTH(name_, text)                                                                         \
    {                                                                                              \
        .name = (name_), .kind = MCP_TRUTH, .help = (text)                                         \
    }
#define END                                                                                        \
    {                                                                                              \
        0                                                                                          \
    }
#define GET(path_, answer_)                                                                        \
    {                                                                                              \
        NULL, "GET", API path_, answer_                                                            \
    }
#define GET_AS(member_, path_, answer_)                                                            \
    {                                                                                              \
        member_, "GET", API path_, answer_                                                         \
    }

static const char *const alert_states[] = { "open",          "untriaged",      "acknowledged",
                                            "investigating", "fixed",          "backed_out",
                                            "wont_fix",      "noise",          "infrastructure",
                                            "duplicate",     "verified_fixed", NULL };
static const char *const sorts[] = { "new", "worth", NULL };
static const char *const job_states[] = { "queued", "leased", "done", "failed", "cancelled", NULL };
static const char *const job_kinds[] = { "measure", "nightly", "pull_request", "backfill", "bisect",
                                         "verify",  "detect",  "notify",       NULL };

static const mcp_argument page[] = { LIMIT(1000), CURSOR, END };
static const mcp_argument of_project[] = { PROJECT, END };
static const mcp_argument project_page[] = { PROJECT, LIMIT(1000), CURSOR, END };
static const mcp_argument sessions[] = { PROJECT, LIMIT(100), CURSOR, END };
static const mcp_argument session[] = { PROJECT,
                                        { .name = "id",
                                          .kind = MCP_TEXT,
                                          .required = true,
                                          .help = "The session's id, 32 hexadecimal digits." },
                                        END };
static const mcp_argument commits[] = {
    PROJECT, TEXT("branch", "Only this branch; without it the project's default."), LIMIT(1000),
    CURSOR, END
};
static const mcp_argument commit[] = {
    PROJECT,
    { .name = "id", .kind = MCP_COMMIT, .required = true, .help = "The full id of the commit." },
    END
};
static const mcp_argument series_list[] = {
    PROJECT,
    TEXT("q", "Words that the benchmark, metric, backend or machine class contain."),
    TEXT("metric", "Only this metric, such as time_ns."),
    TEXT("benchmark", "Only this benchmark."),
    TEXT("backend", "Only this backend, such as cpu-avx2."),
    TEXT("machine_class", "Only this machine class."),
    TEXT("branch", "Only this branch."),
    TRUTH("headline", "Only the headline series."),
    LIMIT(1000),
    CURSOR,
    END
};
static const mcp_argument series[] = {
    ID("The number of the series."),
    TEXT("from", "Only points since this time, RFC 3339."),
    TEXT("to", "Only points up to this time, RFC 3339."),
    { .name = "points",
      .kind = MCP_INTEGER,
      .low = 1,
      .high = 5000,
      .help = "At most as many points, the newest. 100 show the last changes." },
    END
};
static const mcp_argument alerts[] = {
    PROJECT,
    { .name = "state",
      .kind = MCP_WORD,
      .words = alert_states,
      .help = "Only this state; open is untriaged, acknowledged and investigating together." },
    { .name = "series",
      .kind = MCP_INTEGER,
      .low = 1,
      .high = MAX_I,
      .help = "Only alerts of the series of this number." },
    TRUTH("grouped", "Only the alert of every group that has the highest worth."),
    { .name = "sort",
      .kind = MCP_WORD,
      .words = sorts,
      .help = "new: the newest first; worth: the most important first." },
    LIMIT(1000),
    CURSOR,
    END
};
static const char *const group_directions[] = { "regression", "improvement", "recovery", NULL };
static const char *const group_sorts[] = { "worth", "newest", NULL };
static const mcp_argument groups[] = {
    PROJECT,
    { .name = "state",
      .kind = MCP_WORD,
      .words = alert_states,
      .help = "Only this state; open is untriaged, acknowledged and investigating together." },
    { .name = "direction",
      .kind = MCP_WORD,
      .words = group_directions,
      .help = "regression: groups with an alert whose old level is not back; recovery: groups "
              "whose old levels are all back; improvement: commits that made series better, in "
              "the member improvements. Without it: regression and recovery." },
    TEXT("owner", "Only groups of this owner; the word none: groups without an owner."),
    TEXT("kernel", "Only benchmarks with this name, or whose names begin with these parts, such as "
                   "gemm."),
    TEXT("backend", "Only this backend."),
    TEXT("machine", "Only this machine class."),
    TEXT("q", "Words that a series' name, the summary, or the suspect's id, subject or author "
              "contain."),
    { .name = "sort",
      .kind = MCP_WORD,
      .words = group_sorts,
      .help = "newest: the newest first; worth: the most important first." },
    LIMIT(1000),
    CURSOR,
    END
};
static const mcp_argument group[] = { ID("The number of the group."), END };
static const mcp_argument alert[] = { ID("The number of the alert."), END };
static const mcp_argument runs[] = {
    PROJECT,
    { .name = "commit", .kind = MCP_COMMIT, .help = "Only runs of this commit, a full id." },
    LIMIT(1000),
    CURSOR,
    END
};
static const mcp_argument compare[] = {
    { .name = "project", .kind = MCP_PROJECT, .help = "The project's name." },
    { .name = "a",
      .kind = MCP_TEXT,
      .required = true,
      .help = "The baseline: a commit id of 7 or more digits, or the id of a run." },
    { .name = "b",
      .kind = MCP_TEXT,
      .required = true,
      .help = "The candidate: a commit id of 7 or more digits, or the id of a run." },
    TEXT("backend", "Only rows of this backend."),
    { .name = "series",
      .kind = MCP_INTEGER,
      .low = 1,
      .high = MAX_I,
      .help = "Only the row of this series." },
    TRUTH("across", "Decide on results of different machines or compilers, too."),
    END
};
static const mcp_argument explain[] = {
    TEXT("before", "The number or id of the run before; without it one run alone is explained."),
    { .name = "after",
      .kind = MCP_TEXT,
      .required = true,
      .help = "The number or id of the run that is explained, as runs and commit list them." },
    TEXT("benchmark", "Name of the benchmark; without it, the one whose metric became worse by "
                      "the largest share is explained."),
    TEXT("backend", "Name of the backend, for example accel:pfc-server."),
    TEXT("metric", "Name of the metric; without it, cycles, or time_ns where there are none."),
    END
};
static const mcp_argument jobs[] = {
    PROJECT,
    { .name = "state", .kind = MCP_WORD, .words = job_states, .help = "Only this state." },
    { .name = "kind", .kind = MCP_WORD, .words = job_kinds, .help = "Only this kind." },
    LIMIT(1000),
    CURSOR,
    END
};
static const mcp_argument job[] = { ID("The number of the job."), END };
static const mcp_argument bisection[] = { ID("The number of the bisection."), END };
static const mcp_argument coverage[] = {
    PROJECT,
    TEXT("branch", "Only this branch; without it the project's default."),
    { .name = "commits",
      .kind = MCP_INTEGER,
      .low = 1,
      .high = 500,
      .help = "How many of the newest commits." },
    TEXT("benchmark", "Only this benchmark."),
    TEXT("backend", "Only this backend."),
    TEXT("machine_class", "Only this machine class."),
    LIMIT(1000),
    CURSOR,
    END
};
static const mcp_argument environment[] = { PROJECT, TRUTH("open", "Only steps that still last."),
                                            LIMIT(1000), CURSOR, END };

const mcp_tool mcp_tools_read[] = {
    { "projects", "Projects", "Lists the projects of the service.", page,
      .requests = { GET("/projects", "ProjectsAnswer") } },
    { "project", "One project", "One project with its headline series and their last changes.",
      of_project, .requests = { GET("/projects/{project}", "ProjectDetailAnswer") } },
    { "last_night", "The last night",
      "An overview of one project: the newest nightly session with a verdict for each commit, the "
      "ten open alert groups that are most worth looking at, the figures of the project, and the "
      "newest jobs.",
      of_project,
      .requests = { GET_AS("sessions", "/projects/{project}/sessions?limit=1", "SessionsAnswer"),
                    GET_AS("alerts",
                           "/alerts?project={project}&state=open&grouped=true&sort=worth&limit=10",
                           "AlertsAnswer"),
                    GET_AS("stats", "/stats?project={project}", "StatsAnswer"),
                    GET_AS("jobs", "/jobs?project={project}&limit=10", "JobsAnswer") } },
    { "sessions", "Nightly sessions",
      "Lists the sessions of a project, newest first: builds that one runner measured together in "
      "blocks, with a verdict for each commit.",
      sessions, .requests = { GET("/projects/{project}/sessions", "SessionsAnswer") } },
    { "session", "One nightly session",
      "One session, judged from its stored measurements: every build against its predecessor, for "
      "every series.",
      session, .requests = { GET("/projects/{project}/sessions/{id}", "SessionAnswer") } },
    { "series_search", "Search series",
      "Finds series of a project: one metric of one benchmark on one backend and machine class, "
      "with its newest value, noise and last change.",
      series_list, .requests = { GET("/projects/{project}/series", "SeriesListAnswer") } },
    { "series", "Points of a series",
      "The points of one series in columns (medians, intervals, commits, times) and its change "
      "points.",
      series, .requests = { GET("/series/{id}", "SeriesAnswer") } },
    { "alerts", "Alerts",
      "Lists alerts: changes for the worse that were found, with their size, interval, range of "
      "commits and state.",
      alerts, .requests = { GET("/alerts", "AlertsAnswer") } },
    { "groups", "Alert groups",
      "Lists alert groups. The alerts of a group have one cause. A group has the number of its "
      "alerts, the range of their effects, its worst series, suspect commit, owners and state.",
      groups, .requests = { GET("/groups", "GroupsAnswer") } },
    { "group", "One alert group", "One group with all of its alerts and its history.", group,
      .requests = { GET("/groups/{id}", "GroupDetailAnswer") } },
    { "alert", "One alert with its suspects",
      "One alert with all of its evidence and history, and its suspects with probabilities and "
      "reasons.",
      alert,
      .requests = { GET_AS("alert", "/alerts/{id}", "AlertDetailAnswer"),
                    GET_AS("suspects", "/alerts/{id}/suspects", "SuspectsAnswer") } },
    { "why", "Suspects of an alert",
      "Which commit probably caused an alert: every commit of its range, changes of toolchain, "
      "harness and machine, and none of these, each with a probability and the reasons.",
      alert, .requests = { GET("/alerts/{id}/suspects", "SuspectsAnswer") } },
    { "explain", "What limits a run, or why two runs differ",
      "Explains a benchmark of one run or its change between two runs, from what they recorded: "
      "contributions of each resource and phase that sum to the difference, causes, the limiter "
      "before and after with its confidence, and what would help with the predicted gain.",
      explain, .requests = { GET("/explain", "ExplanationAnswer") } },
    { "explain_alert", "Why an alert's benchmark changed",
      "Explains the change of an alert from the stored runs on both sides of it: the cause inside "
      "the program. why names the commits instead.",
      alert, .requests = { GET("/alerts/{id}/explanation", "ExplanationAnswer") } },
    { "commits", "Commits", "Lists commits of a project along first parents, newest first.",
      commits, .requests = { GET("/projects/{project}/commits", "CommitsAnswer") } },
    { "commit", "One commit", "One commit with its parents, its runs and its values.", commit,
      .requests = { GET("/projects/{project}/commits/{id}", "CommitAnswer") } },
    { "runs", "Runs", "Lists the runs of a project, newest first.", runs,
      .requests = { GET("/projects/{project}/runs", "RunsAnswer") } },
    { "compare", "Compare stored results",
      "Says for every row whether b is slower than a, from what the service stores of both: the "
      "verdict, the relative change and its interval. Nothing is measured.",
      compare, .requests = { GET("/compare", "CompareAnswer") } },
    { "jobs", "Jobs",
      "Lists the jobs of the queue, newest first; queued ones with position and expected wait.",
      jobs, .requests = { GET("/jobs", "JobsAnswer") } },
    { "job", "One job", "One job with its state, its runner, its tries and its reason.", job,
      .requests = { GET("/jobs/{id}", "JobAnswer") } },
    { "bisections", "Bisections", "Lists the bisections, newest first.", project_page,
      .requests = { GET("/bisections", "BisectionsAnswer") } },
    { "bisection", "One bisection",
      "One bisection: its verdict, its culprits with probabilities, its steps, and while it runs "
      "what it measures next.",
      bisection, .requests = { GET("/bisections/{id}", "BisectionAnswer") } },
    { "runners", "Runners", "Lists the runners with their state, version, current job and alarms.",
      .requests = { GET("/runners", "RunnersAnswer") } },
    { "machines", "Machines", "Lists the machines with their classes and fingerprints.", page,
      .requests = { GET("/machines", "MachinesAnswer") } },
    { "environment", "Machines whose speed changed",
      "Lists steps in the speed of whole machines, which are not regressions of a commit.",
      environment, .requests = { GET("/environment", "EventsAnswer") } },
    { "coverage", "Coverage",
      "Which of the newest commits have results of which benchmarks, and which results are "
      "missing.",
      coverage, .requests = { GET("/projects/{project}/coverage", "CoverageAnswer") } },
};

const size_t mcp_tools_read_len = PFC_ARRAY_LEN(mcp_tools_read);
