/* The dispatcher reads the output of Slurm's programs, and writes a script. The cluster itself
 * is in tests/e2e/test_slurm.py. */
#include <stdlib.h>
#include <string.h>

#include "runner/slurm/cluster.h"
#include "runner/slurm/node_flags.h"

#include "tests/check/check.h"

static const char nodes[] = "h1|idle|h100,sm90|gpu:h100:4(S:0-1)\n"
                            "h2|allocated|h100,sm90|gpu:h100:4(S:0-1)\n"
                            "h3|drained|h100,sm90|gpu:h100:4(S:0-1)\n"
                            "h4|idle*|h100,sm90|gpu:h100:4(S:0-1)\n"
                            "h5|draining|h100,sm90|gpu:h100:4(S:0-1)\n"
                            "m1|mixed~|rack=7|(null)\n"
                            "x1|down|(null)|gpu:1,nic:2\n";

static const char *label_of(const pfc_slurm_kind *kind, const char *name)
{
    const char *value = json_string_value(json_object_get(kind->labels, name));

    return value ? value : "";
}

Test(slurm, nodes_with_the_same_features_and_devices_are_one_kind)
{
    pfc_slurm_kinds kinds = { 0 };
    pfc_err err = { 0 };

    cr_assert(eq(int, pfc_slurm_kinds_parse(nodes, NULL, &kinds, &err), PFC_OK), "%s", err.msg);
    cr_assert(eq(sz, kinds.len, 3));
    cr_assert(eq(str, kinds.items[0].machine_class, "h100+sm90"));
    cr_assert(eq(str, kinds.items[0].gres, "gpu:h100:4"));
    /* Not those that are drained, draining, or do not answer. */
    cr_assert(eq(sz, kinds.items[0].usable, 2));
    cr_assert(eq(str, (char *)label_of(&kinds.items[0], "h100"), "yes"));
    cr_assert(eq(str, (char *)label_of(&kinds.items[0], "gres/gpu"), "h100"));
    cr_assert(eq(str, (char *)label_of(&kinds.items[0], "tasks"), "blocks"));
    cr_assert(eq(sz, kinds.items[1].usable, 1));
    cr_assert(eq(str, (char *)label_of(&kinds.items[1], "rack"), "7"));
    cr_assert(eq(str, kinds.items[1].gres, ""));
    cr_assert(eq(sz, kinds.items[2].usable, 0));
    cr_assert(eq(str, kinds.items[2].machine_class, "slurm"));
    cr_assert(eq(str, (char *)label_of(&kinds.items[2], "gres/gpu"), "yes"));
    cr_assert(eq(str, (char *)label_of(&kinds.items[2], "gres/nic"), "yes"));
    cr_assert(eq(int, pfc_slurm_kinds_parse("h1|idle", "lab", &kinds, &err), PFC_EINVAL));
    cr_assert(eq(sz, kinds.len, 3)); /* as it was */
    cr_assert(eq(int, pfc_slurm_kinds_parse("h1|idle|a|(null)", "lab", &kinds, &err), PFC_OK));
    cr_assert(eq(str, kinds.items[0].machine_class, "lab"));
    pfc_slurm_kinds_clear(&kinds);
}

Test(slurm, batch_jobs_are_found_by_their_names)
{
    pfc_slurm_batches batches = { 0 };
    const pfc_slurm_batch *found;
    pfc_err err = { 0 };

    cr_assert(eq(int,
                 pfc_slurm_batches_parse("17|PENDING|perfci-1-ab||Resources\n"
                                         "18|RUNNING|perfci-2-cd|h1|None\n"
                                         "19_[1-4]|PENDING|other||Priority|more\n",
                                         &batches, &err),
                 PFC_OK),
              "%s", err.msg);
    cr_assert(eq(sz, batches.len, 3));
    found = pfc_slurm_batch_find(&batches, "perfci-1-ab");
    cr_assert(ne(ptr, (void *)found, NULL));
    cr_assert(eq(i64, found->id, 17));
    cr_assert(found->pending);
    cr_assert(eq(str, (char *)found->reason, "Resources"));
    found = pfc_slurm_batch_find(&batches, "perfci-2-cd");
    cr_assert(not(found->pending));
    cr_assert(eq(str, (char *)found->node, "h1"));
    cr_assert(eq(ptr, (void *)pfc_slurm_batch_find(&batches, "perfci-3-ef"), NULL));
    cr_assert(
        eq(int, pfc_slurm_batches_parse("slurm_load_jobs error\n", &batches, &err), PFC_EINVAL));
    pfc_slurm_batches_clear(&batches);
}

/* Names and JSON of strangers stay data in the shell. */
Test(slurm, the_script_quotes_all_that_it_is_given)
{
    const pfc_agent_opts agent = { .sandbox = PFC_SANDBOX_REQUIRE, .timeout_s = 90 };
    char **flags = pfc_slurm_node_flags(&agent, "debug");
    const pfc_slurm_opts opts = { .url = "http://h/$(id)",
                                  .node_dir = "/a b'c",
                                  .program = "/usr/bin/perfci-runner",
                                  .node_flags = (const char *const *)flags };
    const pfc_slurm_kind kind = { .machine_class = "h100+sm90" };
    char *script = pfc_slurm_script(&opts, &kind, "{\"job\":\"$(reboot) `x` \\\\n PERFCI_JOB\"}");

    cr_assert(eq(str, script,
                 "#!/bin/sh\n"
                 "umask 077\n"
                 "dir='/a b'\\''c'/$SLURMD_NODENAME\n"
                 "mkdir -p \"$dir\" || exit 5\n"
                 "exec '/usr/bin/perfci-runner' --job - --work \"$dir\" --name \"$SLURMD_NODENAME\""
                 " --class 'h100+sm90' --url 'http://h/$(id)' '--sandbox=require' '--timeout=90s'"
                 " '--log=debug' 2>>\"$dir/runner.log\" <<'PERFCI_JOB'\n"
                 "{\"job\":\"$(reboot) `x` \\\\n PERFCI_JOB\"}\n"
                 "PERFCI_JOB\n"));
    free(script);
    pfc_slurm_node_flags_free(flags);
}
