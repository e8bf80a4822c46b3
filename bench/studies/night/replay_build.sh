#!/bin/sh
# replay_build.sh CACHE: builds the made repository of the working folder for a replayed study, which does not run it.
# Each text of a source, with kernels.h, is compiled once a study; CACHE keeps the object files. Not optimized, and linked
# without the C library, which is four times as fast: equal sources still give equal code, and changed ones another one.
set -e
cache=$1
sha256sum kernels.h *.c | {
    read -r header _
    objects=
    while read -r source name; do
        object=$cache/${name%.c}-$source-$header.o
        if [ ! -e "$object" ]; then
            cc -O0 -std=gnu11 -pipe -c -o "$object.$$" "$name"
            mv "$object.$$" "$object"
        fi
        objects="$objects $object"
    done
    ld -e main --unresolved-symbols=ignore-all -o kernels $objects
}
