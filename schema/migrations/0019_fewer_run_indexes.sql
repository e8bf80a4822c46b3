-- Every index and every reference is paid for by each run that is stored. A run is found by its project
-- and either of its ids; who asks with an id alone asks project by project (query runs_get). A server of
-- the version before finds it, too, but reads the table for it.
DROP INDEX runs_by_id;
DROP INDEX runs_by_run_id;

-- A run's commit is a commit of its project: that the project exists follows from it.
ALTER TABLE runs DROP CONSTRAINT runs_project_id_fkey;
