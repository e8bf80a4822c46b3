/* Hashes the loaded sections of an ELF program. */
#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/objects/objects.h"

enum { MAX_SECTIONS = 4096, LINE_BYTES = 400 };

bool pfc_objects_is_program(const char *bytes, size_t len)
{
    Elf64_Half type;

    if (len < offsetof(Elf64_Ehdr, e_type) + sizeof(type) || memcmp(bytes, ELFMAG, SELFMAG) != 0)
        return false;
    memcpy(&type, bytes + offsetof(Elf64_Ehdr, e_type), sizeof(type));
    return bytes[EI_CLASS] == ELFCLASS64 && bytes[EI_DATA] == ELFDATA2LSB &&
           (type == ET_EXEC || type == ET_DYN);
}

/* A copy in which each occurrence of the build folder is spaces. NULL: there is no occurrence. */
static char *without_root(const char *bytes, size_t len, const char *root)
{
    const size_t n = root ? strlen(root) : 0;
    const char *hit = n > 1 ? memmem(bytes, len, root, n) : NULL;
    char *copy;

    if (!hit)
        return NULL;
    copy = pfc_alloc(len);
    memcpy(copy, bytes, len);
    for (size_t at = (size_t)(hit - bytes);;) {
        memset(copy + at, ' ', n);
        at += n;
        hit = memmem(copy + at, len - at, root, n);
        if (!hit)
            return copy;
        at = (size_t)(hit - copy);
    }
}

typedef struct image {
    const char *bytes;
    size_t len;
    Elf64_Ehdr head;
    Elf64_Shdr names; /* the section that holds the others' names */
} image;

static bool section_at(const image *e, size_t i, Elf64_Shdr *out)
{
    const uint64_t at = e->head.e_shoff + (uint64_t)i * sizeof(*out);

    if (e->head.e_shoff > e->len || at > e->len || e->len - at < sizeof(*out))
        return false;
    memcpy(out, e->bytes + at, sizeof(*out));
    return out->sh_type == SHT_NOBITS ||
           (out->sh_offset <= e->len && out->sh_size <= e->len - out->sh_offset);
}

static const char *name_at(const image *e, uint32_t offset, size_t *len)
{
    const char *name = e->bytes + e->names.sh_offset + offset;

    *len = 0;
    if (offset >= e->names.sh_size)
        return "";
    *len = strnlen(name, (size_t)e->names.sh_size - offset);
    return name;
}

static void add_section(const image *e, const Elf64_Shdr *s, const char *root, pfc_buf *out)
{
    const size_t size = (size_t)s->sh_size;
    char hash[PFC_SHA256_HEX] = "";
    char *copy = NULL;
    size_t name_len;
    const char *name = name_at(e, s->sh_name, &name_len);

    if (!(s->sh_flags & SHF_ALLOC) || s->sh_type == SHT_NOTE)
        return;
    if (s->sh_type != SHT_NOBITS) {
        copy = without_root(e->bytes + s->sh_offset, size, root);
        pfc_sha256_hex(copy ? copy : e->bytes + s->sh_offset, size, hash);
    }
    free(copy);
    pfc_buf_printf(out, "%.*s %u %llu %zu %s\n", (int)PFC_MIN(name_len, (size_t)100), name,
                   s->sh_type, (unsigned long long)s->sh_flags, size, hash);
}

pfc_code pfc_objects_code_hash(const char *bytes, size_t len, const char *root,
                               char out[PFC_SHA256_HEX], pfc_err *err)
{
    image e = { .bytes = bytes, .len = len };
    pfc_buf lines;
    pfc_code code = PFC_OK;

    if (!pfc_objects_is_program(bytes, len) || len < sizeof(e.head))
        return pfc_err_set(err, PFC_EINVAL, "no ELF program of 64 bits");
    memcpy(&e.head, bytes, sizeof(e.head));
    if (e.head.e_shnum == 0 || e.head.e_shnum > MAX_SECTIONS ||
        e.head.e_shentsize != sizeof(Elf64_Shdr) || !section_at(&e, e.head.e_shstrndx, &e.names) ||
        e.names.sh_type != SHT_STRTAB)
        return pfc_err_set(err, PFC_EINVAL, "an ELF program without readable sections");
    pfc_buf_init(&lines, (size_t)MAX_SECTIONS * LINE_BYTES);
    for (size_t i = 0; i < e.head.e_shnum && !code; i++) {
        Elf64_Shdr section;

        if (section_at(&e, i, &section))
            add_section(&e, &section, root, &lines);
        else
            code = pfc_err_set(err, PFC_EINVAL, "an ELF program whose section %zu lies outside", i);
    }
    if (!code && lines.len == 0)
        code = pfc_err_set(err, PFC_EINVAL, "an ELF program that loads nothing");
    if (!code)
        pfc_sha256_hex(lines.data, lines.len, out);
    pfc_buf_clear(&lines);
    return code;
}
