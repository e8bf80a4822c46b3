/*
 * Whose repository is it? Git's own rule, applied here: the working tree and the git folder belong
 * to the caller (or, for root under sudo, to who called sudo), or safe.directory lists them.
 *
 * libgit2 1.5 has the rule, too, but not `safe.directory = *`, which containers in CI use, and its
 * words for a refusal name a missing configuration value instead of the owner.
 */
#include <limits.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/parse.h"
#include "core/git/repo_priv.h"

static void user_name(uid_t uid, char *out, size_t cap)
{
    char buf[1024];
    struct passwd entry;
    struct passwd *found = NULL;

    if (getpwuid_r(uid, &entry, buf, sizeof(buf), &found) == 0 && found)
        (void)snprintf(out, cap, "%s (uid %u)", found->pw_name, (unsigned)uid);
    else
        (void)snprintf(out, cap, "uid %u", (unsigned)uid);
}

static bool is_ours(uid_t owner)
{
    const char *sudo = getenv("SUDO_UID");
    int64_t uid = -1;

    if (owner == geteuid())
        return true;
    return geteuid() == 0 && sudo &&
           pfc_parse_i64(sudo, 0, UINT32_MAX - 1, "SUDO_UID", &uid, NULL) == PFC_OK &&
           (uid_t)uid == owner;
}

typedef struct safe_search {
    const char *folder; /* resolved */
    bool safe;          /* out */
} safe_search;

/* Reads one value of safe.directory; an empty one clears the earlier values, as in git. */
static int match_safe(const git_config_entry *entry, void *arg)
{
    safe_search *search = arg;
    size_t len = strlen(entry->value);
    char *real;

    if (len == 0) {
        search->safe = false;
    } else if (strcmp(entry->value, "*") == 0) {
        search->safe = true;
    } else if (len > 2 && strcmp(entry->value + len - 2, "/*") == 0) {
        search->safe = search->safe || strncmp(entry->value, search->folder, len - 1) == 0;
    } else {
        real = realpath(entry->value, NULL);
        search->safe = search->safe || (real && strcmp(real, search->folder) == 0);
        free(real);
    }
    return 0;
}

static bool listed_as_safe(const char *folder)
{
    char *real = realpath(folder, NULL);
    safe_search search = { .folder = real ? real : folder };
    git_config *config = NULL;

    /* The user's and the machine's settings only: a repository cannot call itself safe. */
    if (git_config_open_default(&config) == 0)
        (void)git_config_get_multivar_foreach(config, "safe.directory", NULL, match_safe, &search);
    git_config_free(config);
    free(real);
    return search.safe;
}

pfc_code pfc_git_check_owner(git_repository *git, pfc_err *err)
{
    const char *work = git_repository_workdir(git);
    const char *git_dir = git_repository_commondir(git);
    const char *const paths[] = { work ? work : git_dir, git_dir };
    char owner[160], caller[160];
    struct stat st;

    for (size_t i = 0; i < PFC_ARRAY_LEN(paths); i++) {
        size_t len = strlen(paths[0]);

        if (stat(paths[i], &st) != 0 || is_ours(st.st_uid) || listed_as_safe(paths[0]))
            continue;
        while (len > 1 && paths[0][len - 1] == '/')
            len--;
        user_name(st.st_uid, owner, sizeof(owner));
        user_name(geteuid(), caller, sizeof(caller));
        return pfc_err_set(err, PFC_EDENIED,
                           "%.*s belongs to %s and this process runs as %s; if you trust it: "
                           "git config --global --add safe.directory '%.*s'",
                           (int)len, paths[0], owner, caller, (int)len, paths[0]);
    }
    return PFC_OK;
}
