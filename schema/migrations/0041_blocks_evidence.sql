-- Series that sessions measure in blocks: there a change that only single measurements show waits for blocks of its
-- two sides. Set when the first session of the series is judged.
ALTER TABLE series ADD COLUMN in_blocks boolean NOT NULL DEFAULT false;
