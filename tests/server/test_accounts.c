/* The file of accounts at forges: every word of a line, each fault with its line, and no secret in
 * a message. */
#include <stdlib.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/fs.h"
#include "server/bot/accounts.h"

#include "tests/check/check.h"

static char *dir;
static pfc_forge_accounts all;
static pfc_err err;

static char *put(const char *name, const char *text)
{
    char *path = pfc_fs_join(dir, name);

    cr_assert(eq(int, pfc_fs_write_atomic(path, text, strlen(text), 0600, &err), PFC_OK));
    return path;
}

static void setup(void)
{
    cr_assert(eq(int, pfc_fs_temp_dir("accounts", &dir, &err), PFC_OK));
    free(put("secret", "0123456789abcdef\n"));
    free(put("short", "0123456789abcde\n"));
    free(put("token", "token-of-16-bytes\n"));
    free(put("key", "-----BEGIN\nof several lines\n"));
}

static void teardown(void)
{
    pfc_forge_accounts_clear(&all);
    cr_assert(eq(int, pfc_fs_remove_tree(dir, &err), PFC_OK));
    free(dir);
}

TestSuite(accounts, .init = setup, .fini = teardown);

/* @ in the text becomes the folder of the secrets. */
static pfc_code parse(const char *text)
{
    pfc_buf buf;
    pfc_code code;

    pfc_forge_accounts_clear(&all);
    err = (pfc_err){ 0 };
    pfc_buf_init(&buf, 1 << 20);
    for (const char *at = text; *at; at++) {
        if (*at == '@')
            pfc_buf_printf(&buf, "%s/", dir);
        else
            pfc_buf_putc(&buf, *at);
    }
    code = pfc_forge_accounts_parse(pfc_buf_text(&buf), "f", &all, &err);
    pfc_buf_clear(&buf);
    return code;
}

Test(accounts, a_line_is_a_name_and_words)
{
    const pfc_forge_account *a;

    cr_assert(eq(int,
                 parse("# a comment\n\nhub forge=github secret=@secret old-secret=@token "
                       "token=@token\r\n"
                       "app forge=github secret=@secret app=12 key=@key installation=7 \\\n"
                       "  project=kernels\n"
                       "tea forge=gitea url=https://git.example.org/api/v1 token=@token\n"),
                 PFC_OK),
              "%s", err.msg);
    cr_assert(eq(sz, all.len, 3));
    a = &all.items[0];
    cr_expect(eq(str, a->name, "hub"));
    cr_expect(eq(int, a->kind, PFC_FORGE_GITHUB));
    cr_expect(eq(str, a->secret, "0123456789abcdef"));
    cr_expect(eq(str, a->old_secret, "token-of-16-bytes"));
    cr_expect(eq(str, a->token, "token-of-16-bytes"));
    cr_expect(eq(str, a->project, ""));
    cr_expect(eq(ptr, a->url, NULL));
    a = &all.items[1];
    cr_expect(eq(str, a->app_id, "12"));
    cr_expect(eq(str, a->app_key, "-----BEGIN\nof several lines\n")); /* whole, unlike a secret */
    cr_expect(eq(i64, a->installation, 7));
    cr_expect(eq(str, a->project, "kernels"));
    a = &all.items[2];
    cr_expect(eq(int, a->kind, PFC_FORGE_GITEA));
    cr_expect(eq(str, a->url, "https://git.example.org/api/v1"));
    cr_expect(eq(ptr, a->secret, NULL));
}

Test(accounts, each_fault_is_named_with_its_line)
{
    static const struct {
        const char *text, *message;
    } rows[] = {
        { "\n\nHub forge=github secret=@secret",
          "f:3: a line begins with the account's name: [a-z0-9][a-z0-9._-]*" },
        { "a forge=github secret", "f:1: expected NAME WORD=VALUE..., got \"secret\"" },
        { "a forge=github secret=", "f:1: expected NAME WORD=VALUE..., got \"secret=\"" },
        { "a forge=github colour=red",
          "f:1: unknown word \"colour\"; known: forge, secret, old-secret, token, app, key, "
          "installation, url, project" },
        { "a forge=github forge=github", "f:1: expected forge once, got it twice" },
        { "a secret=@secret", "f:1: expected forge=github, forge=gitlab or forge=gitea" },
        { "a forge=sourceforge", "f:1: expected forge=github, forge=gitlab or forge=gitea" },
        { "a forge=github", "f:1: expected a secret of webhooks, a token, or a GitHub App" },
        { "a forge=github secret=@short", "f:1: the secret of webhooks is under 16 bytes" },
        { "a forge=github secret=@secret old-secret=@short",
          "f:1: the secret of webhooks is under 16 bytes" },
        { "a forge=github app=12",
          "f:1: expected both the id of the GitHub App and its key, or neither" },
        { "a forge=github key=@key",
          "f:1: expected both the id of the GitHub App and its key, or neither" },
        { "a forge=github app=12 key=@key token=@token",
          "f:1: a GitHub App has no token, and is an account at GitHub" },
        { "a forge=gitlab app=12 key=@key",
          "f:1: a GitHub App has no token, and is an account at GitHub" },
        { "a forge=github app=12 key=@key installation=0",
          "f:1: installation: expected its number" },
        { "a forge=gitea token=@token",
          "f:1: expected the URL of the API: Gitea has no public server" },
        { "a forge=github token=@token project=No/Slug",
          "f:1: project: expected a project's name" },
        { "a forge=github token=@token\nb forge=github token=@token\na forge=gitlab token=@token",
          "f:3: another account has this name" },
        { "a forge=github token=@token url=http://10.0.0.1",
          "f:1: url: expected https://HOST..., or http to this machine, without user or query" },
        { "a forge=github token=@token url=http://127.0.0.1.example.org",
          "f:1: url: expected https://HOST..., or http to this machine, without user or query" },
        { "a forge=github token=@token url=https://me?x",
          "f:1: url: expected https://HOST..., or http to this machine, without user or query" },
    };

    for (size_t i = 0; i < PFC_ARRAY_LEN(rows); i++) {
        cr_expect(eq(int, parse(rows[i].text), PFC_EINVAL), "%s", rows[i].text);
        cr_expect(eq(str, err.msg, (char *)rows[i].message), "%s", rows[i].text);
    }
    cr_expect(eq(int, parse("a forge=github secret=@none"), PFC_EINVAL));
    cr_expect(eq(int, strncmp(err.msg, "f:1: ", 5), 0), "%s", err.msg);
    cr_expect(eq(int, parse("a forge=github token=@token url=http://[::1]:80/x"), PFC_OK));
    cr_expect(eq(int, parse(""), PFC_OK)); /* the environment may have them */
}

Test(accounts, at_most_64)
{
    pfc_buf text;

    pfc_buf_init(&text, 1 << 20);
    for (int i = 0; i < PFC_FORGE_MAX_ACCOUNTS; i++)
        pfc_buf_printf(&text, "a%d forge=github token=@token\n", i);
    cr_expect(eq(int, parse(pfc_buf_text(&text)), PFC_OK), "%s", err.msg);
    cr_expect(eq(sz, all.len, PFC_FORGE_MAX_ACCOUNTS));
    pfc_buf_puts(&text, "more forge=github token=@token\n");
    cr_expect(eq(int, parse(pfc_buf_text(&text)), PFC_EINVAL));
    cr_expect(eq(str, err.msg, "f:65: expected at most 64 accounts"));
    pfc_buf_clear(&text);
}

/* A project's own account posts for it; a secret alone posts nothing. */
Test(accounts, a_project_has_its_own_else_the_general_one)
{
    cr_assert(eq(int,
                 parse("hooks forge=github secret=@secret project=p\n"
                       "general forge=github token=@token\n"
                       "second forge=github token=@token\n"
                       "own forge=github token=@token project=p\n"
                       "lab forge=gitlab token=@token project=q\n"),
                 PFC_OK),
              "%s", err.msg);
    cr_expect(eq(str, pfc_forge_account_for(&all, PFC_FORGE_GITHUB, "p")->name, "own"));
    cr_expect(eq(str, pfc_forge_account_for(&all, PFC_FORGE_GITHUB, "q")->name, "general"));
    cr_expect(eq(str, pfc_forge_account_for(&all, PFC_FORGE_GITLAB, "q")->name, "lab"));
    cr_expect(eq(ptr, (void *)pfc_forge_account_for(&all, PFC_FORGE_GITLAB, "p"), NULL));
    cr_expect(eq(ptr, (void *)pfc_forge_account_for(&all, PFC_FORGE_GITEA, "p"), NULL));
    cr_expect(eq(str, pfc_forge_account_named(&all, "second")->name, "second"));
    cr_expect(eq(ptr, (void *)pfc_forge_account_named(&all, "third"), NULL));
}
