-- Levels in units of an anchor.

-- name: anchored_put
-- For each run of the session at that commit that has visits in the series. anchor_id: commit_id of the session's
-- anchor.
-- arrays: len
-- in: project_id i64, session text, anchor_id i64, series_ids i64[], commit_ids i64[], log_ratios f64[],
--    log_ses f64[]
INSERT INTO anchored AS a (project_id, series_id, run_id, commit_id, anchor_id, log_ratio, log_se)
SELECT m.project_id, m.series_id, m.run_id, m.commit_id, $3::bigint, u.log_ratio, u.log_se
FROM unnest($4::bigint[], $5::bigint[], $6::float8[], $7::float8[]) AS u (series_id, commit_id, log_ratio, log_se)
JOIN runs r ON r.project_id = $1::bigint AND r.session_id = $2 AND r.commit_id = u.commit_id
JOIN measurements m ON m.project_id = r.project_id AND m.series_id = u.series_id AND m.run_id = r.id
    AND m.visit_blocks IS NOT NULL
ORDER BY m.series_id, m.run_id
ON CONFLICT (project_id, series_id, run_id) DO UPDATE
SET anchor_id = excluded.anchor_id, log_ratio = excluded.log_ratio, log_se = excluded.log_se
WHERE (a.anchor_id, a.log_ratio, a.log_se) IS DISTINCT FROM (excluded.anchor_id, excluded.log_ratio, excluded.log_se);

-- name: anchored_sessions
-- The stored sessions of these runs.
-- in: project_id i64, run_ids i64[]
-- out: session_id text
-- plan: generic
SELECT DISTINCT r.session_id FROM runs r
JOIN sessions s ON s.project_id = r.project_id AND s.id = r.session_id
WHERE r.project_id = $1::bigint AND r.id = ANY ($2::bigint[]);

-- name: anchored_current
-- The newest anchor of the series. level: the median of its medians.
-- in: project_id i64, series_id i64
-- out: anchor_id i64, anchor text, level f64
SELECT n.anchor_id, c.sha AS anchor,
       (SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY m.median)
        FROM anchored a
        JOIN measurements m ON m.project_id = a.project_id AND m.series_id = a.series_id AND m.run_id = a.run_id
        WHERE a.project_id = n.project_id AND a.series_id = n.series_id AND a.commit_id = n.anchor_id) AS level
FROM (SELECT * FROM anchored WHERE project_id = $1::bigint AND series_id = $2::bigint
      ORDER BY run_id DESC LIMIT 1) n
JOIN commits c ON c.project_id = n.project_id AND c.id = n.anchor_id;

-- name: anchored_joints
-- Anchors that were measured in runs of another anchor, newest first. anchor_id: of the runs; commit_id: the anchor
-- that they measured.
-- in: project_id i64, series_id i64, limit i64
-- out: anchor_id i64, commit_id i64, log_ratio f64, log_se f64
SELECT a.anchor_id, a.commit_id, a.log_ratio, a.log_se
FROM (SELECT DISTINCT anchor_id FROM sessions WHERE project_id = $1::bigint) s
JOIN anchored a ON a.project_id = $1::bigint AND a.series_id = $2::bigint AND a.commit_id = s.anchor_id
    AND a.commit_id <> a.anchor_id
ORDER BY a.run_id DESC LIMIT $3::int;

-- name: anchored_runs
-- Ratios of the runs from run_from to run_to.
-- in: project_id i64, series_id i64, run_from i64, run_to i64
-- out: run_id i64, anchor_id i64, log_ratio f64, log_se f64
SELECT run_id, anchor_id, log_ratio, log_se FROM anchored
WHERE project_id = $1::bigint AND series_id = $2::bigint AND run_id BETWEEN $3::bigint AND $4::bigint
ORDER BY run_id;
