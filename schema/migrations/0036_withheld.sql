-- Why a change has no alert: decided where the alert would have been opened, and read by everyone the same way.
-- withheld_detail: the numbers of the sentence. NULL: it has an alert, or is not judged with the others yet.
-- evidence: of sessions, {"kind": "blocks", "session", "against", ...}; NULL: seen by the detector alone.
-- went_away: how often a firm change disappeared again at this place.
ALTER TABLE change_points
    ADD COLUMN withheld text CHECK (withheld IN ('improvement', 'margin', 'fdr', 'not_firm', 'needs_blocks',
                                                 'identical', 'gone', 'budget', 'rule_off', 'machine')),
    ADD COLUMN withheld_detail jsonb,
    ADD COLUMN evidence jsonb,
    ADD COLUMN went_away int NOT NULL DEFAULT 0;

-- Machines that measure a series at two speeds: its changes go away and come back at the same place.
ALTER TABLE series ADD COLUMN two_speeds text[] NOT NULL DEFAULT '{}';

-- Globs of files that the programs read while they run: equal object code says nothing of a commit that
-- touches one of them.
ALTER TABLE benchmark_sources ADD COLUMN runtime text[] NOT NULL DEFAULT '{}';
