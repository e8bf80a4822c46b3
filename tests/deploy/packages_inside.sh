#!/usr/bin/env bash
# Inside the bare Debian that packages.sh made. usage: packages_inside.sh DEBS, with DEBS/new and DEBS/old
set -euo pipefail
debs=$1
export DEBIAN_FRONTEND=noninteractive
commands=0

fail() {
    echo "packages: FAILED: $1" >&2
    exit 1
}

step() {
    echo "packages: $1"
}

# A command of the person who installs, counted.
typed() {
    commands=$((commands + 1))
    echo "packages: command $commands: $*"
    "$@"
}

apt-get -qq update
[ -z "$(type -P perfci)" ] || fail "perfci is installed already"

# ---- from apt to a verdict on a repository of its own ----
# It has a benchmark in Perl, which the bare system brings, and no file of perfci. Its last commit does more work.
repository=/root/kernels
apt-get -qq install -y git >/dev/null
mkdir "$repository"
cd "$repository"
git init -q -b main
git config user.name test
git config user.email test@example.org
bench() {
    cat >bench.pl <<END
use Time::HiRes qw(time);
my \$begun = time;
my \$sum = 0;
for my \$i (1 .. $1) { \$sum += \$i * \$i % 7 }
printf "{\"loop\": {\"latency\": {\"value\": %.0f}}}\n", 1e9 * (time - \$begun);
END
    git add bench.pl
    git commit -qm "$2"
}
bench 200000 "a loop"
bench 400000 "more work"
cd "$debs/new"
typed apt-get -qq install -y ./perfci*.deb >/root/apt.log 2>&1 || { tail -n 20 /root/apt.log >&2; fail "apt-get install"; }
typed cd "$repository"
status=0
typed perfci compare --measure 'perl bench.pl' HEAD~1 HEAD || status=$?
[ "$status" -eq 1 ] || fail "expected the verdict regression (status 1), got status $status"
[ "$commands" -le 5 ] || fail "expected at most 5 commands, got $commands"
echo "packages: a verdict after $commands commands"

# ---- what the packages bring ----
step "contents"
for program in perfci perfci-bench perfci-server perfci-runner; do
    "$program" --version | grep -q '[0-9]' || fail "$program --version"
done
getent passwd perfci-server perfci-runner >/dev/null || fail "the users of the services are missing"
[ -f /etc/perfci/server.env ] || fail "/etc/perfci/server.env is missing"
apt-get -qq install -y "$debs"/new/*.deb >/root/apt.log 2>&1 || { tail -n 20 /root/apt.log >&2; fail "install of all packages"; }
python3 -c 'import perfci; assert [c.index for c in perfci.detect([1.0] * 20 + [1.2] * 20)] == [20]' || fail "python3-perfci"
grep -q '^perfci_pytest' /usr/lib/python3/dist-packages/perfci-*.dist-info/top_level.txt || fail "entry of the pytest plugin"

# ---- purge leaves nothing ----
purge() {
    dpkg --purge python3-perfci libperfci-dev libperfci1 perfci perfci-runner perfci-server >/root/dpkg.log 2>&1 ||
        { cat /root/dpkg.log >&2; fail "purge"; }
    for path in /etc/perfci /var/lib/perfci /var/lib/perfci-runner /usr/bin/perfci /usr/share/doc/perfci; do
        [ ! -e "$path" ] || fail "after the purge there is still $path: $(ls -A "$path")"
    done
    ! dpkg-query -W -f '${Package} ${db:Status-Status}\n' '*perfci*' 2>/dev/null | grep -qv ' not-installed' || fail "a package is left"
}
step "purge"
purge

# ---- upgrade with data ----
step "install the previous version, with data"
apt-get -qq install -y "$debs"/old/*.deb >/root/apt.log 2>&1 || { tail -n 20 /root/apt.log >&2; fail "install of the previous version"; }
previous=$(dpkg-query -W -f '${Version}' perfci)
echo 'PERFCI_WORKERS=3' >>/etc/perfci/server.env
echo 'host=/run/postgresql dbname=perfci' >/etc/perfci/database-url
install -d /var/lib/perfci /var/lib/perfci-runner
echo kept >/var/lib/perfci/state
cd "$repository"
perfci up --detach --port 0 >/root/up.log 2>&1 || { cat /root/up.log >&2; fail "perfci up of the previous version"; }
perfci project create kernels --branch main >/dev/null
perfci run --repeats 3 --out /root/run.json -- perl bench.pl >/dev/null 2>&1 || fail "perfci run"
perfci push --project kernels /root/run.json >/root/push.log 2>&1 || { cat /root/push.log >&2; fail "perfci push"; }
before=$(perfci series --project kernels --json | grep -c '"loop"')
[ "$before" -ge 1 ] || fail "the series is missing before the upgrade"
perfci down >/dev/null 2>&1
step "upgrade from $previous"
apt-get -qq install -y "$debs"/new/*.deb >/root/apt.log 2>&1 || { tail -n 20 /root/apt.log >&2; fail "upgrade"; }
dpkg --compare-versions "$(dpkg-query -W -f '${Version}' perfci)" gt "$previous" || fail "the version did not grow"
grep -q '^PERFCI_WORKERS=3$' /etc/perfci/server.env || fail "the settings were replaced"
[ "$(cat /var/lib/perfci/state)" = kept ] || fail "the state was not kept"
perfci up --detach --port 0 >/root/up.log 2>&1 || { cat /root/up.log >&2; fail "perfci up after the upgrade"; }
[ "$(perfci series --project kernels --json | grep -c '"loop"')" -eq "$before" ] || fail "the series did not survive the upgrade"
perfci down >/dev/null 2>&1
step "purge"
purge
[ -d /root/.local/share/perfci ] || fail "a user's own data folder was removed"
echo "packages: passed"
