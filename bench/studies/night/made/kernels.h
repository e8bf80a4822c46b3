/* The kernels: each does a fixed amount of work and returns a checksum of it. */
#ifndef KERNELS_H
#define KERNELS_H

double stream(void);
double matrix(void);
double sorting(void);
double list(void);
double text(void);
double table(void);

/* report.c */
void report(int n, const char *const *names, const double *us);

#endif
