-- Whether a commit has children: an insert of a commit that no client has posted checks this by index.
CREATE INDEX commits_of_parents ON commits USING gin (parents);
