-- Operating runners: see server/services/queue/fleet.h. project_id: of the runner; NULL: it works for all projects.

-- name: runner_status
-- What a runner reports of itself. Written when it changes, or after half a minute. alarm: it needs attention, which it
-- did not before.
-- in: name text, project_id id, version text?, sandbox text?, spool_documents i64, spool_max_documents i64,
--    spool_bytes i64, spool_max_bytes i64, spool_oldest_s f64, disk_free_bytes i64
-- out: alarm text
WITH old AS MATERIALIZED (
    SELECT r.name, r.project_id, runner_alarm(r) AS alarm FROM runners r
    WHERE r.name = $1 AND (r.project_id IS NULL OR $2::bigint IS NULL OR r.project_id = $2)
      AND (r.status_at IS NULL OR r.status_at < now() - interval '30 seconds' OR r.version IS DISTINCT FROM $3
           OR r.sandbox IS DISTINCT FROM $4 OR r.spool_documents IS DISTINCT FROM $5::bigint)
    ORDER BY r.last_seen_at DESC LIMIT 1),
now AS (
    UPDATE runners r SET version = $3, sandbox = $4, spool_documents = $5::bigint, spool_max_documents = $6::bigint,
           spool_bytes = $7::bigint, spool_max_bytes = $8::bigint, spool_oldest_s = $9::float8,
           disk_free_bytes = $10::bigint, status_at = now()
    FROM old WHERE r.name = old.name AND r.project_id IS NOT DISTINCT FROM old.project_id
    RETURNING CASE WHEN old.alarm IS NULL THEN runner_alarm(r) END AS alarm)
SELECT now.alarm FROM now WHERE now.alarm IS NOT NULL;

-- name: runners_named
-- Runners of that name that work for the project; NULL: for any.
-- in: project_id id, name text
-- out: project_id i64
SELECT r.project_id FROM runners r WHERE r.name = $2 AND ($1::bigint IS NULL OR r.project_id = $1);

-- name: runner_stopped
-- Whether the runner is drained or revoked, so that no job can be for it.
-- in: project_id id, name text
-- value: stopped bool
SELECT EXISTS (SELECT 1 FROM runners WHERE name = $2 AND project_id IS NOT DISTINCT FROM $1::bigint
               AND (drained_at IS NOT NULL OR revoked_at IS NOT NULL)) AS stopped;

-- name: runner_drain
-- in: project_id id, name text, actor text
-- out: count
UPDATE runners SET drained_at = now(), drained_by = $3
WHERE name = $2 AND project_id IS NOT DISTINCT FROM $1::bigint AND drained_at IS NULL;

-- name: runner_undrain
-- in: project_id id, name text
-- out: count
UPDATE runners SET drained_at = NULL, drained_by = NULL
WHERE name = $2 AND project_id IS NOT DISTINCT FROM $1::bigint AND drained_at IS NOT NULL;

-- name: runner_revoke
-- in: project_id id, name text, actor text
-- out: count
UPDATE runners SET revoked_at = now(), revoked_by = $3
WHERE name = $2 AND project_id IS NOT DISTINCT FROM $1::bigint AND revoked_at IS NULL;

-- name: runner_restore
-- in: project_id id, name text
-- out: count
UPDATE runners SET revoked_at = NULL, revoked_by = NULL, token_ids = '{}'
WHERE name = $2 AND project_id IS NOT DISTINCT FROM $1::bigint AND revoked_at IS NOT NULL;

-- name: runner_tokens
-- The tokens that the runner used and that are valid. others: other runners that used the token, as one text.
-- own_token: left out.
-- in: project_id id, name text, own_token id
-- out: id i64, name text, others text
SELECT DISTINCT t.id, t.name,
       (SELECT string_agg(o.name, ', ' ORDER BY o.name) FROM runners o
        WHERE t.id = ANY (o.token_ids) AND o.name <> $2) AS others
FROM runners r JOIN tokens t ON t.id = ANY (r.token_ids)
WHERE r.name = $2 AND r.project_id IS NOT DISTINCT FROM $1::bigint AND t.revoked_at IS NULL
  AND (t.expires_at IS NULL OR t.expires_at > now()) AND t.id IS DISTINCT FROM $3::bigint
ORDER BY t.id;

-- name: runner_end_leases
-- jobs_expire returns the jobs to the queue.
-- in: project_id id, name text
-- out: count
UPDATE jobs SET lease_until = '-infinity'
WHERE state = 'leased' AND runner = $2 AND kind NOT IN ('detect', 'notify')
  AND ($1::bigint IS NULL OR project_id = $1);

-- name: runner_leases
-- in: project_id id, name text
-- value: count i64
SELECT count(*) FROM jobs WHERE state = 'leased' AND runner = $2 AND kind NOT IN ('detect', 'notify')
  AND ($1::bigint IS NULL OR project_id = $1);

-- name: quarantine_preview
-- What a quarantine would hide. since: Unix seconds.
-- in: project_id id, name text, since f64
-- out: runs i64, results i64, series i64, commits i64
SELECT count(DISTINCT q.run_id) AS runs, count(m.series_id) AS results,
       count(DISTINCT m.series_id) AS series, count(DISTINCT r.commit_id) AS commits
FROM quarantine_runs($1::bigint, $2, to_timestamp($3::float8), 0) q
JOIN runs r ON r.project_id = q.project_id AND r.id = q.run_id
LEFT JOIN measurements m ON m.project_id = r.project_id AND m.commit_id = r.commit_id AND m.run_id = r.id;

-- name: quarantine_put
-- The runner's open quarantine, which then reaches back to the earlier of both times, or a new one.
-- in: project_id id, name text, since f64, actor text, reason text?
-- value: id i64
INSERT INTO quarantines AS q (project_id, runner, since, actor, reason)
VALUES ($1::bigint, $2, to_timestamp($3::float8), $4, coalesce($5, ''))
ON CONFLICT (runner, coalesce(project_id, 0)) WHERE released_at IS NULL
DO UPDATE SET since = least(q.since, excluded.since), reason = excluded.reason, seen_run = 0,
              next_run = 0, seen_at = now()
RETURNING id;

-- name: quarantine_hide
-- in: id i64
-- out: project_id i64, branch text
SELECT project_id, branch FROM quarantine_hide($1::bigint);

-- name: quarantine_release
-- in: id i64, actor text
-- out: project_id i64, branch text, run_id i64
SELECT project_id, branch, run_id FROM quarantine_release($1::bigint, $2);

-- name: quarantines_open
-- in: project_id id, name text
-- out: id i64, runner text, runs i64
SELECT id, runner, runs FROM quarantines
WHERE released_at IS NULL AND project_id IS NOT DISTINCT FROM $1::bigint AND runner = $2
ORDER BY id;

-- name: quarantines_due
-- Open quarantines that concern runs which came since.
-- out: id i64
SELECT q.id FROM quarantines q
WHERE q.released_at IS NULL AND EXISTS (
    SELECT 1 FROM quarantine_runs(q.project_id, q.runner, q.since, q.seen_run)) ORDER BY q.id;

-- name: quarantines_seen
-- After the due ones were hidden: older runs need no further look. A run's number may become visible after a higher
-- one's, but not 10 minutes after.
UPDATE quarantines SET seen_run = next_run, next_run = (SELECT last_value FROM runs_id_seq), seen_at = now()
WHERE released_at IS NULL AND seen_at < now() - interval '10 minutes';

-- name: runner_ended
-- A job of the runner brought so many runs.
-- in: job_id i64, runs i64
UPDATE runners r SET results = r.results + $2::bigint FROM jobs j
WHERE j.id = $1::bigint AND r.name = j.runner AND (r.project_id IS NULL OR r.project_id = j.project_id);

-- name: fleet_figures
-- Of runners that reported within a week and are not revoked. documents: that wait for upload. oldest_s: age of the
-- oldest of them, which grows on while its runner is silent. alarms: runners that need attention. disk_free_bytes: the
-- least; NULL: none has reported.
-- also: once
-- out: documents i64, oldest_s f64, alarms i64, disk_free_bytes f64
SELECT coalesce(sum(r.spool_documents), 0)::bigint AS documents,
       coalesce(max(CASE WHEN r.spool_documents > 0 THEN r.spool_oldest_s + extract(epoch FROM now() - r.status_at) END),
                0)::float8 AS oldest_s,
       count(runner_alarm(r)) AS alarms, min(r.disk_free_bytes)::float8 AS disk_free_bytes
FROM runners r WHERE r.status_at > now() - interval '7 days' AND r.revoked_at IS NULL;
