-- Release tags of commits, as the repository's owner sends them. A drift is compared with the last one.
ALTER TABLE commits ADD COLUMN tags text[] NOT NULL DEFAULT '{}';
CREATE INDEX commits_tagged ON commits (project_id, id) WHERE tags <> '{}';

-- The change since that release, steps taken out; NULL: the series has no tag with enough points around it.
ALTER TABLE change_points
    ADD COLUMN reference_commit_id bigint,
    ADD COLUMN reference_tag text,
    ADD COLUMN reference_rel float8,
    ADD COLUMN reference_low float8,
    ADD COLUMN reference_high float8;
