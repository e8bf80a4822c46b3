/* Fills in name, class and fingerprint of the machine, for runs made from a project's command. */
#include <stdlib.h>

#include "core/machine/describe.h"
#include "runner/workspace/workspace_priv.h"

/* Sets *field to `given`, else keeps it, else takes *found. */
static void fill(char **field, const char *given, char **found)
{
    if (!given && *field)
        return;
    free(*field);
    *field = given ? pfc_strdup(given) : *found;
    if (!given)
        *found = NULL;
}

void pfc_host_describe(const char *root, pfc_machine *machine, const char *name,
                       const char *machine_class)
{
    pfc_machine here = { 0 };

    pfc_machine_describe(root, NULL, &here);
    fill(&machine->name, name, &here.name);
    fill(&machine->machine_class, machine_class, &here.machine_class);
    /* A document with a fingerprint is complete: mixing in this machine's facts would make it
     * wrong. */
    if (machine->fingerprint.len == 0) {
        machine->fingerprint = here.fingerprint;
        here.fingerprint = (pfc_labels){ 0 };
    }
    pfc_machine_hash(machine);
    pfc_machine_clear(&here);
}
