/* SMTP by libcurl, whose MIME functions encode the text. */
#include "core/http/mail.h"

#include <ctype.h>
#include <openssl/evp.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/base/base.h"
#include "core/base/buf.h"
#include "core/http/transfer.h"

#define DEFAULT_TIMEOUT_S 20.0
#define SUBJECT_MAX       200
#define WORD_BYTES        45 /* an encoded word has at most 75 characters, RFC 2047 */

bool pfc_mail_is_address(const char *text)
{
    const char *at = strchr(text, '@');

    if (!at || at == text || !at[1] || strchr(at + 1, '@') || strlen(text) > PFC_MAIL_MAX_ADDRESS)
        return false;
    for (const char *p = text; *p; p++)
        if (!isgraph((unsigned char)*p) || (unsigned char)*p >= 0x80 || strchr("<>()[]\\,;:\"", *p))
            return false;
    return true;
}

/* The length of the first character, so that no encoded word ends within one. */
static size_t character_len(const char *at)
{
    size_t len = 1;

    while ((at[len] & 0xC0) == 0x80)
        len++;
    return len;
}

/* RFC 2047 asks that each encoded word holds whole characters. */
static void put_words(pfc_buf *out, const char *text)
{
    while (*text) {
        unsigned char base64[4 * (WORD_BYTES / 3 + 1) + 1];
        size_t len = 0;

        while (text[len] && len + character_len(text + len) <= WORD_BYTES)
            len += character_len(text + len);
        EVP_EncodeBlock(base64, (const unsigned char *)text, (int)len);
        pfc_buf_printf(out, "=?UTF-8?B?%s?=%s", (char *)base64, text[len] ? "\r\n " : "");
        text += len;
    }
}

static void put_subject(pfc_buf *out, const char *subject)
{
    char cut[SUBJECT_MAX + 1];
    size_t len = 0;
    bool plain = true;

    for (const char *p = subject; *p && len + character_len(p) <= SUBJECT_MAX;) {
        const size_t step = character_len(p);

        memcpy(cut + len, p, step);
        if (step == 1 && (unsigned char)*p < 0x20)
            cut[len] = ' '; /* a line feed would begin another header */
        plain &= (unsigned char)*p < 0x7F;
        len += step;
        p += step;
    }
    cut[len] = '\0';
    plain &= !strstr(cut, "=?");
    pfc_buf_puts(out, "Subject: ");
    if (plain)
        pfc_buf_puts(out, cut);
    else
        put_words(out, cut);
}

static struct curl_slist *add_line(struct curl_slist *list, char *line)
{
    struct curl_slist *longer = curl_slist_append(list, line);

    if (!longer)
        pfc_die("out of memory for a header");
    free(line);
    return longer;
}

/* Not by strftime, whose names of days and months follow the locale. */
static char *date_line(int64_t unix_s)
{
    static const char days[][4] = { "Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat" };
    static const char months[][4] = { "Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                      "Jul", "Aug", "Sep", "Oct", "Nov", "Dec" };
    const time_t at = (time_t)unix_s;
    struct tm utc = { 0 };

    gmtime_r(&at, &utc);
    return pfc_format("Date: %s, %02d %s %d %02d:%02d:%02d +0000", days[utc.tm_wday], utc.tm_mday,
                      months[utc.tm_mon], utc.tm_year + 1900, utc.tm_hour, utc.tm_min, utc.tm_sec);
}

static struct curl_slist *make_headers(const pfc_mail *mail)
{
    struct curl_slist *list = NULL;
    pfc_buf line;

    list = add_line(list, date_line(mail->date_unix_s));
    list = add_line(list, pfc_format("From: perfci <%s>", mail->from));
    pfc_buf_init(&line, 16384);
    pfc_buf_puts(&line, "To: ");
    for (size_t i = 0; i < mail->to_len; i++)
        pfc_buf_printf(&line, "%s<%s>", i ? ",\r\n " : "", mail->to[i]);
    list = add_line(list, pfc_buf_take(&line));
    pfc_buf_init(&line, 4096);
    put_subject(&line, mail->subject);
    list = add_line(list, pfc_buf_take(&line));
    list = add_line(list, pfc_format("Message-ID: <%s.%s>", mail->id, mail->from));
    list = add_line(list, pfc_strdup("Auto-Submitted: auto-generated")); /* RFC 3834 */
    return add_line(list, pfc_strdup("MIME-Version: 1.0"));
}

static pfc_code check(const pfc_mail_opts *opts, const pfc_mail *mail, pfc_err *err)
{
    if (strncmp(opts->url, "smtp://", 7) != 0 && strncmp(opts->url, "smtps://", 8) != 0)
        return pfc_err_set(err, PFC_EINVAL, "mail: expected smtp://HOST or smtps://HOST");
    if (!opts->user != !opts->password)
        return pfc_err_set(err, PFC_EINVAL, "mail: expected a user with a password, or neither");
    if (mail->to_len < 1 || mail->to_len > PFC_MAIL_MAX_RECIPIENTS)
        return pfc_err_set(err, PFC_EINVAL, "mail: expected 1 to %d recipients, got %zu",
                           PFC_MAIL_MAX_RECIPIENTS, mail->to_len);
    if (!pfc_mail_is_address(mail->from))
        return pfc_err_set(err, PFC_EINVAL, "mail: the sender is no address");
    for (size_t i = 0; i < mail->to_len; i++)
        if (!pfc_mail_is_address(mail->to[i]))
            return pfc_err_set(err, PFC_EINVAL, "mail: recipient %zu is no address", i + 1);
    return PFC_OK;
}

/* 4xx asks to try later, 5xx is final (RFC 5321, 4.2.1). */
static pfc_code judge(CURL *curl, const transfer_guard *guard, CURLcode rc, const char *where,
                      const char *reason, pfc_err *err)
{
    long status = 0;

    (void)curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
    if (rc == CURLE_OK)
        return PFC_OK;
    if (rc == CURLE_LOGIN_DENIED)
        return pfc_err_set(err, status >= 400 && status < 500 ? PFC_EUNAVAIL : PFC_EDENIED,
                           "%s refuses the login (%ld)", where, status);
    if (rc == CURLE_USE_SSL_FAILED)
        return pfc_err_set(err, PFC_EIO, "%s offers no TLS, which is required", where);
    if (status >= 500 && status < 600)
        return pfc_err_set(err, PFC_EINVAL, "%s refuses the message (%ld)", where, status);
    if (status >= 400 && status < 500)
        return pfc_err_set(err, PFC_EUNAVAIL, "%s asks to try later (%ld)", where, status);
    return transfer_failure(guard, rc, where, reason, err);
}

static curl_mime *make_text(CURL *curl, const char *text)
{
    curl_mime *mime = curl_mime_init(curl);
    curl_mimepart *part = mime ? curl_mime_addpart(mime) : NULL;

    if (!part || curl_mime_data(part, text, CURL_ZERO_TERMINATED) != CURLE_OK ||
        curl_mime_type(part, "text/plain; charset=utf-8") != CURLE_OK ||
        curl_mime_encoder(part, "quoted-printable") != CURLE_OK)
        pfc_die("libcurl makes no message");
    return mime;
}

pfc_code pfc_mail_send(const pfc_mail_opts *opts, const pfc_mail *mail, pfc_err *err)
{
    transfer_guard guard = { .cancelled = opts->cancelled,
                             .cancelled_arg = opts->cancelled_arg,
                             .may_reach = opts->may_reach,
                             .may_reach_arg = opts->may_reach_arg };
    const double timeout_s = opts->timeout_s > 0 ? opts->timeout_s : DEFAULT_TIMEOUT_S;
    struct curl_slist *headers, *to = NULL;
    char reason[CURL_ERROR_SIZE] = "";
    curl_mime *mime;
    CURL *curl;
    pfc_code code = check(opts, mail, err);

    if (code)
        return code;
    curl = transfer_open();
    headers = make_headers(mail);
    for (size_t i = 0; i < mail->to_len; i++)
        to = add_line(to, pfc_strdup(mail->to[i]));
    mime = make_text(curl, mail->text);
    transfer_guard_set(curl, &guard, reason, timeout_s, timeout_s);
    curl_easy_setopt(curl, CURLOPT_URL, opts->url);
    curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "smtp,smtps");
    curl_easy_setopt(curl, CURLOPT_USE_SSL, (long)(opts->clear ? CURLUSESSL_TRY : CURLUSESSL_ALL));
    if (opts->user) {
        curl_easy_setopt(curl, CURLOPT_USERNAME, opts->user);
        curl_easy_setopt(curl, CURLOPT_PASSWORD, opts->password);
    }
    curl_easy_setopt(curl, CURLOPT_MAIL_FROM, mail->from);
    curl_easy_setopt(curl, CURLOPT_MAIL_RCPT, to);
    curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers);
    curl_easy_setopt(curl, CURLOPT_MIMEPOST, mime);
    code = judge(curl, &guard, transfer_perform(curl, &guard), opts->name ? opts->name : opts->url,
                 reason, err);
    curl_mime_free(mime);
    curl_slist_free_all(headers);
    curl_slist_free_all(to);
    curl_easy_cleanup(curl);
    return code;
}
