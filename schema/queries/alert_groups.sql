-- name: alert_group_list
-- A page of groups. A group is listed when one of its alerts satisfies every filter; its figures are of all of its
-- alerts. A parameter that is NULL does not restrict. state: a state, or 'open' for every state that is not closed.
-- An alert that a suppression rule hides is not among the open ones.
-- kernel: name of a benchmark, or its first parts. words: all of them occur in the names of a series, the summary, and
-- the commits that are the culprit, at the place of the change, or found by a search.
-- owner: one of the names of an alert, or 'none'. back: whether the level of every alert is back. cursor: the last group of the page before.
-- state of a group: the least advanced one of its alerts. lead: the alert with the highest worth, which is the
-- group's; hidden alerts count for neither while another one is visible. suppressed: number of hidden alerts.
-- worst: the alert with the largest effect. issue_state NULL: no issue was asked for. owners: the names of all its
-- alerts, separated by one space.
-- also: once
-- in: project_id id, ids i64[]?, state text?, assignee text?, kernel text?, backend text?, machine_class text?,
--    words text?, back bool?, by_worth bool, cursor id, limit i64, owner text?
-- out: id i64, project_id i64, project text, alerts i64, suppressed i64, series i64, measured i64, summary text,
--    state text, states json, worth f64, rel_least f64, rel_most f64, back bool, placed bool, assignee text,
--    opened_first f64, opened_last f64, updated_at f64, lead_id i64, worst_id i64, worst_series_id i64,
--    benchmark text, metric text, backend text, machine_class text, branch text, unit text,
--    higher_is_better bool, rel_change f64, rel_low f64, rel_high f64, spark json, issue_forge text, issue_repo text,
--    issue_number i64, issue_url text, issue_state text, issue_trouble text, issue_asked_by text, issue_asked_at f64,
--    owners text, before f64, after f64
WITH chosen AS MATERIALIZED (
    SELECT DISTINCT a.project_id, a.group_id FROM alerts a
    JOIN series s ON s.project_id = a.project_id AND s.id = a.series_id
    JOIN benchmarks b ON b.project_id = s.project_id AND b.id = s.benchmark_id
    WHERE a.group_id IS NOT NULL
      AND ($1::bigint IS NULL OR a.project_id = $1) AND ($2::bigint[] IS NULL OR a.group_id = ANY ($2))
      AND ($3::text IS NULL OR a.state = $3
           OR ($3 = 'open' AND a.state IN ('untriaged', 'acknowledged', 'investigating')
               AND a.suppressed_by IS NULL))
      AND ($4::text IS NULL OR a.assignee = $4)
      AND ($13::text IS NULL OR $13 = ANY (string_to_array(coalesce(a.owner, 'none'), ' ')))
      AND ($5::text IS NULL OR b.name = $5 OR starts_with(b.name, $5 || '/'))
      AND ($6::text IS NULL OR s.backend = $6) AND ($7::text IS NULL OR s.machine_class = $7)
      AND ($8::text IS NULL OR NOT EXISTS (
          SELECT 1 FROM (SELECT lower(concat_ws(' ', b.name, s.metric, s.backend, s.machine_class, a.group_summary, (
              SELECT string_agg(concat_ws(' ', c.sha, c.subject, c.author), ' ') FROM commits c
              WHERE c.project_id = a.project_id AND c.sha IN (
                  SELECT a.culprit
                  UNION ALL SELECT h.sha FROM change_points x
                  JOIN commits h ON h.project_id = x.project_id AND h.id = x.commit_id
                  WHERE x.project_id = a.project_id AND x.id = a.change_point_id
                  UNION ALL SELECT f.culprits -> 0 -> 'commits' ->> 0 FROM bisections f
                  WHERE f.project_id = a.project_id AND f.alert_id = a.id AND f.state = 'done')))) AS text OFFSET 0) t,
              unnest(string_to_array(lower($8), ' ')) AS w
          WHERE position(w IN t.text) = 0))),
sized AS MATERIALIZED (
    SELECT a.project_id, a.group_id, count(*) AS alerts, count(DISTINCT a.series_id) AS series,
           max(a.group_measured) AS measured, max(a.group_summary) AS summary,
           (array_agg(a.state ORDER BY a.suppressed_by IS NOT NULL, alert_state_rank(a.state)))[1] AS state,
           coalesce(max(w.worth) FILTER (WHERE a.suppressed_by IS NULL), max(w.worth)) AS worth, max(w.size) AS size,
           bool_and(x.undone_commit_id IS NOT NULL) AS back, count(a.suppressed_by) AS suppressed,
           bool_or(a.group_placed) AS placed, max(a.assignee) AS assignee, max(a.id) AS newest,
           min(a.created_at) AS opened_first, max(a.created_at) AS opened_last, max(a.updated_at) AS updated_at,
           (array_agg(a.id ORDER BY a.suppressed_by IS NOT NULL, w.worth DESC, a.id))[1] AS lead_id,
           (array_agg(a.id ORDER BY w.size DESC NULLS LAST, a.id))[1] AS worst_id,
           (array_agg(w.rel ORDER BY w.size NULLS LAST, a.id))[1] AS rel_least,
           (array_agg(w.rel ORDER BY w.size DESC NULLS LAST, a.id))[1] AS rel_most
    FROM chosen c
    JOIN alerts a ON a.project_id = c.project_id AND a.group_id = c.group_id
    JOIN change_points x ON x.project_id = a.project_id AND x.id = a.change_point_id
    CROSS JOIN LATERAL (
        SELECT alert_worth(x.rel_low, x.rel_high, a.evidence, a.group_series) AS worth,
               nullif(x.rel_change, 'NaN') AS rel,
               abs(ln(greatest(1e-9, 1 + nullif(x.rel_change, 'NaN')))) AS size OFFSET 0) w
    GROUP BY a.project_id, a.group_id
    HAVING $9::boolean IS NULL OR bool_and(x.undone_commit_id IS NOT NULL) = $9),
page AS MATERIALIZED (
    SELECT z.* FROM sized z
    WHERE $11::bigint IS NULL
       OR CASE WHEN $10::boolean THEN (z.worth, z.group_id) < (
               (SELECT coalesce(max(v.worth) FILTER (WHERE a.suppressed_by IS NULL), max(v.worth)) FROM alerts a
                JOIN change_points x ON x.project_id = a.project_id AND x.id = a.change_point_id
                CROSS JOIN LATERAL (
                    SELECT alert_worth(x.rel_low, x.rel_high, a.evidence, a.group_series) AS worth OFFSET 0) v
                WHERE a.group_id = $11), $11)
          ELSE z.newest < (SELECT max(a.id) FROM alerts a WHERE a.group_id = $11) END
    ORDER BY CASE WHEN $10::boolean THEN z.worth END DESC NULLS LAST, CASE WHEN $10::boolean THEN z.group_id END DESC,
             z.newest DESC
    LIMIT $12::int)
SELECT z.group_id AS id, z.project_id, p.name AS project, z.alerts, z.suppressed, z.series,
       greatest(z.measured, z.series) AS measured, z.summary, z.state,
       (SELECT json_object_agg(t.state, t.n) FROM (
            SELECT m.state, count(*) AS n FROM alerts m WHERE m.project_id = z.project_id AND m.group_id = z.group_id
            GROUP BY m.state ORDER BY m.state) t)::text AS states,
       z.worth, z.rel_least, z.rel_most, z.back, z.placed, z.assignee,
       extract(epoch FROM z.opened_first)::float8 AS opened_first,
       extract(epoch FROM z.opened_last)::float8 AS opened_last, extract(epoch FROM z.updated_at)::float8 AS updated_at,
       z.lead_id, z.worst_id, s.id AS worst_series_id, b.name AS benchmark, s.metric, s.backend, s.machine_class,
       s.branch, s.unit, s.higher_is_better, x.rel_change, x.rel_low, x.rel_high,
       to_json(s.spark[greatest(1, cardinality(s.spark) - 59):])::text AS spark, i.forge AS issue_forge,
       i.repo AS issue_repo, coalesce(i.number, 0) AS issue_number, i.url AS issue_url, i.state AS issue_state,
       i.trouble AS issue_trouble, i.asked_by AS issue_asked_by,
       extract(epoch FROM i.asked_at)::float8 AS issue_asked_at,
       (SELECT string_agg(DISTINCT n, ' ' ORDER BY n) FROM alerts m
        CROSS JOIN LATERAL unnest(string_to_array(m.owner, ' ')) AS n
        WHERE m.project_id = z.project_id AND m.group_id = z.group_id) AS owners, x.before, x.after
FROM page z
JOIN projects p ON p.id = z.project_id
LEFT JOIN group_issues i ON i.project_id = z.project_id AND i.group_id = z.group_id
JOIN alerts a ON a.project_id = z.project_id AND a.id = z.worst_id
JOIN change_points x ON x.project_id = a.project_id AND x.id = a.change_point_id
JOIN series s ON s.project_id = a.project_id AND s.id = a.series_id
JOIN benchmarks b ON b.project_id = s.project_id AND b.id = s.benchmark_id
ORDER BY CASE WHEN $10::boolean THEN z.worth END DESC NULLS LAST, CASE WHEN $10::boolean THEN z.group_id END DESC,
         z.newest DESC;

-- name: alert_group_improvements
-- A page of commits with lasting improvements, newest first. An improvement that only takes an alert's regression back
-- is left out: that is a recovery. id: the newest change of the commit, which is the cursor. The other parameters are
-- those of alert_group_list.
-- also: once
-- in: project_id id, kernel text?, backend text?, machine_class text?, words text?, cursor id, limit i64
-- out: id i64, project_id i64, project text, branch text, commit_id i64, commit text, subject text, author text,
--    series i64, rel_least f64, rel_most f64, opened_first f64, opened_last f64, worst_series_id i64, benchmark text,
--    metric text, backend text, machine_class text, unit text, higher_is_better bool, rel_change f64, rel_low f64,
--    rel_high f64, spark json, series_ids i64[], rel_changes f64[], before f64, after f64
WITH better AS MATERIALIZED (
    SELECT x.project_id, s.branch, x.commit_id, x.id, x.series_id, x.rel_change, x.rel_low, x.rel_high, x.created_at,
           abs(ln(greatest(1e-9, 1 + x.rel_change))) AS size
    FROM change_points x
    JOIN series s ON s.project_id = x.project_id AND s.id = x.series_id
    JOIN benchmarks b ON b.project_id = s.project_id AND b.id = s.benchmark_id
    WHERE x.gone_at IS NULL AND x.firm AND NOT x.regression AND x.kind = 'step' AND NOT s.headline
      AND b.name <> 'canary'
      AND ($1::bigint IS NULL OR x.project_id = $1)
      AND ($2::text IS NULL OR b.name = $2 OR starts_with(b.name, $2 || '/'))
      AND ($3::text IS NULL OR s.backend = $3) AND ($4::text IS NULL OR s.machine_class = $4)
      AND ($5::text IS NULL OR NOT EXISTS (
          SELECT 1 FROM unnest(string_to_array(lower($5), ' ')) AS w
          WHERE position(w IN lower(concat_ws(' ', b.name, s.metric, s.backend, s.machine_class, (
              SELECT concat_ws(' ', c.sha, c.subject, c.author) FROM commits c
              WHERE c.project_id = x.project_id AND c.id = x.commit_id)))) = 0))
      AND NOT EXISTS (
          SELECT 1 FROM change_points u JOIN alerts a ON a.project_id = u.project_id AND a.change_point_id = u.id
          WHERE u.project_id = x.project_id AND u.series_id = x.series_id AND u.undone_commit_id = x.commit_id)),
page AS MATERIALIZED (
    SELECT z.project_id, z.branch, z.commit_id, max(z.id) AS id, count(DISTINCT z.series_id) AS series,
           (array_agg(z.rel_change ORDER BY z.size, z.id))[1] AS rel_least,
           (array_agg(z.id ORDER BY z.size DESC, z.id))[1] AS most_id,
           min(z.created_at) AS opened_first, max(z.created_at) AS opened_last,
           (array_agg(z.series_id ORDER BY z.id))[:1000] AS series_ids,
           (array_agg(z.rel_change ORDER BY z.id))[:1000] AS rel_changes
    FROM better z
    GROUP BY z.project_id, z.branch, z.commit_id
    HAVING $6::bigint IS NULL OR max(z.id) < $6
    ORDER BY max(z.id) DESC LIMIT $7::int)
SELECT z.id, z.project_id, p.name AS project, z.branch, z.commit_id, c.sha AS commit, c.subject, c.author, z.series,
       z.rel_least, x.rel_change AS rel_most, extract(epoch FROM z.opened_first)::float8 AS opened_first,
       extract(epoch FROM z.opened_last)::float8 AS opened_last, s.id AS worst_series_id, b.name AS benchmark, s.metric,
       s.backend, s.machine_class, s.unit, s.higher_is_better, x.rel_change, x.rel_low, x.rel_high,
       to_json(s.spark[greatest(1, cardinality(s.spark) - 59):])::text AS spark, z.series_ids, z.rel_changes,
       x.before, x.after
FROM page z
JOIN projects p ON p.id = z.project_id
JOIN commits c ON c.project_id = z.project_id AND c.id = z.commit_id
JOIN change_points x ON x.project_id = z.project_id AND x.id = z.most_id
JOIN series s ON s.project_id = x.project_id AND s.id = x.series_id
JOIN benchmarks b ON b.project_id = s.project_id AND b.id = s.benchmark_id
ORDER BY z.id DESC;

-- name: alert_group_projects
-- The projects and branches of the groups, in the order in which branches are locked.
-- also: once
-- in: ids i64[]
-- out: group_id i64, project_id i64, branch text
SELECT DISTINCT a.group_id, a.project_id, s.branch
FROM alerts a JOIN series s ON s.project_id = a.project_id AND s.id = a.series_id
WHERE a.group_id = ANY ($1::bigint[]) ORDER BY a.project_id, s.branch, a.group_id;

-- name: alert_group_lock
-- The alerts of the groups.
-- in: ids i64[]
-- out: id i64, group_id i64, project_id i64, state text, assignee text, drift bool
SELECT a.id, a.group_id, a.project_id, a.state, a.assignee, x.kind = 'drift' AS drift
FROM alerts a JOIN change_points x ON x.project_id = a.project_id AND x.id = a.change_point_id
WHERE a.group_id = ANY ($1::bigint[]) ORDER BY a.id FOR UPDATE OF a;

-- name: alert_group_states
-- The state of each group, as in alert_group_list, and whether one of its alerts is open.
-- in: ids i64[]
-- out: id i64, project_id i64, state text, open bool, actor text
SELECT a.group_id AS id, a.project_id,
       (array_agg(a.state ORDER BY a.suppressed_by IS NOT NULL, alert_state_rank(a.state)))[1] AS state,
       bool_or(a.state IN ('untriaged', 'acknowledged', 'investigating')) AS open,
       (SELECT e.actor FROM alerts m JOIN alert_events e ON e.project_id = m.project_id AND e.alert_id = m.id
        WHERE m.group_id = a.group_id ORDER BY e.id DESC LIMIT 1) AS actor
FROM alerts a WHERE a.group_id = ANY ($1::bigint[]) GROUP BY a.project_id, a.group_id ORDER BY a.group_id;

-- name: alert_group_assign
-- in: project_id i64, alert_id i64, assignee text
UPDATE alerts SET assignee = $3, updated_at = now() WHERE project_id = $1::bigint AND id = $2::bigint;

-- name: alert_group_place
-- Puts alerts into a group by a person's decision. Their summary is of another group.
-- in: project_id i64, alert_ids i64[], group_id i64
UPDATE alerts a SET group_id = $3::bigint, group_placed = true, group_summary = '', group_series = 1,
       group_measured = 1, assignee = coalesce((SELECT max(m.assignee) FROM alerts m
                            WHERE m.project_id = $1::bigint AND m.group_id = $3::bigint), a.assignee)
WHERE a.project_id = $1::bigint AND a.id = ANY ($2::bigint[]);

-- name: alert_group_regroup
-- Has the alerts of the groups grouped again.
-- in: project_id i64, ids i64[]
UPDATE alerts a SET regroup = true, boundary_due = x.gone_at IS NULL AND x.kind = 'step'
FROM change_points x
WHERE a.project_id = $1::bigint AND a.group_id = ANY ($2::bigint[])
  AND x.project_id = $1::bigint AND x.id = a.change_point_id;

-- name: alert_group_single
-- Gives every alert that is in no group one of its own, which has no summary.
-- in: project_id i64
UPDATE alerts SET group_id = nextval('alert_group_ids'), group_summary = ''
WHERE project_id = $1::bigint AND group_id IS NULL;

-- name: alert_group_reach
-- The positions that the placed alerts of groups with an alert in the range reach.
-- in: project_id i64, branch text, position_from i64, position_to i64
-- out: position_low i64, position_high i64
SELECT min(bl.position) AS position_low, max(bh.position) AS position_high
FROM (
    SELECT DISTINCT a.group_id FROM alerts a
    JOIN series s ON s.project_id = a.project_id AND s.id = a.series_id AND s.branch = $2
    JOIN change_points x ON x.project_id = a.project_id AND x.id = a.change_point_id AND x.gone_at IS NULL
    JOIN branch_commits l ON l.project_id = x.project_id AND l.branch = $2 AND l.commit_id = x.commit_low_id
    JOIN branch_commits h ON h.project_id = x.project_id AND h.branch = $2 AND h.commit_id = x.commit_high_id
    WHERE a.project_id = $1::bigint AND a.group_placed AND l.position <= $4::bigint AND h.position >= $3::bigint) g
JOIN alerts m ON m.project_id = $1::bigint AND m.group_id = g.group_id AND m.group_placed
JOIN change_points x ON x.project_id = m.project_id AND x.id = m.change_point_id AND x.gone_at IS NULL
    AND x.kind = 'step'
JOIN branch_commits bl ON bl.project_id = x.project_id AND bl.branch = $2 AND bl.commit_id = x.commit_low_id
JOIN branch_commits bh ON bh.project_id = x.project_id AND bh.branch = $2 AND bh.commit_id = x.commit_high_id
HAVING count(*) > 0;

-- name: alert_group_events
-- The newest events of the alerts of a group, newest first; equal events of one moment once, with their number.
-- also: once
-- in: group_id i64, limit i64
-- out: at f64, actor text, state_from text, state_to text, reason text, culprit text, alerts i64
SELECT extract(epoch FROM e.at)::float8 AS at, e.actor, e.state_from, e.state_to, e.reason, e.culprit,
       count(*) AS alerts
FROM alerts a JOIN alert_events e ON e.project_id = a.project_id AND e.alert_id = a.id
WHERE a.group_id = $1::bigint
GROUP BY e.at, e.actor, e.state_from, e.state_to, e.reason, e.culprit ORDER BY e.at DESC, max(e.id) DESC LIMIT $2::int;
