-- A measurement is stored when its transaction began, unless the statement gives another time.
ALTER TABLE measurements ALTER COLUMN stored_at SET DEFAULT now();
