"""Compares the instants of schedules with those of a walk through every minute by Python's zoneinfo.

usage: test_fire_times.py FIRE_TIMES
"""

import datetime
import re
import subprocess
import sys
import unittest
import zoneinfo

FIRE_TIMES = sys.argv.pop(1)
DAY = 86400
UTC = datetime.timezone.utc
MINUTE = datetime.timedelta(minutes=1)

# Around changes of the clock, forward and back: by an hour, half an hour, two hours, a day; at midnight; with standard
# time in winter and in summer; in the table of the zone, and far behind its end; around leap days, also that of 2100,
# which does not exist.
WINDOWS = [
    ("Europe/Berlin", "2026-03-29"), ("Europe/Berlin", "2026-10-25"), ("Europe/Berlin", "2089-03-27"),
    ("Europe/Berlin", "2089-10-30"), ("America/New_York", "2026-03-08"), ("America/New_York", "2026-11-01"),
    ("America/New_York", "2100-02-28"), ("America/New_York", "2077-11-07"), ("Australia/Lord_Howe", "2026-04-05"),
    ("Australia/Lord_Howe", "2026-10-04"), ("America/Sao_Paulo", "2018-11-04"), ("America/Sao_Paulo", "2018-02-18"),
    ("Pacific/Apia", "2011-12-30"), ("Europe/Dublin", "2026-03-29"), ("Europe/Dublin", "2026-10-25"),
    ("Africa/Casablanca", "2026-02-15"), ("Africa/Casablanca", "2026-03-22"), ("Antarctica/Troll", "2026-03-29"),
    ("Antarctica/Troll", "2026-10-25"), ("America/St_Johns", "2011-03-13"), ("America/St_Johns", "2006-10-29"),
    ("America/Santiago", "2026-04-05"), ("America/Santiago", "2050-09-04"), ("Asia/Kolkata", "2028-02-29"),
    ("UTC", "2028-02-29"), ("UTC", "2027-12-31"), ("Asia/Gaza", "2025-04-12"), ("America/Nuuk", "2026-03-29"),
    ("America/Nuuk", "2090-10-28"), ("Pacific/Chatham", "2026-09-27"),
]
CRONS = ["0 2 * * *", "30 2 * * *", "15 1 * * *", "0 0 * * *", "30 0 * * *", "0 3 * * *", "*/20 * * * *", "45 23 * * *",
         "5,10-12 0-4/2 * * *", "0 2 29 2 *", "10 2 * * sun", "0 3 13 * fri", "0 1 */2 * mon-wed", "59 1-3 1-31/7 mar,oct *",
         "@daily", "@weekly", "@monthly", "@hourly", "0 12 * feb-apr sat-sun", "7 4 * * 5-7"]
NAMES = {name: str(i) for i, name in enumerate("sun mon tue wed thu fri sat".split())}
MONTHS = {name: str(i + 1) for i, name in enumerate("jan feb mar apr may jun jul aug sep oct nov dec".split())}
WORDS = {"@daily": "0 0 * * *", "@weekly": "0 0 * * 0", "@monthly": "0 0 1 * *", "@hourly": "0 * * * *"}


def values(field, low, high, names):
    found = set()
    for item in field.split(","):
        body, _, step = item.partition("/")
        body = re.sub("[a-z]{3}", lambda m: names[m.group()], body)
        if body == "*":
            first, last = low, high
        else:
            first, _, last = body.partition("-")
            first, last = int(first), int(last or first)
            if names is NAMES and last < first:
                last += 7
        found.update(v % 7 if names is NAMES else v for v in range(first, last + 1, int(step or 1)))
    return found


def matcher(cron):
    minute, hour, day, month, weekday = WORDS.get(cron, cron).split()
    minutes, hours = values(minute, 0, 59, {}), values(hour, 0, 23, {})
    days, months, weekdays = values(day, 1, 31, {}), values(month, 1, 12, MONTHS), values(weekday, 0, 6, NAMES)
    both = day.startswith("*") or weekday.startswith("*")

    def match(t):
        if t.minute not in minutes or t.hour not in hours or t.month not in months:
            return False
        by_day, by_weekday = t.day in days, t.isoweekday() % 7 in weekdays
        return by_day and by_weekday if both else by_day or by_weekday
    return match


def minutes_of(zone, begin, end):
    """Each minute of the window with the local times that become due in it."""
    newest = None
    for at in range(begin - 3 * DAY, end + 1, 60):
        local = datetime.datetime.fromtimestamp(at, zone).replace(tzinfo=None)
        due = []
        if newest is None:
            newest = local - MINUTE
        while newest < local:  # several after a gap, none in a repeated hour
            newest += MINUTE
            due.append(newest)
        if at > begin and due:
            yield at, due


class FireTimes(unittest.TestCase):
    def test_every_schedule_fires_as_in_a_walk_through_the_minutes(self):
        expected, asked = [], []
        for name, date in WINDOWS:
            noon = int(datetime.datetime.fromisoformat(date).replace(hour=12, tzinfo=UTC).timestamp())
            begin, end = noon - 3 * DAY, noon + 3 * DAY
            zone = zoneinfo.ZoneInfo(name)
            minutes = list(minutes_of(zone, begin, end))
            for cron in CRONS:
                match = matcher(cron)
                expected.append([at for at, due in minutes if any(map(match, due))])
                asked.append(f"{name}\t{begin}\t{end}\t{cron}")
        done = subprocess.run([FIRE_TIMES], input="\n".join(asked) + "\n", capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        answers = [[int(word) for word in line.split()] for line in done.stdout.splitlines()]
        self.assertEqual(len(answers), len(expected))
        for line, answer, right in zip(asked, answers, expected):
            self.assertEqual(answer, right, line)
        self.assertGreater(sum(map(len, expected)), 10000)

    def test_the_windows_contain_gaps_and_repeated_hours(self):
        """Or the comparison would be of ordinary days."""
        gaps = folds = 0
        for name, date in WINDOWS:
            noon = int(datetime.datetime.fromisoformat(date).replace(hour=12, tzinfo=UTC).timestamp())
            zone = zoneinfo.ZoneInfo(name)
            offsets = [zone.utcoffset(datetime.datetime.fromtimestamp(noon + h * 3600, zone)) for h in range(-60, 61)]
            gaps += any(b > a for a, b in zip(offsets, offsets[1:]))
            folds += any(b < a for a, b in zip(offsets, offsets[1:]))
        self.assertGreaterEqual(gaps, 8)
        self.assertGreaterEqual(folds, 8)


if __name__ == "__main__":
    unittest.main()
