/*
 * The sources that a program was built from, read from the files that builds write:
 * compile_commands.json, the compiler's depfiles, ninja's log of dependencies, the linker's map,
 * and the program itself.
 *
 * Bytes in, names out: no I/O, thread-safe. All input was written by the measured repository's own
 * build and is not trusted: names are cut at PFC_OBJECTS_NAME, a malformed document is an error,
 * and the caller must check that the names lie in the folders it expects.
 *
 * Formats: the JSON compilation database of Clang; rules as `cc -MD` and cargo write them (make's,
 * with its escapes); .ninja_deps of version 3 and 4 (ninja's src/deps_log.h); maps of GNU ld, gold,
 * mold and lld, of which nothing but the names of objects is read; ELF of 64 bits, little-endian.
 */
#ifndef PFC_CORE_OBJECTS_OBJECTS_H
#define PFC_CORE_OBJECTS_OBJECTS_H

#include "core/base/err.h"
#include "core/base/hash.h"

#define PFC_OBJECTS_NAME      4096     /* bytes of a name, with the terminator */
#define PFC_OBJECTS_MAX_BYTES 67108864 /* of one document: 64 MiB */

/**
 * Hears of one file.
 *
 * object  what was made of it, as the document names it; "" when it does not say
 * file    the name; relative to `dir`, if not absolute
 * dir     the folder in which the compiler ran; "" when the document does not say
 *
 * All three belong to the caller and live for the call.
 */
typedef void (*pfc_objects_sink)(void *arg, const char *object, const char *file, const char *dir);

/** compile_commands.json. PFC_EINVAL with the entry. */
pfc_code pfc_objects_commands(const char *text, size_t len, pfc_objects_sink sink, void *arg,
                              pfc_err *err) PFC_MUSTCHECK;
/** A depfile: each prerequisite of each rule, with the rule's first target. Anything is one; of
 * what is none the names are of no file. */
void pfc_objects_depfile(const char *text, size_t len, pfc_objects_sink sink, void *arg);
/** .ninja_deps; names are relative to its folder. PFC_EINVAL when it is none, or of another
 * version; a torn end, as a killed ninja leaves it, is fine. */
pfc_code pfc_objects_ninja_deps(const char *bytes, size_t len, pfc_objects_sink sink, void *arg,
                                pfc_err *err) PFC_MUSTCHECK;
/** A linker's map: the name, without folders, of each object that it put in, in `object`. */
void pfc_objects_link_map(const char *text, size_t len, pfc_objects_sink sink, void *arg);
/** Does it begin as a linker's map does? */
bool pfc_objects_is_link_map(const char *text, size_t len);

/** Begins as an ELF program or shared library does (no object, no core). */
bool pfc_objects_is_program(const char *bytes, size_t len);
/**
 * SHA-256 over all that a program brings into memory: code, constants, data, each section with its
 * name, flags and size. Left out are notes (the build's id) and what is not loaded (names, debug
 * data). Each occurrence of `root`, the folder of the build, is hashed as spaces of its length, so
 * that two checkouts of equal code have equal hashes.
 *
 * PFC_EINVAL when it is not such a program or its headers are inconsistent.
 */
pfc_code pfc_objects_code_hash(const char *bytes, size_t len, const char *root,
                               char out[PFC_SHA256_HEX], pfc_err *err) PFC_MUSTCHECK;

#endif
