-- name: replica_lag
-- Seconds behind the primary: 0 on a primary; NULL: a standby without a connection to a primary.
-- out: lag_s f64
SELECT CASE WHEN NOT pg_is_in_recovery() THEN 0
            WHEN NOT EXISTS (SELECT 1 FROM pg_stat_wal_receiver WHERE pid IS NOT NULL) THEN NULL
            WHEN pg_last_wal_receive_lsn() = pg_last_wal_replay_lsn() THEN 0
            ELSE extract(epoch FROM clock_timestamp() - pg_last_xact_replay_timestamp())::float8
       END AS lag_s;

-- name: standbys_unsynced
-- Standbys that a commit does not wait for, because synchronous_standby_names is empty: a fail-over to one of them may
-- take results that were acknowledged. state NULL: the role may not read it.
-- also: once
-- value: standbys i64
SELECT count(*) AS standbys FROM pg_stat_replication
WHERE current_setting('synchronous_standby_names') = '' AND NOT pg_is_in_recovery() AND (state IS NULL OR state <> 'backup')
  AND coalesce(application_name, '') <> 'pg_receivewal';
