-- Owners of the benchmarks and files of a project: its own rules, and the CODEOWNERS file of its repository as the newest
-- commit of the project's branch has it (core/owners/owners.h). path and sha: of that file; NULL: none is stored.
CREATE TABLE project_owners (
    project_id bigint PRIMARY KEY REFERENCES projects (id),
    rules      text NOT NULL DEFAULT '',
    codeowners text NOT NULL DEFAULT '',
    path       text,
    sha        text CHECK (sha ~ '^[0-9a-f]{40}$'),
    updated_at timestamptz NOT NULL DEFAULT now()
);

-- owner: names separated by one space; NULL: none is known. owner_due: it is to be found again.
ALTER TABLE alerts ADD COLUMN owner text, ADD COLUMN owner_due boolean NOT NULL DEFAULT false;
ALTER TABLE alerts ALTER COLUMN owner_due SET DEFAULT true;
CREATE INDEX alerts_owner_due ON alerts (project_id, id) WHERE owner_due;

-- A role of the server changes the owners.
DO $$
DECLARE
    old     text := pg_get_functiondef('server_rights(text)'::regprocedure);
    changed text := '''{pull_bisections,faults,schedules,nights,forge_links,webhook_deliveries,pulls,';
BEGIN
    IF strpos(old, changed) = 0 THEN
        RAISE EXCEPTION 'server_rights is not the one of migration 0058';
    END IF;
    EXECUTE replace(old, changed, '''{project_owners,pull_bisections,faults,schedules,nights,forge_links,webhook_deliveries,pulls,');
END $$;
