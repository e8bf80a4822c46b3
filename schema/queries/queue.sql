-- name: queue_look
-- The queue as it is, in one document (of one snapshot):
--   jobs: [id, runs already, fit, took, seconds until due, seconds since leased, runner, seconds for which a runner
--   is avoided, parents]; leased jobs, then queued ones in the order in which they are taken
--   fits: [labels, runner to avoid, runners that may take it, the runner that could and was seen last where no runner
--   may, seconds since then]
--   took: seconds of the newest that finished: of the same work, else kind, else project, else of any; of a job with
--   blocks only its budget, unless its rounds are given
--   known: whether the value at the same index of `took` is a budget
--   runners: names of those that were seen lately or hold a job
-- project_id, kind, labels, priority describe a job as if it were queued now, behind those of its priority; its id is
-- the highest possible one. project_id NULL: no such job.
-- in: limit i64, project_id id, kind text, labels text?, priority i64
-- out: json_build_object text
WITH alive AS MATERIALIZED (
    SELECT r.name, r.machine_class, r.labels, r.backends, r.project_id FROM runners r
    WHERE (r.last_seen_at > now() - interval '2 minutes' AND r.drained_at IS NULL AND r.revoked_at IS NULL)
       OR EXISTS (SELECT 1 FROM jobs j WHERE j.state = 'leased' AND j.runner = r.name
                  AND (r.project_id IS NULL OR j.project_id = r.project_id) AND j.kind NOT IN ('detect', 'notify'))),
open AS MATERIALIZED ( -- each by its own index, without a look at history
    (SELECT * FROM jobs WHERE state = 'leased' AND kind NOT IN ('detect', 'notify') LIMIT $1::int)
    UNION ALL (SELECT * FROM jobs WHERE state = 'queued' AND kind NOT IN ('detect', 'notify')
               ORDER BY priority DESC, id LIMIT $1::int)),
found AS MATERIALIZED (
    (SELECT id, project_id, kind, suite, labels, state, runner, parents, priority,
            CASE WHEN coalesce(avoid_until, created_at + interval '10 minutes') > now() THEN avoid_runner END AS avoid,
            extract(epoch FROM coalesce(avoid_until, created_at + interval '10 minutes') - now())::float8 AS avoid_s,
            greatest(0, extract(epoch FROM not_before - now()))::float8 AS due_s,
            greatest(0, extract(epoch FROM now() - coalesce(leased_at, started_at)))::float8 AS since_s,
            CASE WHEN NOT task #> '{blocks}' ? 'rounds' THEN (task #>> '{blocks,budget_s}')::float8 END AS budget_s
     FROM open
     ORDER BY state = 'leased' DESC, priority DESC, id LIMIT $1::int)
    UNION ALL
    SELECT 9223372036854775807, $2::bigint, $3, NULL, coalesce($4, '{}')::jsonb, 'queued', NULL, '{}', $5::int,
           NULL, NULL, 0, 0, NULL
    WHERE $2::bigint IS NOT NULL),
numbered AS MATERIALIZED (
    SELECT *, dense_rank() OVER (ORDER BY project_id, labels, avoid) - 1 AS fit,
           dense_rank() OVER (ORDER BY project_id, kind, suite, labels, budget_s) - 1 AS took FROM found),
fits AS (
    SELECT f.fit, f.labels, f.avoid, w.names, g.name AS gone, g.ago_s
    FROM (SELECT DISTINCT fit, project_id, labels, avoid FROM numbered) f
    CROSS JOIN LATERAL (
        SELECT coalesce(json_agg(a.name ORDER BY a.name), '[]') AS names FROM alive a
        WHERE (a.project_id IS NULL OR a.project_id = f.project_id)
          AND job_fits(f.labels, a.machine_class, a.labels, a.backends)) w
    LEFT JOIN LATERAL (
        SELECT r.name, extract(epoch FROM now() - r.last_seen_at)::float8 AS ago_s FROM runners r
        WHERE (r.project_id IS NULL OR r.project_id = f.project_id)
          AND job_fits(f.labels, r.machine_class, r.labels, r.backends)
        ORDER BY r.last_seen_at DESC LIMIT 1) g ON true),
recent AS MATERIALIZED ( -- of the service: a bounded look, however old it is
    SELECT id, project_id, kind, suite, labels,
           greatest(0, extract(epoch FROM finished_at - coalesce(leased_at, started_at)))::float8 AS s
    FROM (SELECT * FROM jobs WHERE kind NOT IN ('detect', 'notify') AND state IN ('done', 'failed')
          ORDER BY id DESC LIMIT 5000) j
    WHERE started_at IS NOT NULL AND NOT task ? 'blocks'), -- others do not take as long as a session
took AS (
    SELECT c.took, c.budget_s IS NOT NULL AS known,
                   CASE WHEN c.budget_s IS NOT NULL THEN ARRAY[c.budget_s]
                        WHEN cardinality(a.same) >= 3 THEN a.same
                        WHEN cardinality(a.of_kind) >= 3 THEN a.of_kind
                        WHEN cardinality(a.of_project) >= 3 THEN a.of_project
                        ELSE coalesce(nullif(a.same, '{}'), nullif(a.of_kind, '{}'), nullif(a.of_project, '{}'),
                                      a.of_any)
                   END AS seconds
    FROM (SELECT DISTINCT took, project_id, kind, suite, labels, budget_s FROM numbered) c
    CROSS JOIN LATERAL (SELECT
        array(SELECT s FROM recent r WHERE r.project_id = c.project_id AND r.kind = c.kind
              AND r.suite IS NOT DISTINCT FROM c.suite AND r.labels = c.labels
              ORDER BY r.id DESC LIMIT 50) AS same,
        array(SELECT s FROM recent r WHERE r.project_id = c.project_id AND r.kind = c.kind
              ORDER BY r.id DESC LIMIT 50) AS of_kind,
        array(SELECT s FROM recent r WHERE r.project_id = c.project_id
              ORDER BY r.id DESC LIMIT 50) AS of_project,
        array(SELECT s FROM recent r ORDER BY r.id DESC LIMIT 50) AS of_any) a)
SELECT json_build_object(
    'jobs', (SELECT coalesce(json_agg(json_build_array(id, state = 'leased', fit, took, coalesce(due_s, 0),
                 coalesce(since_s, 0), runner, avoid_s, parents)
                 ORDER BY state = 'leased' DESC, priority DESC, id), '[]') FROM numbered),
    'fits', (SELECT coalesce(json_agg(json_build_array(labels, avoid, names, gone, ago_s) ORDER BY fit), '[]')
             FROM fits),
    'took', (SELECT coalesce(json_agg(to_json(seconds) ORDER BY took), '[]') FROM took),
    'known', (SELECT coalesce(json_agg(known ORDER BY took), '[]') FROM took),
    'runners', (SELECT coalesce(json_agg(name ORDER BY name), '[]') FROM alive))::text;
