-- Under which pair of its labels a queued job is found (jobs_by_need). A runner compares its labels with each set of
-- labels under its own pairs, so the pair must be rare: with a fixed order of names, jobs with {"gpu": "h100",
-- "host": "..."} were all found under gpu=h100, and 1,000 hosts that were away cost each lease 30 ms. The pair with
-- the fewest queued jobs when the job is inserted is taken; it stays, also when the job is queued again.

ALTER TABLE jobs ADD COLUMN pivot text; -- NULL: a job that no runner takes, or one that ended before this migration
UPDATE jobs SET pivot = job_pivot(labels) WHERE state IN ('queued', 'leased') AND kind NOT IN ('detect', 'notify');

DROP INDEX jobs_by_need;
CREATE INDEX jobs_by_need ON jobs (pivot, project_id, job_need(labels), (-priority), id)
    WHERE state = 'queued' AND kind NOT IN ('detect', 'notify');

-- The count stops at 100: beyond it pairs are equally common. Of equally rare ones the order of job_pivot decides.
-- Only jobs_by_need has the order without a sort: a session keeps its plan, and one that was made while the table was
-- small would read the whole table, or another index of the queue.
CREATE FUNCTION job_pivot_choose() RETURNS trigger LANGUAGE plpgsql
SET enable_sort = off SET jit = off SET plan_cache_mode = force_generic_plan AS $$
BEGIN
    NEW.pivot := coalesce((
        SELECT p.key || '=' || p.value FROM jsonb_each_text(NEW.labels) AS p
        ORDER BY (SELECT count(*) FROM (
                      SELECT FROM public.jobs w
                      WHERE w.state = 'queued' AND w.kind NOT IN ('detect', 'notify') AND w.pivot = p.key || '=' || p.value
                      ORDER BY w.project_id, public.job_need(w.labels) LIMIT 100) AS few),
                 p.key IN ('machine_class', 'backend', 'tasks'), p.key
        LIMIT 1), '');
    RETURN NEW;
END $$;
CREATE TRIGGER jobs_pivot BEFORE INSERT ON jobs
    FOR EACH ROW WHEN (NEW.kind NOT IN ('detect', 'notify')) EXECUTE FUNCTION job_pivot_choose();
