-- name: alert_evidence
-- Every other series of the alert's benchmark. moved: 'worse', 'better', 'still' (measured on both sides) or
-- 'unknown'.
-- in: project_id i64, alert_ids i64[]
-- out: alert_id i64, series_id i64, metric text, backend text, machine_class text, unit text, exact bool,
--    rel_change f64, moved text
SELECT a.id AS alert_id, s.id AS series_id, s.metric, s.backend, s.machine_class, s.unit, s.exact,
       o.rel_change,
       CASE WHEN o.regression THEN 'worse' WHEN NOT o.regression THEN 'better'
            WHEN seen.before AND seen.after THEN 'still' ELSE 'unknown' END AS moved
FROM alerts a
JOIN change_points x ON x.project_id = a.project_id AND x.id = a.change_point_id
JOIN series t ON t.project_id = a.project_id AND t.id = a.series_id
JOIN branch_commits b ON b.project_id = a.project_id AND b.branch = t.branch
    AND b.commit_id = x.commit_id
LEFT JOIN branch_commits bl ON bl.project_id = a.project_id AND bl.branch = t.branch
    AND bl.commit_id = x.commit_low_id
LEFT JOIN branch_commits bh ON bh.project_id = a.project_id AND bh.branch = t.branch
    AND bh.commit_id = x.commit_high_id
JOIN series s ON s.project_id = a.project_id AND s.benchmark_id = t.benchmark_id
    AND s.branch = t.branch AND s.id <> t.id
LEFT JOIN LATERAL (
    SELECT y.rel_change, y.regression FROM change_points y
    JOIN branch_commits yl ON yl.project_id = y.project_id AND yl.branch = t.branch
        AND yl.commit_id = y.commit_low_id
    JOIN branch_commits yh ON yh.project_id = y.project_id AND yh.branch = t.branch
        AND yh.commit_id = y.commit_high_id
    WHERE y.project_id = a.project_id AND y.series_id = s.id AND y.gone_at IS NULL AND y.firm AND y.kind <> 'broken'
      AND yl.position <= coalesce(bh.position, b.position)
      AND yh.position >= coalesce(bl.position, b.position)
    ORDER BY abs(y.rel_change) DESC LIMIT 1) o ON true
CROSS JOIN LATERAL (
    SELECT EXISTS (SELECT 1 FROM measurements v
                   JOIN branch_commits p ON p.project_id = v.project_id AND p.branch = t.branch
                       AND p.commit_id = v.commit_id
                   WHERE v.project_id = a.project_id AND v.series_id = s.id
                     AND p.position < b.position) AS before,
           EXISTS (SELECT 1 FROM measurements v
                   JOIN branch_commits p ON p.project_id = v.project_id AND p.branch = t.branch
                       AND p.commit_id = v.commit_id
                   WHERE v.project_id = a.project_id AND v.series_id = s.id
                     AND p.position >= b.position) AS after) seen
WHERE a.project_id = $1::bigint AND a.id = ANY ($2::bigint[])
ORDER BY a.id, o.regression DESC NULLS LAST, s.exact DESC, s.metric, s.backend, s.id LIMIT 20000;

-- name: alert_evidence_set
-- arrays: len
-- in: project_id i64, alert_ids i64[], evidence text[]
UPDATE alerts a SET evidence = n.evidence
FROM unnest($2::bigint[], $3::text[]) AS n (id, evidence)
WHERE a.project_id = $1::bigint AND a.id = n.id AND a.evidence <> n.evidence;

-- name: alert_is_exact
-- The alerts whose own metric has no noise.
-- in: project_id i64, alert_ids i64[]
-- out: id i64
SELECT a.id FROM alerts a JOIN series s ON s.project_id = a.project_id AND s.id = a.series_id
WHERE a.project_id = $1::bigint AND a.id = ANY ($2::bigint[]) AND s.exact;

-- name: alert_effects
-- A row for each source that states a size: history first, then bisections.
-- in: project_id i64, alert_id i64
-- out: source text, bisection_id i64, commit text, rel_change f64, rel_low f64, rel_high f64, n i64
SELECT source, bisection_id, commit, rel_change, rel_low, rel_high, n FROM (
    SELECT 1 AS place, 'history' AS source, NULL::bigint AS bisection_id, NULL::text AS commit, x.rel_change,
           x.rel_low, x.rel_high, s.points AS n
    FROM alerts a
    JOIN change_points x ON x.project_id = a.project_id AND x.id = a.change_point_id
    JOIN series s ON s.project_id = a.project_id AND s.id = a.series_id
    WHERE a.project_id = $1::bigint AND a.id = $2::bigint
    UNION ALL
    SELECT 2, 'bisection', b.id, c.value -> 'commits' ->> 0, (c.value ->> 'rel_change')::float8,
           (c.value ->> 'rel_low')::float8, (c.value ->> 'rel_high')::float8, b.runs
    FROM bisections b CROSS JOIN LATERAL jsonb_array_elements(b.culprits) AS c
    WHERE b.project_id = $1::bigint AND b.alert_id = $2::bigint AND jsonb_typeof(b.culprits) = 'array'
    UNION ALL
    SELECT 3, 'pairs', b.id, v.after, v.rel_change, v.rel_low, v.rel_high, v.pairs
    FROM bisections b
    JOIN verifications v ON v.project_id = b.project_id AND v.bisection_id = b.id
    WHERE b.project_id = $1::bigint AND b.alert_id = $2::bigint) AS e
WHERE rel_change IS NOT NULL AND rel_low IS NOT NULL AND rel_high IS NOT NULL
ORDER BY coalesce(bisection_id, 0), place, commit LIMIT 100;
