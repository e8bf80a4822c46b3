/*
 * fuzz_x FOLDER-OR-FILE...: feeds each file to the target, and prefixes of it, so that a small
 * corpus reaches the paths of cut-off input: all up to 120 bytes, then each twice as long as the
 * one before. Each ends at an unreadable page, the whole file begins behind one, too: a target that
 * reads one byte past either end of its input ends here, in every build.
 */
#include <dirent.h>
#include <string.h>
#include <sys/stat.h>

#include "tests/fuzz/fuzz.h"
#include "tests/support/guarded_text.h"

#define INPUT_MAX   (1 << 20)
#define EACH_PREFIX 120

static void feed_end(guard *room, const uint8_t *data, size_t len)
{
    LLVMFuzzerTestOneInput((const uint8_t *)guard_end(room, (const char *)data, len), len);
}

static int feed_file(const char *path)
{
    static uint8_t data[INPUT_MAX];
    FILE *in = fopen(path, "rb");
    if (!in) {
        perror(path);
        return -1;
    }
    size_t size = fread(data, 1, sizeof data, in);
    fclose(in);
    guard room = guard_open(size);
    for (size_t cut = 0; cut < size; cut = cut < EACH_PREFIX ? cut + 1 : 2 * cut)
        feed_end(&room, data, cut);
    feed_end(&room, data, size);
    LLVMFuzzerTestOneInput((const uint8_t *)guard_start(&room, (const char *)data, size), size);
    guard_close(&room);
    return 1;
}

static int feed(const char *path)
{
    struct stat st;
    if (stat(path, &st) != 0) {
        perror(path);
        return -1;
    }
    if (!S_ISDIR(st.st_mode))
        return feed_file(path);
    struct dirent **names = NULL;
    int count = scandir(path, &names, NULL, alphasort);
    int fed = 0;
    for (int i = 0; i < count; i++) {
        char file[4096];
        if (names[i]->d_name[0] != '.' && fed >= 0) {
            snprintf(file, sizeof file, "%s/%s", path, names[i]->d_name);
            int got = feed_file(file);
            fed = got < 0 ? -1 : fed + got;
        }
        free(names[i]);
    }
    free(names);
    return fed;
}

int main(int argc, char **argv)
{
    int fed = 0;
    for (int i = 1; i < argc; i++) {
        int got = feed(argv[i]);
        if (got < 0)
            return 1;
        fed += got;
    }
    printf("%d inputs\n", fed);
    /* An empty corpus would pass without testing anything. */
    return fed > 0 ? 0 : 1;
}
