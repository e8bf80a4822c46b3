-- name: backfill_next
-- The commit nearest to the middle of the oldest wide range whose project was measured before. A commit for which a
-- job existed is not chosen again, whatever became of the job; a branch has one such job at a time. min_age_s: age of
-- the alert. max_jobs_a_day: of a project. min_commits: in the range.
-- in: min_age_s f64, max_jobs_a_day i64, min_commits i64
-- out: project_id i64, alert_id i64, branch text, machine_class text, source text, sha text
WITH wide AS (
    SELECT a.project_id, a.id AS alert_id, s.id AS series_id, s.branch, s.machine_class,
           bl.position AS low, bh.position AS high,
           coalesce(p.repo_url, -- without one, the source that an administrator's token named last
                    (SELECT j.source FROM jobs j WHERE j.project_id = a.project_id
                     AND j.state = 'done' AND j.source IS NOT NULL ORDER BY j.id DESC LIMIT 1)) AS source
    FROM alerts a
    JOIN projects p ON p.id = a.project_id
    JOIN change_points x ON x.project_id = a.project_id AND x.id = a.change_point_id
    JOIN series s ON s.project_id = a.project_id AND s.id = a.series_id
    JOIN branch_commits bl ON bl.project_id = a.project_id AND bl.branch = s.branch
        AND bl.commit_id = x.commit_low_id
    JOIN branch_commits bh ON bh.project_id = a.project_id AND bh.branch = s.branch
        AND bh.commit_id = x.commit_high_id
    WHERE a.state IN ('untriaged', 'acknowledged', 'investigating') AND a.culprit IS NULL
      AND x.kind <> 'drift' -- no commit of its range is the one
      AND a.created_at < now() - make_interval(secs => $1::float8)
      AND bh.position - bl.position + 1 >= $3::bigint
      AND NOT EXISTS (SELECT 1 FROM bisections y WHERE y.project_id = a.project_id
                      AND y.alert_id = a.id AND y.state = 'running')
      AND NOT EXISTS (SELECT 1 FROM jobs j WHERE j.project_id = a.project_id
                      AND j.kind = 'backfill' AND j.branch = s.branch
                      AND j.state IN ('queued', 'leased'))
      AND (SELECT count(*) FROM jobs j WHERE j.project_id = a.project_id AND j.kind = 'backfill'
           AND j.created_at > now() - interval '1 day') < $2::bigint)
SELECT w.project_id, w.alert_id, w.branch, w.machine_class, w.source, m.sha
FROM wide w CROSS JOIN LATERAL (
    SELECT c.sha FROM branch_commits b
    CROSS JOIN LATERAL ( -- the OFFSET keeps it a look-up for each: ranges are short, histories are not
        SELECT k.sha FROM commits k WHERE k.project_id = b.project_id AND k.id = b.commit_id OFFSET 0) c
    WHERE b.project_id = w.project_id AND b.branch = w.branch
      AND b.position >= w.low AND b.position < w.high
      AND NOT EXISTS (SELECT 1 FROM measurements q WHERE q.project_id = w.project_id
                      AND q.series_id = w.series_id AND q.commit_id = b.commit_id)
      AND NOT EXISTS (SELECT 1 FROM jobs j WHERE j.project_id = w.project_id
                      AND j.kind = 'backfill' AND j.sha = c.sha)
    ORDER BY abs(2 * b.position - (w.low - 1 + w.high)), b.position LIMIT 1) m
WHERE w.source IS NOT NULL
ORDER BY w.alert_id LIMIT 1;
