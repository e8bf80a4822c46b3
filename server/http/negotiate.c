/* Content negotiation: codings (RFC 9110, 12.5.3), media types, and entity tags of conditional
 * requests (13.1.2). */
#include <string.h>
#include <strings.h>

#include "core/base/parse.h"
#include "server/http/parse.h"

static const char *skip_blanks(const char *at)
{
    return at + strspn(at, " \t");
}

/* The weight after a coding's name: 0 to 1; 1 without one, 0 for one that cannot be read. */
static double weight_of(const char *at, const char *end)
{
    char text[8];
    size_t len;
    double q = 0;

    at = skip_blanks(at);
    if (at >= end)
        return 1;
    if (*at != ';')
        return 0;
    at = skip_blanks(at + 1);
    if ((*at != 'q' && *at != 'Q') || at[1] != '=')
        return 0;
    at += 2;
    len = strcspn(at, " \t,");
    if (len == 0 || len >= sizeof(text))
        return 0;
    memcpy(text, at, len);
    text[len] = '\0';
    return pfc_parse_double(text, 0, 1, "q", &q, NULL) ? 0 : q;
}

httpd_codings httpd_codings_of(const char *header)
{
    double br = -1, gzip = -1, identity = -1, any = -1; /* -1: not named */
    httpd_codings out = { .identity = true };

    if (!header)
        return out;
    for (const char *at = header; *at;) {
        const char *end = at + strcspn(at, ",");
        size_t len;

        at = skip_blanks(at);
        len = strcspn(at, " \t;,");
        if ((len == 4 && strncasecmp(at, "gzip", 4) == 0) ||
            (len == 6 && strncasecmp(at, "x-gzip", 6) == 0))
            gzip = weight_of(at + len, end);
        else if (len == 2 && strncasecmp(at, "br", 2) == 0)
            br = weight_of(at + len, end);
        else if (len == 8 && strncasecmp(at, "identity", 8) == 0)
            identity = weight_of(at + len, end);
        else if (len == 1 && *at == '*')
            any = weight_of(at + len, end);
        at = end + (*end == ',');
    }
    if (gzip < 0)
        gzip = any;
    out.identity = identity >= 0 ? identity > 0 : !(any >= 0 && any <= 0);
    out.gzip = gzip > 0 && gzip >= identity;
    if (!out.identity)
        out.gzip = gzip > 0;
    /* Not by "*": a client that knows brotli names it. */
    out.br = br > 0 && br >= gzip && (br >= identity || !out.identity);
    return out;
}

/* The weight among the parameters of a range: the last of them that is called q. */
static double weight_among(const char *at, const char *end)
{
    const char *q = NULL;

    for (; at < end; at++) {
        if (*at == ';' && strncasecmp(skip_blanks(at + 1), "q=", 2) == 0)
            q = at;
    }
    return q ? weight_of(q, end) : 1;
}

double httpd_type_weight(const char *header, const char *type)
{
    const size_t len = strlen(type), major = (size_t)(strchr(type, '/') - type) + 1;
    double weights[3] = { -1, -1, -1 }; /* of any, of the major type's, of itself */

    if (!header)
        return 1;
    for (const char *at = header; *at;) {
        const char *end = at + strcspn(at, ",");
        size_t name;
        int how = -1;

        at = skip_blanks(at);
        name = strcspn(at, " \t;,");
        if (name == 3 && memcmp(at, "*/*", 3) == 0)
            how = 0;
        else if (name == major + 1 && strncasecmp(at, type, major) == 0 && at[major] == '*')
            how = 1;
        else if (name == len && strncasecmp(at, type, len) == 0)
            how = 2;
        if (how >= 0)
            weights[how] = weight_among(at + name, end);
        at = end + (*end == ',');
    }
    for (int how = 2; how >= 0; how--) {
        if (weights[how] >= 0)
            return weights[how];
    }
    return 0;
}

double pfc_req_type_weight(const pfc_req *req, const char *type)
{
    return httpd_type_weight(req->accept, type);
}

bool httpd_tag_listed(const char *header, const char *tag)
{
    const char *opaque = strncmp(tag, "W/", 2) == 0 ? tag + 2 : tag;
    const size_t len = strlen(opaque);

    if (!header)
        return false;
    for (const char *at = skip_blanks(header); *at;) {
        const char *close;

        if (*at == '*' && *skip_blanks(at + 1) == '\0')
            return true;
        if (strncmp(at, "W/", 2) == 0)
            at += 2;
        close = *at == '"' ? strchr(at + 1, '"') : NULL;
        if (!close)
            return false; /* no list of tags: as if there were none */
        if ((size_t)(close + 1 - at) == len && memcmp(at, opaque, len) == 0)
            return true;
        at = skip_blanks(close + 1);
        if (*at && *at != ',')
            return false;
        at = skip_blanks(at + (*at == ','));
    }
    return false;
}
