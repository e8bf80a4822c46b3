-- Suppression rules: see server/services/suppressions/suppressions.h.

-- name: suppressions_count
-- Active rules.
-- in: project_id i64
-- value: count i64
SELECT count(*) FROM suppressions WHERE project_id = $1::bigint AND ended_at IS NULL;

-- name: suppression_put
-- in: project_id i64, owner text, reason text, benchmark text?, params json, backend text?, machine_class text?,
--    metric text?, direction text?, max_change f64, actor text, days i64
-- value: id i64
INSERT INTO suppressions (project_id, owner, reason, benchmark, params, backend, machine_class, metric, direction,
                          max_change, created_by, expires_at)
VALUES ($1::bigint, $2, $3, $4, $5::jsonb, $6, $7, $8, $9, $10::float8, $11, now() + make_interval(days => $12::int))
RETURNING id;

-- name: suppression_end
-- No row: there is no active rule of that number.
-- in: project_id i64, id i64, actor text
-- value: id i64
UPDATE suppressions SET ended_at = now(), ended_by = $3
WHERE project_id = $1::bigint AND id = $2::bigint AND ended_at IS NULL
RETURNING id;

-- name: suppressions_list
-- Newest first; id NULL: all. hidden: alerts that it hides now; hidden_total: ever. notices: that it withheld.
-- also: once
-- in: project_id i64, id id, ended bool, cursor id, limit i64
-- out: id i64, owner text, reason text, benchmark text, params json, backend text, machine_class text, metric text,
--    direction text, max_change f64, created_by text, created_at f64, expires_at f64, ended_at f64, ended_by text,
--    hidden i64, hidden_total i64, notices i64
SELECT r.id, r.owner, r.reason, r.benchmark, r.params::text AS params, r.backend, r.machine_class, r.metric, r.direction,
       r.max_change, r.created_by, extract(epoch FROM r.created_at)::float8 AS created_at,
       extract(epoch FROM r.expires_at)::float8 AS expires_at, extract(epoch FROM r.ended_at)::float8 AS ended_at, r.ended_by,
       (SELECT count(*) FROM alerts a WHERE a.project_id = r.project_id AND a.suppressed_by = r.id) AS hidden,
       (SELECT count(*) FROM suppressed_alerts h WHERE h.project_id = r.project_id AND h.suppression_id = r.id) AS hidden_total,
       (SELECT count(*) FROM notices n WHERE n.project_id = r.project_id AND n.withheld_by = r.id) AS notices
FROM suppressions r
WHERE r.project_id = $1::bigint AND ($2::bigint IS NULL OR r.id = $2) AND ($3::boolean OR r.ended_at IS NULL)
  AND ($4::bigint IS NULL OR r.id < $4)
ORDER BY r.id DESC LIMIT $5::int;

-- name: suppressed_alerts
-- What a rule has hidden, the newest alert first.
-- row: suppressed_alert
-- also: once
-- in: project_id i64, suppression_id i64, cursor id, limit i64
-- out: id i64, series_id i64, benchmark text, metric text, backend text, machine_class text, rel_change f64, rel_low f64,
--    rel_high f64, state text, kind text, hidden_at f64, released_at f64, notices i64
SELECT a.id, a.series_id, b.name AS benchmark, s.metric, s.backend, s.machine_class, x.rel_change, x.rel_low, x.rel_high,
       a.state, x.kind, extract(epoch FROM h.hidden_at)::float8 AS hidden_at,
       extract(epoch FROM h.released_at)::float8 AS released_at,
       (SELECT count(*) FROM notices n WHERE n.project_id = a.project_id AND n.alert_id = a.id AND n.withheld_by = $2) AS notices
FROM suppressed_alerts h
JOIN alerts a ON a.project_id = h.project_id AND a.id = h.alert_id
JOIN change_points x ON x.project_id = a.project_id AND x.id = a.change_point_id
JOIN series s ON s.project_id = a.project_id AND s.id = a.series_id
JOIN benchmarks b ON b.project_id = s.project_id AND b.id = s.benchmark_id
WHERE h.project_id = $1::bigint AND h.suppression_id = $2::bigint AND ($3::bigint IS NULL OR a.id < $3)
ORDER BY a.id DESC LIMIT $4::int;

-- name: suppression_preview
-- The open alerts that a rule with this matcher would hide, the newest first; hidden_at NULL.
-- row: suppressed_alert
-- in: project_id i64, benchmark text?, params json, backend text?, machine_class text?, metric text?, direction text?,
--    max_change f64, limit i64
-- out: id i64, series_id i64, benchmark text, metric text, backend text, machine_class text, rel_change f64, rel_low f64,
--    rel_high f64, state text, kind text, hidden_at f64, released_at f64, notices i64
SELECT a.id, a.series_id, b.name AS benchmark, s.metric, s.backend, s.machine_class, x.rel_change, x.rel_low, x.rel_high,
       a.state, x.kind, NULL::float8 AS hidden_at, NULL::float8 AS released_at,
       (SELECT count(*) FROM notices n WHERE n.project_id = a.project_id AND n.alert_id = a.id
        AND n.done_at IS NULL AND n.dispatched_at IS NULL) AS notices
FROM alerts a
JOIN change_points x ON x.project_id = a.project_id AND x.id = a.change_point_id
JOIN series s ON s.project_id = a.project_id AND s.id = a.series_id
JOIN benchmarks b ON b.project_id = s.project_id AND b.id = s.benchmark_id
WHERE a.project_id = $1::bigint
  AND (a.suppressed_by IS NOT NULL OR a.state IN ('untriaged', 'acknowledged', 'investigating', 'infrastructure'))
  AND a.state IN ('untriaged', 'acknowledged', 'investigating', 'infrastructure')
  AND suppression_matches($2, $3::jsonb, $4, $5, $6, $7, $8::float8, b.name, b.params, s.backend, s.machine_class, s.metric,
                          x.kind, x.rel_change)
ORDER BY a.id DESC LIMIT $9::int;

-- name: suppression_counts
-- What a rule with this matcher would hide: open alerts and those that are not hidden yet; what it would have hidden of
-- the newest 2,000 alerts, in 90 days; series that it concerns, whatever their changes.
-- in: project_id i64, benchmark text?, params json, backend text?, machine_class text?, metric text?, direction text?,
--    max_change f64
-- out: open i64, visible i64, past i64, series i64
WITH recent AS MATERIALIZED (
    SELECT id, change_point_id, created_at FROM alerts WHERE project_id = $1::bigint ORDER BY id DESC LIMIT 2000),
candidates AS MATERIALIZED (
    SELECT a.change_point_id, true AS open, a.suppressed_by IS NULL AS visible FROM alerts a
    WHERE a.project_id = $1::bigint
      AND (a.suppressed_by IS NOT NULL OR a.state IN ('untriaged', 'acknowledged', 'investigating', 'infrastructure'))
      AND a.state IN ('untriaged', 'acknowledged', 'investigating', 'infrastructure')
    UNION ALL
    SELECT change_point_id, false, false FROM recent WHERE created_at > now() - interval '90 days'),
matching AS (
    SELECT c.open, c.visible FROM candidates c
    CROSS JOIN LATERAL (SELECT * FROM change_points q WHERE q.project_id = $1::bigint AND q.id = c.change_point_id OFFSET 0) x
    JOIN series s ON s.project_id = x.project_id AND s.id = x.series_id
    JOIN benchmarks b ON b.project_id = s.project_id AND b.id = s.benchmark_id
    WHERE suppression_matches($2, $3::jsonb, $4, $5, $6, $7, $8::float8, b.name, b.params, s.backend, s.machine_class,
                              s.metric, x.kind, x.rel_change))
SELECT count(*) FILTER (WHERE open) AS open, count(*) FILTER (WHERE visible) AS visible,
       count(*) FILTER (WHERE NOT open) AS past,
       (SELECT count(*) FROM series s JOIN benchmarks b ON b.project_id = s.project_id AND b.id = s.benchmark_id
        WHERE s.project_id = $1::bigint
          AND suppression_matches($2, $3::jsonb, $4, $5, $6, NULL, NULL, b.name, b.params, s.backend, s.machine_class,
                                  s.metric, 'step', 0)) AS series
FROM matching;

-- name: suppressions_settle
-- Ends rules whose time is over, hides open alerts that an active rule matches, and shows those that none matches. A
-- hidden alert's notices are withheld as long as no receiver has got them; an open alert that is shown has them released,
-- and those of a closed one are closed. Locked alerts are left to the next call. project NULL: all.
-- in: project_id id
-- out: hidden i64, shown i64, ended i64, events i64
WITH ended AS (
    UPDATE suppressions SET ended_at = expires_at
    WHERE ended_at IS NULL AND expires_at <= now() AND ($1::bigint IS NULL OR project_id = $1) RETURNING id),
judged AS MATERIALIZED (
    SELECT a.project_id, a.id,
           a.state IN ('untriaged', 'acknowledged', 'investigating', 'infrastructure') AS open, a.suppressed_by AS before,
           CASE WHEN a.state IN ('untriaged', 'acknowledged', 'investigating', 'infrastructure')
                THEN alert_suppression(a.project_id, a.change_point_id) END AS after
    FROM (SELECT project_id FROM suppressions WHERE ended_at IS NULL
          UNION SELECT project_id FROM alerts WHERE suppressed_by IS NOT NULL) p
    CROSS JOIN LATERAL (
        SELECT * FROM alerts o WHERE o.project_id = p.project_id
          AND (o.suppressed_by IS NOT NULL OR o.state IN ('untriaged', 'acknowledged', 'investigating', 'infrastructure'))
        OFFSET 0) a
    WHERE $1::bigint IS NULL OR p.project_id = $1),
turned AS MATERIALIZED (
    SELECT j.* FROM judged j JOIN alerts a ON a.project_id = j.project_id AND a.id = j.id
    WHERE j.before IS DISTINCT FROM j.after
      AND a.id = ANY (ARRAY(SELECT id FROM judged WHERE before IS DISTINCT FROM after)) -- so that it looks them up
      AND a.suppressed_by IS NOT DISTINCT FROM j.before
    ORDER BY j.project_id, j.id FOR UPDATE OF a SKIP LOCKED),
marked AS (
    UPDATE alerts a SET suppressed_by = t.after FROM turned t
    WHERE a.project_id = t.project_id AND a.id = t.id AND a.id = ANY (ARRAY(SELECT id FROM turned))),
noted AS (
    INSERT INTO suppressed_alerts AS h (project_id, suppression_id, alert_id)
    SELECT project_id, after, id FROM turned WHERE after IS NOT NULL
    ON CONFLICT (project_id, suppression_id, alert_id) DO UPDATE SET released_at = NULL),
freed AS (
    UPDATE suppressed_alerts h SET released_at = now() FROM turned t
    WHERE h.project_id = t.project_id AND h.suppression_id = t.before AND h.alert_id = t.id),
unsent AS MATERIALIZED (
    SELECT n.project_id, n.id, t.after FROM turned t
    JOIN notices n ON n.project_id = t.project_id AND n.alert_id = t.id AND n.done_at IS NULL
    WHERE t.after IS NOT NULL
      AND NOT EXISTS (SELECT 1 FROM jobs j WHERE j.project_id = n.project_id AND j.kind = 'notify' AND j.state <> 'queued'
                      AND (j.task ->> 'notice')::bigint = n.id)
    ORDER BY n.id FOR UPDATE OF n),
withheld AS (
    UPDATE notices n SET withheld_by = CASE WHEN n.withheld THEN n.withheld_by ELSE u.after END, released_at = NULL,
           dispatched_at = NULL
    FROM unsent u
    WHERE n.project_id = u.project_id AND n.id = u.id),
undelivered AS (
    DELETE FROM jobs j USING unsent u
    WHERE j.project_id = u.project_id AND j.kind = 'notify' AND j.state = 'queued' AND (j.task ->> 'notice')::bigint = u.id),
released AS (
    UPDATE notices n SET released_at = now(), done_at = CASE WHEN NOT t.open THEN now() END,
           done_by = CASE WHEN NOT t.open THEN 'suppression ' || t.before END
    FROM turned t
    WHERE t.after IS NULL AND n.project_id = t.project_id AND n.alert_id = t.id AND n.withheld AND n.done_at IS NULL
    RETURNING n.id, n.done_at),
told AS (
    SELECT count(pg_notify('perfci', json_build_object('type', 'alert', 'project', p.name, 'id', t.id, 'state', a.state,
                                                       'series_id', a.series_id)::text)) AS n
    FROM turned t JOIN projects p ON p.id = t.project_id
    CROSS JOIN LATERAL (SELECT * FROM alerts o WHERE o.project_id = t.project_id AND o.id = t.id OFFSET 0) a),
woken AS (
    SELECT count(pg_notify('perfci', json_build_object('type', 'notice', 'id', id)::text)) AS n
    FROM released WHERE done_at IS NULL)
SELECT count(*) FILTER (WHERE after IS NOT NULL AND before IS NULL) AS hidden,
       count(*) FILTER (WHERE after IS NULL) AS shown,
       (SELECT count(*) FROM ended) AS ended, (SELECT n FROM told) + (SELECT n FROM woken) AS events
FROM turned;
