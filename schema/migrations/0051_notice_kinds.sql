-- Notices of an alert group that was opened (regression, or infrastructure when a machine explains it) and of one
-- whose last open alert recovered.
ALTER TABLE notices DROP CONSTRAINT notices_kind_check;
ALTER TABLE notices ADD CONSTRAINT notices_kind_check CHECK (kind IN ('culprit_confirmed', 'toolchain',
    'harness', 'regression', 'infrastructure', 'recovered'));
