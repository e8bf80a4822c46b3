/* Days of the Gregorian calendar. */
#include "core/schedule/zone_priv.h"

int64_t pfc_floor_div(int64_t value, int64_t unit)
{
    return value / unit - (value % unit < 0);
}

int64_t pfc_days_of(int64_t year, int month, int day)
{
    const int64_t y = month <= 2 ? year - 1 : year;
    const int64_t era = pfc_floor_div(y, 400), in_era = y - era * 400;
    const int64_t in_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;

    return era * 146097 + in_era * 365 + in_era / 4 - in_era / 100 + in_year - 719468;
}

void pfc_date_of(int64_t days, int64_t *year, int *month, int *day)
{
    const int64_t z = days + 719468, era = pfc_floor_div(z, 146097), in_era = z - era * 146097;
    const int64_t y = (in_era - in_era / 1460 + in_era / 36524 - in_era / 146096) / 365;
    const int64_t in_year = in_era - (365 * y + y / 4 - y / 100);
    const int64_t m = (5 * in_year + 2) / 153;

    *day = (int)(in_year - (153 * m + 2) / 5 + 1);
    *month = (int)(m < 10 ? m + 3 : m - 9);
    *year = y + era * 400 + (*month <= 2);
}

int pfc_weekday_of(int64_t days)
{
    const int64_t since = days + 4; /* 1970-01-01 was a Thursday */

    return (int)(since - 7 * pfc_floor_div(since, 7));
}
