-- Faults of the installation: a schedule whose night is missed, a runner without contact, series that are no longer
-- measured. Each is announced once, and ends when its cause does.

-- key: what it is about, once among the open ones of its kind. machine: the runner. series: that are not measured. A
-- person who dismisses a fault hides it until its cause has ended.
CREATE TABLE faults (
    project_id       bigint NOT NULL REFERENCES projects (id),
    id               bigint NOT NULL DEFAULT nextval('environment_events_id_seq'),
    kind             text NOT NULL CHECK (kind IN ('missed_night', 'silent_runner', 'stalled_series')),
    key              text NOT NULL,
    text             text NOT NULL,
    branch           text,
    machine_class    text,
    machine          text,
    suite            text,
    series           bigint[] NOT NULL DEFAULT '{}',
    opened_at        timestamptz NOT NULL DEFAULT now(),
    ended_at         timestamptz,
    dismissed_at     timestamptz,
    dismissed_by     text,
    dismissed_reason text NOT NULL DEFAULT '',
    PRIMARY KEY (project_id, id)
);
CREATE UNIQUE INDEX faults_open ON faults (project_id, kind, key) WHERE ended_at IS NULL;

-- A notice is about an alert, with its commit, or about a fault.
ALTER TABLE notices ALTER COLUMN alert_id DROP NOT NULL, ALTER COLUMN sha DROP NOT NULL, ADD COLUMN fault_id bigint,
    ADD CONSTRAINT notices_subject CHECK ((alert_id IS NULL) = (sha IS NULL) AND (alert_id IS NULL) <> (fault_id IS NULL));
CREATE UNIQUE INDEX notices_of_fault ON notices (project_id, fault_id, kind) WHERE fault_id IS NOT NULL;

-- A role of the server changes faults, and deletes old ones.
DO $$
DECLARE
    old     text := pg_get_functiondef('server_rights(text)'::regprocedure);
    changed text := '''{schedules,nights,forge_links,webhook_deliveries,pulls,';
    deleted text := '''{schedules,nights,forge_links,webhook_deliveries,browser_sessions';
BEGIN
    IF strpos(old, changed) = 0 OR strpos(old, deleted) = 0 THEN
        RAISE EXCEPTION 'server_rights is not the one of migration 0054';
    END IF;
    old := replace(old, changed, '''{faults,schedules,nights,forge_links,webhook_deliveries,pulls,');
    EXECUTE replace(old, deleted, '''{faults,schedules,nights,forge_links,webhook_deliveries,browser_sessions');
END $$;
