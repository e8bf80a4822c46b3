-- name: withheld_set
-- Why these change points have no alert. details: JSON texts.
-- arrays: len
-- in: project_id i64, change_point_ids i64[], withheld text[], details text[]
UPDATE change_points x SET withheld = u.code, withheld_detail = u.detail::jsonb
FROM unnest($2::bigint[], $3::text[], $4::text[]) AS u (id, code, detail)
WHERE x.project_id = $1::bigint AND x.id = u.id
  AND (x.withheld IS DISTINCT FROM u.code OR x.withheld_detail IS DISTINCT FROM u.detail::jsonb);

-- name: commit_changes
-- Change points that most likely lie at the commit, the largest first.
-- in: project_id i64, commit_id i64
-- out: id i64, series_id i64, benchmark text, metric text, backend text, machine_class text, branch text,
--    rel_change f64, rel_low f64, rel_high f64, p f64, regression bool, confirmed bool, alertable bool, alert_id i64,
--    withheld text, withheld_detail json
SELECT x.id, x.series_id, b.name AS benchmark, s.metric, s.backend, s.machine_class, s.branch, x.rel_change,
       x.rel_low, x.rel_high, x.p, x.regression, x.confirmed, x.firm AS alertable,
       (SELECT a.id FROM alerts a WHERE a.project_id = x.project_id AND a.change_point_id = x.id) AS alert_id,
       x.withheld, x.withheld_detail::text AS withheld_detail
FROM change_points x
JOIN series s ON s.project_id = x.project_id AND s.id = x.series_id
JOIN benchmarks b ON b.project_id = s.project_id AND b.id = s.benchmark_id
WHERE x.project_id = $1::bigint AND x.commit_id = $2::bigint AND x.gone_at IS NULL AND x.kind = 'step'
ORDER BY abs(x.rel_change) DESC, x.id LIMIT 1000;

-- name: identical_code
-- The change points for which every measured commit of their place, and the commit before it, has one known object
-- code, the same, under one harness. Runs that are no points of a series (history_runs) do not count.
-- in: project_id i64, branch text, change_point_ids i64[]
-- out: id i64, benchmark text, against text, commit text, position_low i64, position_high i64
SELECT p.id, p.benchmark, p.against, p.commit, p.position_low, p.position_high
FROM (
    SELECT x.id, n.name AS benchmark, s.id AS series_id, bl.position AS position_low, bh.position AS position_high,
           (SELECT c.sha FROM branch_commits q
            JOIN commits c ON c.project_id = q.project_id AND c.id = q.commit_id
            WHERE q.project_id = x.project_id AND q.branch = $2 AND q.position = bl.position - 1) AS against,
           (SELECT c.sha FROM commits c WHERE c.project_id = x.project_id AND c.id = x.commit_high_id) AS commit
    FROM change_points x
    JOIN series s ON s.project_id = x.project_id AND s.id = x.series_id
    JOIN benchmarks n ON n.project_id = s.project_id AND n.id = s.benchmark_id
    JOIN branch_commits bl ON bl.project_id = x.project_id AND bl.branch = $2
        AND bl.commit_id = x.commit_low_id
    JOIN branch_commits bh ON bh.project_id = x.project_id AND bh.branch = $2
        AND bh.commit_id = x.commit_high_id
    WHERE x.project_id = $1::bigint AND x.id = ANY ($3::bigint[]) OFFSET 0) p
CROSS JOIN LATERAL (
    SELECT min(o.low) = max(o.high) AND count(*) > 1 AND count(o.low) = count(*)
           AND bool_or(o.position = p.position_low - 1) AND min(o.harness_low) IS NOT DISTINCT FROM max(o.harness_high)
           AS identical
    FROM (
        SELECT q.position, min(m.object) AS low, max(m.object) AS high,
               min(m.harness) AS harness_low, max(m.harness) AS harness_high
        FROM branch_commits q
        JOIN LATERAL (
            SELECT v.extra ->> 'object' AS object, k.fingerprint ->> 'harness' AS harness
            FROM runs r
            JOIN machines k ON k.id = r.machine_id
            JOIN measurements v ON v.project_id = r.project_id AND v.run_id = r.id AND v.series_id = p.series_id
            WHERE r.project_id = q.project_id AND r.commit_id = q.commit_id AND NOT r.infra
              AND NOT EXISTS (SELECT 1 FROM jobs j WHERE j.project_id = r.project_id AND j.id = r.job_id
                              AND (j.kind IN ('bisect', 'verify', 'pull_request') OR j.fence > r.job_fence))
            OFFSET 0) m ON true
        WHERE q.project_id = $1::bigint AND q.branch = $2
          AND q.position BETWEEN p.position_low - 1 AND p.position_high
        GROUP BY q.position) o) i
WHERE i.identical AND p.against IS NOT NULL;

-- name: runtime_files
-- Globs of files that the benchmark's programs read while they run: of its own row, else of the row for all
-- benchmarks.
-- in: project_id i64, benchmark text
-- out: glob text
SELECT unnest(t.runtime) AS glob FROM (
    SELECT runtime FROM benchmark_sources
    WHERE project_id = $1::bigint AND benchmark IN ($2, '*') AND cardinality(runtime) > 0
    ORDER BY benchmark = '*' LIMIT 1) t;

-- name: range_paths
-- Every path that the commits touch; NULL: the paths of one commit are not known.
-- in: project_id i64, branch text, position_from i64, position_to i64
-- out: path text
SELECT u.path FROM branch_commits q
JOIN commits c ON c.project_id = q.project_id AND c.id = q.commit_id
LEFT JOIN LATERAL unnest(c.paths) AS u (path) ON true
WHERE q.project_id = $1::bigint AND q.branch = $2 AND q.position BETWEEN $3::bigint AND $4::bigint
  AND (u.path IS NOT NULL OR c.stub) LIMIT 100000;

-- name: alert_ungroup
-- The alert no longer accuses a commit: it leaves its group for one of its own, which has no summary. A group that a
-- person has put it into keeps it.
-- in: project_id i64, alert_id i64
UPDATE alerts SET regroup = false, boundary_due = false,
       group_summary = CASE WHEN group_placed THEN group_summary ELSE '' END,
       group_series = CASE WHEN group_placed THEN group_series ELSE 1 END,
       group_measured = CASE WHEN group_placed THEN group_measured ELSE 1 END,
       group_id = CASE WHEN group_placed OR group_summary = '' THEN group_id ELSE nextval('alert_group_ids') END
WHERE project_id = $1::bigint AND id = $2::bigint AND (regroup OR group_summary <> '' AND NOT group_placed);

-- name: identical_reconsider
-- Marks alerts for grouping again where one of these judged runs, in the alert's place, states its object code. In
-- steps, beginning with the runs.
-- in: project_id i64, run_ids i64[]
WITH reported AS MATERIALIZED (
    SELECT DISTINCT m.series_id, r.commit_id
    FROM unnest($2::bigint[]) AS u (id)
    JOIN runs r ON r.project_id = $1::bigint AND r.id = u.id
    CROSS JOIN LATERAL (
        SELECT v.series_id FROM measurements v
        WHERE v.project_id = r.project_id AND v.commit_id = r.commit_id AND v.run_id = r.id
          AND v.extra ->> 'object' IS NOT NULL OFFSET 0) m),
placed AS MATERIALIZED (
    SELECT a.id, s.branch, x.commit_low_id, x.commit_high_id, t.commit_id
    FROM reported t
    CROSS JOIN LATERAL (
        SELECT o.id, o.series_id, o.change_point_id FROM alerts o
        WHERE o.project_id = $1::bigint AND o.series_id = t.series_id AND NOT o.regroup
          AND o.state IN ('untriaged', 'infrastructure') OFFSET 0) a
    JOIN series s ON s.project_id = $1::bigint AND s.id = a.series_id
    JOIN change_points x ON x.project_id = $1::bigint AND x.id = a.change_point_id AND x.kind = 'step'
        AND x.gone_at IS NULL)
UPDATE alerts SET regroup = true, boundary_due = true
WHERE project_id = $1::bigint AND id IN (
    SELECT p.id FROM placed p
    JOIN branch_commits q ON q.project_id = $1::bigint AND q.branch = p.branch AND q.commit_id = p.commit_id
    JOIN branch_commits bl ON bl.project_id = $1::bigint AND bl.branch = p.branch AND bl.commit_id = p.commit_low_id
    JOIN branch_commits bh ON bh.project_id = $1::bigint AND bh.branch = p.branch AND bh.commit_id = p.commit_high_id
    WHERE q.position BETWEEN bl.position - 1 AND bh.position);

-- name: series_flaps
-- Change points at or after the position that disappeared twice or more at the same place, present now or not.
-- in: project_id i64, series_id i64, branch text, position i64
-- out: before f64, after f64
SELECT x.before, x.after FROM change_points x
JOIN branch_commits b ON b.project_id = x.project_id AND b.branch = $3 AND b.commit_id = x.commit_id
WHERE x.project_id = $1::bigint AND x.series_id = $2::bigint AND x.kind = 'step' AND x.went_away >= 2
  AND b.position >= $4::bigint
ORDER BY x.id LIMIT 100;

-- name: series_two_speeds
-- in: project_id i64, series_id i64, machines text[]
UPDATE series SET two_speeds = $3::text[]
WHERE project_id = $1::bigint AND id = $2::bigint AND two_speeds IS DISTINCT FROM $3::text[];
