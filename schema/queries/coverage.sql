-- What was measured at which of a branch's newest commits.

-- name: coverage_commits
-- $1 project_id, $2 branch, $3 limit  -> newest first
SELECT b.position, c.sha AS commit, c.subject, extract(epoch FROM c.time)::float8 AS time
FROM branch_commits b JOIN commits c ON c.project_id = b.project_id AND c.id = b.commit_id
WHERE b.project_id = $1::bigint AND b.branch = $2 AND b.position IS NOT NULL
ORDER BY b.position DESC LIMIT $3::int;

-- name: coverage_rows
-- $1 project_id, $2 branch, $3 commits, $4 benchmark, $5 backend, $6 machine_class (NULL: any), $7 limit
-- -> a row a benchmark, backend and class: id of its first series, before (it was measured at an older
-- commit), and at which positions it was measured, and ran but was broken (JSON arrays)
WITH line AS MATERIALIZED (
    SELECT commit_id, position FROM branch_commits
    WHERE project_id = $1::bigint AND branch = $2 AND position IS NOT NULL
    ORDER BY position DESC LIMIT $3::int
), done AS MATERIALIZED (
    SELECT DISTINCT m.series_id, l.position
    FROM line l JOIN measurements m ON m.project_id = $1::bigint AND m.commit_id = l.commit_id
), broken AS MATERIALIZED (
    SELECT u.benchmark, u.backend, k.class, to_json(array_agg(DISTINCT l.position))::text AS positions
    FROM line l
    JOIN runs r ON r.project_id = $1::bigint AND r.commit_id = l.commit_id AND r.branch = $2
    JOIN unmeasured u ON u.project_id = r.project_id AND u.run_id = r.id AND u.broken
    JOIN machines k ON k.id = r.machine_id
    GROUP BY u.benchmark, u.backend, k.class
), of_rows AS (
    SELECT min(s.id) AS id, s.benchmark_id, s.backend, s.machine_class, array_agg(s.id) AS series
    FROM series s
    WHERE s.project_id = $1::bigint AND s.branch = $2 AND ($5::text IS NULL OR s.backend = $5)
      AND ($6::text IS NULL OR s.machine_class = $6)
    GROUP BY s.benchmark_id, s.backend, s.machine_class)
SELECT o.id, n.name AS benchmark, n.params::text AS params, o.backend, o.machine_class,
       EXISTS (SELECT 1 FROM measurements m
               JOIN branch_commits b ON b.project_id = m.project_id AND b.branch = $2
                   AND b.commit_id = m.commit_id
               WHERE m.project_id = $1::bigint AND m.series_id = ANY (o.series)
                 AND b.position < (SELECT min(position) FROM line)) AS before,
       (SELECT to_json(array_agg(DISTINCT d.position))::text FROM done d
        WHERE d.series_id = ANY (o.series)) AS measured,
       k.positions AS broken
FROM of_rows o
JOIN benchmarks n ON n.project_id = $1::bigint AND n.id = o.benchmark_id
LEFT JOIN broken k ON k.benchmark = n.name AND k.backend = o.backend AND k.class = o.machine_class
WHERE $4::text IS NULL OR n.name = $4
ORDER BY o.id LIMIT $7::int;

-- name: coverage_never
-- $1 project_id, $2 branch, $3 benchmark, $4 backend, $5 machine_class (NULL: any), $6 limit
-- -> what others of the same kind (the name up to its first slash) have and the benchmark has not
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
