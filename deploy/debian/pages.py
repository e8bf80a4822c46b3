#!/usr/bin/env python3
"""Man pages and shell completion from the programs' own option tables.

usage: pages.py BIN OUT     OUT/man/*.scd (for scdoc), OUT/bash/perfci, OUT/zsh/_perfci, OUT/fish/perfci.fish
"""
import json
import pathlib
import re
import subprocess
import sys

STATUSES = ((0, "No regression, or done."), (1, "A regression was found."), (2, "Wrong usage."), (3, "Inconclusive."),
            (4, "A benchmark is broken."), (5, "Infrastructure: network, database, time limit."))
PROGRAMS = (("perfci-server", 8, "stores benchmark runs, finds regressions, answers over HTTP"),
            ("perfci-runner", 8, "measures commits for a perfci server"),
            ("perfci-sandbox", 8, "starts the commands of a perfci runner, each in a sandbox"),
            ("perfci-bench", 1, "measures the built-in kernels"))


def output(*words):
    return subprocess.run(list(map(str, words)), capture_output=True, text=True, check=True, stdin=subprocess.DEVNULL).stdout


# ---- scdoc ----

def plain(text):
    """Text without what scdoc reads as markup."""
    text = re.sub(r"([\\*_#~\[\]|.:`])", r"\\\1", text)
    return re.sub(r"^([-+])", r"\\\1", text)


def literal(text):
    return "```\n" + text.rstrip("\n") + "\n```\n"


def paragraphs(text):
    out = []
    for part in re.split(r"\n\s*\n", text.strip()):
        head, _, rest = part.partition("\n")
        if head.strip() == "Examples:":
            out.append("# EXAMPLES\n\n" + literal("\n".join(line[2:] if line.startswith("  ") else line for line in rest.splitlines())))
        elif part.strip():
            out.append("\n".join(plain(line.strip()) for line in part.splitlines()) + "\n")
    return "\n".join(out)


def options_text(options):
    out = []
    for option in sorted(options, key=lambda o: o["name"]):
        name = (f"*-{option['letter']}*, " if "letter" in option else "") + f"*--{option['name']}*"
        name += f" _{plain(option['argument'])}_" if "argument" in option else ""
        values = " or ".join(option["words"]) if "words" in option else ""
        extra = "".join([f" Values: {values}." if values else "", f" Default: {option['default']}." if "default" in option else ""])
        help_text = option["help"] if option["help"].endswith(".") else option["help"] + "."
        out.append(f"{name}\n\t{plain(help_text + extra)}\n")
    return "\n".join(out)


def split_doc(doc):
    """The text before the examples, and the examples."""
    text = doc.replace("\v", "\n\n")
    at = re.search(r"^Examples:$", text, re.M)
    return (text[:at.start()], text[at.start():]) if at else (text, "")


def page_of(command, everywhere):
    name = "perfci-" + command["name"]
    text, examples = split_doc(command.get("doc", ""))
    parts = command.get("parts", [])
    usages = [f"*perfci {command['name']}*" + (f" {plain(command['usage'])}" if "usage" in command else "") + " [_option_...]"] if not parts else []
    usages += [f"*perfci {command['name']} {part['name']}*" + (f" {plain(part['usage'])}" if "usage" in part else "") + " [_option_...]" for part in parts]
    out = [f'{name}(1) "" "perfci manual"\n', "# NAME\n", f"{name} - {plain(command['summary'])}\n", "# SYNOPSIS\n", "++\n".join(usages) + "\n",
           "# DESCRIPTION\n", paragraphs(text)]
    if command.get("options"):
        out += ["# OPTIONS\n", options_text(command["options"])]
    for part in parts:
        about, more = split_doc(part.get("doc", ""))
        out += [f"# PERFCI {command['name']} {part['name']}\n".upper(), paragraphs(about), options_text(part.get("options", []))]
        examples += "" if examples else more
    out += ["# OPTIONS OF EVERY COMMAND\n", options_text(everywhere), "# EXIT STATUS\n",
            "\n".join(f"*{status}*\n\t{plain(what)}\n" for status, what in STATUSES)]
    if examples:
        out.append(paragraphs(examples))
    out += ["# SEE ALSO\n", "*perfci*(1)"]
    return "\n".join(out) + "\n"


def main_page(document):
    rows = [f"*perfci-{c['name']}*(1)\n\t{plain(c['summary'][:1].upper() + c['summary'][1:])}.\n" for c in document["commands"]]
    return "\n".join([
        'perfci(1) "" "perfci manual"\n', "# NAME\n", "perfci - performance regressions of ML kernels\\: measured, detected, attributed\n",
        "# SYNOPSIS\n", "*perfci* _command_ [_option_...] [_argument_...]\n", "# DESCRIPTION\n",
        plain("For every commit of a repository perfci says whether something became slower, by how much, and because of which commit.") + "\n",
        "# COMMANDS\n", *rows, "# OPTIONS OF EVERY COMMAND\n", options_text(document["options"]), "# EXIT STATUS\n",
        "\n".join(f"*{status}*\n\t{plain(what)}\n" for status, what in STATUSES), "# SEE ALSO\n",
        "*perfci-server*(8), *perfci-runner*(8), *perfci-sandbox*(8), *perfci-bench*(1)"]) + "\n"


def program_page(name, section, summary, help_text):
    return "\n".join([f'{name}({section}) "" "perfci manual"\n', "# NAME\n", f"{name} - {plain(summary)}\n", "# DESCRIPTION\n",
                      literal(help_text), "# SEE ALSO\n", "*perfci*(1)"]) + "\n"


# ---- completion ----

def leaves(document):
    """(words of a command, its options, its parts)."""
    for command in document["commands"]:
        yield [command["name"]], command.get("options", []), [part["name"] for part in command.get("parts", [])]
        for part in command.get("parts", []):
            yield [command["name"], part["name"]], part.get("options", []), []


def quoted(text):
    return "'" + text.replace("'", "'\\''") + "'"


def bash(document):
    names = lambda options: " ".join("--" + o["name"] for o in options)
    rows = "\n".join(f"        {quoted(' '.join(words))}) options={quoted(names(options))}; parts={quoted(' '.join(parts))};;"
                     for words, options, parts in leaves(document))
    values = {}
    for _, options, _ in [*leaves(document), ([], document["options"], [])]:
        for option in options:
            if "words" in option:
                values.setdefault(option["name"], []).extend(w for w in option["words"] if w not in values.get(option["name"], []))
    cases = "\n".join(f"        --{name}) COMPREPLY=($(compgen -W {quoted(' '.join(words))} -- \"$word\")); return;;" for name, words in sorted(values.items()))
    return f"""# bash completion of perfci; generated from its option tables.
_perfci()
{{
    local word=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD-1]}} command=${{COMP_WORDS[1]}} part=${{COMP_WORDS[2]}}
    local options='' parts=''
    if [ "$COMP_CWORD" -eq 1 ]; then
        COMPREPLY=($(compgen -W {quoted(' '.join(c['name'] for c in document['commands']) + ' help')} -- "$word"))
        return
    fi
    case "$before" in
{cases}
    esac
    case "$command" in
{rows}
    esac
    if [ -n "$parts" ]; then
        if [ "$COMP_CWORD" -eq 2 ]; then
            COMPREPLY=($(compgen -W "$parts" -- "$word"))
            return
        fi
        case "$command $part" in
{rows}
        esac
    fi
    if [[ $word == -* ]]; then
        COMPREPLY=($(compgen -W "$options {names(document['options'])}" -- "$word"))
    else
        COMPREPLY=($(compgen -f -- "$word"))
    fi
}}
complete -o filenames -F _perfci perfci
"""


def zsh_text(text):
    return text.replace("\\", "\\\\").replace("'", "'\\''").replace("[", "\\[").replace("]", "\\]").replace(":", "\\:")


def zsh_option(option):
    spec = f"--{option['name']}" + ("=" if "argument" in option else "") + f"[{zsh_text(option['help'])}]"
    if "words" in option:
        spec += f":{option['name']}:({' '.join(option['words'])})"
    elif "argument" in option:
        spec += f":{zsh_text(option['argument'])}:_files"
    return f"'{spec}'"


def zsh(document):
    commands = "\n".join(f"        '{c['name']}:{zsh_text(c['summary'])}'" for c in document["commands"])
    rows = []
    for words, options, parts in leaves(document):
        specs = " \\\n            ".join([zsh_option(o) for o in [*options, *document["options"]]])
        first = f"'2:part:({' '.join(parts)})' " if parts else ""
        rows.append(f"        {quoted(' '.join(words))})\n            _arguments {first}{specs} '*:file:_files';;")
    return f"""#compdef perfci
# zsh completion of perfci; generated from its option tables.
_perfci() {{
    local -a commands
    commands=(
{commands}
    )
    if (( CURRENT == 2 )); then
        _describe command commands
        return
    fi
    local name="$words[2]"
    case "$name" in ({'|'.join(c['name'] for c in document['commands'] if c.get('parts'))}) (( CURRENT > 3 )) && name="$words[2] $words[3]";; esac
    case "$name" in
{chr(10).join(rows)}
    esac
}}
_perfci "$@"
"""


def fish(document):
    lines = ["# fish completion of perfci; generated from its option tables.",
             "complete -c perfci -n __fish_use_subcommand -f"]
    text = lambda s: "'" + s.replace("\\", "\\\\").replace("'", "\\'") + "'"
    for command in document["commands"]:
        lines.append(f"complete -c perfci -n __fish_use_subcommand -f -a {command['name']} -d {text(command['summary'])}")
    for words, options, parts in leaves(document):
        seen = "; and ".join(f"__fish_seen_subcommand_from {word}" for word in words)
        for part in parts:
            lines.append(f"complete -c perfci -n {text(seen)} -f -a {part}")
        for option in [*options, *(document["options"] if len(words) == 1 else [])]:
            value = (f" -x -a {text(' '.join(option['words']))}" if "words" in option else " -r" if "argument" in option else "")
            letter = f" -s {option['letter']}" if re.fullmatch(r"\w", option.get("letter", "")) else ""
            lines.append(f"complete -c perfci -n {text(seen)} -l {option['name']}{letter}{value} -d {text(option['help'])}")
    return "\n".join(lines) + "\n"


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    programs, out = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    document = json.loads(output(programs / "perfci", "help", "--json"))
    files = {"man/perfci.1.scd": main_page(document), "bash/perfci": bash(document), "zsh/_perfci": zsh(document),
             "fish/perfci.fish": fish(document)}
    for command in document["commands"]:
        files[f"man/perfci-{command['name']}.1.scd"] = page_of(command, document["options"])
    for name, section, summary in PROGRAMS:
        # `perfci runner` and the program perfci-runner have pages of their own, by their sections.
        files[f"man/{name}.{section}.scd"] = program_page(name, section, summary, output(programs / name, "--help"))
    for name, text in files.items():
        path = out / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


main()
