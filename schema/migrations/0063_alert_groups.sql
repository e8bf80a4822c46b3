-- Every alert is in a group, an alert without companions in one of its own: the group is what a person triages.
-- group_placed: a person has put the alert into its group (split, merge); grouping keeps it there. assignee: the person
-- who works on the group; '': none.
ALTER TABLE alerts ADD COLUMN group_placed boolean NOT NULL DEFAULT false,
                   ADD COLUMN assignee text NOT NULL DEFAULT '' CHECK (length(assignee) <= 200);
-- The summary of an alert that has left its group describes nothing.
UPDATE alerts SET group_summary = '' WHERE group_id IS NULL;
UPDATE alerts SET group_id = nextval('alert_group_ids') WHERE group_id IS NULL;
CREATE INDEX alerts_by_group ON alerts (group_id, id);
DROP INDEX alerts_of_group;
CREATE INDEX alerts_single ON alerts (project_id) WHERE group_id IS NULL;

-- How far triage has come: the state of a group is that of its alert with the lowest rank.
CREATE FUNCTION alert_state_rank(state text) RETURNS int LANGUAGE sql IMMUTABLE AS $$
    SELECT array_position(ARRAY['untriaged', 'acknowledged', 'investigating', 'fixed', 'backed_out', 'verified_fixed',
                                'wont_fix', 'noise', 'infrastructure', 'duplicate'], $1)
$$;
