-- Bisections over the commits of a pull request, which a comment asked for. comment_id: of that comment; its answer says
-- how the bisection goes. said: what the answer says so far; "running" before the bisection is decided, "checking" while
-- its culprit is verified, "ended" when nothing follows.
CREATE TABLE pull_bisections (
    project_id   bigint NOT NULL,
    bisection_id bigint NOT NULL,
    number       bigint NOT NULL,
    comment_id   bigint NOT NULL,
    head_sha     text NOT NULL CHECK (head_sha ~ '^[0-9a-f]{40}$'),
    said         text NOT NULL DEFAULT 'running' CHECK (said IN ('running', 'checking', 'ended')),
    PRIMARY KEY (project_id, bisection_id),
    UNIQUE (project_id, number, comment_id),
    FOREIGN KEY (project_id, number) REFERENCES pulls (project_id, number),
    FOREIGN KEY (project_id, bisection_id) REFERENCES bisections (project_id, id)
);
CREATE INDEX pull_bisections_open ON pull_bisections (project_id, bisection_id) WHERE said <> 'ended';

-- A role of the server changes this table.
DO $$
DECLARE
    old     text := pg_get_functiondef('server_rights(text)'::regprocedure);
    changed text := '''{faults,schedules,nights,forge_links,webhook_deliveries,pulls,';
BEGIN
    IF strpos(old, changed) = 0 THEN
        RAISE EXCEPTION 'server_rights is not the one of migration 0056';
    END IF;
    EXECUTE replace(old, changed, '''{pull_bisections,faults,schedules,nights,forge_links,webhook_deliveries,pulls,');
END $$;
