-- A measurement is stored when its transaction began, unless somebody says otherwise.
ALTER TABLE measurements ALTER COLUMN stored_at SET DEFAULT now();
