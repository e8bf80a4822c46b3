-- Which jobs a runner may take, found without a look at those that it may not: 10^5 jobs that wait for a machine that
-- is away must not cost each question of the other runners a walk through all of them.

-- One pair of the job's labels, as "name=value"; '' without labels. A runner can take the job only if it has that
-- pair, so it looks under its own pairs alone. Labels of an operator's own come first: they tell jobs apart best.
CREATE FUNCTION job_pivot(labels jsonb) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT coalesce((SELECT key || '=' || value FROM jsonb_each_text(labels)
                     ORDER BY key IN ('machine_class', 'backend', 'tasks'), key LIMIT 1), '')
$$;

-- The same for jobs with the same labels, which the same runners may take.
CREATE FUNCTION job_need(labels jsonb) RETURNS bytea LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT sha256(convert_to(labels::text, 'UTF8'))
$$;

-- Minus: the planner must not take jobs_waiting, which has the order of priority for all needs together, in its place.
CREATE INDEX jobs_by_need ON jobs (job_pivot(labels), project_id, job_need(labels), (-priority), id)
    WHERE state = 'queued' AND kind NOT IN ('detect', 'notify');

-- The event of a job's present state. need: of a queued one, what a runner must have to take it; servers wake one
-- runner that has it, and do not pass it on. Longer labels are left out: an event has at most 8,000 bytes.
CREATE FUNCTION job_news(j jobs, project text) RETURNS text LANGUAGE sql STABLE AS $$
    SELECT json_strip_nulls(json_build_object('type', 'job', 'project', project, 'id', j.id, 'kind', j.kind,
        'state', j.state, 'commit', j.sha,
        'need', CASE WHEN j.state = 'queued' THEN json_build_object('project_id', j.project_id,
            'labels', CASE WHEN octet_length(j.labels::text) <= 4000 THEN j.labels END,
            'avoid', CASE WHEN coalesce(j.avoid_until, j.created_at + interval '10 minutes') > now()
                          THEN j.avoid_runner END) END))::text
$$;
