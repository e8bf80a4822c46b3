-- Issues at the forge, one for an alert group, made on a person's request and then kept equal to the group.
-- forge, repo: the project's link when the issue was asked for. number, url: of the issue; NULL, '': not made yet.
-- state: waiting (to be made), open, closed, gone (deleted at the forge). hash: of what was posted.
-- due_at: when the group is looked at next; NULL: not again. trouble: why the last look failed.
CREATE TABLE group_issues (
    project_id bigint NOT NULL REFERENCES projects (id),
    group_id   bigint NOT NULL,
    forge      text NOT NULL CHECK (forge IN ('github', 'gitlab', 'gitea')),
    repo       text NOT NULL,
    asked_by   text NOT NULL,
    asked_at   timestamptz NOT NULL DEFAULT now(),
    number     bigint,
    url        text NOT NULL DEFAULT '',
    state      text NOT NULL DEFAULT 'waiting' CHECK (state IN ('waiting', 'open', 'closed', 'gone')),
    hash       text,
    due_at     timestamptz DEFAULT now(),
    tries      int NOT NULL DEFAULT 0,
    trouble    text,
    updated_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (project_id, group_id),
    CONSTRAINT group_issues_number CHECK ((number IS NULL) = (state = 'waiting'))
);
CREATE INDEX group_issues_due ON group_issues (due_at) WHERE due_at IS NOT NULL;

-- A role of the server changes this table: into the first of the two lists of rights. It deletes no row of it.
DO $$
DECLARE
    old    text := pg_get_functiondef('server_rights(text)'::regprocedure);
    tables text := 'faults,schedules,nights,forge_links,webhook_deliveries';
BEGIN
    IF (length(old) - length(replace(old, tables, ''))) / length(tables) <> 2 THEN
        RAISE EXCEPTION 'server_rights is not the one of migration 0056';
    END IF;
    EXECUTE overlay(old placing 'group_issues,' from strpos(old, tables) for 0);
END $$;
