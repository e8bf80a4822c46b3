-- Issues at the forge for alert groups: see server/services/bot/issues.h.

-- name: group_issue_ask
-- Stores the request; one that is stored is looked at again now, and made again where the issue was deleted.
-- No row: the project has no link to a forge.
-- in: project_id i64, group_id i64, actor text
-- value: group_id i64
INSERT INTO group_issues AS i (project_id, group_id, forge, repo, asked_by)
SELECT l.project_id, $2::bigint, l.forge, l.repo, $3 FROM forge_links l WHERE l.project_id = $1::bigint
ON CONFLICT (project_id, group_id) DO UPDATE SET due_at = now(), tries = 0, trouble = NULL, hash = NULL,
    state = CASE WHEN i.state = 'gone' THEN 'waiting' ELSE i.state END,
    number = CASE WHEN i.state <> 'gone' THEN i.number END,
    url = CASE WHEN i.state <> 'gone' THEN i.url ELSE '' END,
    asked_by = CASE WHEN i.state <> 'gone' THEN i.asked_by ELSE excluded.asked_by END,
    asked_at = CASE WHEN i.state <> 'gone' THEN i.asked_at ELSE now() END,
    updated_at = CASE WHEN i.state <> 'gone' THEN i.updated_at ELSE now() END
RETURNING group_id;

-- name: group_issues_due
-- in: limit i64
-- out: project_id i64, group_id i64
SELECT project_id, group_id FROM group_issues WHERE due_at <= clock_timestamp()
ORDER BY due_at, project_id, group_id LIMIT $1::int;

-- name: group_issues_wait
-- Seconds until the next one is due; NULL: none is.
-- value: seconds f64
SELECT extract(epoch FROM min(due_at) - clock_timestamp())::float8 AS seconds FROM group_issues
WHERE due_at IS NOT NULL;

-- name: group_issue_lock
-- Until the transaction ends; false: another server looks at it.
-- in: project_id i64, group_id i64
-- value: locked bool
SELECT pg_try_advisory_xact_lock(74202056, hashtext($1::bigint || '/' || $2::bigint)) AS locked;

-- name: group_issue_get
-- One that is still due: another server may have looked at it before the lock was taken.
-- in: project_id i64, group_id i64
-- out: project_id i64, group_id i64, project text, forge text, repo text, asked_by text, asked_at f64, number i64,
--    url text, state text, hash text, tries i64
SELECT i.project_id, i.group_id, p.name AS project, i.forge, i.repo, i.asked_by,
       extract(epoch FROM i.asked_at)::float8 AS asked_at, coalesce(i.number, 0) AS number, i.url, i.state, i.hash,
       i.tries
FROM group_issues i JOIN projects p ON p.id = i.project_id
WHERE i.project_id = $1::bigint AND i.group_id = $2::bigint AND i.due_at <= clock_timestamp();

-- name: group_issue_posted
-- Readers of the group learn it as an event of one of its alerts.
-- in: project_id i64, group_id i64, number i64, url text, state text, hash text?
WITH done AS (
    UPDATE group_issues SET number = $3::bigint, url = $4, state = $5, hash = $6, updated_at = now()
    WHERE project_id = $1::bigint AND group_id = $2::bigint RETURNING project_id, group_id)
SELECT pg_notify('perfci', json_build_object('type', 'alert', 'project', p.name, 'id', a.id,
                                             'state', a.state, 'series_id', a.series_id)::text)
FROM done d JOIN projects p ON p.id = d.project_id
JOIN LATERAL (
    SELECT m.id, m.state, m.series_id FROM alerts m WHERE m.project_id = d.project_id AND m.group_id = d.group_id
    ORDER BY m.id LIMIT 1) a ON true;

-- name: group_issue_gone
-- The issue was deleted at the forge: it is not made again without a request.
-- in: project_id i64, group_id i64
WITH done AS (
    UPDATE group_issues SET state = 'gone', due_at = NULL, tries = 0, trouble = NULL, updated_at = now()
    WHERE project_id = $1::bigint AND group_id = $2::bigint RETURNING project_id, group_id)
SELECT pg_notify('perfci', json_build_object('type', 'alert', 'project', p.name, 'id', a.id,
                                             'state', a.state, 'series_id', a.series_id)::text)
FROM done d JOIN projects p ON p.id = d.project_id
JOIN LATERAL (
    SELECT m.id, m.state, m.series_id FROM alerts m WHERE m.project_id = d.project_id AND m.group_id = d.group_id
    ORDER BY m.id LIMIT 1) a ON true;

-- name: group_issue_later
-- Ends a look. A request that came meanwhile has set tries and hash back; it only waits for the next look.
-- in: project_id i64, group_id i64, after_s f64, tries i64, trouble text?
UPDATE group_issues SET due_at = now() + make_interval(secs => $3::float8), tries = $4::int, trouble = $5
WHERE project_id = $1::bigint AND group_id = $2::bigint AND state <> 'gone';
