#!/usr/bin/env bash
# Installs the Debian packages named in deploy/packages/NAME.txt, for each NAME given.
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

missing=()
for package in "${wanted[@]}"; do
    state=$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null || echo absent)
    [ "$state" = installed ] || missing+=("$package")
done
if [ ${#missing[@]} -eq 0 ]; then
    echo "packages: all ${#wanted[@]} are installed"
    exit 0
fi
command -v apt-get >/dev/null || die "apt-get is missing: this script knows Debian 12; install ${missing[*]} by hand"

# The PostgreSQL package would otherwise start a cluster of its own.
if printf '%s\n' "${missing[@]}" | grep -q '^postgresql-15$'; then
    as_root mkdir -p /etc/postgresql-common
    if [ ! -e /etc/postgresql-common/createcluster.conf ]; then
        echo 'create_main_cluster = false' | as_root tee /etc/postgresql-common/createcluster.conf >/dev/null
    fi
fi

echo "packages: installing ${missing[*]}"
as_root env DEBIAN_FRONTEND=noninteractive apt-get update -qq ||
    die "apt-get update failed: check the network and the package sources"
as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \
    "${missing[@]}" >/dev/null || die "apt-get install failed for: ${missing[*]}"

# The tests start a PgBouncer of their own; the package's is not wanted.
if printf '%s\n' "${missing[@]}" | grep -q '^pgbouncer$' && [ -d /run/systemd/system ]; then
    as_root systemctl disable --now pgbouncer >/dev/null 2>&1 ||
        echo "install.sh: the package's own pgbouncer still runs; stop it: systemctl disable --now pgbouncer" >&2
fi
