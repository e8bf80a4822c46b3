#!/usr/bin/env bash
# Takes the screenshots of the README and the documentation again (docs/img/*.png), from a new
# demonstration. Needs what deploy/install.sh test installs (Chromium) and a build with tests, whose
# packages of the browser it uses.
#   --port N   the port of the dashboard meanwhile (default 7431)
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
port=7431
while [ $# -gt 0 ]; do
    case "$1" in
    --port)
        [ $# -ge 2 ] || { echo "screenshots.sh: --port: expected a number" >&2; exit 2; }
        port=$2
        shift
        ;;
    -h | --help)
        sed -n '2,5s/^# \{0,1\}//p' "$0"
        exit 0
        ;;
    *)
        echo "screenshots.sh: unknown option $1; expected --port N" >&2
        exit 2
        ;;
    esac
    shift
done
modules=$root/build/release/web/work/node_modules
[ -d "$modules/playwright-core" ] || {
    echo "screenshots.sh: $modules has no playwright-core; run ./deploy/test.sh once, it fetches it" >&2
    exit 1
}
data=$(mktemp -d)
stop() {
    "$root/build/release/bin/perfci" down --data "$data/service" >/dev/null 2>&1 || true
    rm -rf "$data"
}
trap stop EXIT
"$root/deploy/quickstart.sh" --no-install --port "$port" --data "$data/service" | tee "$data/facts"
dashboard=$(sed -n 's/^dashboard: //p' "$data/facts")
planted=$(sed -n 's/^planted commit: //p' "$data/facts")
PERFCI_WEB_MODULES=$modules node "$root/deploy/dev/screenshots.mjs" "$dashboard" "$planted" "$root/docs/img"
