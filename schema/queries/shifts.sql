-- Machines that moved, where no canary shows it: the data of the decision, and the stored events.

-- name: shift_window
-- The range extended on either side by `commits` measured commits.
-- in: project_id i64, branch text, position_from i64, position_to i64, commits i64
-- out: position_from i64, position_to i64
SELECT coalesce((SELECT min(q.position) FROM (
           SELECT b.position FROM branch_commits b
           WHERE b.project_id = $1::bigint AND b.branch = $2 AND b.position < $3::bigint
             AND EXISTS (SELECT 1 FROM runs r WHERE r.project_id = b.project_id
                         AND r.commit_id = b.commit_id AND NOT r.infra AND r.quarantine_id IS NULL)
           ORDER BY b.position DESC LIMIT $5::int) q), $3::bigint) AS position_from,
       coalesce((SELECT max(q.position) FROM (
           SELECT b.position FROM branch_commits b
           WHERE b.project_id = $1::bigint AND b.branch = $2 AND b.position > $4::bigint
             AND EXISTS (SELECT 1 FROM runs r WHERE r.project_id = b.project_id
                         AND r.commit_id = b.commit_id AND NOT r.infra AND r.quarantine_id IS NULL)
           ORDER BY b.position LIMIT $5::int) q), $4::bigint) AS position_to;

-- name: shift_runs
-- The runs of the positions, in the order of history. Equal states: one fingerprint. The OFFSET keeps the lookups.
-- in: project_id i64, branch text, position_from i64, position_to i64
-- out: id i64, commit_id i64, position i64, time f64, machine_id i64, class text, name text, state i64
SELECT v.id, b.commit_id, b.position, extract(epoch FROM v.started_at)::float8 AS time, v.machine_id, k.class, k.name,
       dense_rank() OVER (ORDER BY k.fingerprint_hash) AS state
FROM branch_commits b
CROSS JOIN LATERAL (SELECT q.id, q.started_at, q.run_id, q.machine_id FROM runs q
                    WHERE q.project_id = $1::bigint AND q.commit_id = b.commit_id AND NOT q.infra OFFSET 0) v
JOIN machines k ON k.id = v.machine_id
WHERE b.project_id = $1::bigint AND b.branch = $2 AND b.position BETWEEN $3::bigint AND $4::bigint
ORDER BY b.position, v.started_at, v.run_id;

-- name: shift_points
-- What the runs measured, series by series in the order of the runs. nth: of the run, from 1. object: the hash of the
-- object code, in UTF-8.
-- in: project_id i64, run_ids i64[], commit_ids i64[], limit i64
-- out: nth i64, series_id i64, median f64, object bytes
SELECT u.nth, m.series_id, m.median, convert_to(m.object, 'UTF8') AS object
FROM unnest($2::bigint[], $3::bigint[]) WITH ORDINALITY AS u (run_id, commit_id, nth)
CROSS JOIN LATERAL (SELECT p.series_id, p.median, p.extra ->> 'object' AS object FROM measurements p
                    WHERE p.project_id = $1::bigint AND p.commit_id = u.commit_id AND p.run_id = u.run_id
                      AND p.median > 0 OFFSET 0) m
ORDER BY m.series_id, u.nth LIMIT $4::int;

-- name: shift_series
-- Those of the branch that are no canaries, in the order of ids. Equal numbers: the same work, kernel or kind.
-- in: project_id i64, branch text, series_ids i64[]
-- out: id i64, family text, higher_is_better bool, exact bool, work i64, kernel i64, kind i64
SELECT s.id, split_part(b.name, '/', 1) AS family, s.higher_is_better, s.exact,
       dense_rank() OVER (ORDER BY s.benchmark_id, s.metric, s.backend) AS work,
       dense_rank() OVER (ORDER BY s.benchmark_id, s.backend) AS kernel,
       dense_rank() OVER (ORDER BY split_part(b.name, '/', 1), s.backend) AS kind
FROM series s JOIN benchmarks b ON b.project_id = s.project_id AND b.id = s.benchmark_id
WHERE s.project_id = $1::bigint AND s.branch = $2 AND s.id = ANY ($3::bigint[]) AND b.name <> 'canary'
ORDER BY s.id;

-- name: shift_paths
-- An empty list: the commit's paths are not known.
-- in: project_id i64, branch text, position_from i64, position_to i64
-- out: paths text[]
SELECT c.paths
FROM branch_commits b JOIN commits c ON c.project_id = b.project_id AND c.id = b.commit_id
WHERE b.project_id = $1::bigint AND b.branch = $2 AND b.position BETWEEN $3::bigint AND $4::bigint
LIMIT 201;

-- name: shift_find
-- The event of that machine, with any fingerprint, whose range overlaps this one. dismissed: a person has dismissed
-- it.
-- in: project_id i64, branch text, machine_id i64, whole_class bool, position_from i64, position_to i64
-- out: id i64, dismissed bool
SELECT e.id, e.dismissed_at IS NOT NULL AS dismissed
FROM machine_shifts e
JOIN machines k ON k.id = e.machine_id
JOIN machines w ON w.id = $3::bigint AND w.class = k.class AND ($4::boolean OR w.name = k.name)
JOIN branch_commits bl ON bl.project_id = e.project_id AND bl.branch = e.branch
    AND bl.commit_id = e.commit_low_id
JOIN branch_commits bh ON bh.project_id = e.project_id AND bh.branch = e.branch
    AND bh.commit_id = e.commit_high_id
WHERE e.project_id = $1::bigint AND e.branch = $2
  AND bl.position <= $6::bigint AND bh.position >= $5::bigint
ORDER BY e.dismissed_at IS NULL, e.id LIMIT 1;

-- name: shift_put
-- id NULL: a new event. news: the event is to be announced. machine_id: the machine as it is now. loss_low,
-- loss_high: the range of the middle half.
-- in: project_id i64, id id, branch text, machine_id i64, machine_before_id i64, whole_class bool, first_run_id i64,
--    last_run_id i64, commit_id i64, commit_low_id i64, commit_high_id i64, loss f64, loss_low f64, loss_high f64,
--    series i64, moved i64, judged i64, reasons text[], cause text
-- out: id i64, news bool
WITH old AS (
    SELECT id, closed_at FROM machine_shifts WHERE project_id = $1::bigint AND id = $2::bigint),
changed AS (
    UPDATE machine_shifts e SET machine_id = $4::bigint, machine_before_id = $5::bigint,
           first_run_id = $7::bigint, last_run_id = $8::bigint, loss = $12::float8,
           loss_low = $13::float8, loss_high = $14::float8, series = $15::bigint,
           moved = $16::bigint, judged = $17::bigint, reasons = $18::text[], cause = $19,
           updated_at = now(), closed_at = NULL
    FROM old WHERE e.project_id = $1::bigint AND e.id = old.id
    RETURNING e.id, old.closed_at IS NOT NULL AS news),
made AS (
    INSERT INTO machine_shifts (project_id, branch, machine_id, machine_before_id, whole_class,
                                first_run_id, last_run_id, commit_id, commit_low_id, commit_high_id,
                                loss, loss_low, loss_high, series, moved, judged, reasons, cause)
    SELECT $1::bigint, $3, $4::bigint, $5::bigint, $6::boolean, $7::bigint, $8::bigint, $9::bigint,
           $10::bigint, $11::bigint, $12::float8, $13::float8, $14::float8, $15::bigint, $16::bigint,
           $17::bigint, $18::text[], $19
    WHERE $2::bigint IS NULL RETURNING id)
SELECT id, news FROM changed UNION ALL SELECT id, true FROM made;

-- name: shift_alert
-- in: project_id i64, alert_ids i64[], event_id id
UPDATE alerts SET event_id = $3::bigint WHERE project_id = $1::bigint AND id = ANY ($2::bigint[])
  AND event_id IS DISTINCT FROM $3::bigint;

-- name: shift_settle
-- Ends the branch's events that no longer explain an alert.
-- in: project_id i64, branch text
-- out: id i64
UPDATE machine_shifts e SET closed_at = now(), updated_at = now()
WHERE e.project_id = $1::bigint AND e.branch = $2 AND e.closed_at IS NULL AND NOT EXISTS (
    SELECT 1 FROM alerts a WHERE a.project_id = e.project_id AND a.event_id = e.id
    AND a.state = 'infrastructure')
RETURNING e.id;

-- name: shift_notify
-- Sends the event's present state to listeners.
-- in: id i64
SELECT pg_notify('perfci', json_build_object('type', 'environment', 'project', p.name, 'id', e.id,
                 'open', e.closed_at IS NULL)::text)
FROM machine_shifts e JOIN projects p ON p.id = e.project_id WHERE e.id = $1::bigint;

-- name: shift_reconsider
-- Marks alerts near these judged runs for grouping again where the group is so large that a machine may be the cause:
-- a run of another machine, or of an old commit, may change the answer. Their boundaries are found again for runs within
-- 20 commits of their range: the ranking of suspects reads those. In steps, beginning with the few alerts:
-- planned as one join, PostgreSQL 17 began with every commit of the branch.
-- in: project_id i64, run_ids i64[]
-- plan: generic
WITH wide AS MATERIALIZED (
    SELECT id, series_id, change_point_id FROM alerts
    WHERE project_id = $1::bigint AND NOT regroup AND group_series >= 4
      AND state IN ('untriaged', 'infrastructure')),
placed AS MATERIALIZED (
    SELECT w.id, s.branch, x.commit_id, x.commit_low_id, x.commit_high_id
    FROM wide w
    JOIN change_points x ON x.project_id = $1::bigint AND x.id = w.change_point_id AND x.kind = 'step'
        AND x.gone_at IS NULL
    JOIN series s ON s.project_id = $1::bigint AND s.id = w.series_id),
judged AS MATERIALIZED (
    SELECT rb.branch, rb.position
    FROM (SELECT DISTINCT branch FROM placed) n
    JOIN runs r ON r.project_id = $1::bigint AND r.id = ANY ($2::bigint[])
    JOIN branch_commits rb ON rb.project_id = $1::bigint AND rb.branch = n.branch AND rb.commit_id = r.commit_id)
UPDATE alerts a SET regroup = true, boundary_due = a.boundary_due OR EXISTS (
    SELECT 1 FROM branch_commits bl, branch_commits bh, judged j
    WHERE bl.project_id = $1::bigint AND bl.branch = p.branch AND bl.commit_id = p.commit_low_id
      AND bh.project_id = $1::bigint AND bh.branch = p.branch AND bh.commit_id = p.commit_high_id
      AND j.branch = p.branch AND j.position BETWEEN bl.position - 20 AND bh.position + 20)
FROM placed p
JOIN branch_commits b ON b.project_id = $1::bigint AND b.branch = p.branch AND b.commit_id = p.commit_id
WHERE a.project_id = $1::bigint AND a.id = p.id AND NOT a.regroup
  AND EXISTS (SELECT 1 FROM judged j
              WHERE j.branch = p.branch AND j.position BETWEEN b.position - 40 AND b.position + 40);

-- name: shift_lock
-- in: id i64
-- out: project_id i64, branch text, dismissed bool
SELECT project_id, branch, dismissed_at IS NOT NULL AS dismissed FROM machine_shifts
WHERE id = $1::bigint FOR UPDATE;

-- name: shift_alerts
-- in: project_id i64, event_id i64
-- out: id i64, state text, last_actor text
SELECT a.id, a.state,
       (SELECT e.actor FROM alert_events e WHERE e.project_id = a.project_id AND e.alert_id = a.id
        ORDER BY e.id DESC LIMIT 1) AS last_actor
FROM alerts a WHERE a.project_id = $1::bigint AND a.event_id = $2::bigint ORDER BY a.id;

-- name: shift_dismiss
-- actor NULL: the dismissal is withdrawn.
-- in: id i64, actor text?, reason text?
UPDATE machine_shifts SET dismissed_at = CASE WHEN $2::text IS NULL THEN NULL ELSE now() END,
       dismissed_by = $2, dismissed_reason = coalesce($3, ''), updated_at = now(),
       closed_at = CASE WHEN $2::text IS NULL THEN closed_at ELSE coalesce(closed_at, now()) END
WHERE id = $1::bigint;

-- name: shift_ask_again
-- Marks the alerts in the event's range for grouping again.
-- in: id i64
UPDATE alerts a SET regroup = true, boundary_due = true
FROM machine_shifts e, change_points x, series s, machines k, branch_commits bl, branch_commits bh,
     branch_commits xb
WHERE e.id = $1::bigint AND a.project_id = e.project_id AND k.id = e.machine_id
  AND x.project_id = a.project_id AND x.id = a.change_point_id AND x.gone_at IS NULL
  AND s.project_id = a.project_id AND s.id = a.series_id AND s.machine_class = k.class
  AND s.branch = e.branch
  AND bl.project_id = e.project_id AND bl.branch = e.branch AND bl.commit_id = e.commit_low_id
  AND bh.project_id = e.project_id AND bh.branch = e.branch AND bh.commit_id = e.commit_high_id
  AND xb.project_id = e.project_id AND xb.branch = e.branch AND xb.commit_id = x.commit_id
  AND xb.position BETWEEN bl.position AND bh.position;
