/* A commit or the machine: made histories of which the answer is known. */
#include <math.h>

#include "core/base/rng.h"
#include "core/suspects/machine_shift.h"

#include "tests/check/check.h"

#define KERNELS  12
#define MACHINES 2
#define BEFORE   10 /* commits 1..BEFORE are at the old level */
#define LAST     18
#define NOISE    0.004

typedef struct made {
    pfc_shift_series series[3 * KERNELS * MACHINES];
    pfc_shift_point points[20000];
    pfc_shift_case c;
    pfc_rng rng;
} made;

/* Slowdowns from commit BEFORE + 1 on: kernel k on machine m by loss[m][k]. */
typedef struct plan {
    double loss[MACHINES][KERNELS];
    size_t machines;
    bool exact_too;    /* instructions are counted, on the first machine */
    double exact_loss; /* ... and grow by this */
    bool again,
        again_new; /* old commits are measured again on the first machine: at the new level */
    bool state, same_code;
} plan;

static void add(made *m, uint32_t series, uint32_t machine, int64_t position, double time,
                double value, const plan *p)
{
    const bool after = position > BEFORE;

    cr_assert(lt(sz, m->c.points_len, 20000));
    m->points[m->c.points_len++] =
        (pfc_shift_point){ .series = series,
                           .machine = machine,
                           .state = machine == 0 && p->state && after ? 2 : 1,
                           .code = machine == 0 && p->same_code ? 7 : (uint32_t)position,
                           .position = position,
                           .time = time,
                           .value = value };
}

/* Kernels of three kinds; time on every machine, instructions on the first. */
static made *make(const plan *p)
{
    made *m = pfc_alloc(sizeof(*m));
    uint32_t n = 0;

    pfc_rng_seed(&m->rng, 5);
    for (uint32_t machine = 0; machine < p->machines; machine++) {
        for (uint32_t k = 0; k < KERNELS; k++) {
            m->series[n] = (pfc_shift_series){ .work = 2 * k,
                                               .kernel = k,
                                               .kind = k % 3,
                                               .higher_is_better = k % 2 == 1,
                                               .suspect = p->loss[machine][k] > 0.02 };
            for (int64_t c = 1; c <= LAST; c++) {
                const double worse = c > BEFORE ? log1p(p->loss[machine][k]) : 0;
                const double noise = NOISE * pfc_rng_normal(&m->rng);

                add(m, n, machine, c, (double)(100 * c + machine),
                    exp((k % 2 == 1 ? -worse : worse) + noise), p);
            }
            for (int64_t c = 5; machine == 0 && p->again && c <= 7; c++) {
                const double worse = p->again_new ? log1p(p->loss[0][k]) : 0;

                add(m, n, machine, c, 100.0 * LAST + 1,
                    exp((k % 2 == 1 ? -worse : worse) + NOISE * pfc_rng_normal(&m->rng)), p);
            }
            n++;
        }
    }
    for (uint32_t k = 0; p->exact_too && k < KERNELS; k++) {
        m->series[n] =
            (pfc_shift_series){ .work = 2 * k + 1, .kernel = k, .kind = k % 3, .exact = true };
        for (int64_t c = 1; c <= LAST; c++)
            add(m, n, 0, c, (double)(100 * c), c > BEFORE ? 1e6 * (1 + p->exact_loss) : 1e6, p);
        n++;
    }
    m->c.series = m->series;
    m->c.series_len = n;
    m->c.points = m->points;
    m->c.machines = MACHINES;
    m->c.low = BEFORE;
    m->c.high = BEFORE + 1;
    return m;
}

static void all_lose(plan *p, size_t machine, double loss)
{
    for (size_t k = 0; k < KERNELS; k++)
        p->loss[machine][k] = loss;
}

static pfc_shift judge(made *m)
{
    pfc_shift shift;

    size_t belongs = 0;

    pfc_shift_judge(&m->c, &shift);
    for (size_t s = 0; shift.belongs && s < m->c.series_len; s++)
        belongs += shift.belongs[s];
    cr_assert(eq(sz, shift.belongs_len, belongs));
    return shift;
}

Test(shift, a_commit_that_slows_all_on_every_machine_is_a_commit)
{
    plan p = { .machines = 2, .state = true };
    made *m;
    pfc_shift s;

    all_lose(&p, 0, 0.07);
    all_lose(&p, 1, 0.07);
    m = make(&p);
    s = judge(m);
    cr_assert(
        eq(int, s.answer, PFC_SHIFT_COMMIT)); /* though the first machine changed there, too */
    cr_assert(eq(sz, s.belongs_len, 0));
    pfc_shift_clear(&s);
    free(m);
}

Test(shift, what_only_one_machine_shows_is_the_machines)
{
    plan p = { .machines = 2 };
    made *m;
    pfc_shift s;

    all_lose(&p, 0, 0.07);
    m = make(&p);
    s = judge(m);
    cr_assert(eq(int, s.answer, PFC_SHIFT_MACHINE));
    cr_assert(eq(uint, s.why, PFC_SHIFT_ELSEWHERE));
    cr_assert(eq(u32, s.machine, 0));
    cr_assert(eq(sz, s.belongs_len, KERNELS));
    cr_assert(eq(sz, s.judged, KERNELS));
    cr_assert(epsilon_eq(dbl, s.loss, 0.07, 0.01));
    cr_assert(eq(i64, m->points[s.last].position, BEFORE - 1)); /* BEFORE is in doubt */
    cr_assert(eq(i64, m->points[s.first].position, BEFORE + 1));
    pfc_shift_clear(&s);
    free(m);
}

/* A kernel that is slower on both machines keeps its commit; so does one that lost far more. */
Test(shift, a_commit_at_the_same_place_is_not_swallowed)
{
    plan p = { .machines = 2 };
    made *m;
    pfc_shift s;

    all_lose(&p, 0, 0.05);
    p.loss[0][3] = 0.13;
    p.loss[1][3] = 0.08;
    p.loss[0][8] = 0.30; /* the code for this machine alone */
    m = make(&p);
    s = judge(m);
    cr_assert(eq(int, s.answer, PFC_SHIFT_MACHINE));
    cr_assert(eq(sz, s.belongs_len, KERNELS - 2));
    cr_assert(not(s.belongs[3]));
    cr_assert(not(s.belongs[8]));
    pfc_shift_clear(&s);
    free(m);
}

Test(shift, one_machine_alone_needs_a_reason)
{
    plan p = { .machines = 1 };
    made *m;
    pfc_shift s;

    all_lose(&p, 0, 0.07);
    m = make(&p);
    s = judge(m);
    cr_assert(eq(int, s.answer, PFC_SHIFT_UNKNOWN)); /* may be the commit's flags */
    pfc_shift_clear(&s);
    m->c.scope = PFC_SCOPE_NARROW;
    s = judge(m);
    cr_assert(eq(int, s.answer, PFC_SHIFT_MACHINE));
    cr_assert(eq(uint, s.why, PFC_SHIFT_SCOPE));
    pfc_shift_clear(&s);
    free(m);

    p.state = true;
    m = make(&p);
    s = judge(m);
    cr_assert(eq(int, s.answer, PFC_SHIFT_MACHINE));
    cr_assert(eq(uint, s.why, PFC_SHIFT_STATE));
    cr_assert(ne(u32, m->points[s.last].state, m->points[s.first].state));
    pfc_shift_clear(&s);
    free(m);

    p = (plan){ .machines = 1, .same_code = true };
    all_lose(&p, 0, 0.07);
    m = make(&p);
    s = judge(m);
    cr_assert(eq(int, s.answer, PFC_SHIFT_MACHINE));
    cr_assert(eq(uint, s.why, PFC_SHIFT_CODE));
    pfc_shift_clear(&s);
    free(m);
}

Test(shift, old_commits_measured_again_tell)
{
    plan p = { .machines = 1, .again = true, .again_new = true };
    made *m;
    pfc_shift s;

    all_lose(&p, 0, 0.07);
    m = make(&p);
    s = judge(m);
    cr_assert(eq(int, s.answer, PFC_SHIFT_MACHINE));
    cr_assert(eq(uint, s.why, PFC_SHIFT_AGAIN));
    pfc_shift_clear(&s);
    free(m);

    p.again_new = false;
    p.state = true; /* a new kernel came, and is not to blame */
    m = make(&p);
    s = judge(m);
    cr_assert(eq(int, s.answer, PFC_SHIFT_COMMIT));
    pfc_shift_clear(&s);
    free(m);
}

/* More instructions in every kernel are code; as many as before speak for the machine. */
Test(shift, counts_without_noise_tell)
{
    plan p = { .machines = 1, .exact_too = true };
    made *m;
    pfc_shift s;

    all_lose(&p, 0, 0.07);
    m = make(&p);
    s = judge(m);
    cr_assert(eq(int, s.answer, PFC_SHIFT_MACHINE));
    cr_assert(eq(uint, s.why, PFC_SHIFT_CODE));
    pfc_shift_clear(&s);
    free(m);

    p.exact_loss = 0.05;
    p.state = true;
    m = make(&p);
    s = judge(m);
    cr_assert(ne(int, s.answer, PFC_SHIFT_MACHINE));
    pfc_shift_clear(&s);
    free(m);
}

/* A third of a machine's series, or one kind of work only, is no machine. */
Test(shift, what_is_not_broad_is_a_commit)
{
    plan p = { .machines = 2, .state = true };
    made *m;
    pfc_shift s;

    for (size_t k = 0; k < KERNELS; k += 3)
        p.loss[0][k] = 0.07; /* one kind */
    m = make(&p);
    s = judge(m);
    cr_assert(ne(int, s.answer, PFC_SHIFT_MACHINE));
    pfc_shift_clear(&s);
    free(m);

    p = (plan){ .machines = 2, .state = true };
    for (size_t k = 0; k < 5; k++)
        p.loss[0][k] = 0.07; /* of every kind, but few */
    m = make(&p);
    s = judge(m);
    cr_assert(ne(int, s.answer, PFC_SHIFT_MACHINE));
    pfc_shift_clear(&s);
    free(m);
}

Test(shift, nothing_is_an_answer)
{
    pfc_shift_case c = { .low = 1, .high = 1 };
    pfc_shift s;

    pfc_shift_judge(&c, &s);
    cr_assert(eq(int, s.answer, PFC_SHIFT_UNKNOWN));
    pfc_shift_clear(&s);
}

/* Eight points give the new level, twelve the old one: those further away do not count. */
Test(shift, a_level_is_that_of_the_points_next_to_the_change)
{
    plan p = { .machines = 2, .same_code = true };
    pfc_shift near, far;
    made *m;

    all_lose(&p, 0, 0.06);
    m = make(&p);
    near = judge(m);
    pfc_shift_clear(&near);
    for (int64_t c = LAST + 1; c <= LAST + 40; c++)
        for (uint32_t k = 0; k < KERNELS; k++)
            add(m, k, 0, c, (double)(100 * c), exp(c % 2 ? 2.0 : -2.0), &p);
    near = judge(m);
    cr_assert(eq(int, near.answer, PFC_SHIFT_MACHINE));
    cr_assert(epsilon_eq(dbl, near.loss, 0.06, 0.01));
    far = near;
    pfc_shift_clear(&far);
    cr_assert(eq(ptr, far.belongs, NULL));
    cr_assert(eq(sz, far.belongs_len, 0));
    pfc_shift_clear(&far); /* twice is once */
    free(m);
}
