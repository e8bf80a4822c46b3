-- The points of a series that are newer than its chunks (0012) belong to runs that got a document since. Their numbers
-- bound what is read of the series by its primary key: by time alone all of its entries are read.
CREATE INDEX run_parts_by_time ON run_parts (project_id, received_at) INCLUDE (run_id);

-- One row: no measurement stored at or after `since` belongs to a run before this one, because a document and its
-- measurements have the time of their transaction. 0: over 2,000 documents came, which would cost more to read than the
-- series. NULL: none came. A set, so that the planner sees into it.
CREATE FUNCTION first_run_since(project bigint, since timestamptz) RETURNS TABLE (run bigint)
LANGUAGE sql STABLE AS $$
    SELECT CASE WHEN count(*) > 2000 THEN 0 ELSE min(q.run_id) END
    FROM (SELECT p.run_id FROM run_parts p WHERE p.project_id = project AND p.received_at >= since
          ORDER BY p.received_at LIMIT 2001) q
$$;

-- As in migration 0049, but the evidence of a commit with one run, which nothing confirms, is not read.
CREATE OR REPLACE FUNCTION confirmed_results(project bigint, commit bigint, run bigint)
    RETURNS TABLE (series_id bigint, run_id bigint)
LANGUAGE sql STABLE SET search_path = public, pg_temp AS $$
    WITH e AS MATERIALIZED (
        SELECT * FROM result_evidence WHERE project_id = $1 AND commit_id = $2
        AND (SELECT count(*) FROM (SELECT FROM runs q WHERE q.project_id = $1 AND q.commit_id = $2 LIMIT 2) two) = 2)
    SELECT m.series_id, m.run_id FROM e m
    WHERE ($3 IS NULL OR m.run_id = $3) AND EXISTS (
        SELECT 1 FROM e o WHERE o.series_id = m.series_id AND o.run_id <> m.run_id
        AND result_confirms(o.low, o.high, o.infra, o.overtaken, o.job_id, m.low, m.high, m.infra, m.job_id))
$$;

-- The results by which a run is classed. Without SET, so that the planner inlines it.
CREATE FUNCTION run_results(r runs) RETURNS TABLE (series_id bigint, exact boolean) LANGUAGE sql STABLE AS $$
    SELECT m.series_id, s.exact
    FROM measurements m
    JOIN series s ON s.project_id = m.project_id AND s.id = m.series_id
    JOIN benchmarks b ON b.project_id = s.project_id AND b.id = s.benchmark_id AND b.name <> 'canary'
    WHERE m.project_id = r.project_id AND m.commit_id = r.commit_id AND m.run_id = r.id
$$;

-- As in migration 0049, but each question ends at the first result that answers it: of a page of 8 runs with 200 results
-- each, 1,400 blocks are read in place of 12,400.
CREATE OR REPLACE FUNCTION run_reproducibility(r runs) RETURNS text
LANGUAGE sql STABLE SET search_path = public, pg_temp AS $$
    SELECT CASE WHEN NOT EXISTS (SELECT FROM run_results(r)) THEN NULL
                WHEN NOT EXISTS (SELECT FROM run_results(r) m WHERE NOT m.exact) THEN 'exact'
                WHEN NOT EXISTS (SELECT FROM run_results(r) m
                                 LEFT JOIN confirmed_results(r.project_id, r.commit_id, r.id) c ON c.series_id = m.series_id
                                 WHERE NOT m.exact AND c.series_id IS NULL) THEN 'confirmed'
                ELSE 'single' END
$$;
