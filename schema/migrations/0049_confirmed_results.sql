-- The members that decide whether a result confirms another one. overtaken: a later lease of its job has begun.
CREATE VIEW result_evidence AS
SELECT m.project_id, m.commit_id, m.series_id, m.run_id, m.low, m.high, r.infra, r.job_id,
       coalesce(j.fence > r.job_fence, false) AS overtaken
FROM measurements m
JOIN runs r ON r.project_id = m.project_id AND r.id = m.run_id AND r.commit_id = m.commit_id
LEFT JOIN jobs j ON j.project_id = r.project_id AND j.id = r.job_id;

-- Whether the result o confirms the result m of the same commit and series: another job measured it, the intervals
-- overlap, and neither canary moved. An overtaken lease confirms nothing. Without SET, so that the planner inlines it.
CREATE FUNCTION result_confirms(o_low float8, o_high float8, o_infra boolean, o_overtaken boolean, o_job bigint,
                                m_low float8, m_high float8, m_infra boolean, m_job bigint)
    RETURNS boolean LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT o_low <= m_high AND o_high >= m_low AND NOT o_infra AND NOT m_infra AND NOT o_overtaken
       AND (o_job IS NULL OR o_job IS DISTINCT FROM m_job)
$$;

-- The confirmed results of a commit. run NULL: of all its runs. The evidence is read once: without statistics of fresh
-- rows, a plan with nested loops read it again for each result.
CREATE FUNCTION confirmed_results(project bigint, commit bigint, run bigint)
    RETURNS TABLE (series_id bigint, run_id bigint)
LANGUAGE sql STABLE SET search_path = public, pg_temp AS $$
    WITH e AS MATERIALIZED (SELECT * FROM result_evidence WHERE project_id = $1 AND commit_id = $2)
    SELECT m.series_id, m.run_id FROM e m
    WHERE ($3 IS NULL OR m.run_id = $3) AND EXISTS (
        SELECT 1 FROM e o WHERE o.series_id = m.series_id AND o.run_id <> m.run_id
        AND result_confirms(o.low, o.high, o.infra, o.overtaken, o.job_id, m.low, m.high, m.infra, m.job_id))
$$;

-- As in migration 0047, from the evidence.
CREATE OR REPLACE FUNCTION run_reproducibility(r runs) RETURNS text
LANGUAGE sql STABLE SET search_path = public, pg_temp AS $$
    SELECT CASE WHEN count(*) = 0 THEN NULL
                WHEN bool_and(s.exact) THEN 'exact'
                WHEN bool_and(s.exact OR c.series_id IS NOT NULL) THEN 'confirmed'
                ELSE 'single' END
    FROM measurements m
    JOIN series s ON s.project_id = m.project_id AND s.id = m.series_id
    JOIN benchmarks b ON b.project_id = s.project_id AND b.id = s.benchmark_id AND b.name <> 'canary'
    LEFT JOIN confirmed_results(r.project_id, r.commit_id, r.id) c ON c.series_id = m.series_id
    WHERE m.project_id = r.project_id AND m.commit_id = r.commit_id AND m.run_id = r.id
$$;

-- The least class of the results of a commit in a series; NULL: the commit has none there, or they are hidden. Results
-- of a canary that moved count only where there are no others, as in comparisons.
CREATE FUNCTION commit_reproducibility(project bigint, commit bigint, series bigint) RETURNS text
LANGUAGE sql STABLE SET search_path = public, pg_temp AS $$
    WITH e AS MATERIALIZED (
        SELECT * FROM result_evidence WHERE project_id = $1 AND commit_id = $2 AND series_id = $3)
    SELECT CASE WHEN count(*) = 0 THEN NULL
                WHEN bool_and(s.exact) THEN 'exact'
                WHEN coalesce(bool_and(EXISTS (
                    SELECT 1 FROM e o WHERE o.run_id <> m.run_id
                    AND result_confirms(o.low, o.high, o.infra, o.overtaken, o.job_id, m.low, m.high, m.infra, m.job_id)))
                    FILTER (WHERE NOT m.infra), false) THEN 'confirmed'
                ELSE 'single' END
    FROM e m JOIN series s ON s.project_id = m.project_id AND s.id = m.series_id
$$;

-- Pages of a series name the number of its hidden results.
CREATE INDEX quarantined_measurements_series ON quarantined_measurements (project_id, series_id);
