-- Commits that only runs have named have no parents, and come in one by one: out of the index of who is whose child, and
-- what others add is found there at once rather than read through at every look.
DROP INDEX commits_of_parents;
CREATE INDEX commits_of_parents ON commits USING gin (parents) WITH (fastupdate = off) WHERE NOT stub;
