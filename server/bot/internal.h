/*
 * Declarations shared by the files of the bot. Private to this folder.
 */
#ifndef PFC_SERVER_BOT_INTERNAL_H
#define PFC_SERVER_BOT_INTERNAL_H

#include <jansson.h>

#include "server/bot/bot.h"
#include "server/services/bot/bot.h"

#define PFC_BOT_NAME "perfci"

/* One look at a pull request. */
typedef struct pfc_look {
    pfc_bot *bot;
    pfc_db *db;
    pfc_forge *forge;
    const char *link; /* of the dashboard, without a slash at its end; NULL: none */
    pfc_pull_key key;
    pfc_pulls pulls;              /* one row; reloaded when it changed */
    pfc_pull_measurements newest; /* of the head; empty: none */
    bool stirred;   /* something happened since the last look: the comment may be deleted */
    double again_s; /* when to look again; HUGE_VAL: not by time */
} pfc_look;

/* Pages of the dashboard; NULL: none is known. */
typedef struct pfc_pull_links {
    char *whole;  /* of the comparison */
    char *series; /* of a series, without its number */
} pfc_pull_links;

/** Reads the rows again (look.c). */
pfc_code pfc_look_load(pfc_look *look, pfc_err *err) PFC_MUSTCHECK;
void pfc_look_clear(pfc_look *look);

/** Carries out and answers the commands that wait (commands.c). */
pfc_code pfc_look_obey(pfc_look *look, pfc_err *err) PFC_MUSTCHECK;
/** Writes the answer to a comment, or edits the one that is there: a marker names the comment
 *  (commands.c). */
pfc_code pfc_look_answer(pfc_look *look, int64_t comment_id, const char *text,
                         pfc_err *err) PFC_MUSTCHECK;
/** Starts the bisection that a comment asks for. answer: what it says, also where it is refused
 *  (bisect.c). */
pfc_code pfc_look_bisect(pfc_look *look, const char *actor, int64_t comment_id, const char *metric,
                         bool *refused, pfc_buf *answer, pfc_err *err) PFC_MUSTCHECK;
/** Edits the answers of bisections that ended, or whose culprit is checked now (bisect.c). */
pfc_code pfc_look_follow(pfc_look *look, pfc_err *err) PFC_MUSTCHECK;
/** Reads the verdict of a job that has ended (verdict.c). */
pfc_code pfc_look_judge(pfc_look *look, pfc_err *err) PFC_MUSTCHECK;
/** Posts check and comment where they differ from what was posted (publish.c). */
pfc_code pfc_look_publish(pfc_look *look, pfc_err *err) PFC_MUSTCHECK;

/** The pages of the pull request. */
pfc_pull_links pfc_look_links(const pfc_look *look);
void pfc_pull_links_clear(pfc_pull_links *links);

/* ---- pure parts ---- */

/** How bad a verdict is: 0 none is, or nothing changed; 1 not decided; 2 regression; 3 broken. */
int pfc_verdict_rank(const char *verdict);

typedef enum pfc_comment_step {
    PFC_COMMENT_NONE,
    PFC_COMMENT_EDIT, /* edit the existing comment, or create the first */
    PFC_COMMENT_NEW,  /* one more, because the verdict became worse; the old one points to it */
} pfc_comment_step;

/** improved: something is faster, whatever the verdict is. number: of the comment in use, 0: none
 *  exists; posted_rank: of the verdict in it. */
pfc_comment_step pfc_comment_next(pfc_pull_policy policy, const char *verdict, bool improved,
                                  int64_t number, int posted_rank);

/** The page of a commit without its id, from the pull request's own page; NULL: not known. Caller
 *  frees. */
char *pfc_pull_commit_url(const pfc_pull *pull);
/** The comment, as core/comment/comment.h writes it; key: of its marker. m has a verdict. */
void pfc_pull_comment(const pfc_pull *pull, const pfc_pull_measurement *m,
                      const pfc_pull_links *links, const char *key, pfc_buf *out);
/** Title of the check, and its state. m NULL: nothing is measured of the head. */
pfc_check_state pfc_pull_check(const pfc_pull *pull, const pfc_pull_measurement *m, pfc_buf *title);
/** The answer of `/perfci bisect`. cost: of one that runs; checks: of its culprits; link: of the
 *  dashboard, NULL: none. */
void pfc_pull_bisection_text(const pfc_pull *pull, const pfc_bisection *b,
                             const pfc_bisection_cost *cost, const pfc_verifications *checks,
                             const char *link, pfc_buf *out);
/** The answer of `/perfci why`. m has a verdict. */
void pfc_pull_why(const pfc_pull *pull, const pfc_pull_measurement *m, const pfc_pull_links *links,
                  pfc_buf *out);

#endif
