#!/usr/bin/env bash
# Installs the packages named in deploy/packages/NAME.txt, for each NAME given: on Debian 12 and 13, and on
# Ubuntu 24.04 with its universe. Where a line of a list names several, a|b|c, one of them is enough: the one
# that is installed, else the first that the distribution offers.
# Usage: deploy/install.sh build runtime test
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)

die() {
    echo "install.sh: $*" >&2
    exit 1
}

as_root() {
    if [ "$(id -u)" -eq 0 ]; then
        "$@"
    elif command -v sudo >/dev/null; then
        sudo "$@"
    else
        die "installing packages needs root: run as root, install sudo, or use --no-install"
    fi
}

wanted=()
for list in "$@"; do
    [ -r "$here/packages/$list.txt" ] || die "there is no package list $here/packages/$list.txt"
    while read -r package _; do
        case "$package" in '' | '#'*) continue ;; esac
        wanted+=("$package")
    done <"$here/packages/$list.txt"
done

# A vendor's node brings its own npm and conflicts with Debian's: keep one that is new enough.
node_major=0
if command -v node >/dev/null && command -v npm >/dev/null; then
    node_major=$(node --version | sed 's/^v\([0-9]*\).*/\1/')
fi
[ "$node_major" -ge 18 ] || wanted+=(nodejs npm)

is_installed() {
    [ "$(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null || true)" = installed ]
}

is_offered() {
    [[ $(apt-cache policy "$1" 2>/dev/null) =~ Candidate:\ [^\(] ]]
}

# first TEST A|B|C : the first that passes the test, which is one of the two above.
first() {
    local test=$1 name names
    IFS='|' read -ra names <<<"$2"
    for name in "${names[@]}"; do
        if "$test" "$name"; then
            echo "$name"
            return 0
        fi
    done
    return 1
}

# Which distribution this is: ID, version and full name, a line each.
distribution() (
    ID='' VERSION_ID='' PRETTY_NAME='an unknown system'
    # shellcheck source=/dev/null
    . "${PERFCI_OS_RELEASE:-/etc/os-release}" 2>/dev/null || true
    printf '%s\n' "$ID" "$VERSION_ID" "$PRETTY_NAME"
)
mapfile -t os < <(distribution)
pretty=${os[2]}
case "${os[0]} ${os[1]}" in
"debian 12" | "debian 13" | "ubuntu 24.04") known=1 ;;
*) known=0 ;;
esac

missing=()
for package in "${wanted[@]}"; do
    first is_installed "$package" >/dev/null || missing+=("$package")
done
if [ ${#missing[@]} -eq 0 ]; then
    echo "packages: all ${#wanted[@]} are installed"
    exit 0
fi
tested="perfci is tested on Debian 12, Debian 13 and Ubuntu 24.04, and this is $pretty"
command -v apt-get >/dev/null ||
    die "apt-get is missing: $tested; install what these packages hold by hand: ${missing[*]}"
[ "$known" -eq 1 ] || echo "install.sh: $tested; trying the same package names" >&2

as_root env DEBIAN_FRONTEND=noninteractive apt-get update -qq ||
    die "apt-get update failed: check the network and the package sources"
chosen=()
absent=()
for package in "${missing[@]}"; do
    if name=$(first is_offered "$package"); then
        chosen+=("$name")
    else
        absent+=("$package")
    fi
done
if [ ${#absent[@]} -gt 0 ]; then
    hint="check the package sources"
    [ "${os[0]}" != ubuntu ] || hint="enable universe with \"add-apt-repository universe\""
    [ "$known" -eq 1 ] || hint="$tested"
    die "the package sources of $pretty do not offer: ${absent[*]}
hint: $hint"
fi

# The PostgreSQL package would otherwise start a cluster of its own.
if printf '%s\n' "${chosen[@]}" | grep -q '^postgresql-[0-9]*$'; then
    as_root mkdir -p /etc/postgresql-common
    if [ ! -e /etc/postgresql-common/createcluster.conf ]; then
        echo 'create_main_cluster = false' | as_root tee /etc/postgresql-common/createcluster.conf >/dev/null
    fi
fi

echo "packages: installing ${chosen[*]}"
as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \
    "${chosen[@]}" >/dev/null || die "apt-get install failed for: ${chosen[*]}"

# The tests start services of their own; those of the packages are not wanted.
for service in pgbouncer etcd patroni; do
    printf '%s\n' "${chosen[@]}" | grep -Eq "^$service(-server)?\$" && [ -d /run/systemd/system ] || continue
    as_root systemctl disable --now "$service" >/dev/null 2>&1 ||
        echo "install.sh: the package's own $service still runs; stop it: systemctl disable --now $service" >&2
done
