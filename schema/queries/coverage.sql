-- Coverage: which benchmarks have a result at which of a branch's newest commits.

-- name: coverage_commits
-- Newest first.
-- in: project_id i64, branch text, limit i64
-- out: position i64, commit text, subject text, time f64
SELECT b.position, c.sha AS commit, c.subject, extract(epoch FROM c.time)::float8 AS time
FROM branch_commits b JOIN commits c ON c.project_id = b.project_id AND c.id = b.commit_id
WHERE b.project_id = $1::bigint AND b.branch = $2 AND b.position IS NOT NULL
ORDER BY b.position DESC LIMIT $3::int;

-- name: coverage_rows
-- A row for each benchmark, backend and machine class. id: of its first series. before: measured at an older commit.
-- measured, broken: positions, NULL: none. A parameter that is NULL does not restrict.
-- in: project_id i64, branch text, commits i64, benchmark text?, backend text?, machine_class text?, limit i64
-- out: id i64, benchmark text, params json, backend text, machine_class text, before bool, measured i64[], broken i64[]
WITH line AS MATERIALIZED (
    SELECT commit_id, position FROM branch_commits
    WHERE project_id = $1::bigint AND branch = $2 AND position IS NOT NULL
    ORDER BY position DESC LIMIT $3::int
), keyed AS MATERIALIZED (
    SELECT s.id AS series_id, s.benchmark_id, s.backend, s.machine_class,
           min(s.id) OVER (PARTITION BY s.benchmark_id, s.backend, s.machine_class) AS id
    FROM series s
    WHERE s.project_id = $1::bigint AND s.branch = $2 AND ($5::text IS NULL OR s.backend = $5)
      AND ($6::text IS NULL OR s.machine_class = $6)
), done AS MATERIALIZED (
    SELECT k.id, array_agg(DISTINCT l.position) AS positions
    FROM line l
    JOIN measurements m ON m.project_id = $1::bigint AND m.commit_id = l.commit_id
    JOIN keyed k ON k.series_id = m.series_id
    GROUP BY k.id
), broken AS MATERIALIZED (
    SELECT u.benchmark, u.backend, k.class, array_agg(DISTINCT l.position) AS positions
    FROM line l
    JOIN runs r ON r.project_id = $1::bigint AND r.commit_id = l.commit_id AND r.branch = $2
    JOIN unmeasured u ON u.project_id = r.project_id AND u.run_id = r.id AND u.broken
    JOIN machines k ON k.id = r.machine_id
    GROUP BY u.benchmark, u.backend, k.class
), edge AS MATERIALIZED (SELECT min(position) AS position FROM line)
SELECT o.id, n.name AS benchmark, n.params::text AS params, o.backend, o.machine_class,
       EXISTS (SELECT 1 FROM keyed q CROSS JOIN edge e
               JOIN measurements m ON m.project_id = $1::bigint AND m.series_id = q.series_id
               JOIN branch_commits b ON b.project_id = m.project_id AND b.branch = $2
                   AND b.commit_id = m.commit_id AND b.position < e.position
               WHERE q.id = o.id) AS before,
       d.positions AS measured, k.positions AS broken
FROM (SELECT DISTINCT id, benchmark_id, backend, machine_class FROM keyed) o
JOIN benchmarks n ON n.project_id = $1::bigint AND n.id = o.benchmark_id
LEFT JOIN done d ON d.id = o.id
LEFT JOIN broken k ON k.benchmark = n.name AND k.backend = o.backend AND k.class = o.machine_class
WHERE $4::text IS NULL OR n.name = $4
ORDER BY o.id LIMIT $7::int;

-- name: coverage_never
-- What other benchmarks of the same family (the name up to its first slash) have and the benchmark does not. A
-- parameter that is NULL does not restrict.
-- in: project_id i64, branch text, benchmark text?, backend text?, machine_class text?, limit i64
-- out: benchmark text, backend text, machine_class text
WITH have AS MATERIALIZED (
    SELECT DISTINCT n.name, split_part(n.name, '/', 1) AS kind, s.backend, s.machine_class
    FROM series s JOIN benchmarks n ON n.project_id = s.project_id AND n.id = s.benchmark_id
    WHERE s.project_id = $1::bigint AND s.branch = $2
)
SELECT k.name AS benchmark, p.backend, p.machine_class
FROM (SELECT DISTINCT kind, name FROM have) k
JOIN (SELECT DISTINCT kind, backend, machine_class FROM have) p ON p.kind = k.kind
WHERE ($3::text IS NULL OR k.name = $3) AND ($4::text IS NULL OR p.backend = $4)
  AND ($5::text IS NULL OR p.machine_class = $5)
  AND NOT EXISTS (SELECT 1 FROM have h WHERE h.name = k.name AND h.backend = p.backend
                  AND h.machine_class = p.machine_class)
ORDER BY k.name, p.backend, p.machine_class LIMIT $6::int;
