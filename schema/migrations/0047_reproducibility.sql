-- How far a run's results were reproduced: exact (all of its metrics are), confirmed (each of the others was measured
-- again at the commit by another job, on the same machine class, and the intervals overlap), single. NULL: it has no
-- results, or they are hidden. A run whose canary moved confirms nothing and is not confirmed.
CREATE FUNCTION run_reproducibility(r runs) RETURNS text LANGUAGE sql STABLE SET search_path = public, pg_temp AS $$
    SELECT CASE WHEN count(*) = 0 THEN NULL
                WHEN bool_and(t.exact) THEN 'exact'
                WHEN NOT r.infra AND bool_and(t.exact OR t.again) THEN 'confirmed'
                ELSE 'single' END
    FROM (SELECT s.exact, EXISTS (
              SELECT 1 FROM measurements o
              JOIN runs q ON q.project_id = o.project_id AND q.id = o.run_id AND NOT q.infra
              LEFT JOIN jobs j ON j.project_id = q.project_id AND j.id = q.job_id
              WHERE o.project_id = r.project_id AND o.commit_id = r.commit_id AND o.series_id = m.series_id
                AND o.run_id <> r.id AND o.low <= m.high AND o.high >= m.low
                AND (q.job_id IS NULL OR q.job_id IS DISTINCT FROM r.job_id)
                AND (j.fence > q.job_fence) IS NOT TRUE) AS again
          FROM measurements m
          JOIN series s ON s.project_id = m.project_id AND s.id = m.series_id
          JOIN benchmarks b ON b.project_id = s.project_id AND b.id = s.benchmark_id AND b.name <> 'canary'
          WHERE m.project_id = r.project_id AND m.commit_id = r.commit_id AND m.run_id = r.id) t
$$;
