/*
 * visit DIR COMMAND...: runs the measuring command of a study, and does to its numbers what the
 * study asks for.
 *
 * Files of DIR:
 *   visits       one line of 41 bytes a visit, the commit (PERFCI_COMMIT); appended. Its length is
 *                the position in time
 *   states.bin   doubles, the machine's speed at each position (repeated from the start); absent: 1
 *   names        with trace.bin: names of the metrics, a line each
 *   trace.bin    doubles, a row of these metrics for each position: then the command is not run
 *   factors      with trace.bin: lines "COMMIT F F ...", the cost of that commit for each metric
 *
 * Without trace.bin the command runs, and each number that follows a colon in its output is
 * multiplied. In C because a visit of a replayed study costs little more than this program's start.
 * It takes no time of the night: there the clock is one of visits (clock.c).
 */
#include <ctype.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { COMMIT = 40, LINE = COMMIT + 1, METRICS = 64, OUTPUT = 1 << 20 };

static const char *dir;

static _Noreturn void die(const char *what)
{
    perror(what);
    exit(70);
}

static char *path_of(const char *name)
{
    static char path[4096];

    if (snprintf(path, sizeof(path), "%s/%s", dir, name) >= (int)sizeof(path))
        die("path too long");
    return path;
}

/* The double at `index` of the file, counted round; 1 without the file. */
static double number_at(const char *name, long index, int *absent)
{
    struct stat st;
    double value = 1;
    int fd = open(path_of(name), O_RDONLY | O_CLOEXEC);
    long n;

    *absent = fd < 0;
    if (fd < 0)
        return 1;
    if (fstat(fd, &st) || (n = (long)(st.st_size / (long)sizeof(value))) == 0 ||
        pread(fd, &value, sizeof(value), index % n * (long)sizeof(value)) != sizeof(value))
        die(name);
    close(fd);
    return value;
}

/* Notes the visit; returns its position. */
static long note(const char *commit)
{
    char line[LINE + 1];
    int fd = open(path_of("visits"), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    off_t end;

    snprintf(line, sizeof(line), "%-40.40s\n", commit);
    if (fd < 0 || write(fd, line, LINE) != LINE || (end = lseek(fd, 0, SEEK_CUR)) < LINE)
        die("visits");
    close(fd);
    return (long)(end / LINE) - 1;
}

static int read_names(char names[METRICS][64])
{
    FILE *file = fopen(path_of("names"), "r");
    int n = 0;

    if (!file)
        die("names");
    while (n < METRICS && fscanf(file, "%63s", names[n]) == 1)
        n++;
    fclose(file);
    return n;
}

/* The commit's costs; 1 where the file has no line for it. */
static void read_factors(const char *commit, int n, double *factors)
{
    FILE *file = fopen(path_of("factors"), "r");
    char word[64];
    double value;

    for (int i = 0; i < n; i++)
        factors[i] = 1;
    if (!file)
        die("factors");
    while (fscanf(file, "%63s", word) == 1)
        for (int i = 0; i < n; i++) {
            if (fscanf(file, "%lf", &value) != 1)
                die("factors");
            if (strcmp(word, commit) == 0)
                factors[i] = value;
        }
    fclose(file);
}

static void replay(const char *commit, long position, double state)
{
    char names[METRICS][64];
    double factors[METRICS];
    const int n = read_names(names);
    int absent;

    read_factors(commit, n, factors);
    printf("{\"metrics\": {");
    for (int i = 0; i < n; i++)
        printf("%s\"%s\": %.6f", i ? ", " : "", names[i],
               state * factors[i] * number_at("trace.bin", position * n + i, &absent));
    printf("}}\n");
}

/* Prints `text` with each number behind a colon multiplied. */
static void print_scaled(const char *text, double state)
{
    while (*text) {
        char *end;
        double value;

        putchar(*text);
        if (*text++ != ':')
            continue;
        while (isspace((unsigned char)*text))
            putchar(*text++);
        if (*text != '-' && !isdigit((unsigned char)*text))
            continue;
        value = strtod(text, &end);
        printf("%.10g", value * state);
        text = end;
    }
}

static int run(char **argv, double state)
{
    static char out[OUTPUT + 1];
    size_t len = 0;
    ssize_t n;
    int ends[2], status;
    pid_t child;

    if (pipe(ends) || (child = fork()) < 0)
        die("fork");
    if (child == 0) {
        dup2(ends[1], STDOUT_FILENO);
        close(ends[0]);
        close(ends[1]);
        execvp(argv[0], argv);
        die(argv[0]);
    }
    close(ends[1]);
    while (len < OUTPUT && (n = read(ends[0], out + len, OUTPUT - len)) > 0)
        len += (size_t)n;
    close(ends[0]);
    if (waitpid(child, &status, 0) != child)
        die("waitpid");
    out[len] = '\0';
    if (state == 1)
        fputs(out, stdout);
    else
        print_scaled(out, state);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 71;
}

int main(int argc, char **argv)
{
    const char *commit = getenv("PERFCI_COMMIT");
    int absent;
    double state;
    long position;

    if (argc < 3) {
        fprintf(stderr, "usage: visit DIR COMMAND...\n");
        return 64;
    }
    dir = argv[1];
    position = note(commit ? commit : "");
    state = number_at("states.bin", position, &absent);
    number_at("trace.bin", 0, &absent);
    if (absent)
        return run(argv + 2, state);
    replay(commit ? commit : "", position, state);
    return 0;
}
