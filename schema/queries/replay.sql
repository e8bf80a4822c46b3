-- Trying other settings on what is stored: nothing here writes.

-- name: replay_series
-- The series of the branch that can have alerts.
-- in: project_id i64, branch text
-- out: id i64, benchmark text, metric text, backend text, machine_class text, branch text, higher_is_better bool,
--    exact bool, points i64
SELECT s.id, b.name AS benchmark, s.metric, s.backend, s.machine_class, s.branch, s.higher_is_better,
       s.exact, s.points
FROM series s JOIN benchmarks b ON b.project_id = s.project_id AND b.id = s.benchmark_id
WHERE s.project_id = $1::bigint AND s.branch = $2 AND b.name <> 'canary'
ORDER BY s.id;

-- name: replay_labels
-- Alerts that a person has classified: as a regression (fixed, accepted, in work), or as one that should not have
-- been opened.
-- in: project_id i64, branch text
-- out: id i64, series_id i64, position_low i64, position_high i64, real bool
SELECT a.id, a.series_id, coalesce(bl.position, b.position) AS position_low,
       coalesce(bh.position, b.position) AS position_high,
       a.state NOT IN ('noise', 'infrastructure') AS real
FROM alerts a
JOIN change_points x ON x.project_id = a.project_id AND x.id = a.change_point_id
JOIN series s ON s.project_id = a.project_id AND s.id = a.series_id AND s.branch = $2
JOIN branch_commits b ON b.project_id = a.project_id AND b.branch = $2 AND b.commit_id = x.commit_id
LEFT JOIN branch_commits bl ON bl.project_id = a.project_id AND bl.branch = $2
    AND bl.commit_id = x.commit_low_id
LEFT JOIN branch_commits bh ON bh.project_id = a.project_id AND bh.branch = $2
    AND bh.commit_id = x.commit_high_id
WHERE a.project_id = $1::bigint AND a.state <> 'untriaged' AND x.kind <> 'broken' AND b.position IS NOT NULL
  AND EXISTS (SELECT 1 FROM alert_events e
              WHERE e.project_id = a.project_id AND e.alert_id = a.id AND e.actor <> 'detector')
ORDER BY a.series_id, a.id;
