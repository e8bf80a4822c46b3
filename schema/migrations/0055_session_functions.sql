-- Functions whose number of instructions changed, of a commit of a session against the build before it: the largest
-- change (place 0) first. Instructions in the function itself; 0: it was not called.
CREATE TABLE session_functions (
    project_id bigint NOT NULL,
    session_id text NOT NULL,
    commit_id  bigint NOT NULL,
    place      int NOT NULL,
    name       text NOT NULL,
    before     bigint NOT NULL CHECK (before >= 0),
    after      bigint NOT NULL CHECK (after >= 0),
    PRIMARY KEY (project_id, session_id, commit_id, place),
    FOREIGN KEY (project_id, session_id, commit_id) REFERENCES session_commits (project_id, session_id, commit_id)
);
