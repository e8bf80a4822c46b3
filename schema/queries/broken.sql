-- Benchmarks that are broken: from which commit on, and for what reason. A benchmark is broken at a commit when the
-- newest of its results there is; results of searches (bisect, verify), of an overtaken lease, and measurements
-- of a machine whose canary moved do not count, as for the points of a series.

-- name: broken_branches
-- The branches to judge. whole: their complete history is to be judged.
-- in: project_id i64, run_ids i64[], branches text[]
-- out: branch text, whole bool
-- plan: generic
SELECT branch, bool_or(whole) AS whole FROM (
    SELECT branch, false AS whole FROM runs WHERE project_id = $1::bigint AND id = ANY ($2::bigint[])
    UNION ALL SELECT unnest($3::text[]), true) AS t
GROUP BY branch ORDER BY branch;

-- name: broken_keys
-- Benchmarks that are broken in these runs, or measured in them and broken before. whole: in any run of the branch, or
-- by a change point, whose results may be hidden since.
-- in: project_id i64, branch text, run_ids i64[], whole bool
-- out: benchmark text, backend text, machine_class text
SELECT u.benchmark, u.backend, k.class AS machine_class
FROM runs r
JOIN machines k ON k.id = r.machine_id
JOIN unmeasured u ON u.project_id = r.project_id AND u.run_id = r.id AND u.broken
WHERE NOT $4::boolean AND r.project_id = $1::bigint AND r.id = ANY ($3::bigint[]) AND r.branch = $2
UNION
SELECT u.benchmark, u.backend, k.class
FROM unmeasured u
JOIN runs r ON r.project_id = u.project_id AND r.id = u.run_id AND r.branch = $2
JOIN machines k ON k.id = r.machine_id
WHERE $4::boolean AND u.project_id = $1::bigint AND u.broken
UNION
SELECT b.name, s.backend, s.machine_class
FROM change_points x
JOIN series s ON s.project_id = x.project_id AND s.id = x.series_id AND s.branch = $2
JOIN benchmarks b ON b.project_id = s.project_id AND b.id = s.benchmark_id
WHERE $4::boolean AND x.project_id = $1::bigint AND x.kind = 'broken' AND x.gone_at IS NULL
  AND x.undone_commit_id IS NULL
UNION
SELECT b.name, s.backend, s.machine_class
FROM runs r
JOIN measurements m ON m.project_id = r.project_id AND m.commit_id = r.commit_id AND m.run_id = r.id
JOIN series s ON s.project_id = m.project_id AND s.id = m.series_id
JOIN benchmarks b ON b.project_id = s.project_id AND b.id = s.benchmark_id
WHERE NOT $4::boolean AND r.project_id = $1::bigint AND r.id = ANY ($3::bigint[]) AND r.branch = $2
  AND EXISTS (SELECT 1 FROM unmeasured u WHERE u.project_id = b.project_id AND u.benchmark = b.name
              AND u.backend = s.backend AND u.broken)
ORDER BY 1, 2, 3;

-- name: broken_state
-- series_id NULL: never measured on the branch. seen: it was broken somewhere on the branch. since_commit_id NULL: it
-- is not broken now. low_commit_id: the first commit that may be the cause. reason: of the newest result.
-- undone_commit_id: the first commit that was measured after the newest broken one.
-- in: project_id i64, branch text, benchmark text, backend text, machine_class text
-- out: series_id i64, seen bool, since_commit_id i64, since_position i64, low_commit_id i64, reason text,
--    undone_commit_id i64
WITH own AS MATERIALIZED (
    SELECT s.id, s.last_commit_id FROM benchmarks n
    JOIN series s ON s.project_id = n.project_id AND s.benchmark_id = n.id
    WHERE n.project_id = $1::bigint AND n.name = $3 AND s.backend = $4 AND s.machine_class = $5 AND s.branch = $2),
good AS MATERIALIZED (
    SELECT p.position, p.commit_id FROM own
    JOIN branch_commits p ON p.project_id = $1::bigint AND p.branch = $2 AND p.commit_id = own.last_commit_id
        AND p.position IS NOT NULL
    ORDER BY p.position DESC LIMIT 1),
good_run AS MATERIALIZED (
    SELECT r.started_at, r.run_id FROM good g
    JOIN measurements m ON m.project_id = $1::bigint AND m.commit_id = g.commit_id
        AND m.series_id IN (SELECT id FROM own)
    JOIN runs r ON r.project_id = m.project_id AND r.id = m.run_id AND NOT r.infra
    WHERE NOT EXISTS (SELECT 1 FROM jobs j WHERE j.project_id = r.project_id AND j.id = r.job_id
                      AND (j.kind IN ('bisect', 'verify', 'pull_request') OR j.fence > r.job_fence))
    ORDER BY r.started_at DESC, r.run_id DESC LIMIT 1),
bad AS MATERIALIZED (
    SELECT p.position, r.commit_id, r.started_at, r.run_id, u.reason
    FROM unmeasured u
    JOIN runs r ON r.project_id = u.project_id AND r.id = u.run_id AND r.branch = $2
    JOIN machines k ON k.id = r.machine_id AND k.class = $5
    JOIN branch_commits p ON p.project_id = r.project_id AND p.branch = $2 AND p.commit_id = r.commit_id
        AND p.position IS NOT NULL
    WHERE u.project_id = $1::bigint AND u.benchmark = $3 AND u.backend = $4 AND u.broken
      AND NOT EXISTS (SELECT 1 FROM jobs j WHERE j.project_id = r.project_id AND j.id = r.job_id
                      AND (j.kind IN ('bisect', 'verify', 'pull_request') OR j.fence > r.job_fence))),
now AS MATERIALIZED (
    SELECT b.* FROM bad b LEFT JOIN good g ON true LEFT JOIN good_run q ON true
    WHERE g.position IS NULL OR b.position > g.position
       OR (b.position = g.position AND (q.run_id IS NULL OR (b.started_at, b.run_id) > (q.started_at, q.run_id)))),
since AS MATERIALIZED (SELECT commit_id, position FROM now ORDER BY position LIMIT 1)
SELECT (SELECT min(id) FROM own) AS series_id, EXISTS (SELECT 1 FROM bad) AS seen,
       (SELECT commit_id FROM since) AS since_commit_id, (SELECT position FROM since) AS since_position,
       (SELECT p.commit_id FROM since s, good g, branch_commits p
        WHERE p.project_id = $1::bigint AND p.branch = $2
          AND p.position = least(g.position + 1, s.position)) AS low_commit_id,
       (SELECT reason FROM now ORDER BY position DESC, started_at DESC, run_id DESC LIMIT 1) AS reason,
       (SELECT p.commit_id FROM good g,
               (SELECT max(position) AS position FROM bad) l,
               branch_commits p
        WHERE NOT EXISTS (SELECT 1 FROM now) AND p.project_id = $1::bigint AND p.branch = $2
          AND p.position <= g.position AND (p.position > l.position OR (p.position = l.position AND p.position = g.position))
          AND EXISTS (SELECT 1 FROM measurements m WHERE m.project_id = $1::bigint AND m.commit_id = p.commit_id
                      AND m.series_id IN (SELECT id FROM own))
        ORDER BY p.position LIMIT 1) AS undone_commit_id;

-- name: broken_alerts
-- Change points of the series with their alerts, oldest first. ended: a later commit was measured.
-- in: project_id i64, series_id i64
-- out: id i64, commit_id i64, ended bool, alert_id i64, state text, last_actor text
SELECT x.id, x.commit_id, x.undone_commit_id IS NOT NULL AS ended, a.id AS alert_id, a.state,
       (SELECT e.actor FROM alert_events e WHERE e.project_id = a.project_id AND e.alert_id = a.id
        ORDER BY e.id DESC LIMIT 1) AS last_actor
FROM change_points x
LEFT JOIN alerts a ON a.project_id = x.project_id AND a.change_point_id = x.id
WHERE x.project_id = $1::bigint AND x.series_id = $2::bigint AND x.kind = 'broken' AND x.gone_at IS NULL
ORDER BY x.id;

-- name: broken_put
-- id NULL: a new one. A change point that begins at another commit than before leaves its group.
-- in: project_id i64, id id, series_id i64, commit_low_id i64, since i64, reason text
-- value: id i64
WITH moved AS (
    UPDATE alerts a SET group_id = nextval('alert_group_ids') FROM change_points x
    WHERE x.project_id = $1::bigint AND x.id = $2::bigint AND x.commit_id <> $5::bigint
      AND a.project_id = x.project_id AND a.change_point_id = x.id AND NOT a.group_placed),
changed AS (
    UPDATE change_points SET commit_id = $5::bigint, commit_low_id = $4::bigint, commit_high_id = $5::bigint,
           reason = $6, undone_commit_id = NULL, updated_at = now()
    WHERE project_id = $1::bigint AND id = $2::bigint RETURNING id),
made AS (
    INSERT INTO change_points (project_id, series_id, commit_id, commit_low_id, commit_high_id, before, after,
                               rel_change, rel_low, rel_high, p, regression, confirmed, firm, kind, reason)
    SELECT $1::bigint, $3::bigint, $5::bigint, $4::bigint, $5::bigint, 'NaN', 'NaN', 'NaN', 'NaN', 'NaN', 'NaN', true,
           true, true, 'broken', $6
    WHERE $2::bigint IS NULL RETURNING id)
SELECT id FROM changed UNION ALL SELECT id FROM made;

-- name: broken_group
-- What broke at one commit is one group.
-- in: project_id i64, branch text
WITH standing AS (
    SELECT a.id, a.group_id, x.commit_id, s.machine_class, n.name AS benchmark, s.backend
    FROM change_points x
    JOIN series s ON s.project_id = x.project_id AND s.id = x.series_id AND s.branch = $2
    JOIN benchmarks n ON n.project_id = s.project_id AND n.id = s.benchmark_id
    JOIN alerts a ON a.project_id = x.project_id AND a.change_point_id = x.id AND NOT a.group_placed
    WHERE x.project_id = $1::bigint AND x.kind = 'broken' AND x.gone_at IS NULL AND x.undone_commit_id IS NULL),
grouped AS MATERIALIZED (
    SELECT g.commit_id, coalesce(min(g.group_id), nextval('alert_group_ids')) AS id, count(*)::int AS n,
           count(DISTINCT (g.benchmark, g.backend)) || ' benchmark'
           || CASE WHEN count(DISTINCT (g.benchmark, g.backend)) = 1 THEN '' ELSE 's' END || ' broken since '
           || left((SELECT sha FROM commits WHERE project_id = $1::bigint AND id = g.commit_id), 10) AS summary
    FROM standing g GROUP BY g.commit_id)
UPDATE alerts a SET group_id = g.id, group_series = g.n, group_measured = g.n, group_summary = g.summary, regroup = false
FROM standing t JOIN grouped g ON g.commit_id = t.commit_id
WHERE a.project_id = $1::bigint AND a.id = t.id
  AND (a.group_id, a.group_series, a.group_summary) IS DISTINCT FROM (g.id, g.n, g.summary);

-- name: broken_of_series
-- One row a commit, newest first. A position that is NULL does not restrict.
-- row: broken_result
-- also: once
-- in: series_id i64, position_from id, position_to id, limit i64
-- out: commit text, subject text, position i64, time f64, benchmark text, metric text, backend text,
--    machine_class text, reason text, run_id i64
SELECT DISTINCT ON (p.position) c.sha AS commit, c.subject, p.position, extract(epoch FROM c.time)::float8 AS time,
       u.benchmark, u.metric, u.backend, k.class AS machine_class, u.reason, r.id AS run_id
FROM series s
JOIN benchmarks n ON n.project_id = s.project_id AND n.id = s.benchmark_id
JOIN unmeasured u ON u.project_id = s.project_id AND u.benchmark = n.name AND u.backend = s.backend AND u.broken
JOIN runs r ON r.project_id = u.project_id AND r.id = u.run_id AND r.branch = s.branch
JOIN machines k ON k.id = r.machine_id AND k.class = s.machine_class
JOIN branch_commits p ON p.project_id = r.project_id AND p.branch = s.branch AND p.commit_id = r.commit_id
    AND p.position IS NOT NULL
JOIN commits c ON c.project_id = r.project_id AND c.id = r.commit_id
WHERE s.id = $1::bigint AND ($2::bigint IS NULL OR p.position >= $2) AND ($3::bigint IS NULL OR p.position <= $3)
  AND NOT EXISTS (SELECT 1 FROM measurements m JOIN runs v ON v.project_id = m.project_id AND v.id = m.run_id
                  WHERE m.project_id = s.project_id AND m.commit_id = r.commit_id AND m.series_id = s.id
                    AND (v.id = r.id OR (v.started_at, v.run_id) > (r.started_at, r.run_id)))
ORDER BY p.position DESC, r.started_at DESC, r.run_id DESC LIMIT $4::int;

-- name: broken_of_commit
-- One row a benchmark, backend and machine class.
-- row: broken_result
-- also: once
-- in: project_id i64, commit_id i64, limit i64
-- out: commit text, subject text, position i64, time f64, benchmark text, metric text, backend text,
--    machine_class text, reason text, run_id i64
SELECT DISTINCT ON (u.benchmark COLLATE "C", u.backend COLLATE "C", k.class COLLATE "C")
       c.sha AS commit, c.subject, 0::bigint AS position, extract(epoch FROM c.time)::float8 AS time,
       u.benchmark, u.metric, u.backend, k.class AS machine_class, u.reason, r.id AS run_id
FROM runs r
JOIN commits c ON c.project_id = r.project_id AND c.id = r.commit_id
JOIN machines k ON k.id = r.machine_id
JOIN unmeasured u ON u.project_id = r.project_id AND u.run_id = r.id AND u.broken
WHERE r.project_id = $1::bigint AND r.commit_id = $2::bigint
  AND NOT EXISTS (SELECT 1 FROM benchmarks n
                  JOIN series s ON s.project_id = n.project_id AND s.benchmark_id = n.id AND s.metric = u.metric
                      AND s.backend = u.backend AND s.machine_class = k.class
                  JOIN measurements m ON m.project_id = s.project_id AND m.commit_id = r.commit_id AND m.series_id = s.id
                  JOIN runs v ON v.project_id = m.project_id AND v.id = m.run_id
                  WHERE n.project_id = u.project_id AND n.name = u.benchmark
                    AND (v.started_at, v.run_id) > (r.started_at, r.run_id))
ORDER BY u.benchmark COLLATE "C", u.backend COLLATE "C", k.class COLLATE "C", r.started_at DESC, r.run_id DESC, u.metric
LIMIT $3::int;
