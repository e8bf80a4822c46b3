#!/bin/sh
# cached_cc.sh CACHE ARGUMENT...: cc, with object files kept in CACHE by the preprocessed source and the arguments.
# For live studies on machines without ccache: most commits change few of the sources.
cache=$1
shift
compile= source= out=
left=$#
while [ "$left" -gt 0 ]; do # takes -o NAME out of the arguments
    word=$1
    shift
    left=$((left - 1))
    if [ "$word" = -o ]; then
        out=$1
        shift
        left=$((left - 1))
        continue
    fi
    case $word in
    -c) compile=yes ;;
    *.c) source=${word##*/} ;;
    esac
    set -- "$@" "$word"
done
[ -n "$compile" ] || exec cc "$@" ${out:+-o "$out"}
out=${out:-${source%.c}.o}
text=$cache/$$.i
if ! cc "$@" -E -o "$text" 2>/dev/null; then
    rm -f "$text"
    exec cc "$@" -o "$out"
fi
key=$({ printf '%s\n' "$@" && cat "$text"; } | sha256sum)
rm "$text"
kept=$cache/${key%% *}.o
if [ -e "$kept" ]; then
    cp "$kept" "$out"
else
    cc "$@" -o "$out" || exit
    cp "$out" "$kept.$$" && mv "$kept.$$" "$kept"
fi
