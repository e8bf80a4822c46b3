-- Many series on one chart.

-- name: plot_version
-- A text that differs after every change of what a plot of the branch shows, and costs the same however long the history
-- is. Series, commits, runs and their results, broken ones too, are only added, or taken out by an operator: their
-- numbers, the newest run and the time of the newest document tell; the time, because a database that was set back counts
-- the same numbers again. A completed stub that was measured counts line_version up (branch_times_set); moved_at tells of
-- positions (migration 0078). Old months are thinned with a row of retention; a quarantine hides results or shows them
-- again.
-- in: project_id i64, branch text
-- out: version text
SELECT concat_ws(' ',
    (SELECT string_agg(t.what || t.n, ' ' ORDER BY t.what)
     FROM (SELECT what, sum(n) AS n FROM tallies WHERE project_id = $1::bigint
           AND what IN ('commits', 'measurements', 'runs', 'series') GROUP BY what) t),
    'run', (SELECT max(id) FROM runs WHERE project_id = $1::bigint),
    'document', (SELECT extract(epoch FROM max(received_at)) FROM run_parts WHERE project_id = $1::bigint),
    'line', (SELECT concat_ws(' ', line_version, extract(epoch FROM moved_at))
             FROM branches WHERE project_id = $1::bigint AND name = $2),
    'thinned', (SELECT count(*) || ' ' || coalesce(max(at)::text, '') FROM retention),
    'hidden', (SELECT concat_ws(' ', count(*), sum(runs), extract(epoch FROM max(released_at))) FROM quarantines)) AS version;

-- name: plot_candidates
-- The series of a branch, from which an expression selects.
-- in: project_id i64, branch text, limit i64
-- out: id i64, benchmark text, params json, metric text, backend text, machine_class text, unit text,
--    higher_is_better bool, exact bool, points i64
SELECT s.id, b.name AS benchmark, b.params::text AS params, s.metric, s.backend, s.machine_class, s.unit,
       s.higher_is_better, s.exact, s.points
FROM series s
JOIN benchmarks b ON b.project_id = s.project_id AND b.id = s.benchmark_id
WHERE s.project_id = $1::bigint AND s.branch = $2
ORDER BY s.id LIMIT $3::int;

-- name: plot_points
-- The points of several series: the versions of their chunks (migration 0078), whose points plot_packed reads unless they
-- are in memory, then the points that were stored after the newest chunk. Chunks that were made together share one search
-- for the first run after them.
-- in: project_id i64, series_ids i64[], branch text
-- out: series text, version text?, packed bytes?
WITH u AS MATERIALIZED (
    SELECT id, coalesce((SELECT max(c.until_at) FROM series_chunks c
                         JOIN branches b ON b.project_id = c.project_id AND b.name = $3
                             AND b.line_version = c.line_version
                         WHERE c.project_id = $1::bigint AND c.series_id = id), '-infinity') AS until
    FROM unnest($2::bigint[]) AS id),
f AS MATERIALIZED (
    SELECT minute, run FROM (SELECT DISTINCT date_trunc('minute', until) AS minute FROM u) d
    CROSS JOIN LATERAL first_run_since($1::bigint, minute))
(SELECT c.series_id::text AS series, c.version::text AS version, NULL::bytea AS packed
 FROM series_chunks c
 JOIN branches b ON b.project_id = c.project_id AND b.name = $3 AND b.line_version = c.line_version
 WHERE c.project_id = $1::bigint AND c.series_id = ANY ($2::bigint[])
 ORDER BY c.series_id, c.from_at)
UNION ALL
SELECT p.series_id::text, NULL, string_agg(p.packed, '')
FROM u
JOIN f ON f.minute = date_trunc('minute', u.until)
-- One join for all series: one a series reads the commits again for each.
JOIN series_points p ON p.project_id = $1::bigint AND p.series_id = u.id AND p.branch = $3 AND p.stored_at >= u.until
    AND p.run_id >= f.run
GROUP BY p.series_id;

-- name: plot_packed
-- In the order of plot_points.
-- in: project_id i64, series_ids i64[], versions i64[]
-- out: series text, version text, packed bytes
SELECT c.series_id::text AS series, c.version::text AS version, c.packed
FROM series_chunks c
WHERE c.project_id = $1::bigint AND c.series_id = ANY ($2::bigint[]) AND c.version = ANY ($3::bigint[])
ORDER BY c.series_id, c.from_at;

-- name: plot_broken
-- Broken results of several series, one row a series and commit, newest first. In parts that are planned one by one: one
-- plan of nine tables, some in partitions, takes the planner ten times as long as the statement runs.
-- in: project_id i64, series_ids i64[], limit i64
-- out: series_id i64, position i64, time f64, reason text, run_id i64
WITH b AS MATERIALIZED (
    SELECT s.id AS series_id, s.branch, u.reason, r.id AS run_id, r.commit_id, r.started_at, r.run_id AS document
    FROM series s
    JOIN benchmarks n ON n.project_id = s.project_id AND n.id = s.benchmark_id
    JOIN unmeasured u ON u.project_id = s.project_id AND u.benchmark = n.name AND u.backend = s.backend AND u.broken
    JOIN runs r ON r.project_id = u.project_id AND r.id = u.run_id AND r.branch = s.branch
    JOIN machines k ON k.id = r.machine_id AND k.class = s.machine_class
    WHERE s.project_id = $1::bigint AND s.id = ANY ($2::bigint[])),
f AS MATERIALIZED (
    -- The OFFSET finds the commit's runs first: they are few, and its measurements are as many as series.
    SELECT b.* FROM b WHERE NOT EXISTS (
        SELECT 1 FROM (
            SELECT v.id FROM runs v WHERE v.project_id = $1::bigint AND v.commit_id = b.commit_id
            AND (v.id = b.run_id OR (v.started_at, v.run_id) > (b.started_at, b.document)) OFFSET 0) w
        JOIN measurements m ON m.project_id = $1::bigint AND m.series_id = b.series_id AND m.run_id = w.id))
SELECT DISTINCT ON (p.position, f.series_id) f.series_id, p.position, extract(epoch FROM c.time)::float8 AS time,
       f.reason, f.run_id
FROM f
CROSS JOIN LATERAL (SELECT position FROM branch_commits WHERE project_id = $1::bigint AND branch = f.branch
                    AND commit_id = f.commit_id OFFSET 0) p
CROSS JOIN LATERAL (SELECT time FROM commits WHERE project_id = $1::bigint AND id = f.commit_id OFFSET 0) c
WHERE p.position IS NOT NULL
ORDER BY p.position DESC, f.series_id, f.started_at DESC, f.document DESC LIMIT $3::int;

-- name: plot_commits
-- in: project_id i64, branch text, positions i64[]
-- out: position i64, commit text, time f64, subject text
SELECT b.position, c.sha AS commit, extract(epoch FROM c.time)::float8 AS time, c.subject
FROM branch_commits b
JOIN commits c ON c.project_id = b.project_id AND c.id = b.commit_id
WHERE b.project_id = $1::bigint AND b.branch = $2 AND b.position = ANY ($3::bigint[])
ORDER BY b.position;

-- name: plot_samples
-- Raw samples of several series within positions.
-- in: project_id i64, series_ids i64[], branch text, position_from i64, position_to i64, limit i64
-- out: series_id i64, position i64, samples f64[]
SELECT m.series_id, b.position, m.samples
FROM measurements m
JOIN branch_commits b ON b.project_id = m.project_id AND b.commit_id = m.commit_id AND b.branch = $3
JOIN runs r ON r.project_id = m.project_id AND r.id = m.run_id AND NOT r.infra
WHERE m.project_id = $1::bigint AND m.series_id = ANY ($2::bigint[])
  AND b.position BETWEEN $4::bigint AND $5::bigint
ORDER BY m.series_id, b.position, m.run_id LIMIT $6::int;
