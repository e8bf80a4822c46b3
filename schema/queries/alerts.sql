-- name: alerts_list
-- The page first, then what belongs to it, commits by subquery: with nine joins it took longer to plan
-- than to run, and a plan for any parameters joined everything before it cut the page.
-- $1 project_id, $2 series_id, $3 state or 'open', $4 alert_id, $5 cursor, $6 limit, $7 alert_id[],
-- $8 event, $9 group; NULL: any
WITH page AS MATERIALIZED (
    SELECT a.* FROM alerts a
    WHERE ($1::bigint IS NULL OR a.project_id = $1) AND ($2::bigint IS NULL OR a.series_id = $2)
      AND ($3::text IS NULL OR a.state = $3
           OR ($3 = 'open' AND a.state IN ('untriaged', 'acknowledged', 'investigating')))
      AND ($4::bigint IS NULL OR a.id = $4) AND ($5::bigint IS NULL OR a.id < $5)
      AND ($7::bigint[] IS NULL OR a.id = ANY ($7))
      AND ($8::bigint IS NULL OR a.event_id = $8)
      AND ($9::bigint IS NULL OR a.group_id = $9)
    ORDER BY a.id DESC LIMIT $6::int)
SELECT a.id, a.project_id, p.name AS project, a.series_id, b.name AS benchmark, s.metric, s.backend,
       s.machine_class, s.unit, s.branch, s.higher_is_better, a.state, x.regression, x.before,
       x.after, x.rel_change, x.rel_low, x.rel_high, x.p,
       (SELECT sha FROM commits WHERE project_id = x.project_id AND id = x.commit_id) AS commit,
       (SELECT sha FROM commits WHERE project_id = x.project_id AND id = x.commit_low_id) AS commit_low,
       (SELECT sha FROM commits WHERE project_id = x.project_id AND id = x.commit_high_id) AS commit_high,
       a.culprit, extract(epoch FROM a.created_at)::float8 AS created_at,
       extract(epoch FROM a.updated_at)::float8 AS updated_at, a.note, a.group_id, a.group_series,
       a.group_measured, a.group_summary, a.accepted_at IS NOT NULL AS accepted, a.evidence, x.reason, a.event_id,
       to_json(s.two_speeds)::text AS two_speeds, x.evidence::text AS blocks,
       CASE WHEN x.kind = 'step' AND a.culprit IS NULL THEN coalesce(a.boundary_kind, x.kind) ELSE x.kind END
           AS kind,
       CASE WHEN a.culprit IS NULL THEN a.boundary::text END AS boundary,
       CASE WHEN x.kind = 'drift' THEN
           (SELECT h.position FROM branch_commits h WHERE h.project_id = x.project_id
            AND h.branch = s.branch AND h.commit_id = x.commit_high_id)
           - (SELECT l.position FROM branch_commits l WHERE l.project_id = x.project_id
              AND l.branch = s.branch AND l.commit_id = x.commit_low_id) END AS drift_commits,
       CASE WHEN x.kind = 'drift' THEN extract(epoch FROM
           (SELECT h.time FROM commits h WHERE h.project_id = x.project_id AND h.id = x.commit_high_id)
           - (SELECT l.time FROM commits l WHERE l.project_id = x.project_id AND l.id = x.commit_low_id))
           ::float8 / 604800 END AS drift_weeks,
       x.reference_tag, x.reference_rel, x.reference_low, x.reference_high,
       (SELECT r.sha FROM commits r WHERE r.project_id = x.project_id AND r.id = x.reference_commit_id)
           AS reference_commit,
       alert_worth(x.rel_low, x.rel_high, a.evidence, a.group_series) AS worth,
       (SELECT sha FROM commits WHERE project_id = x.project_id AND id = x.undone_commit_id)
           AS undone_commit,
       k.subject AS suspect_subject, k.author AS suspect_author
FROM page a
JOIN projects p ON p.id = a.project_id
JOIN change_points x ON x.project_id = a.project_id AND x.id = a.change_point_id
JOIN series s ON s.project_id = a.project_id AND s.id = a.series_id
JOIN benchmarks b ON b.project_id = s.project_id AND b.id = s.benchmark_id
LEFT JOIN LATERAL (
    SELECT c.subject, c.author FROM commits c
    WHERE c.project_id = a.project_id AND c.sha = coalesce(a.culprit, (
        SELECT sha FROM commits WHERE project_id = x.project_id AND id = x.commit_id)) OFFSET 0) k ON true
ORDER BY a.id DESC;

-- name: alert_leaders
-- $1 project_id, $2 series_id, $3 state or 'open', $4 limit, $5 event; NULL: any; $6 cursor, $7 by worth
-- -> of every group the id of the alert that is most worth looking at; one that is not grouped leads itself
WITH leaders AS (
    SELECT DISTINCT ON (a.project_id, coalesce(a.group_id, -a.id)) a.id,
           alert_worth(x.rel_low, x.rel_high, a.evidence, a.group_series) AS worth
    FROM alerts a
    JOIN change_points x ON x.project_id = a.project_id AND x.id = a.change_point_id
    WHERE ($1::bigint IS NULL OR a.project_id = $1) AND ($2::bigint IS NULL OR a.series_id = $2)
      AND ($3::text IS NULL OR a.state = $3
           OR ($3 = 'open' AND a.state IN ('untriaged', 'acknowledged', 'investigating')))
      AND ($5::bigint IS NULL OR a.event_id = $5)
    ORDER BY a.project_id, coalesce(a.group_id, -a.id), worth DESC, a.id)
SELECT id FROM leaders WHERE $6::bigint IS NULL OR id < $6
ORDER BY CASE WHEN $7::boolean THEN worth END DESC NULLS LAST, id DESC
LIMIT $4::int;

-- name: alerts_by_worth
-- $1 project_id, $2 series_id, $3 state or 'open', $4 limit, $5 event; NULL: any  -> id, the worthiest first
SELECT a.id
FROM alerts a
JOIN change_points x ON x.project_id = a.project_id AND x.id = a.change_point_id
WHERE ($1::bigint IS NULL OR a.project_id = $1) AND ($2::bigint IS NULL OR a.series_id = $2)
  AND ($3::text IS NULL OR a.state = $3
       OR ($3 = 'open' AND a.state IN ('untriaged', 'acknowledged', 'investigating')))
  AND ($5::bigint IS NULL OR a.event_id = $5)
ORDER BY alert_worth(x.rel_low, x.rel_high, a.evidence, a.group_series) DESC, a.id DESC
LIMIT $4::int;

-- name: alert_events
-- $1 alert_id
SELECT e.id, extract(epoch FROM e.at)::float8 AS at, e.actor, e.state_from, e.state_to, e.reason
FROM alert_events e JOIN alerts a ON a.project_id = e.project_id AND a.id = e.alert_id
WHERE a.id = $1::bigint ORDER BY e.id;

-- name: alert_commits
-- $1 alert_id  -> the commits that the change may lie in, on the series' branch. Ranges are short, histories
-- are not: LIMIT and OFFSETs keep it a look-up for each commit. The first 1,000.
SELECT bc.position, c.sha, c.author, c.subject, to_json(c.paths)::text AS paths,
       extract(epoch FROM c.time)::float8 AS time,
       EXISTS (SELECT 1 FROM measurements m WHERE m.project_id = bc.project_id
               AND m.series_id = a.series_id AND m.commit_id = bc.commit_id OFFSET 0) AS measured
FROM alerts a
JOIN change_points x ON x.project_id = a.project_id AND x.id = a.change_point_id
JOIN series s ON s.project_id = a.project_id AND s.id = a.series_id
JOIN branch_commits bl ON bl.project_id = a.project_id AND bl.branch = s.branch
    AND bl.commit_id = x.commit_low_id
JOIN branch_commits bh ON bh.project_id = a.project_id AND bh.branch = s.branch
    AND bh.commit_id = x.commit_high_id
CROSS JOIN LATERAL (
    SELECT q.project_id, q.commit_id, q.position FROM branch_commits q
    WHERE q.project_id = a.project_id AND q.branch = s.branch
      AND q.position BETWEEN bl.position AND bh.position ORDER BY q.position LIMIT 1000) bc
CROSS JOIN LATERAL (
    SELECT k.sha, k.author, k.subject, k.paths, k.time FROM commits k
    WHERE k.project_id = bc.project_id AND k.id = bc.commit_id OFFSET 0) c
WHERE a.id = $1::bigint
ORDER BY bc.position;

-- name: alert_lock
-- $1 alert_id  -> project_id, state, culprit, drift: it is one, and has no culprit
SELECT a.project_id, a.state, a.culprit, x.kind = 'drift' AS drift
FROM alerts a
JOIN change_points x ON x.project_id = a.project_id AND x.id = a.change_point_id
WHERE a.id = $1::bigint FOR UPDATE OF a;

-- name: alert_last_actor
-- $1 project_id, $2 alert_id  -> whose word was the last
SELECT actor FROM alert_events WHERE project_id = $1::bigint AND alert_id = $2::bigint
ORDER BY id DESC LIMIT 1;

-- name: alert_set
-- $1 project_id, $2 alert_id, $3 state, $4 note or NULL, $5 culprit or NULL ('' removes)
UPDATE alerts SET state = $3, note = coalesce($4, note),
       culprit = CASE WHEN $5::text IS NULL THEN culprit ELSE nullif($5, '') END, updated_at = now()
WHERE project_id = $1::bigint AND id = $2::bigint;

-- name: alert_event_insert
-- $1 project_id, $2 alert_id, $3 actor, $4 from, $5 to, $6 reason
INSERT INTO alert_events (project_id, alert_id, actor, state_from, state_to, reason)
VALUES ($1::bigint, $2::bigint, $3, $4, $5, coalesce($6, ''));

-- name: alert_open
-- $1 project_id, $2 change_point_id, $3 series_id  -> id, when there was none for this change
INSERT INTO alerts (project_id, change_point_id, series_id) VALUES ($1::bigint, $2::bigint, $3::bigint)
ON CONFLICT (project_id, change_point_id) DO NOTHING RETURNING id;

-- name: alert_for_culprit
-- $1 project_id, $2 metric, $3 benchmark or NULL, $4 backend or NULL, $5 culprit sha
-- -> id of the open alert of that metric whose range holds the commit, the largest change first
SELECT a.id
FROM alerts a
JOIN change_points x ON x.project_id = a.project_id AND x.id = a.change_point_id
JOIN series s ON s.project_id = a.project_id AND s.id = a.series_id
JOIN benchmarks b ON b.project_id = s.project_id AND b.id = s.benchmark_id
JOIN commits c ON c.project_id = a.project_id AND c.sha = $5
JOIN branch_commits bc ON bc.project_id = a.project_id AND bc.branch = s.branch
    AND bc.commit_id = c.id
JOIN branch_commits bl ON bl.project_id = a.project_id AND bl.branch = s.branch
    AND bl.commit_id = x.commit_low_id
JOIN branch_commits bh ON bh.project_id = a.project_id AND bh.branch = s.branch
    AND bh.commit_id = x.commit_high_id
WHERE a.project_id = $1::bigint AND s.metric = $2
  AND (b.name = $3 OR ($3::text IS NULL AND s.headline))
  AND ($4::text IS NULL OR s.backend = $4)
  AND a.state IN ('untriaged', 'acknowledged', 'investigating') AND x.kind NOT IN ('broken', 'drift')
  AND bc.position BETWEEN bl.position AND bh.position
ORDER BY abs(x.rel_change) DESC, a.id LIMIT 1;

-- name: alert_culprit
-- $1 alert_id, $2 sha  -> the commit before it on the line and the series' nature, when the alert's range
-- holds it
SELECT p.sha AS before, s.higher_is_better, s.exact
FROM alerts a
JOIN change_points x ON x.project_id = a.project_id AND x.id = a.change_point_id
JOIN series s ON s.project_id = a.project_id AND s.id = a.series_id
JOIN commits c ON c.project_id = a.project_id AND c.sha = $2
JOIN branch_commits bc ON bc.project_id = a.project_id AND bc.branch = s.branch
    AND bc.commit_id = c.id
JOIN branch_commits bl ON bl.project_id = a.project_id AND bl.branch = s.branch
    AND bl.commit_id = x.commit_low_id
JOIN branch_commits bh ON bh.project_id = a.project_id AND bh.branch = s.branch
    AND bh.commit_id = x.commit_high_id
LEFT JOIN branch_commits bp ON bp.project_id = a.project_id AND bp.branch = s.branch
    AND bp.position = bc.position - 1
LEFT JOIN commits p ON p.project_id = a.project_id AND p.id = bp.commit_id
WHERE a.id = $1::bigint AND bc.position BETWEEN bl.position AND bh.position;

-- name: alert_notify
-- $1 alert_id: tells listeners how the alert is now
SELECT pg_notify('perfci', json_build_object('type', 'alert', 'project', p.name, 'id', a.id,
                 'state', a.state, 'series_id', a.series_id)::text)
FROM alerts a JOIN projects p ON p.id = a.project_id WHERE a.id = $1::bigint;
