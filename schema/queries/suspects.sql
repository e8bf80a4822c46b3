-- name: suspects_series
-- The alert's series first, then those of its group, with the levels of their change.
-- in: alert_id i64
-- out: series_id i64, benchmark text, before f64, after f64, noise_rel f64
SELECT s.id AS series_id, b.name AS benchmark, x.before, x.after, s.noise_rel
FROM alerts o
CROSS JOIN LATERAL (
    SELECT o.project_id, o.id, o.change_point_id, o.series_id
    UNION ALL
    SELECT q.project_id, q.id, q.change_point_id, q.series_id FROM alerts q
    WHERE q.project_id = o.project_id AND q.group_id = o.group_id AND q.id <> o.id) a
JOIN change_points x ON x.project_id = a.project_id AND x.id = a.change_point_id
JOIN series s ON s.project_id = a.project_id AND s.id = a.series_id
JOIN benchmarks b ON b.project_id = s.project_id AND b.id = s.benchmark_id
WHERE o.id = $1::bigint AND x.before > 0 AND x.after > 0 AND x.before <> x.after
ORDER BY a.id <> o.id, a.id LIMIT 16;

-- name: suspects_points
-- In the order of positions. The OFFSETs make the plan look up each run: a plan with joins reads the complete series
-- for a few dozen points.
-- in: project_id i64, series_id i64, branch text, position_from i64, position_to i64
-- out: position i64, median f64, machine_id i64, fingerprint text, object text
SELECT b.position, m.median, r.machine_id, k.fingerprint_hash AS fingerprint,
       m.extra ->> 'object' AS object
FROM branch_commits b
CROSS JOIN LATERAL (
    SELECT q.id, q.machine_id, q.started_at, q.run_id FROM runs q
    WHERE q.project_id = b.project_id AND q.commit_id = b.commit_id AND NOT q.infra OFFSET 0) r
CROSS JOIN LATERAL (
    SELECT x.median, x.extra FROM measurements x
    WHERE x.project_id = b.project_id AND x.series_id = $2::bigint AND x.run_id = r.id AND x.median > 0
    OFFSET 0) m
JOIN machines k ON k.id = r.machine_id
WHERE b.project_id = $1::bigint AND b.branch = $3 AND b.position BETWEEN $4::bigint AND $5::bigint
ORDER BY b.position, r.started_at, r.run_id LIMIT 20000;

-- name: suspects_exact
-- Exact series of the same benchmark and branch that were measured in the range. moved, still: whether their value
-- changed. In steps: as one join, planning took ten times as long as the answer.
-- in: alert_id i64
-- out: moved i64, still i64
WITH place AS MATERIALIZED (
    SELECT s.project_id, s.benchmark_id, s.branch, bl.position AS low, bh.position AS high
    FROM (SELECT q.project_id, q.change_point_id, q.series_id FROM alerts q WHERE q.id = $1::bigint OFFSET 0) a
    CROSS JOIN LATERAL (
        SELECT q.commit_low_id, q.commit_high_id FROM change_points q
        WHERE q.project_id = a.project_id AND q.id = a.change_point_id OFFSET 0) x
    CROSS JOIN LATERAL (
        SELECT q.project_id, q.benchmark_id, q.branch FROM series q
        WHERE q.project_id = a.project_id AND q.id = a.series_id AND NOT q.exact AND NOT q.headline OFFSET 0) s
    JOIN branch_commits bl ON bl.project_id = a.project_id AND bl.branch = s.branch AND bl.commit_id = x.commit_low_id
    JOIN branch_commits bh ON bh.project_id = a.project_id AND bh.branch = s.branch
        AND bh.commit_id = x.commit_high_id)
SELECT count(*) FILTER (WHERE hit) AS moved, count(*) FILTER (WHERE NOT hit) AS still
FROM (
    SELECT EXISTS (
        SELECT 1 FROM change_points y
        JOIN branch_commits yb ON yb.project_id = y.project_id AND yb.branch = p.branch
            AND yb.commit_id = y.commit_id
        WHERE y.project_id = e.project_id AND y.series_id = e.id AND y.gone_at IS NULL AND y.kind <> 'broken'
          AND yb.position BETWEEN p.low AND p.high) AS hit
    FROM place p
    JOIN series e ON e.project_id = p.project_id AND e.benchmark_id = p.benchmark_id
        AND e.branch = p.branch AND e.exact
    WHERE EXISTS (
        SELECT 1 FROM branch_commits mb
        CROSS JOIN LATERAL (
            SELECT 1 FROM measurements m
            WHERE m.project_id = e.project_id AND m.series_id = e.id AND m.commit_id = mb.commit_id OFFSET 0) m
        WHERE mb.project_id = e.project_id AND mb.branch = p.branch
          AND mb.position BETWEEN p.low AND p.high)) q;

-- name: suspects_sources
-- The benchmark's own row, or the row for all benchmarks, first. moved: other benchmarks that moved at the same
-- place.
-- in: project_id i64, benchmark text, moved text[]
-- out: benchmark text, files text[], globs text[], moved bool, own bool
SELECT benchmark, files, globs,
       benchmark = ANY ($3::text[]) AS moved, benchmark = $2 AS own
FROM benchmark_sources
WHERE project_id = $1::bigint
ORDER BY benchmark <> $2, benchmark <> '*', benchmark LIMIT 200;

-- name: suspects_past
-- Of the last 2,000 commits: how many touched the path, and how many of those were a culprit. alert_id: the alert to
-- leave out.
-- in: project_id i64, paths text[], alert_id i64
-- out: path text, guilty f64, seen f64
WITH recent AS MATERIALIZED (
    SELECT sha, paths FROM commits WHERE project_id = $1::bigint AND NOT stub
    ORDER BY id DESC LIMIT 2000),
culprits AS MATERIALIZED (
    SELECT DISTINCT culprit FROM alerts
    WHERE project_id = $1::bigint AND culprit IS NOT NULL AND id <> $3::bigint
      AND state NOT IN ('noise', 'infrastructure', 'duplicate'))
SELECT u.path, count(c.culprit)::float8 AS guilty, count(*)::float8 AS seen
FROM recent r CROSS JOIN LATERAL unnest(r.paths) AS u (path)
LEFT JOIN culprits c ON c.culprit = r.sha
WHERE u.path = ANY ($2::text[])
GROUP BY u.path ORDER BY u.path;

-- name: sources_put
-- The sources of an older commit of the branch do not replace those of a newer one. runtime_globs: of files that
-- programs read while they run.
-- in: project_id i64, benchmark text, sha text, files text[], globs text[], runtime_globs text[]
INSERT INTO benchmark_sources AS s (project_id, benchmark, sha, files, globs, runtime)
VALUES ($1::bigint, $2, $3, $4::text[], $5::text[], $6::text[])
ON CONFLICT (project_id, benchmark) DO UPDATE
SET sha = excluded.sha, updated_at = now(),
    files = CASE WHEN cardinality(excluded.files) > 0 THEN excluded.files ELSE s.files END,
    globs = CASE WHEN cardinality(excluded.globs) > 0 THEN excluded.globs ELSE s.globs END,
    runtime = CASE WHEN cardinality(excluded.runtime) > 0 THEN excluded.runtime ELSE s.runtime END
WHERE NOT EXISTS (
    SELECT 1 FROM commits n
    JOIN branch_commits nb ON nb.project_id = n.project_id AND nb.commit_id = n.id
    JOIN commits o ON o.project_id = n.project_id AND o.sha = s.sha
    JOIN branch_commits ob ON ob.project_id = o.project_id AND ob.commit_id = o.id
        AND ob.branch = nb.branch
    WHERE n.project_id = s.project_id AND n.sha = excluded.sha AND nb.position < ob.position);
