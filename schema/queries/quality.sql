-- Quality of the alerts of a project: how triage judged them, and how long each step took.

-- name: quality_rows
-- A row for all alerts, one for each month (UTC) in which some were opened, newest first, and one for each kernel (the
-- benchmark up to its first slash), most alerts first; the other of month and kernel is NULL. Alerts that were opened in
-- the current month and the months - 1 before it, without those of broken benchmarks, which are no estimates. A person is
-- an actor other than the service. Durations in seconds, from the opening of the alert; NULL: none.
-- Of more than `most` alerts the newest are counted, and truncated is true.
-- in: project_id i64, months i64, most i64, limit i64
-- out: month text, kernel text, alerts i64, confirmed i64, false_alarms i64, untriaged i64, withdrawn i64, recovered i64,
--    triage_n i64, triage_median f64, triage_p90 f64, culprit_n i64, culprit_median f64, culprit_p90 f64, fix_n i64,
--    fix_median f64, fix_p90 f64, truncated bool
WITH first AS (
    SELECT (date_trunc('month', now() AT TIME ZONE 'UTC') - make_interval(months => $2::int - 1))
           AT TIME ZONE 'UTC' AS at
), recent AS MATERIALIZED (
    SELECT project_id, id, change_point_id, series_id, state, created_at FROM alerts
    WHERE project_id = $1::bigint ORDER BY id DESC LIMIT $3::int
), opened AS (
    SELECT to_char(a.created_at AT TIME ZONE 'UTC', 'YYYY-MM') AS month, split_part(b.name, '/', 1) AS kernel, a.state,
           a.state IN ('noise', 'infrastructure') AS false_alarm, e.person IS NOT NULL AS judged,
           extract(epoch FROM e.person - a.created_at)::float8 AS triage,
           extract(epoch FROM e.culprit - a.created_at)::float8 AS culprit,
           extract(epoch FROM e.fix - a.created_at)::float8 AS fix
    FROM recent a
    JOIN change_points x ON x.project_id = a.project_id AND x.id = a.change_point_id AND x.kind <> 'broken'
    JOIN series s ON s.project_id = a.project_id AND s.id = a.series_id
    JOIN benchmarks b ON b.project_id = s.project_id AND b.id = s.benchmark_id
    CROSS JOIN LATERAL (
        SELECT min(v.at) FILTER (WHERE v.actor NOT IN ('detector', 'verification')) AS person,
               min(v.at) FILTER (WHERE v.culprit <> '' OR v.reason LIKE 'culprit confirmed:%') AS culprit,
               min(v.at) FILTER (WHERE v.state_to IN ('fixed', 'backed_out', 'verified_fixed')) AS fix
        FROM alert_events v WHERE v.project_id = a.project_id AND v.alert_id = a.id) e
    WHERE a.created_at >= (SELECT at FROM first)
)
SELECT month, kernel, count(*) AS alerts,
       count(*) FILTER (WHERE judged AND state <> 'untriaged' AND NOT false_alarm) AS confirmed,
       count(*) FILTER (WHERE judged AND false_alarm) AS false_alarms,
       count(*) FILTER (WHERE state = 'untriaged') AS untriaged,
       count(*) FILTER (WHERE NOT judged AND false_alarm) AS withdrawn,
       count(*) FILTER (WHERE NOT judged AND state <> 'untriaged' AND NOT false_alarm) AS recovered,
       count(triage) AS triage_n, percentile_cont(0.5) WITHIN GROUP (ORDER BY triage) AS triage_median,
       percentile_cont(0.9) WITHIN GROUP (ORDER BY triage) AS triage_p90,
       count(culprit) AS culprit_n, percentile_cont(0.5) WITHIN GROUP (ORDER BY culprit) AS culprit_median,
       percentile_cont(0.9) WITHIN GROUP (ORDER BY culprit) AS culprit_p90,
       count(fix) AS fix_n, percentile_cont(0.5) WITHIN GROUP (ORDER BY fix) AS fix_median,
       percentile_cont(0.9) WITHIN GROUP (ORDER BY fix) AS fix_p90,
       (SELECT count(*) = $3::int AND min(created_at) >= (SELECT at FROM first) FROM recent) AS truncated
FROM opened
GROUP BY GROUPING SETS ((), (month), (kernel))
ORDER BY grouping(month) + grouping(kernel) DESC, grouping(month), month DESC, count(*) DESC, kernel
LIMIT $4::int;
