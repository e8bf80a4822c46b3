-- Every content of a chunk has a number of its own, so that servers may keep its points in memory: a chunk that is built or
-- packed again gets another one, in a database that was set back to an earlier time, too. Random: a sequence would be
-- set back as well. The packed points lie apart and are not written again here.
ALTER TABLE series_chunks ADD COLUMN version bigint NOT NULL DEFAULT 0;

CREATE FUNCTION series_chunks_version() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    NEW.version := ('x' || left(replace(gen_random_uuid()::text, '-', ''), 16))::bit(64)::bigint;
    RETURN NEW;
END $$;
-- A trigger, so that a server of the version before gives numbers, too.
CREATE TRIGGER series_chunks_changed BEFORE INSERT OR UPDATE ON series_chunks
    FOR EACH ROW EXECUTE FUNCTION series_chunks_version();
UPDATE series_chunks SET points = points;

-- When a commit of the branch got another position: the version of a plot's data (plot_version) reads this in place of
-- all positions.
ALTER TABLE branches ADD COLUMN moved_at timestamptz;

CREATE FUNCTION branch_commits_moved() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE public.branches b SET moved_at = clock_timestamp()
    WHERE (b.project_id, b.name) IN (SELECT DISTINCT c.project_id, c.branch FROM changed c
                                     -- A new commit of the branch gets its position by an update.
                                     WHERE c.position IS NOT NULL OR TG_OP = 'UPDATE');
    RETURN NULL;
END $$;
CREATE TRIGGER branch_commits_more AFTER INSERT ON branch_commits REFERENCING NEW TABLE AS changed
    FOR EACH STATEMENT EXECUTE FUNCTION branch_commits_moved();
CREATE TRIGGER branch_commits_other AFTER UPDATE ON branch_commits REFERENCING NEW TABLE AS changed
    FOR EACH STATEMENT EXECUTE FUNCTION branch_commits_moved();
CREATE TRIGGER branch_commits_less AFTER DELETE ON branch_commits REFERENCING OLD TABLE AS changed
    FOR EACH STATEMENT EXECUTE FUNCTION branch_commits_moved();
