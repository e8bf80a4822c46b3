#include <string.h>

#include "core/analysis/explain/explain.h"
#include "core/base/buf.h"
#include "core/base/fs.h"

/* The folder, where it has the file; else the built-in one is meant. */
static const char *with(const char *dir, const char *file)
{
    char *path = dir ? pfc_format("%s/%s", dir, file) : NULL;
    const bool there = path && pfc_fs_exists(path);

    free(path);
    return there ? dir : NULL;
}

pfc_code pfc_explain_rules_load(const char *dir, pfc_explain_rules *out, pfc_err *err)
{
    pfc_code code = PFC_OK;

    memset(out, 0, sizeof(*out));
    if (dir && !pfc_fs_is_dir(dir))
        return pfc_err_set(err, PFC_ENOTFOUND, "%s: expected a folder with rules", dir);
    code = pfc_metrics_load(with(dir, "accelerator.yaml"), "accelerator", &out->accelerator, err);
    if (!code)
        code = pfc_metrics_load(with(dir, "cpu.yaml"), "cpu", &out->cpu, err);
    if (!code)
        code = pfc_limiter_rules_load(dir, &out->limiter, err);
    if (!code)
        code = pfc_guidance_load(with(dir, "guidance.yaml"), &out->guidance, err);
    return code;
}

void pfc_explain_rules_clear(pfc_explain_rules *rules)
{
    pfc_metrics_free(rules->accelerator);
    pfc_metrics_free(rules->cpu);
    pfc_limiter_rules_free(rules->limiter);
    pfc_guidance_free(rules->guidance);
    memset(rules, 0, sizeof(*rules));
}
