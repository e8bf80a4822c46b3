-- True: a runner measured the run without isolating the commit's code. Older runs are not known to be, and say false.
ALTER TABLE runs ADD COLUMN unsandboxed boolean NOT NULL DEFAULT false;
