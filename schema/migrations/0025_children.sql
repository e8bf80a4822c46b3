-- Has a commit children? Whoever adds one that nobody has told of asks, and does not read the whole history for it.
CREATE INDEX commits_of_parents ON commits USING gin (parents);
