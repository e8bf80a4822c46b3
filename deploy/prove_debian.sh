#!/usr/bin/env bash
# shellcheck shell=bash disable=SC2154
# Proofs in systems made for them, and of the packages: a part of prove.sh, which has the variables and functions.

# port_taken : whether a service of this machine listens on the port of README's first command.
port_taken() { (exec 3<>/dev/tcp/127.0.0.1/7420) 2>/dev/null; }

# Both commands as README prints them; another port if theirs is taken.
prove_distributions() {
    local name port=7420 test=./deploy/test.sh failed=0 out=$logs/distributions
    [ "$quick" -eq 0 ] || test="./deploy/test.sh --fast"
    ! port_taken || port=0
    mkdir -p "$out"
    [ ${#chosen[@]} -gt 0 ] || chosen=("${debians[@]}")
    for name in "${chosen[@]}"; do
        say "distributions: $name, log in $out/$name.log"
        if tests/deploy/bare.sh "$name" "$out" "./deploy/quickstart.sh --port $port" \
            "./build/release/bin/perfci down --delete" "$test" >"$out/$name.log" 2>&1; then
            echo "  $name: $(grep -h '^named commit: ' "$out/$name.log" | tail -n 1), $(grep -h ' tests passed' "$out/$name.log" | tail -n 1)"
        else
            tail -n 40 "$out/$name.log" >&2
            failed=1
        fi
    done
    return "$failed"
}

# bare_available : 77 and the reason where no bare Debian can be made here.
bare_available() {
    local program
    [ "$(id -u)" = 0 ] || {
        echo "  not available: making a bare Debian needs root"
        return 77
    }
    for program in debootstrap unshare; do
        [ -n "$(type -P "$program")" ] || {
            echo "  not available: $program is not installed"
            return 77
        }
    done
}

prove_tutorial() {
    local out=$logs/tutorial port='' lines
    bare_available || return $?
    needs python3 python3 || return 1
    ! port_taken || port=0
    lines=$(python3 tests/deploy/tutorial.py $port) || return 1
    mkdir -p "$out"
    say "tutorial: log in $out/log"
    tests/deploy/bare.sh bookworm "$out" "$lines" >"$out/log" 2>&1 || {
        tail -n 40 "$out/log" >&2
        return 1
    }
    echo "  $(grep -c '^   (status ' "$out/log") lines typed, each ended as the page says"
}

prove_packages() {
    local out=$logs/packages
    mkdir -p "$out"
    say "packages: log in $out/log"
    deploy/debian/build.sh --out "$out/built" >"$out/log" 2>&1 || { tail -n 20 "$out/log" >&2; return 1; }
    # The action and the list of components, by the descriptions that their publishers give.
    mkdir -p "$out/schemas"
    cp tests/deploy/schemas/package.json tests/deploy/schemas/package-lock.json "$out/schemas/"
    deploy/debian/sbom.py --installed >"$out/bom.json"
    { (cd "$out/schemas" && npm ci --ignore-scripts --no-audit --no-fund --loglevel=error) &&
        node tests/deploy/schemas/check.mjs "$out/schemas" deploy/action/action.yml "$out/bom.json"; } >>"$out/log" 2>&1 ||
        { tail -n 20 "$out/log" >&2; return 1; }
    lintian --allow-root --no-cfg --fail-on error "$out"/built/*.deb >>"$out/log" 2>&1 ||
        { grep '^E: ' "$out/log" >&2; return 1; }
    tests/deploy/packages.sh "$out" "$out/built" >>"$out/log" 2>&1 || { tail -n 20 "$out/log" >&2; return 1; }
    grep '^packages: a verdict' "$out/log"
}

prove_reproducible() {
    say "reproducible: logs in $logs/reproducible"
    tests/deploy/reproducible.sh "$logs/reproducible"
}

prove_aarch64() {
    local out=$logs/aarch64
    mkdir -p "$out"
    say "aarch64: log in $out/log"
    tests/deploy/bare.sh bookworm "$out" "dpkg --add-architecture arm64" \
        "apt-get update -qq && apt-get install -y -qq --no-install-recommends cmake ninja-build pkg-config git python3-yaml python3-jsonschema" \
        "./deploy/install.sh cross" \
        "cmake -S . -B build/aarch64 -G Ninja -DCMAKE_TOOLCHAIN_FILE=deploy/cmake/aarch64.cmake -DCMAKE_BUILD_TYPE=Release -DPERFCI_CORE_ONLY=ON" \
        "cmake --build build/aarch64" \
        "ctest --test-dir build/aarch64 --output-on-failure --no-tests=error -j $(nproc)" >"$out/log" 2>&1 || {
        tail -n 40 "$out/log" >&2
        return 1
    }
    echo "  $(grep -h ' tests passed' "$out/log")"
}
