/*
 * Prints when a schedule fires: for each line "ZONE<tab>AFTER<tab>UNTIL<tab>CRON" of standard input
 * a line of the instants after AFTER that are not after UNTIL, in Unix seconds.
 */
#include <stdio.h>
#include <string.h>

#include "core/base/parse.h"
#include "core/schedule/schedule.h"

static pfc_code print_times(const char *zone_name, int64_t after, int64_t until, const char *text,
                            pfc_err *err)
{
    pfc_zone *zone = NULL;
    pfc_cron cron;
    pfc_code code = pfc_cron_parse(text, &cron, err);

    if (!code)
        code = pfc_zone_load(zone_name, NULL, &zone, err);
    while (!code) {
        code = pfc_cron_next(&cron, zone, after, &after, err);
        if (code || after > until)
            break;
        printf("%lld ", (long long)after);
    }
    putchar('\n');
    pfc_zone_free(zone);
    return code == PFC_ENOTFOUND ? PFC_OK : code;
}

int main(void)
{
    char line[512];
    pfc_err err = { 0 };

    while (fgets(line, sizeof(line), stdin)) {
        char *rest = NULL, *zone = strtok_r(line, "\t", &rest);
        const char *after = strtok_r(NULL, "\t", &rest), *until = strtok_r(NULL, "\t", &rest);
        const char *cron = strtok_r(NULL, "\n", &rest);
        int64_t from = 0, to = 0;

        if (!cron || pfc_parse_i64(after, 0, INT64_MAX, "after", &from, &err) ||
            pfc_parse_i64(until, 0, INT64_MAX, "until", &to, &err) ||
            print_times(zone, from, to, cron, &err)) {
            fprintf(stderr, "%s\n", err.msg);
            return 1;
        }
    }
    return 0;
}
