-- The results of a commit are looked up in the partitions since its first run alone, not in all of them: the page of the
-- newest alerts asks for each of its alerts.
CREATE OR REPLACE VIEW result_evidence AS
SELECT m.project_id, m.commit_id, m.series_id, m.run_id, m.low, m.high, r.infra, r.job_id,
       coalesce(j.fence > r.job_fence, false) AS overtaken, m.stored_at
FROM measurements m
CROSS JOIN LATERAL (
    SELECT q.infra, q.job_id, q.job_fence FROM runs q
    WHERE q.project_id = m.project_id AND q.id = m.run_id AND q.commit_id = m.commit_id OFFSET 0) r
LEFT JOIN LATERAL (
    SELECT q.fence FROM jobs q WHERE q.project_id = m.project_id AND q.id = r.job_id OFFSET 0) j ON true;

DO $$
DECLARE
    old    text := pg_get_functiondef('commit_reproducibility(bigint, bigint, bigint)'::regprocedure);
    before text := 'project_id = $1 AND commit_id = $2 AND series_id = $3)';
BEGIN
    IF strpos(old, before) = 0 THEN
        RAISE EXCEPTION 'commit_reproducibility is not the one of migration 0049';
    END IF;
    -- A day: a transaction that began before another one may take its number after it.
    EXECUTE replace(old, before, $sql$project_id = $1 AND commit_id = $2 AND series_id = $3
          AND stored_at >= (SELECT r.received_at FROM runs r WHERE r.project_id = $1 AND r.commit_id = $2
                            ORDER BY r.id LIMIT 1) - interval '1 day')$sql$);
END $$;
