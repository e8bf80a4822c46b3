-- A runner's name is its own within the projects that its token works for. Before, a token of one project that used
-- the name of another project's runner took that runner's row over, and it vanished from its project.
ALTER TABLE runners DROP CONSTRAINT runners_pkey;
ALTER TABLE runners ADD COLUMN id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY;
CREATE UNIQUE INDEX runners_of_project ON runners (name, coalesce(project_id, 0)); -- 0: it works for all projects
-- At most 32 sessions of a token are kept: looking for expired ones reads the table.
DROP INDEX browser_sessions_expiry;
