-- name: alerts_list
-- First the page, then what belongs to its alerts; commits by subquery. With nine joins the statement took longer to
-- plan than to run, and a generic plan joined all tables before it cut the page. A parameter that is NULL does not
-- restrict. state: a state, or 'open' for every state that is not closed. suppressed NULL: with 'open', only alerts that
-- no rule hides; else all.
-- also: once
-- owner: one of its names, or 'none'.
-- in: project_id id, series_id id, state text?, alert_id id, cursor id, limit i64, alert_ids i64[]?, event_id id,
--    group_id id, owner text?, suppressed bool?, words text?
-- out: id i64, project_id i64, project text, series_id i64, benchmark text, metric text, backend text,
--    machine_class text, unit text, branch text, higher_is_better bool, state text, regression bool, before f64,
--    after f64, rel_change f64, rel_low f64, rel_high f64, p f64, commit text, commit_low text, commit_high text,
--    culprit text, created_at f64, updated_at f64, note text, group_id i64, group_series i64, group_measured i64,
--    group_summary text, accepted bool, evidence text, reason text, event_id i64, two_speeds json, blocks json,
--    kind text, boundary json, drift_commits i64, drift_weeks f64, reference_tag text, reference_rel f64,
--    reference_low f64, reference_high f64, reference_commit text, worth f64, undone_commit text,
--    suspect_subject text, suspect_author text, found_commit text, found_by i64, reproducibility text, hidden i64,
--    owner text, suppression_id i64, suppression_owner text, suppression_reason text, suppression_until f64
WITH page AS MATERIALIZED (
    SELECT a.* FROM alerts a
    WHERE ($1::bigint IS NULL OR a.project_id = $1) AND ($2::bigint IS NULL OR a.series_id = $2)
      AND ($3::text IS NULL OR a.state = $3
           OR ($3 = 'open' AND a.state IN ('untriaged', 'acknowledged', 'investigating')))
      AND ($4::bigint IS NULL OR a.id = $4) AND ($5::bigint IS NULL OR a.id < $5)
      AND ($7::bigint[] IS NULL OR a.id = ANY ($7))
      AND ($8::bigint IS NULL OR a.event_id = $8)
      AND ($9::bigint IS NULL OR a.group_id = $9)
      AND ($10::text IS NULL OR $10 = ANY (string_to_array(coalesce(a.owner, 'none'), ' ')))
      AND CASE WHEN $11::boolean IS NULL THEN a.suppressed_by IS NULL OR $3 IS DISTINCT FROM 'open'
          ELSE $11 = (a.suppressed_by IS NOT NULL) END
      AND ($12::text IS NULL OR EXISTS (
          SELECT 1 FROM series m JOIN benchmarks n ON n.project_id = m.project_id AND n.id = m.benchmark_id
          WHERE m.project_id = a.project_id AND m.id = a.series_id AND NOT EXISTS (
              SELECT 1 FROM unnest(string_to_array(lower($12), ' ')) AS w
              WHERE position(w IN lower(concat_ws(' ', n.name, m.metric, m.backend, m.machine_class,
                                        a.group_summary))) = 0)))
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
       k.subject AS suspect_subject, k.author AS suspect_author, f.sha AS found_commit, f.id AS found_by,
       commit_reproducibility(x.project_id, x.commit_id, x.series_id) AS reproducibility,
       (SELECT count(*) FROM quarantined_measurements q
        WHERE q.project_id = a.project_id AND q.series_id = a.series_id) AS hidden, a.owner,
       h.id AS suppression_id, h.owner AS suppression_owner, h.reason AS suppression_reason,
       extract(epoch FROM h.expires_at)::float8 AS suppression_until
FROM page a
JOIN projects p ON p.id = a.project_id
JOIN change_points x ON x.project_id = a.project_id AND x.id = a.change_point_id
JOIN series s ON s.project_id = a.project_id AND s.id = a.series_id
JOIN benchmarks b ON b.project_id = s.project_id AND b.id = s.benchmark_id
LEFT JOIN suppressions h ON h.project_id = a.project_id AND h.id = a.suppressed_by
LEFT JOIN LATERAL (
    SELECT b.id, b.culprits -> 0 -> 'commits' ->> 0 AS sha FROM bisections b
    WHERE b.project_id = a.project_id AND b.alert_id = a.id AND b.state = 'done'
      AND jsonb_array_length(b.culprits) = 1 AND jsonb_array_length(b.culprits -> 0 -> 'commits') = 1
      AND NOT EXISTS (SELECT 1 FROM verifications v
                      WHERE v.project_id = b.project_id AND v.bisection_id = b.id AND v.state = 'refuted')
    ORDER BY b.id DESC LIMIT 1) f ON a.culprit IS NULL AND x.kind IN ('step', 'broken')
LEFT JOIN LATERAL (
    SELECT c.subject, c.author FROM commits c
    WHERE c.project_id = a.project_id AND c.sha = coalesce(a.culprit, f.sha, (
        SELECT sha FROM commits WHERE project_id = x.project_id AND id = x.commit_id)) OFFSET 0) k ON true
ORDER BY a.id DESC;

-- name: alert_leaders
-- The id of the most relevant alert of every group; an alert without a group is listed, too. A parameter that is
-- NULL does not restrict. state: a state, or 'open' for every state that is not closed.
-- row: alert_id
-- in: project_id id, series_id id, state text?, limit i64, event_id id, cursor id, by_worth bool, owner text?,
--    suppressed bool?
-- out: id i64
WITH leaders AS (
    SELECT DISTINCT ON (a.project_id, coalesce(a.group_id, -a.id)) a.id,
           alert_worth(x.rel_low, x.rel_high, a.evidence, a.group_series) AS worth
    FROM alerts a
    JOIN change_points x ON x.project_id = a.project_id AND x.id = a.change_point_id
    WHERE ($1::bigint IS NULL OR a.project_id = $1) AND ($2::bigint IS NULL OR a.series_id = $2)
      AND ($3::text IS NULL OR a.state = $3
           OR ($3 = 'open' AND a.state IN ('untriaged', 'acknowledged', 'investigating')))
      AND ($5::bigint IS NULL OR a.event_id = $5)
      AND ($8::text IS NULL OR $8 = ANY (string_to_array(coalesce(a.owner, 'none'), ' ')))
      AND CASE WHEN $9::boolean IS NULL THEN a.suppressed_by IS NULL OR $3 IS DISTINCT FROM 'open'
          ELSE $9 = (a.suppressed_by IS NOT NULL) END
    ORDER BY a.project_id, coalesce(a.group_id, -a.id), worth DESC, a.id)
SELECT id FROM leaders WHERE $6::bigint IS NULL OR id < $6
ORDER BY CASE WHEN $7::boolean THEN worth END DESC NULLS LAST, id DESC
LIMIT $4::int;

-- name: alerts_by_worth
-- The most relevant alerts first. A parameter that is NULL does not restrict. state: a state, or 'open' for every
-- state that is not closed.
-- row: alert_id
-- in: project_id id, series_id id, state text?, limit i64, event_id id, owner text?, suppressed bool?
-- out: id i64
SELECT a.id
FROM alerts a
JOIN change_points x ON x.project_id = a.project_id AND x.id = a.change_point_id
WHERE ($1::bigint IS NULL OR a.project_id = $1) AND ($2::bigint IS NULL OR a.series_id = $2)
  AND ($3::text IS NULL OR a.state = $3
       OR ($3 = 'open' AND a.state IN ('untriaged', 'acknowledged', 'investigating')))
  AND ($5::bigint IS NULL OR a.event_id = $5)
  AND ($6::text IS NULL OR $6 = ANY (string_to_array(coalesce(a.owner, 'none'), ' ')))
  AND CASE WHEN $7::boolean IS NULL THEN a.suppressed_by IS NULL OR $3 IS DISTINCT FROM 'open'
      ELSE $7 = (a.suppressed_by IS NOT NULL) END
ORDER BY alert_worth(x.rel_low, x.rel_high, a.evidence, a.group_series) DESC, a.id DESC
LIMIT $4::int;

-- name: alert_events
-- also: once
-- in: alert_id i64
-- out: id i64, at f64, actor text, state_from text, state_to text, reason text, culprit text
SELECT e.id, extract(epoch FROM e.at)::float8 AS at, e.actor, e.state_from, e.state_to, e.reason, e.culprit
FROM alert_events e JOIN alerts a ON a.project_id = e.project_id AND a.id = e.alert_id
WHERE a.id = $1::bigint ORDER BY e.id;

-- name: alert_commits
-- The commits of the series' branch in which the change may lie, at most 1,000. Ranges are short and histories are
-- long: LIMIT and the OFFSETs make the plan look up each commit.
-- also: once
-- in: alert_id i64
-- out: position i64, sha text, author text, subject text, paths text[], time f64, measured bool
SELECT bc.position, c.sha, c.author, c.subject, c.paths,
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
-- drift: the alert is a drift, which has no culprit.
-- in: alert_id i64
-- out: project_id i64, state text, culprit text, drift bool
SELECT a.project_id, a.state, a.culprit, x.kind = 'drift' AS drift
FROM alerts a
JOIN change_points x ON x.project_id = a.project_id AND x.id = a.change_point_id
WHERE a.id = $1::bigint FOR UPDATE OF a;

-- name: alert_last_actor
-- The actor of the alert's newest event.
-- in: project_id i64, alert_id i64
-- out: actor text
SELECT actor FROM alert_events WHERE project_id = $1::bigint AND alert_id = $2::bigint
ORDER BY id DESC LIMIT 1;

-- name: alert_set
-- A note or culprit that is NULL keeps its value; an empty culprit removes it.
-- in: project_id i64, alert_id i64, state text, note text?, culprit text?
UPDATE alerts SET state = $3, note = coalesce($4, note), owner_due = owner_due OR $5::text IS NOT NULL,
       culprit = CASE WHEN $5::text IS NULL THEN culprit ELSE nullif($5, '') END, updated_at = now()
WHERE project_id = $1::bigint AND id = $2::bigint;

-- name: alert_event_insert
-- in: project_id i64, alert_id i64, actor text, from text?, to text, reason text?, culprit text?
INSERT INTO alert_events (project_id, alert_id, actor, state_from, state_to, reason, culprit)
VALUES ($1::bigint, $2::bigint, $3, $4, $5, coalesce($6, ''), $7);

-- name: alert_open
-- The id of the new alert, which a suppression rule may hide; no row when the change point has one.
-- in: project_id i64, change_point_id i64, series_id i64
-- value: id i64
WITH made AS (
    INSERT INTO alerts (project_id, change_point_id, series_id, suppressed_by)
    VALUES ($1::bigint, $2::bigint, $3::bigint, alert_suppression($1::bigint, $2::bigint))
    ON CONFLICT (project_id, change_point_id) DO NOTHING RETURNING id, suppressed_by),
noted AS (
    INSERT INTO suppressed_alerts (project_id, suppression_id, alert_id)
    SELECT $1::bigint, suppressed_by, id FROM made WHERE suppressed_by IS NOT NULL)
SELECT id FROM made;

-- name: alert_for_culprit
-- The open alert of the metric whose range contains the culprit; the largest change first.
-- in: project_id i64, metric text, benchmark text?, backend text?, culprit text
-- value: id i64
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
-- The commit before the culprit on the branch, when the alert's range contains the culprit.
-- in: alert_id i64, sha text
-- out: before text, higher_is_better bool, exact bool
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
-- Sends the alert's present state to listeners.
-- in: alert_id i64
SELECT pg_notify('perfci', json_build_object('type', 'alert', 'project', p.name, 'id', a.id,
                 'state', a.state, 'series_id', a.series_id)::text)
FROM alerts a JOIN projects p ON p.id = a.project_id WHERE a.id = $1::bigint;
