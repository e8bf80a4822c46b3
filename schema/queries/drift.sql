-- name: drift_of_series
-- The newest drift of the series. accepted: its level was accepted.
-- in: project_id i64, series_id i64, branch text
-- out: id i64, gone bool, position_high i64, alert_id i64, state text, accepted bool, last_actor text
SELECT x.id, x.gone_at IS NOT NULL AS gone, bh.position AS position_high, a.id AS alert_id, a.state,
       a.accepted_at IS NOT NULL AS accepted,
       (SELECT e.actor FROM alert_events e WHERE e.project_id = a.project_id AND e.alert_id = a.id
        ORDER BY e.id DESC LIMIT 1) AS last_actor
FROM change_points x
LEFT JOIN branch_commits bh ON bh.project_id = x.project_id AND bh.commit_id = x.commit_high_id
    AND bh.branch = $3
LEFT JOIN alerts a ON a.project_id = x.project_id AND a.change_point_id = x.id
WHERE x.project_id = $1::bigint AND x.series_id = $2::bigint AND x.kind = 'drift'
ORDER BY x.id DESC LIMIT 1;

-- name: drift_put
-- id NULL: a new one. reference_rel: the change since the reference, reference_low and reference_high its interval.
-- in: project_id i64, id id, series_id i64, commit_low_id i64, commit_high_id i64, before f64, after f64,
--    rel_change f64, rel_low f64, rel_high f64, p f64, reference_commit_id id, reference_tag text?,
--    reference_rel f64, reference_low f64, reference_high f64
-- value: id i64
WITH changed AS (
    UPDATE change_points SET commit_id = $5::bigint, commit_low_id = $4::bigint,
           commit_high_id = $5::bigint, before = $6::float8, after = $7::float8,
           rel_change = $8::float8, rel_low = $9::float8, rel_high = $10::float8, p = $11::float8,
           reference_commit_id = $12::bigint, reference_tag = $13, reference_rel = $14::float8,
           reference_low = $15::float8, reference_high = $16::float8, updated_at = now(), gone_at = NULL
    WHERE project_id = $1::bigint AND id = $2::bigint RETURNING id),
made AS (
    INSERT INTO change_points (project_id, series_id, commit_id, commit_low_id, commit_high_id, before,
                               after, rel_change, rel_low, rel_high, p, regression, confirmed, firm,
                               kind, reference_commit_id, reference_tag, reference_rel, reference_low,
                               reference_high)
    SELECT $1::bigint, $3::bigint, $5::bigint, $4::bigint, $5::bigint, $6::float8, $7::float8,
           $8::float8, $9::float8, $10::float8, $11::float8, true, true, true, 'drift',
           $12::bigint, $13, $14::float8, $15::float8, $16::float8
    WHERE $2::bigint IS NULL RETURNING id)
SELECT id FROM changed UNION ALL SELECT id FROM made;

-- name: drift_tags
-- Commits with tags, releases or not, the newest first; at most 100.
-- in: project_id i64, branch text, position_from i64, position_to i64
-- out: position i64, commit_id i64, tags text[]
SELECT b.position, c.id AS commit_id, c.tags
FROM commits c
JOIN branch_commits b ON b.project_id = c.project_id AND b.branch = $2 AND b.commit_id = c.id
WHERE c.project_id = $1::bigint AND c.tags <> '{}' AND b.position BETWEEN $3::bigint AND $4::bigint
ORDER BY b.position DESC LIMIT 100;
