#!/usr/bin/env bash
# Inside the bare Debian that packages.sh made. usage: packages_inside.sh DEBS, with DEBS/new and DEBS/old
set -euo pipefail
debs=$1
export DEBIAN_FRONTEND=noninteractive

fail() {
    echo "packages: FAILED: $1" >&2
    exit 1
}

step() {
    echo "packages: $1"
}

# Leaves nothing of what is installed of the packages.
purge() {
    local installed
    mapfile -t installed < <(dpkg-query -W -f '${db:Status-Status} ${Package}\n' '*perfci*' | sed -n 's/^installed //p')
    dpkg --purge "${installed[@]}" >/root/dpkg.log 2>&1 ||
        { cat /root/dpkg.log >&2; fail "purge"; }
    for path in /etc/perfci /var/lib/perfci /var/lib/perfci-runner /usr/bin/perfci /usr/share/doc/perfci; do
        [ ! -e "$path" ] || fail "after the purge there is still $path: $(ls -A "$path")"
    done
    ! dpkg-query -W -f '${Package} ${db:Status-Status}\n' '*perfci*' 2>/dev/null | grep -qv ' not-installed' || fail "a package is left"
}

apt-get -qq update
[ -z "$(type -P perfci)" ] || fail "perfci is installed already"

# ---- from apt to a verdict: the commands of docs/how-to/packages.md, typed as they are printed ----
page=/src/perfci/docs/how-to/packages.md
desk=/root/desk # holds the packages, and beside them a user's repository
slow=$(sed -n 's/^text //p' "$debs/own.ids")
export MIX_CLOCK=steps # the repository's clock counts its work, so that no verdict depends on this machine
echo 'APT::Get::Assume-Yes "true";' >/etc/apt/apt.conf.d/99answers # the answer to "Do you want to continue?"
# What this repository needs to be built, with perfci or without it.
apt-get -qq install --no-install-recommends make gcc libc6-dev >/dev/null

# type_section HEADING STATUS : in one shell; the last command must end with STATUS, those before with 0. Its output is in
# /root/typed.log.
type_section() {
    local expected=$2 status commands=() n
    mapfile -t commands < <(/src/perfci/tests/deploy/page_commands.sh "$page" "$1")
    [ ${#commands[@]} -gt 0 ] || fail "the page has no commands under \"$1\""
    [ ${#commands[@]} -le 5 ] || fail "$1: expected at most 5 commands, got ${#commands[@]}"
    rm -rf "$desk"
    mkdir "$desk"
    cp "$debs"/new/*.deb "$desk"
    cp -r "$debs/own/text" "$desk/my-kernels"
    cd "$desk"
    for n in "${!commands[@]}"; do
        # A service of this machine may have the port: its network is not the bare system's own.
        [ "${commands[n]}" != "perfci up --detach" ] || ! (exec 3<>/dev/tcp/127.0.0.1/7420) 2>/dev/null || commands[n]+=" --port 0"
        echo "packages: command $((n + 1)): ${commands[n]}"
        status=0
        eval "${commands[n]}" >/root/typed.log 2>&1 || status=$?
        [ "$((n + 1))" -eq ${#commands[@]} ] || [ "$status" -eq 0 ] ||
            { tail -n 20 /root/typed.log >&2; fail "\"${commands[n]}\" ended with status $status"; }
    done
    cat /root/typed.log
    [ "$status" -eq "$expected" ] || fail "expected the verdict of status $expected, got status $status"
    cd /
    echo "packages: a verdict after ${#commands[@]} commands ($1)"
}

type_section "To the first verdict" 1
grep -Eq "^${slow:0:12} .* slower " /root/typed.log || fail "the verdict does not name the slow commit ${slow:0:12}"
[ "$(grep -Ec ' (slower|faster) ' /root/typed.log)" -eq 1 ] || fail "another commit is named, too"
perfci down --delete >/root/down.log 2>&1 || { cat /root/down.log >&2; fail "perfci down --delete"; }
purge
apt-get -qq autoremove --purge >/dev/null # what came with perfci: the next section begins in a bare system, too
type_section "Without a service" 1
grep -Eq ' regression$' /root/typed.log || fail "the verdict is no regression"
repository=$desk/my-kernels

# ---- what the packages bring ----
step "contents"
apt-get -qq install -y "$debs"/new/*.deb >/root/apt.log 2>&1 || { tail -n 20 /root/apt.log >&2; fail "install of all packages"; }
for program in perfci perfci-bench perfci-server perfci-runner; do
    "$program" --version | grep -q '[0-9]' || fail "$program --version"
done
getent passwd perfci-server perfci-runner >/dev/null || fail "the users of the services are missing"
[ -f /etc/perfci/server.env ] || fail "/etc/perfci/server.env is missing"
python3 -c 'import perfci; assert [c.index for c in perfci.detect([1.0] * 20 + [1.2] * 20)] == [20]' || fail "python3-perfci"
grep -q '^perfci_pytest' /usr/lib/python3/dist-packages/perfci-*.dist-info/top_level.txt || fail "entry of the pytest plugin"

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
perfci run --repeats 3 --out /root/run.json -- make -s bench >/dev/null 2>&1 || fail "perfci run"
perfci push --project kernels /root/run.json >/root/push.log 2>&1 || { cat /root/push.log >&2; fail "perfci push"; }
before=$(perfci series --project kernels --json | grep -c '"BenchmarkMix')
[ "$before" -ge 1 ] || fail "the series is missing before the upgrade"
perfci down >/dev/null 2>&1
step "upgrade from $previous"
apt-get -qq install -y "$debs"/new/*.deb >/root/apt.log 2>&1 || { tail -n 20 /root/apt.log >&2; fail "upgrade"; }
dpkg --compare-versions "$(dpkg-query -W -f '${Version}' perfci)" gt "$previous" || fail "the version did not grow"
grep -q '^PERFCI_WORKERS=3$' /etc/perfci/server.env || fail "the settings were replaced"
[ "$(cat /var/lib/perfci/state)" = kept ] || fail "the state was not kept"
perfci up --detach --port 0 >/root/up.log 2>&1 || { cat /root/up.log >&2; fail "perfci up after the upgrade"; }
[ "$(perfci series --project kernels --json | grep -c '"BenchmarkMix')" -eq "$before" ] || fail "the series did not survive the upgrade"
perfci down >/dev/null 2>&1
step "purge"
purge
[ -d /root/.local/share/perfci ] || fail "a user's own data folder was removed"
echo "packages: passed"
