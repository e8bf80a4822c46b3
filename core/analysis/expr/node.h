/* The nodes of an expression. Private to this folder. */
#ifndef PFC_CORE_ANALYSIS_EXPR_NODE_H
#define PFC_CORE_ANALYSIS_EXPR_NODE_H

#include "core/analysis/expr/expr.h"

typedef enum node_kind {
    NODE_NUMBER,     /* `number` */
    NODE_NAME,       /* `name`, a number of the profile */
    NODE_DEFINITION, /* definition `index`; `name` for messages */
    NODE_BEFORE,     /* as those two, in the scope before a change; NO_INDEX: no definition */
    NODE_NEGATE,
    NODE_NOT,
    NODE_ADD,
    NODE_SUBTRACT,
    NODE_MULTIPLY,
    NODE_DIVIDE,
    NODE_LESS,
    NODE_LESS_EQUAL,
    NODE_GREATER,
    NODE_GREATER_EQUAL,
    NODE_EQUAL,
    NODE_NOT_EQUAL,
    NODE_AND,
    NODE_OR,
    NODE_MIN,
    NODE_MAX,
    NODE_IF,
    NODE_DEFAULT,
    NODE_FACT, /* whether fact `name` is `text` */
    NODE_LOG2,
    NODE_EXP2,
    NODE_SQRT,
    NODE_FLOOR,
    NODE_CEIL,
} node_kind;

#define NO_INDEX ((size_t)-1)

typedef struct node {
    node_kind kind;
    double number;
    char *name, *text;
    size_t index;
    size_t height;     /* of the tree below, itself included */
    size_t first, len; /* arguments: pfc_expr.args[first .. first + len) are numbers of nodes */
} node;

struct pfc_expr {
    node *nodes;
    size_t *args;
    size_t nodes_len, nodes_cap, args_len, args_cap;
    size_t root;
};

#endif
