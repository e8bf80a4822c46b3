/*
 * Sessions of browsers, for EventSource, which cannot send an Authorization header: the token as a
 * cookie that scripts cannot read and other sites cannot send. It opens GET requests alone, so that
 * nothing can be changed by it; and it is the token itself, so that every server knows it and
 * revoking the token ends it.
 */
#include "server/handlers/handlers.h"

/* POST /api/v1/session: the caller's token becomes a cookie. */
PFC_HANDLER(session_post)
{
    pfc_code code = pfc_reply_empty(reply);

    (void)app;
    (void)err;
    pfc_reply_session(reply, req->token); /* no other way leads here */
    return code;
}

/* DELETE /api/v1/session: forgets the cookie. */
PFC_HANDLER(session_delete)
{
    pfc_code code = pfc_reply_empty(reply);

    (void)app;
    (void)req;
    (void)err;
    pfc_reply_session(reply, "");
    return code;
}
