/*
 * Passes events of the database, which reach every server, on to the waiting requests and event
 * streams of this one.
 */
#include <string.h>

#include <jansson.h>

#include "server/http/http.h"
#include "server/running.h"
#include "server/services/access/access.h"
#include "server/services/queue/fleet.h"
#include "server/services/queue/seekers.h"

/* In the compact form of the API, not as PostgreSQL prints it. */
static void publish(pfc_httpd *http, const char *topic, const char *project, const json_t *event)
{
    char *text = json_dumps(event, JSON_COMPACT);

    pfc_httpd_publish(http, topic, project, text);
    free(text);
}

/* The database sends one event for a group of runs, {"type":"run","project":p,"runs":[{...}, ...]};
 * event streams get one event for each run. */
static void publish_runs(pfc_httpd *http, const char *project, json_t *runs)
{
    json_t *run;
    size_t i;

    json_array_foreach(runs, i, run)
    {
        json_t *event = json_pack("{s:s, s:s}", "type", "run", "project", project);

        json_object_update(event, run);
        publish(http, "run", project, event);
        json_decref(event);
    }
}

/* The need of a job, {"project_id": N, "labels": {...}, "avoid": RUNNER}; the texts of `out` but
 * the labels are those of `json`. */
static void read_need(const json_t *json, pfc_job_need *out)
{
    json_t *labels = json_object_get(json, "labels"), *value;
    const char *name;

    *out = (pfc_job_need){ .project_id = json_integer_value(json_object_get(json, "project_id")),
                           .labels_known = labels != NULL,
                           .avoid = json_string_value(json_object_get(json, "avoid")) };
    json_object_foreach(labels, name, value)
    {
        if (json_is_string(value))
            pfc_labels_set(&out->labels, name, json_string_value(value));
    }
}

/* One runner for each job that became ready. Where the need is too long for an event, all that may
 * fit look. */
static void offer_job(pfc_httpd *http, json_t *event)
{
    const json_t *json = json_object_get(event, "need");
    pfc_job_need need;

    if (!json)
        return;
    read_need(json, &need);
    while (pfc_httpd_offer(http, "job", &need) && !need.labels_known)
        continue;
    pfc_labels_clear(&need.labels);
    json_object_del(event, "need"); /* for the servers only */
}

void server_relay(server *s, const char *event)
{
    static const char *const topics[] = { "run", "alert", "job", "bisection", "environment" };
    json_t *json, *runs;
    const char *type, *project;

    /* Runs arrive by the thousand, mostly without a reader. A request that begins to wait from here
     * on has a generation that includes this event. */
    if (!pfc_httpd_news(s->app.http) && strncmp(event, "{\"type\" : \"run\"", 15) == 0)
        return;
    json = json_loads(event, 0, NULL);
    type = json_string_value(json_object_get(json, "type"));
    project = json_string_value(json_object_get(json, "project"));
    runs = json_object_get(json, "runs");
    if (type && strcmp(type, "token") == 0) {
        pfc_cache_forget(s->app.cache);
        pfc_httpd_end_streams(s->app.http, json_integer_value(json_object_get(json, "id")));
    }
    if (type && strcmp(type, PFC_RUNNER_TOPIC) == 0) /* for waiting requests only */
        pfc_httpd_publish(s->app.http, PFC_RUNNER_TOPIC, "", NULL);
    if (type && strcmp(type, "job") == 0)
        offer_job(s->app.http, json);
    if (json_is_array(runs) && project) { /* in events of bisections `runs` is a number */
        publish_runs(s->app.http, project, runs);
    } else {
        for (size_t i = 0; type && i < PFC_ARRAY_LEN(topics); i++) {
            if (strcmp(type, topics[i]) == 0)
                publish(s->app.http, topics[i], project ? project : "", json);
        }
    }
    json_decref(json);
}
