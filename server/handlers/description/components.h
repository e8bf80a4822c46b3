/* components.json, embedded: schemas of bodies, the error answer, the security scheme. */
#ifndef PFC_SERVER_HANDLERS_COMPONENTS_H
#define PFC_SERVER_HANDLERS_COMPONENTS_H

#include <stddef.h>

extern const unsigned char pfc_components_json[];
extern const size_t pfc_components_json_len;

#endif
