/* Settings and secrets. */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "core/base/config/conf.h"
#include "core/base/fs.h"

#include "tests/check/check.h"

static pfc_code parse(const char *text, pfc_conf *conf, pfc_err *err)
{
    return pfc_conf_parse(text, strlen(text), "perfci.yaml", conf, err);
}

Test(conf, every_key_is_read)
{
    pfc_conf conf = { 0 };
    pfc_err err = { 0 };

    cr_assert(eq(int,
                 parse("# comment\nproject: tiny\nbranch: main\nbuild: |\n  make -s\n  true\n"
                       "measure: ./bench --fast\nmetric: gemm_tflops\nunit: TFLOP/s\n"
                       "better: higher\ntimeout: 5m\nanchor: v1.2\nbudget: 45m\nmargin: 0.02\n"
                       "runtime_files: [tables/*, FAQ]\npaths:\n  - src/*.c\n  - 'a b'\n",
                       &conf, &err),
                 PFC_OK),
              "%s", err.msg);
    cr_assert(eq(str, conf.project, "tiny"));
    cr_assert(eq(str, conf.build, "make -s\ntrue\n"));
    cr_assert(eq(str, conf.measure, "./bench --fast"));
    cr_assert(conf.higher_is_better);
    cr_assert(epsilon_eq(dbl, conf.timeout_s, 300, 1e-9));
    cr_assert(eq(sz, conf.paths_len, 2));
    cr_assert(eq(str, conf.paths[1], "a b"));
    cr_assert(eq(str, conf.anchor, "v1.2"));
    cr_assert(epsilon_eq(dbl, conf.budget_s, 2700, 1e-9));
    cr_assert(epsilon_eq(dbl, conf.margin, 0.02, 1e-12));
    cr_assert(eq(sz, conf.runtime_files_len, 2));
    cr_assert(eq(str, conf.runtime_files[0], "tables/*"));
    cr_assert_null(conf.server);
    pfc_conf_clear(&conf);
}

/* A key of 64 bytes is a word that is not known, a longer one is refused before it is copied. */
Test(conf, keys_are_bounded)
{
    char text[80];
    pfc_conf conf = { 0 };
    pfc_err err = { 0 };

    for (int len = 64; len <= 65; len++) {
        memset(text, 'k', sizeof(text));
        strcpy(text + len, ": x\n");
        cr_assert(eq(int, parse(text, &conf, &err), PFC_EINVAL));
        cr_assert(eq(int, strstr(err.msg, "expected plain words as keys") != NULL, len == 65), "%s",
                  err.msg);
    }
    cr_assert(eq(int, parse("[a]: x\n", &conf, &err), PFC_EINVAL));
    cr_assert(eq(str, err.msg, "perfci.yaml: expected plain words as keys"));
}

Test(conf, rerun_rules_are_read_with_their_limits)
{
    pfc_conf conf = { 0 };
    pfc_err err = { 0 };
    const pfc_rerun_rule *rule;

    cr_assert(eq(int,
                 parse("project: tiny\nrerun:\n  - on: canary\n    times: 2\n    after: 10m\n"
                       "    machine: other\n  - on: [infra, suspected]\n    after: 7d\n"
                       "  - {on: broken, times: 5, after: 0, machine: any}\n",
                       &conf, &err),
                 PFC_OK),
              "%s", err.msg);
    cr_assert(eq(sz, conf.rerun.len, 4));
    rule = pfc_rerun_find(&conf.rerun, PFC_RERUN_CANARY);
    cr_assert(rule && rule->times == 2 && rule->other_machine);
    cr_assert(epsilon_eq(dbl, rule->after_s, 600, 1e-9));
    rule = pfc_rerun_find(&conf.rerun, PFC_RERUN_SUSPECTED);
    cr_assert(rule && rule->times == 1 && !rule->other_machine);
    cr_assert(epsilon_eq(dbl, rule->after_s, 7 * 86400.0, 1e-6));
    rule = pfc_rerun_find(&conf.rerun, PFC_RERUN_BROKEN);
    cr_assert(rule && rule->times == 5 && rule->after_s == 0);
    cr_assert_null(pfc_rerun_find(&conf.rerun, PFC_RERUN_INCONCLUSIVE));
    pfc_conf_clear(&conf);
    cr_assert(eq(int, parse("rerun: []\n", &conf, &err), PFC_OK), "%s", err.msg);
    cr_assert(eq(sz, conf.rerun.len, 0));
    pfc_conf_clear(&conf);
}

Test(conf, the_network_of_builds_is_closed_unless_a_word_opens_it)
{
    static const struct {
        const char *text;
        pfc_build_network found;
    } rows[] = { { "branch: main\n", PFC_BUILD_NETWORK_NONE },
                 { "build_network: none\n", PFC_BUILD_NETWORK_NONE },
                 { "build_network: branches\n", PFC_BUILD_NETWORK_BRANCHES },
                 { "build_network: all\n", PFC_BUILD_NETWORK_ALL } };

    for (size_t i = 0; i < PFC_ARRAY_LEN(rows); i++) {
        pfc_conf conf = { 0 };
        pfc_err err = { 0 };

        cr_assert(eq(int, parse(rows[i].text, &conf, &err), PFC_OK), "%s", err.msg);
        cr_assert(eq(int, conf.build_network, rows[i].found), "%s", rows[i].text);
        pfc_conf_clear(&conf);
    }
}

Test(conf, faults_name_file_line_and_what_was_wanted)
{
    static const struct {
        const char *text;
        const char *part;
    } bad[] = {
        { "project: a\nmeasurement: x\n", "perfci.yaml:2: unknown key \"measurement\"" },
        { "project: Not A Slug\n", "project: expected 1 to 63 of" },
        { "build: [a, b]\n", "build: expected a text" },
        { "paths: gemm.c\n", "paths: expected a list" },
        { "better: faster\n", "expected higher or lower, got \"faster\"" },
        { "timeout: soon\n", "expected a duration" },
        { "build_network: true\n", "expected none, branches or all, got \"true\"" },
        { "build_network: [all]\n", "build_network: expected a text" },
        { "budget: 0m\n", "perfci.yaml:1: budget: expected more than zero" },
        /* Neither is a list of rules; the deeper one never reaches the YAML parser. */
        { "rerun: [[[[[[[[]]]]]]]]\n", "rerun: rule: expected a mapping" },
        { "rerun: [[[[[[[[[]]]]]]]]]\n", "nested deeper than 8 levels" },
        { "rerun: canary\n", "perfci.yaml:1: rerun: expected a list of rules such as" },
        { "rerun:\nbranch: main\n", "perfci.yaml:1: rerun: expected a list of rules" },
        { "rerun:\n  - canary\n", "perfci.yaml:2: rerun: rule: expected a mapping" },
        { "rerun:\n  - times: 2\n", "perfci.yaml:2: rerun: on: expected one or more of" },
        { "rerun:\n  - on: []\n", "perfci.yaml:2: rerun: on: expected one or more of" },
        { "rerun:\n  - on: moon\n", "perfci.yaml:2: rerun: on: expected inconclusive, canary, "
                                    "infra, broken or suspected, got "
                                    "\"moon\"" },
        { "rerun:\n  - on: [canary, canary]\n", "perfci.yaml:2: rerun: on: expected each trigger" },
        { "rerun:\n  - on: canary\n  - on: infra\n  - on: canary\n",
          "perfci.yaml:4: rerun: on: expected each trigger once" },
        { "rerun:\n  - on: infra\n    times: 0\n", "perfci.yaml:3: rerun: times: expected" },
        { "rerun:\n  - on: infra\n    times: 6\n", "perfci.yaml:3: rerun: times: expected" },
        { "rerun:\n  - on: infra\n    times: many\n", "perfci.yaml:3: rerun: times: expected" },
        { "rerun:\n  - on: infra\n    after: soon\n",
          "perfci.yaml:3: rerun: after: expected a duration" },
        { "rerun:\n  - on: infra\n    after: 8d\n",
          "perfci.yaml:3: rerun: after: expected at most 7d, got \"8d\"" },
        { "rerun:\n  - on: infra\n    machine: mine\n",
          "perfci.yaml:3: rerun: machine: expected any or other, got \"mine\"" },
        { "rerun:\n  - on: infra\n    when: now\n",
          "perfci.yaml:3: rerun: unknown key 'when' (known: on, times, after, machine)" },
        { "margin: wide\n", "perfci.yaml:1: margin" },
        { "runtime_files: FAQ\n", "runtime_files: expected a list" },
        { "project: a\ntimeout: 0m\n", "perfci.yaml:2: timeout: expected more than zero" },
        { "- a\n- b\n", "expected a mapping" },
        { "project: 'open\n", "not well-formed" },
        { "x: [[[[[[[[[[1]]]]]]]]]]\n", "nested deeper" },
        { "directions: {a: up}\n", "directions: expected higher or lower" },
        { "directions: [a]\n", "directions: expected a mapping" },
        { "time: maybe\n", "time: expected true or false" },
        { "project: \"a\xff\"\n", "expected UTF-8" },
    };

    for (size_t i = 0; i < PFC_ARRAY_LEN(bad); i++) {
        pfc_conf conf = { 0 };
        pfc_err err = { 0 };

        cr_assert(eq(int, parse(bad[i].text, &conf, &err), PFC_EINVAL), "%s", bad[i].text);
        cr_assert_not_null(strstr(err.msg, bad[i].part), "%s", err.msg);
    }
}

Test(conf, directions_and_time_are_read)
{
    pfc_conf conf = { 0 };
    pfc_err err = { 0 };

    cr_assert(eq(int,
                 parse("directions: {score: higher, \"a b\": lower}\ntime: true\n", &conf, &err),
                 PFC_OK),
              "%s", err.msg);
    cr_assert(eq(sz, conf.directions_len, 2));
    cr_assert(eq(str, (char *)conf.directions[0].name, "score"));
    cr_assert(conf.directions[0].higher);
    cr_assert(not(conf.directions[1].higher));
    cr_assert(conf.time);
    cr_assert(not(conf.has_better));
    pfc_conf_clear(&conf);
}

Test(conf, an_endless_file_is_refused_before_it_is_parsed)
{
    size_t len = PFC_CONF_MAX_BYTES + 1;
    char *text = pfc_calloc(1, len);
    pfc_conf conf = { 0 };
    pfc_err err = { 0 };

    memset(text, '#', len);
    cr_assert(eq(int, pfc_conf_parse(text, len, "big", &conf, &err), PFC_ETOOBIG));
    free(text);
}

/* The count of open brackets never goes below zero: closing ones are no credit for later. */
Test(conf, closing_brackets_without_an_opening_one_are_no_credit)
{
    char text[600];
    pfc_conf conf = { 0 };
    pfc_err err = { 0 };

    memset(text, ']', 300);
    memset(text + 300, '[', 100);
    memset(text + 400, ']', 100);
    memcpy(text, "project: \"", 10);
    memcpy(text + 500, "\"\n", 3);
    cr_assert(eq(int, parse(text, &conf, &err), PFC_EINVAL));
    cr_assert(ne(ptr, strstr(err.msg, "nested"), NULL), "%s", err.msg);
}

Test(conf, an_empty_file_sets_nothing)
{
    static const char *const texts[] = {
        "", "\n", " \t\r\n", "# only a comment\n", "\n # one\n\t# two", "---\n"
    };

    for (size_t i = 0; i < PFC_ARRAY_LEN(texts); i++) {
        pfc_conf conf = { 0 };
        pfc_err err = { 0 };

        cr_assert(eq(int, parse(texts[i], &conf, &err), PFC_OK), "\"%s\": %s", texts[i], err.msg);
        cr_assert(eq(ptr, conf.project, NULL));
        cr_assert(eq(dbl, conf.timeout_s, 600.0));
        pfc_conf_clear(&conf);
    }
    {
        pfc_conf conf = { 0 };
        pfc_err err = { 0 };

        cr_assert(eq(int, parse("# one\nproject: p # two\n", &conf, &err), PFC_OK));
        cr_assert(eq(str, conf.project, "p"));
        pfc_conf_clear(&conf);
    }
}

Test(conf, the_nearest_file_upwards_is_found)
{
    pfc_err err = { 0 };
    pfc_conf conf = { 0 };
    char *dir = NULL;
    char *deep;
    char *path;

    unsetenv("XDG_CONFIG_HOME");
    setenv("HOME", "/nonexistent", 1);
    cr_assert(eq(int, pfc_fs_temp_dir("conf", &dir, &err), PFC_OK), "%s", err.msg);
    deep = pfc_fs_join(dir, "a/b");
    path = pfc_fs_join(dir, "perfci.yaml");
    cr_assert(eq(int, pfc_fs_mkdirs(deep, 0700, &err), PFC_OK));
    cr_assert(eq(int, pfc_fs_write_atomic(path, "project: p\n", 11, 0600, &err), PFC_OK));
    cr_assert(eq(int, pfc_conf_find(deep, &conf, &err), PFC_OK), "%s", err.msg);
    cr_assert(eq(str, conf.project, "p"));
    cr_assert_not_null(strstr(conf.path, "/perfci.yaml"));
    pfc_conf_clear(&conf);
    cr_assert(eq(int, pfc_conf_find("/no/such/folder", &conf, &err), PFC_ENOTFOUND));
    cr_assert(eq(int, pfc_fs_remove_tree(dir, &err), PFC_OK));
    free(path);
    free(deep);
    free(dir);
}

Test(conf, flag_beats_environment_beats_file_beats_default)
{
    setenv("PFC_X", "env", 1);
    cr_assert(eq(str, (char *)pfc_conf_pick("flag", "PFC_X", "yaml", "default"), "flag"));
    cr_assert(eq(str, (char *)pfc_conf_pick(NULL, "PFC_X", "yaml", "default"), "env"));
    setenv("PFC_X", "", 1);
    cr_assert(eq(str, (char *)pfc_conf_pick(NULL, "PFC_X", "yaml", "default"), "yaml"));
    cr_assert(eq(str, (char *)pfc_conf_pick(NULL, "PFC_X", NULL, "default"), "default"));
}

Test(conf, a_password_in_a_url_is_seen)
{
    static const char *const with[] = { "postgresql://u:p@h/d",        "postgres://u:p@h:1,h2:2/d",
                                        "host=h password=p",           "host=h password = 'p'",
                                        "postgresql://h/d?password=p", "host=h sslpassword=p",
                                        "password_hint=x password\t=p" };
    static const char *const without[] = { "",
                                           "host=h dbname=d",
                                           "postgresql://h:5432/d",
                                           "postgresql://u@h:5432,h2:5433/d",
                                           "postgresql:///d?host=/run/x",
                                           "host=/password/x" };

    for (size_t i = 0; i < PFC_ARRAY_LEN(with); i++)
        cr_assert(pfc_conf_url_has_password(with[i]), "%s", with[i]);
    for (size_t i = 0; i < PFC_ARRAY_LEN(without); i++)
        cr_assert(not(pfc_conf_url_has_password(without[i])), "%s", without[i]);
}

Test(conf, secrets_come_from_environment_or_file)
{
    pfc_err err = { 0 };
    char *dir = NULL;
    char *path;
    char *secret = NULL;

    cr_assert(eq(int, pfc_conf_secret("PFC_S", &secret, &err), PFC_ENOTFOUND));
    cr_assert(eq(int, pfc_fs_temp_dir("conf", &dir, &err), PFC_OK));
    path = pfc_fs_join(dir, "s");
    cr_assert(eq(int, pfc_fs_write_atomic(path, "from file\n", 10, 0600, &err), PFC_OK));
    setenv("PFC_S_FILE", path, 1);
    cr_assert(eq(int, pfc_conf_secret("PFC_S", &secret, &err), PFC_OK), "%s", err.msg);
    cr_assert(eq(str, secret, "from file"));
    free(secret);
    cr_assert(eq(int, pfc_fs_private(path, &err), PFC_OK), "%s", err.msg);
    cr_assert(eq(int, chmod(path, 0640), 0)); /* as systemd has a credential */
    cr_assert(eq(int, pfc_fs_private(path, &err), PFC_OK), "%s", err.msg);
    cr_assert(eq(int, chmod(path, 0644), 0));
    cr_assert(eq(int, pfc_fs_private(path, &err), PFC_EDENIED));
    cr_assert(ne(ptr, strstr(err.msg, path), NULL));
    cr_assert(eq(int, pfc_fs_private("/nowhere", &err), PFC_ENOTFOUND));

    /* one that a flag names: its first line, and a word of warning */
    static const struct {
        const char *text;
        size_t len;
        pfc_code code;
    } files[] = { { "one\r\ntwo\n", 9, PFC_OK }, { "one", 3, PFC_OK },
                  { "one\0\n", 5, PFC_EINVAL },  { "\n\n", 2, PFC_EINVAL },
                  { "", 0, PFC_EINVAL },         { "\none\n", 5, PFC_EINVAL } };

    for (size_t i = 0; i < PFC_ARRAY_LEN(files); i++) {
        cr_assert(
            eq(int, pfc_fs_write_atomic(path, files[i].text, files[i].len, 0600, &err), PFC_OK));
        cr_assert(eq(int, pfc_conf_secret_file(path, &secret, &err), files[i].code), "%zu", i);
        if (files[i].code == PFC_OK) {
            cr_assert(eq(str, secret, "one"));
            free(secret);
        } else {
            cr_assert(ne(ptr, strstr(err.msg, path), NULL));
        }
    }
    cr_assert(eq(int, pfc_conf_secret_file("/nowhere", &secret, &err), PFC_ENOTFOUND));
    setenv("PFC_S_FILE", "/nowhere", 1);
    cr_assert(eq(int, pfc_conf_secret("PFC_S", &secret, &err), PFC_EINVAL),
              "not as if none were set");
    cr_assert(ne(ptr, strstr(err.msg, "PFC_S_FILE: cannot open /nowhere: "), NULL), "%s", err.msg);
    setenv("PFC_S", "from environment", 1);
    cr_assert(eq(int, pfc_conf_secret("PFC_S", &secret, &err), PFC_OK));
    cr_assert(eq(str, secret, "from environment"));
    free(secret);
    cr_assert(eq(int, pfc_fs_remove_tree(dir, &err), PFC_OK));
    free(path);
    free(dir);
}
