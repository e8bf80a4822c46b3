-- Sessions, judged: see server/services/sessions/judge.h.

-- name: session_builds
-- The builds that the session's runs measured and that lie on the branch, in the order of history. known: the
-- session's document does not list the commit.
-- in: project_id i64, session text, limit i64
-- out: commit_id i64, commit text, position i64, is_base bool, is_anchor bool, session text, branch text, known bool
SELECT r.commit_id, c.sha AS commit, b.position, bool_or(c.sha = r.session_base) AS is_base,
       bool_or(c.sha = r.session_anchor) AS is_anchor, $2 AS session, r.branch,
       EXISTS (SELECT 1 FROM sessions s WHERE s.project_id = $1::bigint AND s.id = $2)
       AND NOT EXISTS (SELECT 1 FROM session_commits k WHERE k.project_id = $1::bigint AND k.session_id = $2
                       AND k.commit_id = r.commit_id) AS known
FROM (
    SELECT x.project_id, x.commit_id, x.session_base, x.session_anchor,
           coalesce((SELECT s.branch FROM sessions s WHERE s.project_id = $1::bigint AND s.id = $2),
                    (SELECT min(y.branch) FROM runs y WHERE y.project_id = $1::bigint AND y.session_id = $2)) AS branch
    FROM runs x WHERE x.project_id = $1::bigint AND x.session_id = $2 AND x.quarantine_id IS NULL) r
JOIN commits c ON c.project_id = r.project_id AND c.id = r.commit_id
JOIN branch_commits b ON b.project_id = r.project_id AND b.branch = r.branch AND b.commit_id = r.commit_id
WHERE b.position IS NOT NULL
GROUP BY r.commit_id, c.sha, b.position, r.branch
ORDER BY b.position LIMIT $3::int;

-- name: session_visits
-- Every measurement with visits, series by series. Runs of overtaken leases are left out. A run whose canary moved
-- counts: the machine's part is removed within the blocks.
-- in: project_id i64, session text, branch text
-- out: id i64, benchmark text, metric text, backend text, machine_class text, unit text, higher_is_better bool,
--    exact bool, commit_id i64, samples f64[], blocks u32[], visit_blocks u32[], visit_positions u32[]
SELECT s.id, n.name AS benchmark, s.metric, s.backend, s.machine_class, s.unit, s.higher_is_better, s.exact,
       m.commit_id, m.samples, m.blocks, m.visit_blocks, m.visit_positions
FROM runs r
JOIN measurements m ON m.project_id = r.project_id AND m.run_id = r.id
JOIN series s ON s.project_id = m.project_id AND s.id = m.series_id AND s.branch = $3
JOIN benchmarks n ON n.project_id = s.project_id AND n.id = s.benchmark_id AND n.name <> 'canary'
WHERE r.project_id = $1::bigint AND r.session_id = $2 AND m.visit_blocks IS NOT NULL
  AND NOT EXISTS (SELECT 1 FROM jobs j WHERE j.project_id = r.project_id AND j.id = r.job_id AND j.fence > r.job_fence)
ORDER BY n.name, s.metric, s.backend, s.machine_class, s.id, m.commit_id, m.run_id;

-- name: session_changes
-- Live change points of the session's series. own: this session is their evidence.
-- in: project_id i64, session text, branch text
-- out: series_id i64, position i64, position_low i64, position_high i64, commit_id i64, own bool, alert_id i64
SELECT x.series_id, b.position, coalesce(bl.position, b.position) AS position_low,
       coalesce(bh.position, b.position) AS position_high, x.commit_id,
       coalesce(x.evidence ->> 'session' = $2, false) AS own,
       (SELECT a.id FROM alerts a WHERE a.project_id = x.project_id AND a.change_point_id = x.id) AS alert_id
FROM change_points x
JOIN branch_commits b ON b.project_id = x.project_id AND b.branch = $3 AND b.commit_id = x.commit_id
    AND b.position IS NOT NULL
LEFT JOIN branch_commits bl ON bl.project_id = x.project_id AND bl.branch = $3 AND bl.commit_id = x.commit_low_id
LEFT JOIN branch_commits bh ON bh.project_id = x.project_id AND bh.branch = $3 AND bh.commit_id = x.commit_high_id
WHERE x.project_id = $1::bigint AND x.gone_at IS NULL AND x.kind = 'step' AND x.series_id IN (
    SELECT m.series_id FROM runs r
    CROSS JOIN LATERAL (
        SELECT v.series_id FROM measurements v
        WHERE v.project_id = r.project_id AND v.run_id = r.id AND v.visit_blocks IS NOT NULL OFFSET 0) m
    WHERE r.project_id = $1::bigint AND r.session_id = $2)
ORDER BY x.series_id, b.position, x.id;

-- name: detect_sessions
-- The sessions of these runs that are stored completely. Those of pull requests decide nothing about a branch.
-- in: project_id i64, run_ids i64[]
-- out: id text
-- plan: generic
SELECT DISTINCT s.id FROM runs r
JOIN sessions s ON s.project_id = r.project_id AND s.id = r.session_id
WHERE r.project_id = $1::bigint AND r.id = ANY ($2::bigint[]) AND r.quarantine_id IS NULL
  AND NOT EXISTS (SELECT 1 FROM jobs j WHERE j.project_id = r.project_id AND j.id = r.job_id AND j.kind = 'pull_request')
ORDER BY s.id;

-- name: session_when
-- received_at: by the server's clock, as gone_at is; the runner's clock may step.
-- in: project_id i64, session text
-- out: branch text, extract f64
SELECT branch, extract(epoch FROM received_at)::float8 FROM sessions WHERE project_id = $1::bigint AND id = $2;

-- name: session_series_lock
-- Locks the session's series in the order of ids.
-- in: project_id i64, session text
-- out: id i64
SELECT s.id FROM series s
WHERE s.project_id = $1::bigint AND s.id IN (
    SELECT m.series_id FROM runs r
    CROSS JOIN LATERAL (
        SELECT v.series_id FROM measurements v
        WHERE v.project_id = r.project_id AND v.run_id = r.id AND v.visit_blocks IS NOT NULL OFFSET 0) m
    WHERE r.project_id = $1::bigint AND r.session_id = $2)
ORDER BY s.id FOR NO KEY UPDATE OF s;

-- name: session_series_mark
-- The session's series are measured in blocks from now on.
-- in: project_id i64, session text
UPDATE series s SET in_blocks = true
WHERE s.project_id = $1::bigint AND NOT s.in_blocks AND s.id IN (
    SELECT m.series_id FROM runs r
    CROSS JOIN LATERAL (
        SELECT v.series_id FROM measurements v
        WHERE v.project_id = r.project_id AND v.run_id = r.id AND v.visit_blocks IS NOT NULL OFFSET 0) m
    WHERE r.project_id = $1::bigint AND r.session_id = $2);

-- name: change_point_decide
-- A session decided that the change exists. id NULL: a new one. position_low, position_high: of the first and the
-- last suspect. withheld: why it has no alert.
-- in: project_id i64, id id, series_id i64, branch text, commit_id i64, position_low i64, before f64, after f64,
--    rel_change f64, rel_low f64, rel_high f64, p f64, regression bool, withheld text?, evidence json,
--    position_high i64
-- value: id i64
WITH low AS MATERIALIZED (
    SELECT coalesce((SELECT commit_id FROM branch_commits WHERE project_id = $1::bigint
                     AND branch = $4 AND position = $6::bigint), $5::bigint) AS commit_id),
high AS MATERIALIZED (
    SELECT coalesce((SELECT commit_id FROM branch_commits WHERE project_id = $1::bigint
                     AND branch = $4 AND position = $16::bigint), $5::bigint) AS commit_id),
changed AS (
    UPDATE change_points SET commit_id = $5::bigint, commit_low_id = (SELECT commit_id FROM low),
           commit_high_id = (SELECT commit_id FROM high), before = $7::float8, after = $8::float8, rel_change = $9::float8,
           rel_low = $10::float8, rel_high = $11::float8, p = $12::float8, regression = $13::boolean,
           confirmed = true, firm = true, withheld = $14, withheld_detail = NULL, evidence = $15::jsonb,
           updated_at = now(), gone_at = NULL
    WHERE project_id = $1::bigint AND id = $2::bigint RETURNING id),
made AS (
    INSERT INTO change_points (project_id, series_id, commit_id, commit_low_id, commit_high_id, before, after,
                               rel_change, rel_low, rel_high, p, regression, confirmed, firm, withheld, evidence)
    SELECT $1::bigint, $3::bigint, $5::bigint, (SELECT commit_id FROM low), (SELECT commit_id FROM high), $7::float8, $8::float8,
           $9::float8, $10::float8, $11::float8, $12::float8, $13::boolean, true, true, $14, $15::jsonb
    WHERE $2::bigint IS NULL RETURNING id)
SELECT id FROM changed UNION ALL SELECT id FROM made;

-- name: change_point_refute
-- The change point is gone. evidence NULL: there is none left.
-- in: project_id i64, id i64, evidence json
UPDATE change_points SET gone_at = now(), updated_at = now(), withheld = 'gone', withheld_detail = NULL,
       evidence = $3::jsonb
WHERE project_id = $1::bigint AND id = $2::bigint AND gone_at IS NULL;

-- name: change_point_undone_by
-- undone_by_id: the change point that restored the level.
-- in: project_id i64, id i64, undone_by_id id
UPDATE change_points x SET updated_at = now(), undone_commit_id = (
    SELECT y.commit_id FROM change_points y WHERE y.project_id = x.project_id AND y.id = $3::bigint)
WHERE x.project_id = $1::bigint AND x.id = $2::bigint;

-- name: candidates_list
-- Changes in series that sessions measure, of which only single measurements exist: the two commits to measure in
-- blocks, the largest change first.
-- in: project_id i64, branch text?, machine_class text?, limit i64
-- out: id i64, series_id i64, benchmark text, metric text, backend text, machine_class text, branch text,
--    against text, commit text, rel_change f64, p f64, withheld text, withheld_detail json
SELECT x.id, x.series_id, n.name AS benchmark, s.metric, s.backend, s.machine_class, s.branch,
       x.withheld_detail ->> 'against' AS against, x.withheld_detail ->> 'commit' AS commit, x.rel_change, x.p,
       x.withheld, x.withheld_detail::text AS withheld_detail
FROM change_points x
JOIN series s ON s.project_id = x.project_id AND s.id = x.series_id
JOIN benchmarks n ON n.project_id = s.project_id AND n.id = s.benchmark_id
WHERE x.project_id = $1::bigint AND x.gone_at IS NULL AND x.kind = 'step'
  AND x.withheld IN ('needs_blocks', 'budget')
  AND NOT EXISTS (SELECT 1 FROM alerts a WHERE a.project_id = x.project_id AND a.change_point_id = x.id)
  AND ($2::text IS NULL OR s.branch = $2) AND ($3::text IS NULL OR s.machine_class = $3)
ORDER BY abs(x.rel_change) DESC, x.id LIMIT $4::int;
