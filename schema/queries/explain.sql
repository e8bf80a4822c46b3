-- name: explain_alert_runs
-- The runs that stand for the two sides of an alert's change: of its series, the newest run of the last measured
-- commit before the range (side 0), and of the first measured commit from the end of the range on (side 1). Runs of
-- moved canaries and in quarantine do not count.
-- in: alert_id i64
-- out: side i64, project_id i64, run_id i64, benchmark text, backend text, metric text, kind text, regression bool,
--    rel_change f64, rel_low f64, rel_high f64, p f64
WITH change AS MATERIALIZED (
    SELECT a.project_id, a.series_id, s.branch, s.backend, s.metric, b.name AS benchmark, x.kind, x.regression,
           x.rel_change, x.rel_low, x.rel_high, x.p, l.position AS low, h.position AS high
    FROM alerts a
    JOIN change_points x ON x.project_id = a.project_id AND x.id = a.change_point_id
    JOIN series s ON s.project_id = a.project_id AND s.id = a.series_id
    JOIN benchmarks b ON b.project_id = s.project_id AND b.id = s.benchmark_id
    JOIN branch_commits l ON l.project_id = a.project_id AND l.branch = s.branch AND l.commit_id = x.commit_low_id
    JOIN branch_commits h ON h.project_id = a.project_id AND h.branch = s.branch AND h.commit_id = x.commit_high_id
    WHERE a.id = $1::bigint)
SELECT e.side, o.project_id, e.run_id, o.benchmark, o.backend, o.metric, o.kind, o.regression, o.rel_change,
       o.rel_low, o.rel_high, o.p
FROM change o
CROSS JOIN LATERAL (
    (SELECT 0::bigint AS side, r.id AS run_id
     FROM branch_commits c
     JOIN runs r ON r.project_id = c.project_id AND r.commit_id = c.commit_id AND NOT r.infra
         AND r.quarantine_id IS NULL
     JOIN measurements m ON m.project_id = r.project_id AND m.commit_id = r.commit_id AND m.run_id = r.id
         AND m.series_id = o.series_id
     WHERE c.project_id = o.project_id AND c.branch = o.branch AND c.position < o.low
     ORDER BY c.position DESC, r.id DESC LIMIT 1)
    UNION ALL
    (SELECT 1::bigint AS side, r.id AS run_id
     FROM branch_commits c
     JOIN runs r ON r.project_id = c.project_id AND r.commit_id = c.commit_id AND NOT r.infra
         AND r.quarantine_id IS NULL
     JOIN measurements m ON m.project_id = r.project_id AND m.commit_id = r.commit_id AND m.run_id = r.id
         AND m.series_id = o.series_id
     WHERE c.project_id = o.project_id AND c.branch = o.branch AND c.position >= o.high
     ORDER BY c.position, r.id DESC LIMIT 1)) e
ORDER BY e.side;
