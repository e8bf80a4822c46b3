/*
 * detector_configs.document: how a project wants its series judged. The document is stored and
 * shown as it was sent; core/wire/detector.h says what is in it.
 */
#ifndef PFC_SERVER_REPO_DOCUMENTS_DETECTOR_H
#define PFC_SERVER_REPO_DOCUMENTS_DETECTOR_H

#include "core/wire/detector.h"

/* Where nothing was stored. */
#define PFC_DETECTOR_DEFAULT "{\"rules\":[]}"

/** As pfc_detector_from_json, from the text; clear *out. */
pfc_code pfc_detector_parse(const char *text, pfc_detector *out, pfc_err *err) PFC_MUSTCHECK;
/** True when both texts are JSON with the same values, whatever the order of members. */
bool pfc_detector_texts_equal(const char *a, const char *b);

#endif
