-- Leases are numbered (a fencing token), so that results of a lost lease are distinguished from results of
-- the next lease, although both have the same secret and the same job.
ALTER TABLE jobs ADD COLUMN fence bigint NOT NULL DEFAULT 0; -- of the newest lease; never the same again
ALTER TABLE runs ADD COLUMN job_fence bigint; -- the lease that it was measured under; NULL: it did not say

-- Retention counts the points of series as the detector does: without the runs of overtaken leases.
DO $$
DECLARE
    old    text := pg_get_functiondef('retention_apply(date, boolean)'::regprocedure);
    before text := 'AND j.kind IN (''bisect'', ''verify''))';
BEGIN
    IF strpos(old, before) = 0 THEN
        RAISE EXCEPTION 'retention_apply is not the one of migration 0023';
    END IF;
    EXECUTE replace(old, before, 'AND (j.kind IN (''bisect'', ''verify'') OR j.fence > r.job_fence))');
END $$;
