-- name: notice_put
-- Equal notices are stored once.
-- in: project_id i64, kind text, alert_id i64, sha text, text text
WITH made AS (
    INSERT INTO notices (project_id, kind, alert_id, sha, text)
    VALUES ($1::bigint, $2, $3::bigint, $4, $5)
    ON CONFLICT DO NOTHING
    RETURNING id)
SELECT pg_notify('perfci', json_build_object('type', 'notice', 'id', id)::text) FROM made;

-- name: notice_group
-- Announces a group once, at its first alert, unless a person has set that alert's state already; hidden alerts come
-- last, and their notice, which is withheld, does not count for the others. The commit is the place of the change, and
-- not blamed.
-- in: project_id i64, alert_ids i64[]
WITH first AS (
    SELECT a.id, a.event_id, a.group_summary, c.sha
    FROM alerts a
    JOIN change_points x ON x.project_id = a.project_id AND x.id = a.change_point_id
    JOIN commits c ON c.project_id = x.project_id AND c.id = x.commit_id
    WHERE a.project_id = $1::bigint AND a.id = ANY ($2::bigint[]) AND a.state IN ('untriaged', 'infrastructure')
      AND NOT EXISTS (SELECT 1 FROM notices n WHERE n.project_id = $1::bigint AND n.alert_id = ANY ($2::bigint[])
                      AND n.kind IN ('regression', 'infrastructure') AND (NOT n.withheld OR a.suppressed_by IS NOT NULL))
    ORDER BY a.suppressed_by IS NOT NULL, a.id LIMIT 1),
made AS (
    INSERT INTO notices (project_id, kind, alert_id, sha, text, worst)
    SELECT $1::bigint, CASE WHEN event_id IS NULL THEN 'regression' ELSE 'infrastructure' END, id, sha,
           format('%s, first measured at %s', group_summary, left(sha, 12)),
           (SELECT x.rel_change FROM alerts a
            JOIN change_points x ON x.project_id = a.project_id AND x.id = a.change_point_id
            WHERE a.project_id = $1::bigint AND a.id = ANY ($2::bigint[]) AND x.gone_at IS NULL
            ORDER BY greatest(1 + x.rel_change, 1 / greatest(1 + x.rel_change, 1e-9)) DESC LIMIT 1)
    FROM first
    ON CONFLICT DO NOTHING
    RETURNING id)
SELECT pg_notify('perfci', json_build_object('type', 'notice', 'id', id)::text) FROM made;

-- name: notices_worsened
-- Announces that the worst effect of an open, announced group has grown since the last notice: by `points` of the old
-- level and by `share` of the effect in that notice, and by more than the uncertainty of the new effect. The effect of
-- a change is its cost, new level / old level - 1 or its reciprocal where higher is better, so that a doubled time and
-- a halved throughput count alike. Only live regressions count. The caller holds the lock of the branch.
-- in: project_id i64, branch text, points f64, share f64
WITH open AS MATERIALIZED (
    SELECT a.group_id, a.id, a.group_summary, c.sha, x.rel_change,
           greatest(1 + x.rel_change, 1 / greatest(1 + x.rel_change, 1e-9)) - 1 AS cost,
           CASE WHEN x.rel_change > 0 THEN 1 + greatest(x.rel_low, 0)
                ELSE 1 / greatest(1 + least(x.rel_high, 0), 1e-9) END - 1 AS cost_low
    FROM alerts a
    JOIN series s ON s.project_id = a.project_id AND s.id = a.series_id AND s.branch = $2
    JOIN change_points x ON x.project_id = a.project_id AND x.id = a.change_point_id
    JOIN commits c ON c.project_id = x.project_id AND c.id = x.commit_id
    WHERE a.project_id = $1::bigint AND a.group_id IS NOT NULL AND a.group_summary <> ''
      AND a.state IN ('untriaged', 'acknowledged', 'investigating') AND a.suppressed_by IS NULL
      AND x.gone_at IS NULL AND x.firm AND x.regression AND x.undone_commit_id IS NULL),
told AS (
    SELECT DISTINCT ON (g.group_id) g.group_id, n.worst,
           greatest(1 + n.worst, 1 / greatest(1 + n.worst, 1e-9)) - 1 AS cost
    FROM (SELECT DISTINCT group_id FROM open) g
    JOIN alerts m ON m.project_id = $1::bigint AND m.group_id = g.group_id
    JOIN notices n ON n.project_id = m.project_id AND n.alert_id = m.id AND n.kind IN ('regression', 'worsened')
    WHERE n.worst IS NOT NULL
    ORDER BY g.group_id, cost DESC),
grown AS (
    SELECT DISTINCT ON (o.group_id) o.*, t.worst
    FROM open o JOIN told t ON t.group_id = o.group_id
    WHERE o.cost >= t.cost + greatest($3::float8, $4::float8 * t.cost) AND o.cost_low > t.cost
    ORDER BY o.group_id, o.cost DESC, o.id),
made AS (
    INSERT INTO notices (project_id, kind, alert_id, sha, text, worst)
    SELECT $1::bigint, 'worsened', id, sha,
           format('worsened from %s %% to %s %%: %s', to_char(100 * worst, 'FMSG9999990.0'),
                  to_char(100 * rel_change, 'FMSG9999990.0'), group_summary), rel_change
    FROM grown
    ON CONFLICT DO NOTHING
    RETURNING id)
SELECT pg_notify('perfci', json_build_object('type', 'notice', 'id', id)::text) FROM made;

-- name: notice_recovered_lock
-- Serialises transactions that close alerts of the group: two that close the last two at once would each see the
-- other's alert open, and none would announce the recovery.
-- in: project_id i64, alert_id i64
-- out: locked void
SELECT pg_advisory_xact_lock(74202055, hashtext($1::bigint || '/' || group_id)) AS locked
FROM alerts WHERE project_id = $1::bigint AND id = $2::bigint AND group_id IS NOT NULL;

-- name: notice_recovered
-- Announces once that the last open alert of a group recovered, when the group itself was announced.
-- in: project_id i64, alert_id i64
WITH this AS (
    SELECT a.group_id, a.group_summary, c.sha
    FROM alerts a
    JOIN change_points x ON x.project_id = a.project_id AND x.id = a.change_point_id
    JOIN commits c ON c.project_id = x.project_id AND c.id = coalesce(x.undone_commit_id, x.commit_id)
    WHERE a.project_id = $1::bigint AND a.id = $2::bigint),
members AS (
    SELECT a.id, a.state, a.suppressed_by FROM alerts a JOIN this t ON a.group_id = t.group_id
    WHERE a.project_id = $1::bigint),
made AS (
    INSERT INTO notices (project_id, kind, alert_id, sha, text)
    SELECT $1::bigint, 'recovered', (SELECT id FROM members ORDER BY suppressed_by IS NOT NULL, id LIMIT 1), t.sha,
           format('recovered at %2$s: %1$s', t.group_summary, left(t.sha, 12))
    FROM this t
    WHERE t.group_summary <> ''
      AND NOT EXISTS (SELECT 1 FROM members m WHERE m.state IN ('untriaged', 'acknowledged', 'investigating',
                                                                'fixed', 'backed_out'))
      AND EXISTS (SELECT 1 FROM notices n JOIN members m ON n.alert_id = m.id
                  WHERE n.project_id = $1::bigint AND n.kind = 'regression' AND NOT n.withheld)
    ON CONFLICT DO NOTHING
    RETURNING id)
SELECT pg_notify('perfci', json_build_object('type', 'notice', 'id', id)::text) FROM made;

-- name: notices_recent
-- The newest first, closed ones, too; none that is withheld.
-- in: project_id i64, limit i64
-- out: id i64, project text, kind text, alert_id i64, fault_id i64, commit text, subject text, author text, text text,
--    created_at f64, owner text
SELECT n.id, p.name AS project, n.kind, coalesce(n.alert_id, 0) AS alert_id, coalesce(n.fault_id, 0) AS fault_id,
       n.sha AS commit, c.subject, c.author, n.text,
       extract(epoch FROM n.created_at)::float8 AS created_at, a.owner
FROM notices n JOIN projects p ON p.id = n.project_id
LEFT JOIN commits c ON c.project_id = n.project_id AND c.sha = n.sha
LEFT JOIN alerts a ON a.project_id = n.project_id AND a.id = n.alert_id
WHERE n.project_id = $1::bigint AND NOT n.withheld
ORDER BY n.id DESC LIMIT $2::int;

-- name: notices_open
-- The oldest first, none that is withheld. A parameter that is NULL does not restrict. deliveries: a JSON array.
-- in: project_id id, cursor id, limit i64
-- out: id i64, project text, kind text, alert_id i64, fault_id i64, commit text, subject text, author text, text text,
--    created_at f64, deliveries json, owner text
SELECT n.id, p.name AS project, n.kind, coalesce(n.alert_id, 0) AS alert_id, coalesce(n.fault_id, 0) AS fault_id,
       n.sha AS commit, c.subject, c.author, n.text,
       extract(epoch FROM n.created_at)::float8 AS created_at,
       (SELECT coalesce(json_agg(json_build_object('receiver', j.task ->> 'receiver', 'state',
                   CASE j.state WHEN 'queued' THEN 'waiting' WHEN 'leased' THEN 'sending'
                        WHEN 'done' THEN 'sent' ELSE 'dead' END,
                   'tries', j.tries, 'reason', j.reason, 'next_at',
                   CASE WHEN j.state = 'queued' THEN to_char(j.not_before AT TIME ZONE 'UTC',
                                                             'YYYY-MM-DD"T"HH24:MI:SS"Z"') END)
               ORDER BY j.id), '[]')::text
        FROM jobs j WHERE j.project_id = n.project_id AND j.kind = 'notify'
        AND (j.task ->> 'notice')::bigint = n.id) AS deliveries, a.owner
FROM notices n JOIN projects p ON p.id = n.project_id
LEFT JOIN commits c ON c.project_id = n.project_id AND c.sha = n.sha
LEFT JOIN alerts a ON a.project_id = n.project_id AND a.id = n.alert_id
WHERE n.done_at IS NULL AND NOT n.withheld AND ($1::bigint IS NULL OR n.project_id = $1)
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
-- The number of new delivery jobs. Older notices, and those that a suppression rule withholds, are not delivered. A
-- notice that no receiver takes stays for readers of the outbox, except announcements, which are closed. Of each receiver: projects: '' for all; kinds: ',a,b,';
-- benchmarks: a regular expression, '' for all, which a notice without a benchmark passes; delays: seconds until the delivery is due; digests: Unix time of the
-- receiver's next digest, 0: it gets each notice separately; owners: a regular expression of the alert's owner, '^': any
-- and none; '': the receiver takes what none takes by its owner.
-- arrays: len
-- in: receivers text[], projects text[], kinds text[], benchmarks text[], delays f64[], digests f64[], days i64,
--    owners text[]
-- value: count i64
WITH receivers AS MATERIALIZED (
    SELECT * FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::float8[], $6::float8[], $8::text[])
        AS r (name, project, kinds, benchmarks, delay, digest, owners)),
fitting AS MATERIALIZED (
    SELECT n.project_id, n.id, n.sha, r.name, r.delay, r.digest, r.owners
    FROM notices n JOIN projects p ON p.id = n.project_id
    JOIN receivers r ON r.project IN ('', p.name) AND position(',' || n.kind || ',' IN r.kinds) > 0
    LEFT JOIN alerts a ON a.project_id = n.project_id AND a.id = n.alert_id
    LEFT JOIN series s ON s.project_id = a.project_id AND s.id = a.series_id
    LEFT JOIN benchmarks b ON b.project_id = s.project_id AND b.id = s.benchmark_id
    WHERE n.done_at IS NULL AND n.dispatched_at IS NULL AND NOT n.withheld
      AND coalesce(n.released_at, n.created_at) > now() - make_interval(days => $7::int)
      AND (r.benchmarks = '' OR b.name IS NULL OR b.name ~ r.benchmarks)
      AND (r.owners = '' OR coalesce(a.owner, '') ~ r.owners)),
wanted AS MATERIALIZED (
    SELECT f.* FROM fitting f
    WHERE f.owners <> '' OR NOT EXISTS (SELECT 1 FROM fitting o WHERE o.project_id = f.project_id AND o.id = f.id
                                        AND o.owners NOT IN ('', '^'))),
picked AS MATERIALIZED (
    SELECT n.project_id, n.id FROM notices n
    WHERE n.done_at IS NULL AND n.dispatched_at IS NULL AND NOT n.withheld
      AND EXISTS (SELECT 1 FROM wanted w WHERE w.project_id = n.project_id AND w.id = n.id)
    ORDER BY n.id LIMIT 100 FOR UPDATE OF n SKIP LOCKED),
made AS (
    INSERT INTO jobs (project_id, kind, sha, dedupe, task, not_before)
    SELECT w.project_id, 'notify', w.sha, format('notify:%s:%s', w.id, w.name),
           jsonb_build_object('notice', w.id, 'receiver', w.name)
               || CASE WHEN w.digest > 0 THEN '{"digest": ""}'::jsonb ELSE '{}' END,
           CASE WHEN w.digest > 0 THEN to_timestamp(w.digest) ELSE now() + make_interval(secs => w.delay) END
    FROM picked k JOIN wanted w ON w.project_id = k.project_id AND w.id = k.id
    ORDER BY w.id),
marked AS (
    UPDATE notices n SET dispatched_at = now() FROM picked k
    WHERE n.project_id = k.project_id AND n.id = k.id RETURNING n.id),
closed AS (
    UPDATE notices n SET done_at = now(), done_by = 'notify: no receiver'
    WHERE n.done_at IS NULL AND n.dispatched_at IS NULL AND NOT n.withheld
      AND n.kind IN ('regression', 'worsened', 'infrastructure', 'recovered')
      AND NOT EXISTS (SELECT 1 FROM wanted w WHERE w.project_id = n.project_id AND w.id = n.id))
SELECT count(*) FROM marked;

-- name: notify_take_lock
-- Serialises the servers that take deliveries, so that each digest is taken as a whole, by one.
-- out: locked void
SELECT pg_advisory_xact_lock(74202054) AS locked;

-- name: notify_take
-- A delivery, or the deliveries of one digest: all that are due for the receiver, or those that were taken together
-- before. tries: with this one. digest: '' of a single delivery.
-- in: lease_hash text, seconds f64
-- out: job_id i64, project_id i64, notice_id i64, receiver text, tries i64, closed bool, digest text
WITH pick AS MATERIALIZED (
    SELECT project_id, id, task ->> 'receiver' AS receiver, task ->> 'digest' AS digest FROM jobs
    WHERE state = 'queued' AND kind = 'notify' AND not_before <= statement_timestamp()
    ORDER BY not_before, id LIMIT 1 FOR UPDATE SKIP LOCKED),
together AS MATERIALIZED (
    SELECT j.project_id, j.id
    FROM pick JOIN jobs j ON j.kind = 'notify' AND j.state = 'queued' AND j.task ->> 'digest' = pick.digest
        AND j.task ->> 'receiver' = pick.receiver AND (pick.digest <> '' OR j.not_before <= statement_timestamp())
    ORDER BY j.id LIMIT 1000),
chosen AS (SELECT project_id, id FROM pick UNION SELECT project_id, id FROM together)
UPDATE jobs j
SET state = 'leased', runner = 'server', lease_hash = $1, tries = j.tries + 1,
    lease_until = statement_timestamp() + make_interval(secs => $2::float8),
    started_at = coalesce(j.started_at, statement_timestamp()),
    task = CASE WHEN j.task ->> 'digest' = '' THEN jsonb_set(j.task, '{digest}', to_jsonb(left($1, 16)))
           ELSE j.task END
FROM chosen JOIN notices n ON n.project_id = chosen.project_id
WHERE j.project_id = chosen.project_id AND j.id = chosen.id AND n.id = (j.task ->> 'notice')::bigint
RETURNING j.id AS job_id, j.project_id, n.id AS notice_id, j.task ->> 'receiver' AS receiver, j.tries,
          n.done_at IS NOT NULL AS closed, coalesce(j.task ->> 'digest', '') AS digest;

-- name: notify_due
-- Seconds until the next delivery is due; NULL: there is none.
-- out: extract f64
SELECT extract(epoch FROM min(not_before) - clock_timestamp())::float8
FROM jobs WHERE state = 'queued' AND kind = 'notify';

-- name: notify_content
-- The notice and the others of its kind about the same commit, the oldest first.
-- row: notice_content
-- in: project_id i64, notice_id i64
-- out: id i64, project text, kind text, alert_id i64, fault_id i64, commit text, subject text, author text, text text,
--    created_at f64, benchmark text, metric text, backend text, machine_class text, rel_change f64,
--    owner text
SELECT n.id, p.name AS project, n.kind, coalesce(n.alert_id, 0) AS alert_id, coalesce(n.fault_id, 0) AS fault_id,
       n.sha AS commit, c.subject, c.author, n.text,
       extract(epoch FROM n.created_at)::float8 AS created_at, b.name AS benchmark, s.metric, s.backend,
       s.machine_class, x.rel_change, a.owner
FROM notices this
JOIN notices n ON n.project_id = this.project_id AND (n.id = this.id OR (n.sha = this.sha AND n.kind = this.kind))
JOIN projects p ON p.id = n.project_id
LEFT JOIN commits c ON c.project_id = n.project_id AND c.sha = n.sha
LEFT JOIN alerts a ON a.project_id = n.project_id AND a.id = n.alert_id
LEFT JOIN change_points x ON x.project_id = a.project_id AND x.id = a.change_point_id
LEFT JOIN series s ON s.project_id = a.project_id AND s.id = a.series_id
LEFT JOIN benchmarks b ON b.project_id = s.project_id AND b.id = s.benchmark_id
WHERE this.project_id = $1::bigint AND this.id = $2::bigint AND (NOT n.withheld OR n.id = this.id)
ORDER BY n.id LIMIT 1000;

-- name: digest_content
-- The open notices of the deliveries that are leased together, by the worth of their alerts; recoveries are the last.
-- row: notice_content
-- in: lease_hash text
-- out: id i64, project text, kind text, alert_id i64, fault_id i64, commit text, subject text, author text, text text,
--    created_at f64, benchmark text, metric text, backend text, machine_class text, rel_change f64,
--    owner text
SELECT n.id, p.name AS project, n.kind, coalesce(n.alert_id, 0) AS alert_id, coalesce(n.fault_id, 0) AS fault_id,
       n.sha AS commit, c.subject, c.author, n.text,
       extract(epoch FROM n.created_at)::float8 AS created_at, b.name AS benchmark, s.metric, s.backend,
       s.machine_class, x.rel_change, a.owner
FROM jobs j
JOIN notices n ON n.project_id = j.project_id AND n.id = (j.task ->> 'notice')::bigint AND n.done_at IS NULL
JOIN projects p ON p.id = n.project_id
LEFT JOIN commits c ON c.project_id = n.project_id AND c.sha = n.sha
LEFT JOIN alerts a ON a.project_id = n.project_id AND a.id = n.alert_id
LEFT JOIN change_points x ON x.project_id = a.project_id AND x.id = a.change_point_id
LEFT JOIN series s ON s.project_id = a.project_id AND s.id = a.series_id
LEFT JOIN benchmarks b ON b.project_id = s.project_id AND b.id = s.benchmark_id
WHERE j.state = 'leased' AND j.kind = 'notify' AND j.lease_hash = $1
ORDER BY n.kind = 'recovered', alert_worth(x.rel_low, x.rel_high, a.evidence, a.group_series) DESC NULLS LAST, n.id;

-- name: notices_lock
-- Two deliveries of a notice may end at the same time. In order, so that two digests do not wait for each other.
-- in: lease_hash text
-- out: id i64
SELECT n.id FROM notices n
WHERE (n.project_id, n.id) IN (SELECT j.project_id, (j.task ->> 'notice')::bigint FROM jobs j
                               WHERE j.state = 'leased' AND j.kind = 'notify' AND j.lease_hash = $1)
ORDER BY n.id FOR UPDATE;

-- name: notify_finish
-- Ends the delivery, or those of a digest; in a digest, a notice that was closed before was not sent. tries_back:
-- tries that do not count.
-- in: lease_hash text, state text, reason text, retry_after_s f64, tries_back i64
-- out: notice_id i64
UPDATE jobs j SET state = CASE WHEN $2 = 'done' AND j.task ->> 'digest' IS NOT NULL AND n.done_at IS NOT NULL
                               THEN 'cancelled' ELSE $2 END,
       reason = $3, lease_until = NULL, lease_hash = NULL, tries = greatest(j.tries - $5::int, 0),
       not_before = statement_timestamp() + make_interval(secs => $4::float8),
       finished_at = CASE WHEN $2 <> 'queued' THEN statement_timestamp() END
FROM notices n
WHERE n.project_id = j.project_id AND n.id = (j.task ->> 'notice')::bigint
  AND j.kind = 'notify' AND j.state = 'leased' AND j.lease_hash = $1
RETURNING n.id AS notice_id;

-- name: notify_close
-- Closes the notices of which all receivers have got them.
-- in: notice_ids i64[]
UPDATE notices n SET done_at = now(), done_by = 'notify'
WHERE n.id = ANY ($1::bigint[]) AND n.done_at IS NULL
  AND NOT EXISTS (SELECT 1 FROM jobs j WHERE j.project_id = n.project_id AND j.kind = 'notify'
                  AND (j.task ->> 'notice')::bigint = n.id AND j.state <> 'done');

-- name: notify_again
-- Queues the failed deliveries of the notice again; a digest of theirs is a new one.
-- in: project_id i64, notice_id i64
-- out: id i64
UPDATE jobs SET state = 'queued', tries = 0, not_before = now(), finished_at = NULL,
    task = CASE WHEN task ->> 'digest' IS NOT NULL THEN task || '{"digest": ""}' ELSE task END
WHERE project_id = $1::bigint AND kind = 'notify' AND (task ->> 'notice')::bigint = $2::bigint
  AND state = 'failed'
RETURNING id;
