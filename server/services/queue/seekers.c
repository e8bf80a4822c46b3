#include "server/services/queue/seekers.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/base.h"

struct pfc_job_seeker {
    char *runner, *machine_class;
    pfc_labels labels;
    char **backends;
    size_t backends_len;
    int64_t project_id; /* 0: any */
};

pfc_job_seeker *pfc_job_seeker_new(const pfc_lease_request *request)
{
    pfc_job_seeker *s = pfc_calloc(1, sizeof(*s));

    s->runner = pfc_strdup(request->runner);
    s->machine_class = pfc_strdup(request->machine_class);
    pfc_labels_set_all(&s->labels, request->labels);
    s->backends_len = request->backends_len;
    s->backends = pfc_calloc(s->backends_len + 1, sizeof(*s->backends));
    for (size_t i = 0; i < s->backends_len; i++)
        s->backends[i] = pfc_strdup(request->backends[i]);
    s->project_id = request->project_id;
    return s;
}

void pfc_job_seeker_free(void *seeker)
{
    pfc_job_seeker *s = seeker;

    if (!s)
        return;
    for (size_t i = 0; i < s->backends_len; i++)
        free(s->backends[i]);
    free(s->backends);
    pfc_labels_clear(&s->labels);
    free(s->machine_class);
    free(s->runner);
    free(s);
}

static bool has_backend(const pfc_job_seeker *s, const char *backend)
{
    for (size_t i = 0; i < s->backends_len; i++)
        if (strcmp(s->backends[i], backend) == 0)
            return true;
    return false;
}

static bool has_label(const pfc_job_seeker *s, const char *name, const char *value)
{
    const char *own;

    if (strcmp(name, "backend") == 0)
        return has_backend(s, value);
    if (strcmp(name, "machine_class") == 0)
        return strcmp(s->machine_class, value) == 0;
    own = pfc_labels_get(&s->labels, name);
    return own && strcmp(own, value) == 0;
}

bool pfc_job_seeker_suits(const void *seeker, const void *of_job)
{
    const pfc_job_seeker *s = seeker;
    const pfc_job_need *need = of_job;

    if (s->project_id && need->project_id != s->project_id)
        return false;
    if (need->avoid && strcmp(need->avoid, s->runner) == 0)
        return false;
    for (size_t i = 0; i < need->labels.len; i++) {
        if (!has_label(s, need->labels.items[i].name, need->labels.items[i].value))
            return false;
    }
    return true;
}
