/* Allocation: builds and frees linked lists of nodes of several sizes. */
#include <stdlib.h>

#include "kernels.h"

enum { ROWS = 2000, WIDTH = 40 };

typedef struct node {
    struct node *next;
    int value;
} node;

__attribute__((noinline)) static long list_row(int row)
{
    node *head = NULL;
    long sum = 0;

    for (int i = 0; i < WIDTH; i++) {
        node *one = malloc(sizeof(*one) + (size_t)((row + i * 37) % 160));

        if (!one)
            abort();
        one->next = head;
        one->value = i ^ row;
        head = one;
    }
    while (head) {
        node *next = head->next;

        sum += head->value;
        free(head);
        head = next;
    }
    return sum;
}

double list(void)
{
    double sum = 0;

    for (int row = 0; row < ROWS; row++)
        sum += (double)list_row(row);
    return sum;
}
