-- The commit that an entry of the history named; '': it took the name back. Entries before this version name it in their
-- reason, where a search confirmed it.
ALTER TABLE alert_events ADD COLUMN culprit text CHECK (culprit ~ '^([0-9a-f]{40})?$');
