/*
 * How many long bodies one client may send at the same time. Each holds a connection for as long as
 * PFC_HTTPD_BODY_RATE allows for its length, so a client that sends many slowly could take all
 * connections from the others.
 */
#include "server/http/internal.h"

bool httpd_upload_begin(httpd_exchange *x)
{
    pfc_httpd *http = x->http;
    unsigned has = 0;

    pthread_mutex_lock(&http->uploads_lock);
    for (const httpd_exchange *other = http->uploads; other; other = other->upload_next)
        has += httpd_same_client(x, other->auth.token_id, other->address);
    x->uploading = !http->opts.uploads_each || has < http->opts.uploads_each;
    if (x->uploading) {
        x->upload_next = http->uploads;
        x->upload_prev = NULL;
        if (http->uploads)
            http->uploads->upload_prev = x;
        http->uploads = x;
    }
    pthread_mutex_unlock(&http->uploads_lock);
    return x->uploading;
}

void httpd_upload_end(httpd_exchange *x)
{
    pfc_httpd *http = x->http;

    if (!x->uploading)
        return;
    x->uploading = false;
    pthread_mutex_lock(&http->uploads_lock);
    if (x->upload_next)
        x->upload_next->upload_prev = x->upload_prev;
    if (x->upload_prev)
        x->upload_prev->upload_next = x->upload_next;
    else
        http->uploads = x->upload_next;
    pthread_mutex_unlock(&http->uploads_lock);
}
