-- The roofline: what one execution of a benchmark has to do, and the highest rates of the machine, both as the run
-- document states them. Beside each result: a benchmark whose operations were counted wrongly may change them under its
-- name, and older results keep theirs.

-- Arithmetic operations, and least memory traffic in bytes. NULL: not stated.
ALTER TABLE measurements ADD COLUMN operations float8, ADD COLUMN bytes float8;
ALTER TABLE quarantined_measurements ADD COLUMN operations float8, ADD COLUMN bytes float8;

-- The member of the document (schema/json/run.schema.json). NULL: it has none.
ALTER TABLE run_parts ADD COLUMN ceilings jsonb;
CREATE INDEX run_parts_ceilings ON run_parts (project_id, run_id) WHERE ceilings IS NOT NULL;

-- The measurement that is kept of a day keeps its operations and bytes.
DO $$
DECLARE
    old    text := pg_get_functiondef('retention_apply(date, boolean)'::regprocedure);
    before text := 'extra, visit_blocks, visit_positions';
BEGIN
    IF strpos(old, before) = 0 THEN
        RAISE EXCEPTION 'retention_apply is not the one of migration 0037';
    END IF;
    EXECUTE replace(old, before, before || ', operations, bytes');
END $$;
