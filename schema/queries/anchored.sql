-- Levels in units of an anchor.

-- name: anchored_put
-- $1 project_id, $2 session, $3 its anchor (commit_id), $4 series[], $5 commit_id[], $6 log_ratio[], $7 log_se[]
-- For each run of the session at that commit that has visits in that series.
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
-- $1 project_id, $2 run[]  -> the sessions of these runs that are stored
SELECT DISTINCT r.session_id FROM runs r
JOIN sessions s ON s.project_id = r.project_id AND s.id = r.session_id
WHERE r.project_id = $1::bigint AND r.id = ANY ($2::bigint[]);

-- name: anchored_current
-- $1 project_id, $2 series_id  -> anchor_id, anchor, level: the newest one, and the median of its medians
SELECT n.anchor_id, c.sha AS anchor,
       (SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY m.median)
        FROM anchored a
        JOIN measurements m ON m.project_id = a.project_id AND m.series_id = a.series_id AND m.run_id = a.run_id
        WHERE a.project_id = n.project_id AND a.series_id = n.series_id AND a.commit_id = n.anchor_id) AS level
FROM (SELECT * FROM anchored WHERE project_id = $1::bigint AND series_id = $2::bigint
      ORDER BY run_id DESC LIMIT 1) n
JOIN commits c ON c.project_id = n.project_id AND c.id = n.anchor_id;

-- name: anchored_joints
-- $1 project_id, $2 series_id, $3 limit  -> anchor_id, commit_id (another anchor), log_ratio, log_se; newest first
SELECT a.anchor_id, a.commit_id, a.log_ratio, a.log_se
FROM (SELECT DISTINCT anchor_id FROM sessions WHERE project_id = $1::bigint) s
JOIN anchored a ON a.project_id = $1::bigint AND a.series_id = $2::bigint AND a.commit_id = s.anchor_id
    AND a.commit_id <> a.anchor_id
ORDER BY a.run_id DESC LIMIT $3::int;

-- name: anchored_runs
-- $1 project_id, $2 series_id, $3 and $4 runs, from and to  -> run_id, anchor_id, log_ratio, log_se
SELECT run_id, anchor_id, log_ratio, log_se FROM anchored
WHERE project_id = $1::bigint AND series_id = $2::bigint AND run_id BETWEEN $3::bigint AND $4::bigint
ORDER BY run_id;
