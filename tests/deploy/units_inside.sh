#!/usr/bin/env bash
# What boot.sh runs beside the systemd that it started: the service as docs/how-to/install.md sets it up, then its units' promises.
set -euo pipefail

fail() {
    echo "  FAILED: $1"
    systemctl status --no-pager -n 0 perfci-server perfci-runner || true
    journalctl --no-pager -o cat -u perfci-server -u perfci-runner | tail -n 20
    exit 1
}
until_true() { # until_true WHAT COMMAND...
    local what=$1
    shift
    for _ in $(seq 1200); do
        ! "$@" >/dev/null 2>&1 || return 0
        sleep 0.1
    done
    fail "never came true: $what"
}
of() { systemctl show --value -p "$1" perfci-server; }
active() { [ "$(of ActiveState)" = active ]; }

until_true "systemd has started" sh -c 'systemctl is-system-running | grep -Eq "running|degraded"'
systemd-sysusers
systemd-tmpfiles --create perfci.conf
systemctl start postgresql
until_true "PostgreSQL answers" runuser -u postgres -- psql -c "SELECT 1"
runuser -u postgres -- createuser --no-login perfci-owner
runuser -u postgres -- createuser perfci-server
runuser -u postgres -- createdb --owner perfci-owner perfci
PERFCI_DATABASE_URL='host=/run/postgresql dbname=perfci' runuser -u postgres -- perfci admin migrate --server-role perfci-server
install -d -m 0755 /etc/perfci
install -m 0600 /dev/null /etc/perfci/database-url
echo 'host=/run/postgresql dbname=perfci user=perfci-server' >/etc/perfci/database-url
install -m 0644 /usr/local/share/doc/perfci/server.env /etc/perfci/server.env

systemctl start perfci-server || fail "it does not start"
active || fail "the unit did not report READY=1"
curl -fsS http://127.0.0.1:7420/readyz >/dev/null || fail "it is not ready when it says so"
[ "$(stat -c %U /proc/"$(of MainPID)")" = perfci-server ] || fail "it runs as another user"
grep -Eq '^CapBnd:\s0+$' /proc/"$(of MainPID)"/status || fail "it has capabilities"
export PERFCI_TOKEN_FILE=/var/lib/perfci/admin.token
perfci project create kernels --branch main >/dev/null || fail "the first token does not work"
echo "  ready, by credential and as its own user: $(systemd-analyze security --no-pager perfci-server | tail -n 1 | sed 's/^[^O]*//')"

sed -i 's/^PERFCI_LOG_LEVEL=.*/PERFCI_LOG_LEVEL=debug/' /etc/perfci/server.env
systemctl reload perfci-server
until_true "a reload" sh -c 'journalctl -o cat -u perfci-server | grep -q "\"event\":\"settings_reloaded\""'
echo "  reloaded"

mkdir -p /run/systemd/system/perfci-server.service.d
printf '[Service]\nWatchdogSec=6s\n' >/run/systemd/system/perfci-server.service.d/soon.conf
systemctl daemon-reload
systemctl restart perfci-server
before=$(of MainPID)
kill -STOP "$before"
until_true "the watchdog" sh -c "[ \$(systemctl show --value -p NRestarts perfci-server) -ge 1 ]"
until_true "it is back" active
[ "$(of MainPID)" != "$before" ] || fail "it is the old one"
rm -r /run/systemd/system/perfci-server.service.d
systemctl daemon-reload
echo "  stopped dead, and started again by the watchdog"

systemctl stop perfci-server
systemctl start perfci-server.socket perfci-server-ops.socket
for port in 7420 7421; do
    systemctl stop perfci-server 2>/dev/null
    [ "$(of ActiveState)" = inactive ] || fail "it did not stop"
    curl -fsS http://127.0.0.1:$port/healthz >/dev/null || fail "port $port does not start it"
    until_true "started by port $port" active
done
echo "  started by a connection to either socket"

(umask 077 && perfci token create --name runner --scope runner --quiet >/etc/perfci/runner-token)
systemctl start perfci-runner
until_true "the runner is registered" sh -c 'curl -fsS http://127.0.0.1:7421/metrics | grep -q "^perfci_runners 1$"'
echo "  the runner is registered"

for _ in 1 2 3 4; do
    (
        while [ ! -e /run/enough ]; do
            curl -s -o /dev/null -w '%{http_code}\n' http://127.0.0.1:7420/healthz || true
        done
    ) &
done >/run/answers
for _ in $(seq 12); do
    systemctl restart perfci-server || fail "a restart"
done
touch /run/enough
wait
[ "$(sort -u /run/answers)" = 200 ] || fail "requests that were not answered: $(sort /run/answers | uniq -c | paste -sd,)"
echo "  12 restarts, all of $(wc -l </run/answers) requests answered"
systemctl stop perfci-server.socket perfci-server-ops.socket perfci-runner perfci-server
[ "$(of Result)" = success ] || fail "it ended as $(of Result)"
! journalctl --no-pager | grep -Eq 'SIGSYS|code=killed, (status=)?31' || fail "a system call was punished"
