-- name: replica_lag
-- Seconds behind the primary: 0 on a primary; NULL: a standby without a connection to a primary.
-- out: lag_s f64
SELECT CASE WHEN NOT pg_is_in_recovery() THEN 0
            WHEN NOT EXISTS (SELECT 1 FROM pg_stat_wal_receiver WHERE pid IS NOT NULL) THEN NULL
            WHEN pg_last_wal_receive_lsn() = pg_last_wal_replay_lsn() THEN 0
            ELSE extract(epoch FROM clock_timestamp() - pg_last_xact_replay_timestamp())::float8
       END AS lag_s;
