#!/usr/bin/env bash
# What boot.sh runs beside the systemd that it started: the service as docs/how-to/install.md sets it up, then its units' promises.
set -euo pipefail

fail() {
    echo "  FAILED: $1"
    systemctl status --no-pager -n 0 perfci-server perfci-runner || true
    journalctl --no-pager -o cat -u perfci-server -u perfci-runner -u perfci-sandbox -u perfci-delegated | tail -n 40
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
perfci project create kernels --branch main --repo-url /srv/kernels >/dev/null || fail "the first token does not work"
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

# A job: its source belongs to the runner's user, because git reads no repository of another.
make_repository() { # make_repository MEASURE : a commit in /srv/kernels
    install -d -o perfci-runner -g perfci-runner /srv/kernels
    printf '%s\n' 'project: kernels' 'branch: main' 'measure: exec sh ./measure.sh' 'metric: time_ns' 'unit: ns' 'better: lower' >/srv/kernels/perfci.yaml
    printf '%s\n' "$1" >/srv/kernels/measure.sh
    chown -R perfci-runner: /srv/kernels
    runuser -u perfci-runner -- env HOME=/srv/kernels sh -c "cd /srv/kernels && git init -q -b main . && git add -A && git -c user.name=A -c user.email=a@b commit -q -m change && git rev-parse HEAD"
}
post_job() { # post_job COMMIT : its number
    curl -fsS -H "Authorization: Bearer $(cat "$PERFCI_TOKEN_FILE")" -H 'Content-Type: application/json' http://127.0.0.1:7420/api/v1/jobs \
        -d "{\"project\": \"kernels\", \"kind\": \"measure\", \"commit\": \"$1\", \"branch\": \"main\"}" | sed -n 's/.*"id": *\([0-9]*\).*/\1/p'
}
job() { curl -fsS -H "Authorization: Bearer $(cat "$PERFCI_TOKEN_FILE")" "http://127.0.0.1:7420/api/v1/jobs/$1"; }
is() { job "$1" | grep -Eq "\"state\": ?\"$2\""; }
pid_of() { systemctl show --value -p MainPID "$1"; }
# In the sandbox: no network but its own loopback, no service's socket, no token, no process of the machine.
commit=$(make_repository 'test "$(cat /proc/1/comm)" = bwrap && test ! -e /run/perfci && test ! -e /run/credentials && test ! -e /var/lib/perfci-runner/spool || exit 1
test "$(tail -n +3 /proc/net/dev | wc -l)" = 1 || exit 1
echo 2.5')
number=$(post_job "$commit")
until_true "job $number is over" sh -c "! curl -fsS -H 'Authorization: Bearer $(cat $PERFCI_TOKEN_FILE)' http://127.0.0.1:7420/api/v1/jobs/$number | grep -Eq '\"state\": ?\"(queued|leased)\"'"
is "$number" done || fail "job $number: $(job "$number")"
! job "$number" | grep -Eq '"unsandboxed": ?true' || fail "job $number ran without isolation"
[ "$(pid_of perfci-sandbox)" != 0 ] || fail "perfci-sandbox did not start the commands"
[ "$(readlink "/proc/$(pid_of perfci-sandbox)/ns/net")" != "$(readlink "/proc/$(pid_of perfci-runner)/ns/net")" ] || fail "perfci-sandbox has the network"
for unit in perfci-runner perfci-sandbox; do
    [ "$(stat -c %U "/proc/$(pid_of $unit)")" = perfci-runner ] || fail "$unit runs as another user"
    grep -Eq '^CapBnd:\s0+$' "/proc/$(pid_of $unit)/status" || fail "$unit has capabilities"
done
[ -n "$(ls -A /var/lib/perfci-runner/spool)" ] || fail "the runner has no spool"
found=$(nsenter -t "$(pid_of perfci-sandbox)" -m -- find -L /var/lib/perfci-runner/spool /run/credentials -mindepth 1 2>/dev/null || true)
[ -z "$found" ] || fail "perfci-sandbox sees the spool or the token: $found"
echo "  a job was measured by both units: $(systemd-analyze security --no-pager perfci-runner | tail -n 1 | sed 's/^[^O]*//'), $(
    systemd-analyze security --no-pager perfci-sandbox | tail -n 1 | sed 's/^[^O]*//')"

# Limits of a control group: with Delegate=yes the runner makes one for each command, where the system has the controllers.
if grep -qw memory /sys/fs/cgroup/cgroup.controllers && grep -qw pids /sys/fs/cgroup/cgroup.controllers; then
    systemctl stop perfci-runner
    commit=$(make_repository 'head -c 200000000 /dev/zero >/tmp/big; echo 2.5')
    number=$(post_job "$commit")
    systemd-run --quiet --unit=perfci-delegated -p Delegate=yes -p User=perfci-runner -p StateDirectory=perfci-delegated \
        -p LoadCredential=token:/etc/perfci/runner-token -E PERFCI_URL=http://127.0.0.1:7420 -E PERFCI_MEMORY_LIMIT=64M -E HOME=/var/lib/perfci-delegated -- \
        /bin/sh -c 'exec perfci-runner --once --token-file "$CREDENTIALS_DIRECTORY/token" --work /var/lib/perfci-delegated --sandbox require --poll 5'
    until_true "job $number failed" is "$number" failed
    journalctl --no-pager -o cat -u perfci-delegated | grep -q 'cgroup v2: memory, processes, kill' || fail "no controllers for the runner"
    job "$number" | grep -q 'PERFCI_MEMORY_LIMIT' || fail "job $number: $(job "$number")"
    journalctl --no-pager -k -o cat | grep -q 'constraint=CONSTRAINT_MEMCG.*perfci-job-' || fail "the kernel did not hold the limit of memory"
    echo "  in control groups of its own: $(journalctl --no-pager -k -o cat | grep -o 'CONSTRAINT_MEMCG.*task_memcg=[^,]*' | tail -n 1)"
    until_true "the runner has ended" sh -c '! systemctl is-active --quiet perfci-delegated'
    [ -z "$(find /sys/fs/cgroup -name 'perfci-job-*')" ] || fail "control groups are left"
    systemctl start perfci-runner
else
    echo "  not available: memory and processes of control groups (the controllers are cgroup v1's here)"
fi

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
systemctl stop perfci-server.socket perfci-server-ops.socket perfci-runner perfci-sandbox.socket perfci-server
[ "$(of Result)" = success ] || fail "it ended as $(of Result)"
! journalctl --no-pager | grep -Eq 'SIGSYS|code=killed, (status=)?31' || fail "a system call was punished"
