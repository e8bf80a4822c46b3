-- Schedules of the service and their nights: see server/services/queue/schedules.h.

-- name: schedule_put
-- id 0: a new one; no row when the name is taken. next_at, NULL: not planned.
-- in: project_id i64, id id, name text, cron text, zone text, branch text?, suite text?, backends text[], labels json,
--    max_commits i64, budget_s f64, enabled bool, next_at f64, trouble text?
-- value: id i64
WITH changed AS (
    UPDATE schedules SET cron = $4, zone = $5, branch = $6, suite = $7, backends = $8::text[], labels = $9::jsonb,
           max_commits = $10::int, budget_s = $11::float8, enabled = $12::boolean, next_at = to_timestamp($13::float8),
           trouble = $14, planned_at = now()
    WHERE project_id = $1::bigint AND id = $2::bigint RETURNING id),
made AS (
    INSERT INTO schedules (project_id, name, cron, zone, branch, suite, backends, labels, max_commits, budget_s, enabled,
                           next_at, trouble)
    SELECT $1::bigint, $3, $4, $5, $6, $7, $8::text[], $9::jsonb, $10::int, $11::float8, $12::boolean,
           to_timestamp($13::float8), $14
    WHERE $2::bigint IS NULL
    ON CONFLICT (project_id, name) DO NOTHING RETURNING id)
SELECT id FROM changed UNION ALL SELECT id FROM made;

-- name: schedules_list
-- name NULL: all, by name. The branch as it applies; night: the newest one.
-- also: once
-- in: project_id i64, name text?
-- out: id i64, name text, cron text, zone text, branch text, own_branch text, suite text, backends json, labels json,
--    max_commits i64, budget_s f64, enabled bool, next_at f64, last_at f64, trouble text, created_at f64, night_id i64,
--    night_state text, night_reason text
SELECT s.id, s.name, s.cron, s.zone, coalesce(s.branch, p.branch) AS branch, s.branch AS own_branch, s.suite,
       to_json(s.backends)::text AS backends, s.labels::text AS labels, s.max_commits, s.budget_s, s.enabled,
       extract(epoch FROM s.next_at)::float8 AS next_at, extract(epoch FROM s.last_at)::float8 AS last_at, s.trouble,
       extract(epoch FROM s.created_at)::float8 AS created_at, n.id AS night_id, n.state AS night_state,
       n.reason AS night_reason
FROM schedules s JOIN projects p ON p.id = s.project_id
LEFT JOIN LATERAL (
    SELECT * FROM nights x WHERE x.project_id = s.project_id AND x.schedule_id = s.id ORDER BY x.id DESC LIMIT 1) n ON true
WHERE s.project_id = $1::bigint AND ($2::text IS NULL OR s.name = $2)
ORDER BY s.name LIMIT 1000;

-- name: schedules_count
-- in: project_id i64
-- value: count i64
SELECT count(*) FROM schedules WHERE project_id = $1::bigint;

-- name: schedule_remove
-- in: project_id i64, name text
-- out: count
DELETE FROM schedules WHERE project_id = $1::bigint AND name = $2;

-- name: schedule_lock
-- The schedule, until the transaction ends. due_s: next_at, NULL for none. source: where its runner gets the commits.
-- row: schedule_due
-- in: project_id i64, name text
-- out: project_id i64, id i64, name text, cron text, zone text, branch text, suite text, backends text[], labels json,
--    max_commits i64, budget_s f64, due_s f64, now_s f64, source text
SELECT s.project_id, s.id, s.name, s.cron, s.zone, coalesce(s.branch, p.branch) AS branch, s.suite, s.backends,
       s.labels::text AS labels, s.max_commits, s.budget_s, extract(epoch FROM s.next_at)::float8 AS due_s,
       extract(epoch FROM clock_timestamp())::float8 AS now_s,
       coalesce(p.repo_url, (SELECT j.source FROM jobs j WHERE j.project_id = s.project_id AND j.state = 'done'
                             AND j.source IS NOT NULL ORDER BY j.id DESC LIMIT 1)) AS source
FROM schedules s JOIN projects p ON p.id = s.project_id
WHERE s.project_id = $1::bigint AND s.name = $2 FOR UPDATE OF s;

-- name: schedules_due
-- The one that has been due longest and that no other server works on, as schedule_lock. Of those that could not be
-- planned, the one that was tried longest ago, after 10 minutes.
-- row: schedule_due
-- out: project_id i64, id i64, name text, cron text, zone text, branch text, suite text, backends text[], labels json,
--    max_commits i64, budget_s f64, due_s f64, now_s f64, source text
SELECT s.project_id, s.id, s.name, s.cron, s.zone, coalesce(s.branch, p.branch) AS branch, s.suite, s.backends,
       s.labels::text AS labels, s.max_commits, s.budget_s, extract(epoch FROM s.next_at)::float8 AS due_s,
       extract(epoch FROM clock_timestamp())::float8 AS now_s,
       coalesce(p.repo_url, (SELECT j.source FROM jobs j WHERE j.project_id = s.project_id AND j.state = 'done'
                             AND j.source IS NOT NULL ORDER BY j.id DESC LIMIT 1)) AS source
FROM schedules s JOIN projects p ON p.id = s.project_id
WHERE s.enabled AND (s.next_at <= clock_timestamp()
                     OR (s.next_at IS NULL AND s.planned_at < clock_timestamp() - interval '10 minutes'))
ORDER BY s.next_at, s.planned_at LIMIT 1 FOR UPDATE OF s SKIP LOCKED;

-- name: schedule_planned
-- last_s NULL: it was not due.
-- in: project_id i64, id i64, last_s f64, next_s f64, trouble text?
UPDATE schedules SET last_at = coalesce(to_timestamp($3::float8), last_at), next_at = to_timestamp($4::float8),
       trouble = $5, planned_at = now()
WHERE project_id = $1::bigint AND id = $2::bigint;

-- name: night_plan
-- The newest commit that the schedule's last finished night measured, else the newest one of the branch that was
-- measured (on the class, when the schedule names one), and the commits of the branch behind it, newest first. base
-- NULL: nothing was measured yet. total: how many there are.
-- in: project_id i64, schedule_id i64, branch text, machine_class text?, limit i64
-- out: sha text, base text, total i64
WITH measured AS MATERIALIZED (
    SELECT b.position, c.sha FROM nights n
    JOIN commits c ON c.project_id = n.project_id AND c.sha = n.head
    JOIN branch_commits b ON b.project_id = c.project_id AND b.branch = $3 AND b.commit_id = c.id
    WHERE n.project_id = $1::bigint AND n.schedule_id = $2::bigint AND n.state = 'done' AND b.position IS NOT NULL
    ORDER BY n.id DESC LIMIT 1),
run AS MATERIALIZED (
    SELECT b.position, c.sha FROM branch_commits b
    JOIN commits c ON c.project_id = b.project_id AND c.id = b.commit_id
    WHERE b.project_id = $1::bigint AND b.branch = $3 AND b.position IS NOT NULL
      AND NOT EXISTS (SELECT 1 FROM measured)
      AND EXISTS (SELECT 1 FROM runs r JOIN machines k ON k.id = r.machine_id
                  WHERE r.project_id = b.project_id AND r.commit_id = b.commit_id AND r.quarantine_id IS NULL
                    AND ($4::text IS NULL OR k.class = $4))
    ORDER BY b.position DESC LIMIT 1),
floor AS (SELECT * FROM measured UNION ALL SELECT * FROM run),
fresh AS MATERIALIZED (
    SELECT b.position, b.commit_id FROM branch_commits b
    WHERE b.project_id = $1::bigint AND b.branch = $3
      AND b.position > coalesce((SELECT position FROM floor), 0))
SELECT c.sha, (SELECT sha FROM floor) AS base, (SELECT count(*) FROM fresh) AS total
FROM fresh f JOIN commits c ON c.project_id = $1::bigint AND c.id = f.commit_id
ORDER BY f.position DESC LIMIT $5::int;

-- name: nights_settle
-- Nights whose job has ended, or is gone; NULL: of all projects.
-- in: project_id id
-- out: id i64
UPDATE nights n SET state = CASE WHEN j.state = 'done' THEN 'done' ELSE 'failed' END, finished_at = now(),
       reason = CASE WHEN j.state = 'done' THEN n.reason
                     ELSE format('job %s %s%s', n.job_id, coalesce(CASE j.state WHEN 'cancelled' THEN 'was cancelled'
                                                                            ELSE j.state END, 'is gone'),
                                 coalesce(': ' || left(nullif(j.reason, ''), 400), '')) END
FROM nights x LEFT JOIN jobs j ON j.project_id = x.project_id AND j.id = x.job_id
WHERE x.state = 'running' AND ($1::bigint IS NULL OR x.project_id = $1)
  AND (j.id IS NULL OR j.state IN ('done', 'failed', 'cancelled'))
  AND n.project_id = x.project_id AND n.id = x.id AND n.state = 'running'
RETURNING n.id;

-- name: night_running
-- The schedule's night that is not finished, with the state of its job.
-- in: project_id i64, schedule_id i64
-- out: id i64, job_id i64, job_state text
SELECT n.id, n.job_id, j.state AS job_state FROM nights n
LEFT JOIN jobs j ON j.project_id = n.project_id AND j.id = n.job_id
WHERE n.project_id = $1::bigint AND n.schedule_id = $2::bigint AND n.state = 'running' ORDER BY n.id DESC LIMIT 1;

-- name: night_put
-- due_s NULL: a person started it.
-- in: project_id i64, schedule_id i64, due_s f64, actor text, state text, reason text, job_id id, head text?, base text?,
--    commits i64, left_out i64
-- value: id i64
INSERT INTO nights (project_id, schedule_id, due_at, actor, state, reason, job_id, head, base, commits, left_out,
                    finished_at)
VALUES ($1::bigint, $2::bigint, to_timestamp($3::float8), $4, $5, $6, $7::bigint, $8, $9, $10::int, $11::int,
        CASE WHEN $5 <> 'running' THEN now() END)
RETURNING id;

-- name: nights_list
-- Newest first. id NULL: all.
-- also: once
-- in: project_id i64, name text, id id, cursor id, limit i64
-- out: id i64, schedule text, due_at f64, actor text, state text, reason text, job_id i64, head text, base text,
--    commits i64, left_out i64, started_at f64, finished_at f64
SELECT n.id, s.name AS schedule, extract(epoch FROM n.due_at)::float8 AS due_at, n.actor, n.state, n.reason,
       coalesce(n.job_id, 0) AS job_id, n.head, n.base, n.commits, n.left_out,
       extract(epoch FROM n.started_at)::float8 AS started_at, extract(epoch FROM n.finished_at)::float8 AS finished_at
FROM nights n JOIN schedules s ON s.project_id = n.project_id AND s.id = n.schedule_id
WHERE n.project_id = $1::bigint AND s.name = $2 AND ($3::bigint IS NULL OR n.id = $3)
  AND ($4::bigint IS NULL OR n.id < $4)
ORDER BY n.id DESC LIMIT $5::int;

-- name: nights_prune
-- Removes nights that ended more than `days` ago, but of each schedule neither the newest one nor the newest one that
-- is done, behind which the next night begins.
-- in: days i64
DELETE FROM nights n WHERE n.finished_at < now() - make_interval(days => $1::int)
  AND EXISTS (SELECT 1 FROM nights x WHERE x.project_id = n.project_id AND x.schedule_id = n.schedule_id AND x.id > n.id)
  AND (n.state <> 'done' OR EXISTS (
       SELECT 1 FROM nights x WHERE x.project_id = n.project_id AND x.schedule_id = n.schedule_id AND x.id > n.id
       AND x.state = 'done'));
