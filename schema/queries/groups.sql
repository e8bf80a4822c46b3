-- name: branch_lock
-- Serialises servers that open and group the alerts of a branch. Commits that are inserted meanwhile refer to the row
-- and do not wait.
-- in: project_id i64, branch text
-- out: name text
-- plan: generic
SELECT name FROM branches WHERE project_id = $1::bigint AND name = $2 FOR NO KEY UPDATE;

-- name: groups_wanted
-- The ranges of positions in which an alert may have to be opened or grouped again, in order. The OFFSETs keep the
-- lookups: without statistics of the tables the planner would join them by the project alone.
-- in: project_id i64, branch text
-- out: position_low i64, position_high i64
SELECT bl.position AS position_low, bh.position AS position_high
FROM (SELECT x.series_id, x.commit_low_id, x.commit_high_id FROM change_points x
      LEFT JOIN LATERAL (SELECT q.id, q.regroup FROM alerts q
                         WHERE q.project_id = $1::bigint AND q.change_point_id = x.id OFFSET 0) a ON true
      WHERE x.project_id = $1::bigint AND x.gone_at IS NULL AND x.firm AND x.regression AND x.kind = 'step'
        AND (a.id IS NULL AND coalesce(x.withheld, '') NOT IN ('margin', 'rule_off', 'machine') OR a.regroup)
      OFFSET 0) w
CROSS JOIN LATERAL (SELECT FROM series q
                    WHERE q.project_id = $1::bigint AND q.id = w.series_id AND q.branch = $2 OFFSET 0) s
CROSS JOIN LATERAL (SELECT q.position FROM branch_commits q
                    WHERE q.project_id = $1::bigint AND q.branch = $2 AND q.commit_id = w.commit_low_id OFFSET 0) bl
CROSS JOIN LATERAL (SELECT q.position FROM branch_commits q
                    WHERE q.project_id = $1::bigint AND q.branch = $2 AND q.commit_id = w.commit_high_id OFFSET 0) bh
ORDER BY bl.position, bh.position LIMIT 10000;

-- name: group_members
-- Live confirmed regressions that may lie in the range and that no setting withholds. own_state: state of an alert
-- that no person has changed. The canary's code never changes: when its series moves, the machine has moved, and no
-- commit is the cause.
-- in: project_id i64, branch text, position_from i64, position_to i64
-- out: id i64, series_id i64, commit_id i64, position i64, position_low i64, position_high i64, p f64,
--    rel_change f64, rel_low f64, rel_high f64, undone bool, points i64, exact bool, alert_id i64, group_id i64,
--    commit_low_id i64, commit_high_id i64, event_id i64, identical bool, blocks bool, waits bool, asked bool,
--    placed bool, against text, commit_high text, own_state text
SELECT x.id, x.series_id, x.commit_id, b.position, bl.position AS position_low,
       bh.position AS position_high, x.p, x.rel_change, x.rel_low, x.rel_high,
       x.undone_commit_id IS NOT NULL AS undone, s.points, s.exact, a.id AS alert_id, a.group_id,
       x.commit_low_id, x.commit_high_id, a.event_id, coalesce(x.withheld = 'identical', false) AS identical,
       coalesce(x.evidence ->> 'verdict' = 'different', false) AS blocks, s.in_blocks AND NOT s.exact AS waits,
       coalesce(x.withheld = 'budget', false) AS asked, coalesce(a.group_placed, false) AS placed,
       (SELECT c.sha FROM branch_commits q JOIN commits c ON c.project_id = q.project_id AND c.id = q.commit_id
        WHERE q.project_id = x.project_id AND q.branch = $2 AND q.position = bl.position - 1) AS against,
       (SELECT c.sha FROM commits c WHERE c.project_id = x.project_id AND c.id = x.commit_high_id) AS commit_high,
       CASE WHEN a.state IN ('untriaged', 'infrastructure') AND 'detector' = (
                SELECT e.actor FROM alert_events e WHERE e.project_id = a.project_id
                AND e.alert_id = a.id ORDER BY e.id DESC LIMIT 1) THEN a.state END AS own_state
FROM change_points x
JOIN series s ON s.project_id = x.project_id AND s.id = x.series_id AND s.branch = $2
JOIN benchmarks n ON n.project_id = s.project_id AND n.id = s.benchmark_id AND n.name <> 'canary'
JOIN branch_commits b ON b.project_id = x.project_id AND b.branch = $2 AND b.commit_id = x.commit_id
JOIN branch_commits bl ON bl.project_id = x.project_id AND bl.branch = $2
    AND bl.commit_id = x.commit_low_id
JOIN branch_commits bh ON bh.project_id = x.project_id AND bh.branch = $2
    AND bh.commit_id = x.commit_high_id
LEFT JOIN alerts a ON a.project_id = x.project_id AND a.change_point_id = x.id
WHERE x.project_id = $1::bigint AND x.gone_at IS NULL AND x.firm AND x.regression AND x.kind = 'step'
  AND bl.position <= $4::bigint AND bh.position >= $3::bigint
  AND (a.id IS NOT NULL OR coalesce(x.withheld, '') NOT IN ('margin', 'rule_off'))
ORDER BY bh.position - bl.position, b.position, x.id LIMIT 10000;

-- name: group_places
-- A position for every group of alerts in the range that accuses a commit: the position of its sharpest change.
-- in: project_id i64, branch text, position_from i64, position_to i64
-- out: position i64
SELECT position FROM (
    SELECT DISTINCT ON (coalesce(a.group_id, -a.id)) b.position
    FROM alerts a
    JOIN series s ON s.project_id = a.project_id AND s.id = a.series_id AND s.branch = $2
    JOIN change_points x ON x.project_id = a.project_id AND x.id = a.change_point_id
        AND x.gone_at IS NULL AND x.kind = 'step'
    JOIN branch_commits b ON b.project_id = x.project_id AND b.branch = $2
        AND b.commit_id = x.commit_id
    JOIN branch_commits bl ON bl.project_id = x.project_id AND bl.branch = $2
        AND bl.commit_id = x.commit_low_id
    JOIN branch_commits bh ON bh.project_id = x.project_id AND bh.branch = $2
        AND bh.commit_id = x.commit_high_id
    WHERE a.project_id = $1::bigint AND a.event_id IS NULL
      AND b.position BETWEEN $3::bigint AND $4::bigint
    ORDER BY coalesce(a.group_id, -a.id), bh.position - bl.position, b.position, x.id) g
ORDER BY position;

-- name: group_slices
-- Every series that was measured at one of these commits. The OFFSET has the plan read what the commits measured, not all
-- points of each series.
-- in: project_id i64, branch text, commit_ids i64[]
-- out: id i64, benchmark text, metric text, backend text, machine_class text, params json, headline bool
SELECT s.id, b.name AS benchmark, s.metric, s.backend, s.machine_class, b.params::text AS params,
       s.headline
FROM series s JOIN benchmarks b ON b.project_id = s.project_id AND b.id = s.benchmark_id
WHERE s.project_id = $1::bigint AND s.branch = $2 AND s.id = ANY (ARRAY(
    SELECT DISTINCT m.series_id FROM unnest($3::bigint[]) AS u (commit_id)
    CROSS JOIN LATERAL (SELECT p.series_id FROM measurements p
                        WHERE p.project_id = $1::bigint AND p.commit_id = u.commit_id OFFSET 0) m))
ORDER BY s.id;

-- name: group_next
-- value: id i64
SELECT nextval('alert_group_ids') AS id;

-- name: group_set
-- series: number of its series. measured: number of series that were measured there. An alert that joins a group gets
-- its assignee. A group that is as it was is not written. The owners and the boundaries of its alerts are found again
-- where the group has other members, or one of them has moved (boundary_due); not where only its figures differ.
-- in: project_id i64, alert_ids i64[], group_id i64, series i64, measured i64, summary text
WITH before AS MATERIALIZED (
    SELECT n.boundary_due OR n.group_summary = '' OR (n.group_id, n.group_series, n.group_measured)
               IS DISTINCT FROM ($3::bigint, $4::int, $5::int) AS moved, n.regroup, n.group_summary
    FROM alerts n WHERE n.project_id = $1::bigint AND n.id = ANY ($2::bigint[])),
news AS MATERIALIZED (
    SELECT bool_or(moved) AS moved, bool_or(moved OR regroup OR group_summary <> $6) AS other FROM before)
UPDATE alerts a SET group_id = $3::bigint, group_series = $4::int, group_measured = $5::int,
       group_summary = $6, regroup = false, boundary_due = news.moved, owner_due = a.owner_due OR news.moved,
       assignee = CASE WHEN a.assignee <> '' THEN a.assignee ELSE coalesce((
           SELECT max(m.assignee) FROM alerts m WHERE m.project_id = $1::bigint AND m.group_id = $3::bigint), '') END
FROM news
WHERE a.project_id = $1::bigint AND a.id = ANY ($2::bigint[]) AND news.other;

-- name: alert_regroup
-- Has the alert and those of its group grouped again. moved: its change has another place, or has returned, so that its
-- owner and its boundary are found again, too.
-- in: project_id i64, alert_id i64, moved bool
UPDATE alerts SET regroup = true, boundary_due = boundary_due OR ($3::boolean AND id = $2::bigint)
WHERE project_id = $1::bigint AND (id = $2::bigint OR group_id = (
    SELECT group_id FROM alerts WHERE project_id = $1::bigint AND id = $2::bigint));

-- name: alert_accept
-- No row: the alert reports a broken benchmark, which has no level.
-- in: project_id i64, alert_id i64
-- value: id i64
UPDATE alerts a SET accepted_at = now() FROM change_points x
WHERE a.project_id = $1::bigint AND a.id = $2::bigint
  AND x.project_id = a.project_id AND x.id = a.change_point_id AND x.kind <> 'broken'
RETURNING a.id;

-- name: environment_moved
-- The run's canary moved. opened: the event is new.
-- in: project_id i64, machine_id i64, run_id i64
-- out: id i64, opened bool
INSERT INTO environment_events AS e (project_id, machine_id, first_run_id, last_run_id)
VALUES ($1::bigint, $2::bigint, $3::bigint, $3::bigint)
ON CONFLICT (project_id, machine_id) WHERE closed_at IS NULL
DO UPDATE SET runs = e.runs + 1, last_run_id = excluded.last_run_id, updated_at = now()
RETURNING id, runs = 1 AS opened;

-- name: environment_still
-- The run's canary did not move: the id of the event that ends.
-- in: project_id i64, machine_id i64
-- value: id i64
UPDATE environment_events SET closed_at = now(), updated_at = now()
WHERE project_id = $1::bigint AND machine_id = $2::bigint AND closed_at IS NULL RETURNING id;

-- name: environment_notify
-- Sends the event's present state to listeners.
-- in: id i64
SELECT pg_notify('perfci', json_build_object('type', 'environment', 'project', p.name, 'id', e.id,
                 'open', e.closed_at IS NULL)::text)
FROM environment_events e JOIN projects p ON p.id = e.project_id WHERE e.id = $1::bigint;

-- name: environment_list
-- Events of canaries and of steps, and faults, whose cause is their text; a fault that was dismissed counts as closed.
-- also: once
-- in: project_id id, open_only bool, cursor id, limit i64, id id
-- out: id i64, project_id i64, project text, kind text, machine_class text, machine text, runs i64, first_run_id i64,
--    last_run_id i64, first_commit text, last_commit text, opened_at f64, closed_at f64, branch text, loss f64,
--    loss_low f64, loss_high f64, series i64, moved i64, judged i64, reasons json, cause text, dismissed_by text,
--    dismissed_reason text
WITH all_events AS (
    SELECT e.id, e.project_id, 'canary' AS kind, e.machine_id, false AS whole_class, e.runs,
           e.first_run_id, e.last_run_id, e.opened_at, e.closed_at, NULL::text AS branch,
           NULL::float8 AS loss, NULL::float8 AS loss_low, NULL::float8 AS loss_high, 0::bigint AS series,
           0::bigint AS moved, 0::bigint AS judged, '{}'::text[] AS reasons, '' AS cause,
           NULL::text AS dismissed_by, '' AS dismissed_reason
    FROM environment_events e
    UNION ALL
    SELECT e.id, e.project_id, 'step', e.machine_id, e.whole_class, 0, e.first_run_id, e.last_run_id,
           e.opened_at, e.closed_at, e.branch, e.loss, e.loss_low, e.loss_high, e.series, e.moved,
           e.judged, e.reasons, e.cause, e.dismissed_by, e.dismissed_reason
    FROM machine_shifts e
    UNION ALL
    SELECT f.id, f.project_id, f.kind, NULL, false, 0, NULL, NULL, f.opened_at, coalesce(f.ended_at, f.dismissed_at),
           f.branch, NULL, NULL, NULL, cardinality(f.series), 0, 0, '{}', f.text, f.dismissed_by, f.dismissed_reason
    FROM faults f)
SELECT e.id, e.project_id, p.name AS project, e.kind, coalesce(k.class, t.machine_class) AS machine_class,
       CASE WHEN NOT e.whole_class THEN coalesce(k.name, t.machine) END AS machine, e.runs,
       coalesce(e.first_run_id, 0) AS first_run_id, coalesce(e.last_run_id, 0) AS last_run_id,
       f.sha AS first_commit, l.sha AS last_commit, extract(epoch FROM e.opened_at)::float8 AS opened_at,
       extract(epoch FROM e.closed_at)::float8 AS closed_at, e.branch, e.loss, e.loss_low, e.loss_high,
       e.series, e.moved, e.judged, to_json(e.reasons)::text AS reasons, e.cause, e.dismissed_by,
       e.dismissed_reason
FROM all_events e
JOIN projects p ON p.id = e.project_id
LEFT JOIN faults t ON t.project_id = e.project_id AND t.id = e.id
LEFT JOIN machines k ON k.id = e.machine_id
LEFT JOIN runs rf ON rf.project_id = e.project_id AND rf.id = e.first_run_id
LEFT JOIN commits f ON f.project_id = e.project_id AND f.id = rf.commit_id
LEFT JOIN runs rl ON rl.project_id = e.project_id AND rl.id = e.last_run_id
LEFT JOIN commits l ON l.project_id = e.project_id AND l.id = rl.commit_id
WHERE ($1::bigint IS NULL OR e.project_id = $1) AND (NOT $2::boolean OR e.closed_at IS NULL)
  AND ($3::bigint IS NULL OR e.id < $3) AND ($5::bigint IS NULL OR e.id = $5)
ORDER BY e.id DESC LIMIT $4::int;
