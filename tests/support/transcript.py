"""Transcripts: files of steps, each with the lines that it prints. Read by tests that compare them to the letter.

A line that begins with a mark ("|", "!", ">", "= ") belongs to the step above it.
"""

import re

MARKS = ("|", "!", ">", "= ")


def blocks(text):
    """(head, body) of each step."""
    found = []
    for line in text.splitlines():
        if line.startswith(MARKS) and found:
            found[-1][1].append(line)
        else:
            found.append((line, []))
    return found


def content(body):
    """The text behind the marks."""
    return "\n".join(line[1:] for line in body)


def shown(mark, text, names):
    """The lines of a text in the form of a transcript: values by their names, blanks at a line's end as "~"."""
    for value, name in names.items():
        text = text.replace(value, name)
    return [mark + re.sub(r" +$", lambda m: "~" * len(m.group()), line) for line in text.splitlines()]


def play(test, path, step, record):
    """Carries out each step: step(head, body) gives the lines that it has printed, None where it prints nothing.

    record: writes what was printed into the file instead of comparing it.
    """
    lines = []
    for head, body in blocks(path.read_text(encoding="utf-8")):
        printed = step(head, body)
        lines += [head, *(body if printed is None else printed)]
        if printed is not None and not record:
            test.assertEqual("\n".join(body), "\n".join(printed), f"{path.name}: {head}")
    if record:
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
