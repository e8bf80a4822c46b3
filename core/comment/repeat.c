/* The command that makes a comparison again, as words in its document and as a line to be typed. */
#include <string.h>

#include "core/comment/comment.h"

enum { MAX_WORDS = 64 };

/* The flags that a comment prints, each with a value or none. The commands of --measure and --build
 * are the repository's own, as they ran; each is one quoted word, visible in whole before it is
 * typed. */
static const struct {
    const char *flag;
    bool value;
} printed[] = {
    { "--config", true }, { "--suite", true },   { "--filter", true },  { "--backend", true },
    { "--margin", true }, { "--rounds", true },  { "--project", true }, { "--measure", true },
    { "--build", true },  { "--stored", false }, { "--across", false },
};

/* -1: none of them. */
static int flag_of(const char *word)
{
    for (size_t i = 0; i < PFC_ARRAY_LEN(printed); i++)
        if (strcmp(printed[i].flag, word) == 0)
            return printed[i].value;
    return -1;
}

static const char *word_at(const json_t *list, size_t i)
{
    const char *word = json_string_value(json_array_get(list, i));

    return word ? word : "";
}

/* Two sides, then flags; neither side can be mistaken for a flag. */
static bool is_compare(const json_t *list)
{
    return json_array_size(list) >= 4 && json_array_size(list) <= MAX_WORDS &&
           strcmp(word_at(list, 0), "perfci") == 0 && strcmp(word_at(list, 1), "compare") == 0 &&
           word_at(list, 2)[0] != '-' && word_at(list, 3)[0] != '-';
}

bool pfc_cmp_repeat_line(const pfc_cmp *cmp, pfc_buf *out, bool *whole)
{
    json_t *own = NULL;
    const json_t *list = cmp->repeat;
    pfc_buf line;
    bool good;

    *whole = true;
    if (!is_compare(list)) {
        own = json_pack("[s, s, s, s]", "perfci", "compare", cmp->a, cmp->b);
        list = own;
    }
    if (!list)
        return false;
    pfc_buf_init(&line, 8192);
    pfc_buf_puts(&line, "perfci compare");
    for (size_t i = 2; i < json_array_size(list); i++) {
        const int flag = i < 4 ? 0 : flag_of(word_at(list, i));

        if (flag < 0) {
            *whole = false;
            i++;
            continue;
        }
        pfc_buf_putc(&line, ' ');
        pfc_shell_word(&line, word_at(list, i));
        if (flag) {
            pfc_buf_putc(&line, ' ');
            pfc_shell_word(&line, word_at(list, ++i));
        }
    }
    json_decref(own);
    /* A terminal obeys these, and a line without them would be another command. A newline is safe
     * in its quotes. */
    for (const char *p = pfc_buf_text(&line); *p; p++)
        if (((unsigned char)*p < 0x20 && *p != '\n') || *p == 0x7f)
            line.overflow = true;
    good = !line.overflow;
    if (good)
        pfc_buf_puts(out, pfc_buf_text(&line));
    pfc_buf_clear(&line);
    return good;
}
