/*
 * Queries and escaped paths of requests. Properties: what is decoded is UTF-8 without control
 * bytes and never longer than what came; a query holds each name once and listed names alone.
 */
#include <string.h>

#include "core/base/parse.h"
#include "server/http/internal.h"

#include "tests/fuzz/fuzz.h"

#define LISTED "limit:integer cursor:string q:string a b project:string from: to:"

static void check_decode(const char *text, size_t len, char *storage)
{
    for (int plus = 0; plus < 2; plus++) {
        long n = httpd_decode(text, len, plus != 0, storage);

        FUZZ_CHECK(n <= (long)len);
        if (n < 0)
            continue;
        FUZZ_CHECK(strlen(storage) == (size_t)n && pfc_is_utf8(storage, (size_t)n));
        for (long i = 0; i < n; i++)
            FUZZ_CHECK((unsigned char)storage[i] >= 0x20 && storage[i] != 0x7f);
    }
}

static void check_query(const pfc_req *req)
{
    FUZZ_CHECK(req->query_len <= PFC_HTTPD_MAX_QUERY);
    for (size_t i = 0; i < req->query_len; i++) {
        FUZZ_CHECK(strstr(LISTED, req->query[i].name) != NULL);
        for (size_t k = 0; k < i; k++)
            FUZZ_CHECK(strcmp(req->query[k].name, req->query[i].name) != 0);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static pfc_req req;
    char *text =
        pfc_strndup((const char *)data, size); /* ends at a NUL, as a request's line does */
    size_t len = strlen(text);
    char *storage = pfc_alloc(2 * len + 256); /* as server.c does */
    pfc_err err = { 0 };
    int64_t number = 0;

    check_decode(text, len, storage);
    if (httpd_query_parse(text, LISTED, storage, &req, &err) == PFC_OK) {
        check_query(&req);
        if (pfc_req_query_i64(&req, "limit", 1, 1000, &number, &err) == PFC_OK)
            FUZZ_CHECK(number >= 0 && number <= 1000);
    } else {
        FUZZ_CHECK(err.msg[0] != '\0');
    }
    req.query_len = 0;
    free(storage);
    free(text);
    return 0;
}
