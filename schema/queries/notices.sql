-- name: notice_put
-- Equal notices are stored once.
-- in: project_id i64, kind text, alert_id i64, sha text, text text
WITH made AS (
    INSERT INTO notices (project_id, kind, alert_id, sha, text)
    VALUES ($1::bigint, $2, $3::bigint, $4, $5)
    ON CONFLICT (project_id, alert_id, kind, sha) DO NOTHING
    RETURNING id)
SELECT pg_notify('perfci', json_build_object('type', 'notice', 'id', id)::text) FROM made;

-- name: notices_open
-- The oldest first. A parameter that is NULL does not restrict. deliveries: a JSON array.
-- in: project_id id, cursor id, limit i64
-- out: id i64, project text, kind text, alert_id i64, commit text, subject text, author text, text text,
--    created_at f64, deliveries json
SELECT n.id, p.name AS project, n.kind, n.alert_id, n.sha AS commit, c.subject, c.author, n.text,
       extract(epoch FROM n.created_at)::float8 AS created_at,
       (SELECT coalesce(json_agg(json_build_object('receiver', j.task ->> 'receiver', 'state',
                   CASE j.state WHEN 'queued' THEN 'waiting' WHEN 'leased' THEN 'sending'
                        WHEN 'done' THEN 'sent' ELSE 'dead' END,
                   'tries', j.tries, 'reason', j.reason, 'next_at',
                   CASE WHEN j.state = 'queued' THEN to_char(j.not_before AT TIME ZONE 'UTC',
                                                             'YYYY-MM-DD"T"HH24:MI:SS"Z"') END)
               ORDER BY j.id), '[]')::text
        FROM jobs j WHERE j.project_id = n.project_id AND j.kind = 'notify'
        AND (j.task ->> 'notice')::bigint = n.id) AS deliveries
FROM notices n JOIN projects p ON p.id = n.project_id
LEFT JOIN commits c ON c.project_id = n.project_id AND c.sha = n.sha
WHERE n.done_at IS NULL AND ($1::bigint IS NULL OR n.project_id = $1)
  AND ($2::bigint IS NULL OR n.id > $2)
ORDER BY n.id LIMIT $3::int;

-- name: notice_project
-- in: id i64
-- value: project_id i64
SELECT project_id FROM notices WHERE id = $1::bigint;

-- name: notice_done
-- The project of the notice; no row when it is closed already.
-- in: id i64, actor text
-- value: project_id i64
UPDATE notices SET done_at = now(), done_by = $2 WHERE id = $1::bigint AND done_at IS NULL
RETURNING project_id;

-- name: notices_dispatch
-- The number of new delivery jobs. Older notices are not delivered; a notice without receivers stays for readers of
-- the outbox. projects: of each receiver, '' for all.
-- arrays: len
-- in: receivers text[], projects text[], days i64
-- value: count i64
WITH receivers AS MATERIALIZED (
    SELECT * FROM unnest($1::text[], $2::text[]) AS r (name, project)),
picked AS MATERIALIZED (
    SELECT n.project_id, n.id, n.sha, p.name FROM notices n JOIN projects p ON p.id = n.project_id
    WHERE n.done_at IS NULL AND n.dispatched_at IS NULL
      AND n.created_at > now() - make_interval(days => $3::int)
      AND EXISTS (SELECT 1 FROM receivers r WHERE r.project IN ('', p.name))
    ORDER BY n.id LIMIT 100 FOR UPDATE OF n SKIP LOCKED),
made AS (
    INSERT INTO jobs (project_id, kind, sha, dedupe, task, not_before)
    SELECT k.project_id, 'notify', k.sha, format('notify:%s:%s', k.id, r.name),
           jsonb_build_object('notice', k.id, 'receiver', r.name), now()
    FROM picked k JOIN receivers r ON r.project IN ('', k.name)
    ORDER BY k.id),
marked AS (
    UPDATE notices n SET dispatched_at = now() FROM picked k
    WHERE n.project_id = k.project_id AND n.id = k.id RETURNING n.id)
SELECT count(*) FROM marked;

-- name: notify_take
-- tries: with this one.
-- in: lease_hash text, seconds f64
-- out: job_id i64, project_id i64, notice_id i64, receiver text, tries i64, closed bool
WITH pick AS MATERIALIZED (
    SELECT project_id, id FROM jobs
    WHERE state = 'queued' AND kind = 'notify' AND not_before <= clock_timestamp()
    ORDER BY not_before, id LIMIT 1 FOR UPDATE SKIP LOCKED)
UPDATE jobs j
SET state = 'leased', runner = 'server', lease_hash = $1, tries = j.tries + 1,
    lease_until = clock_timestamp() + make_interval(secs => $2::float8),
    started_at = coalesce(j.started_at, clock_timestamp())
FROM pick JOIN notices n ON n.project_id = pick.project_id
WHERE j.project_id = pick.project_id AND j.id = pick.id AND n.id = (j.task ->> 'notice')::bigint
RETURNING j.id AS job_id, j.project_id, n.id AS notice_id, j.task ->> 'receiver' AS receiver, j.tries,
          n.done_at IS NOT NULL AS closed;

-- name: notify_due
-- Seconds until the next delivery is due; NULL: there is none.
-- out: extract f64
SELECT extract(epoch FROM min(not_before) - clock_timestamp())::float8
FROM jobs WHERE state = 'queued' AND kind = 'notify';

-- name: notify_content
-- The notice and the others of its kind about the same commit, the oldest first.
-- in: project_id i64, notice_id i64
-- out: id i64, project text, kind text, alert_id i64, commit text, subject text, author text, text text,
--    created_at f64, benchmark text, metric text, backend text, machine_class text, rel_change f64
SELECT n.id, p.name AS project, n.kind, n.alert_id, n.sha AS commit, c.subject, c.author, n.text,
       extract(epoch FROM n.created_at)::float8 AS created_at, b.name AS benchmark, s.metric, s.backend,
       s.machine_class, x.rel_change
FROM notices this
JOIN notices n ON n.project_id = this.project_id AND n.sha = this.sha AND n.kind = this.kind
JOIN projects p ON p.id = n.project_id
LEFT JOIN commits c ON c.project_id = n.project_id AND c.sha = n.sha
LEFT JOIN alerts a ON a.project_id = n.project_id AND a.id = n.alert_id
LEFT JOIN change_points x ON x.project_id = a.project_id AND x.id = a.change_point_id
LEFT JOIN series s ON s.project_id = a.project_id AND s.id = a.series_id
LEFT JOIN benchmarks b ON b.project_id = s.project_id AND b.id = s.benchmark_id
WHERE this.project_id = $1::bigint AND this.id = $2::bigint
ORDER BY n.id LIMIT 1000;

-- name: notice_lock
-- Two deliveries of a notice may end at the same time.
-- in: project_id i64, id i64
-- out: id i64
SELECT id FROM notices WHERE project_id = $1::bigint AND id = $2::bigint FOR UPDATE;

-- name: notify_finish
-- tries_back: tries that do not count.
-- in: job_id i64, lease_hash text, state text, reason text, retry_after_s f64, tries_back i64
UPDATE jobs SET state = $3, reason = $4, lease_until = NULL, lease_hash = NULL,
       tries = greatest(tries - $6::int, 0),
       not_before = clock_timestamp() + make_interval(secs => $5::float8),
       finished_at = CASE WHEN $3 <> 'queued' THEN clock_timestamp() END
WHERE id = $1::bigint AND state = 'leased' AND lease_hash = $2;

-- name: notify_close
-- Closes the notice when all of its receivers have it.
-- in: project_id i64, notice_id i64
UPDATE notices SET done_at = now(), done_by = 'notify'
WHERE project_id = $1::bigint AND id = $2::bigint AND done_at IS NULL
  AND NOT EXISTS (SELECT 1 FROM jobs WHERE project_id = $1::bigint AND kind = 'notify'
                  AND (task ->> 'notice')::bigint = $2::bigint AND state <> 'done');

-- name: notify_again
-- Queues the failed deliveries of the notice again.
-- in: project_id i64, notice_id i64
-- out: id i64
UPDATE jobs SET state = 'queued', tries = 0, not_before = now(), finished_at = NULL
WHERE project_id = $1::bigint AND kind = 'notify' AND (task ->> 'notice')::bigint = $2::bigint
  AND state = 'failed'
RETURNING id;
