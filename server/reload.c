/* The files that are read at the start and again on SIGHUP. */
#include <stdlib.h>
#include <string.h>

#include "core/base/fs.h"
#include "core/base/log.h"
#include "server/running.h"
#include "server/services/access/access.h"

pfc_code server_read_tls(const server *s, char **cert, char **key, pfc_err *err)
{
    size_t len = 0;
    pfc_code code;

    if (!s->settings.tls_cert)
        return PFC_OK;
    code = pfc_fs_read(s->settings.tls_cert, 1 << 20, cert, &len, err);
    if (code)
        return pfc_err_wrap(err, "--tls-cert");
    code = pfc_fs_private(s->settings.tls_key, err);
    if (!code)
        code = pfc_fs_read(s->settings.tls_key, 1 << 20, key, &len, err);
    return code ? pfc_err_wrap(err, "--tls-key") : PFC_OK;
}

void server_wipe(char *key)
{
    if (key)
        explicit_bzero(key, strlen(key));
    free(key);
}

pfc_code server_open_notifier(const pfc_server_settings *settings, pfc_db *db, pfc_notifier **out,
                              pfc_err *err)
{
    const pfc_notifier_opts opts = {
        .db = db,
        .file = settings->notify,
        .networks = settings->notify_networks,
        .public_url = settings->public_url,
        .timeout_s = settings->notify_timeout_s,
        .retry_s = settings->notify_retry_s,
        .tries = settings->notify_tries,
        .lease_s = settings->lease_s,
    };

    *out = NULL;
    return settings->notify ? pfc_notifier_open(out, &opts, err) : PFC_OK;
}

static pfc_code read_setup(const pfc_server_settings *settings, pfc_bot_setup **out, pfc_err *err)
{
    const pfc_bot_setup_opts opts = { .forges = settings->forges,
                                      .public_url = settings->public_url,
                                      .poll_s = settings->pull_poll_s,
                                      .retry_s = settings->pull_retry_s };

    return pfc_bot_setup_read(&opts, out, err);
}

pfc_code server_open_bot(server *s, pfc_err *err)
{
    pfc_bot_setup *setup = NULL;
    pfc_code code = read_setup(&s->settings, &setup, err);

    if (code)
        return code;
    s->setups = pfc_bot_setups_new(setup);
    s->app.setups = s->setups;
    s->bot = pfc_bot_new(s->app.db, s->setups);
    return PFC_OK;
}

/* Replaces the certificate when its files changed. */
static pfc_code reload_tls(server *s, pfc_err *err)
{
    char *cert = NULL, *key = NULL;
    bool renewed = false;
    pfc_code code;

    if (!s->settings.tls_cert)
        return PFC_OK;
    code = server_read_tls(s, &cert, &key, err);
    if (!code)
        code = pfc_httpd_renew(s->app.http, cert, key, &renewed, err);
    free(cert);
    server_wipe(key);
    if (code)
        pfc_log(PFC_ERROR, "certificate_not_reloaded", "reason", (const char *)err->msg);
    else if (renewed)
        pfc_log(PFC_INFO, "certificate_reloaded", "file", s->settings.tls_cert);
    return code;
}

pfc_retention server_retention(const pfc_server_settings *s)
{
    pfc_retention keep = { .raw_months = (int)s->raw_months,
                           .day_months = (int)s->day_months,
                           .audit_months = (int)s->audit_months };

    (void)snprintf(keep.width, sizeof(keep.width), "%s", s->partition_width);
    return keep;
}

/* Adopts all of the new settings, or none when one is invalid. */
static pfc_code reload_settings(server *s, pfc_err *err)
{
    pfc_server_settings fresh = { 0 };
    pfc_notifier *notifier = NULL;
    pfc_bot_setup *setup = NULL;
    pfc_retention keep;
    char *restart = NULL;
    pfc_code code = pfc_server_settings_again(&s->settings, &fresh, err);

    if (!code)
        code = server_open_notifier(&fresh, s->app.db, &notifier, err);
    if (!code)
        code = read_setup(&fresh, &setup, err);
    if (code) {
        pfc_notifier_close(notifier);
        pfc_log(PFC_ERROR, "settings_not_reloaded", "reason", (const char *)err->msg);
        pfc_server_settings_clear(&fresh);
        return code;
    }
    restart = pfc_server_settings_adopt(&s->settings, &fresh);
    pfc_httpd_tune(s->app.http, (double)s->settings.rate_address, (double)s->settings.rate_token,
                   s->settings.public_read);
    pfc_log_set_level(s->settings.log_level);
    pfc_bot_setups_replace(s->setups, setup);
    keep = server_retention(&s->settings);
    if (s->workers)
        pfc_workers_retune(s->workers, notifier, &keep);
    else
        pfc_notifier_close(notifier);
    pfc_log(PFC_INFO, "settings_reloaded", "file", s->settings.file ? s->settings.file : "",
            "receivers", s->settings.notify ? s->settings.notify : "", "forges",
            s->settings.forges ? s->settings.forges : "");
    if (restart)
        pfc_log(PFC_WARN, "settings_need_restart", "settings", (const char *)restart);
    free(restart);
    return PFC_OK;
}

void server_reload(server *s)
{
    pfc_err tls = { 0 }, settings = { 0 };
    char *status;

    pfc_manager_reloading();
    pfc_cache_forget(s->app.cache);
    pfc_httpd_end_streams(s->app.http, 0);
    (void)reload_tls(s, &tls);
    (void)reload_settings(s, &settings);
    status = pfc_format("answers at %s%s%s", pfc_httpd_url(s->app.http),
                        tls.code || settings.code ? "; not reloaded: " : "",
                        tls.code        ? tls.msg
                        : settings.code ? settings.msg
                                        : "");
    pfc_manager_ready(status);
    free(status);
}
