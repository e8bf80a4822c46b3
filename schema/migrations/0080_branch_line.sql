-- Every row has a place in the key of branch_commits, and a row with a position one in the line. A look-up of one commit
-- can only use the key then. Before, for a branch that is newer than the statistics, of which the planner expects one
-- row, it read the line of that branch for each commit.
DROP INDEX branch_commits_line;
CREATE INDEX branch_commits_line ON branch_commits (project_id, branch, position) WHERE position IS NOT NULL;
