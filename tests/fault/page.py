"""The commands of a page, run as they are printed on the nodes that the page names.

A block of shell commands runs when the line above it says where: <!-- run on: db1 -->, "every node", "other nodes" (db2 and
db3) or "leader". A line of systemctl is what this machine lacks: the node starts or ends the unit's process itself.
"""
import re

UNITS = re.compile(r"systemctl (enable --now|disable --now|start|stop) (.*)")
BLOCK = re.compile(r"<!-- run on: (.*?) -->\n```sh\n(.*?)```", re.S)
# The shell of root on a real node: it has sudo, and the name and address that a person typed.
PRELUDE = """set -euo pipefail
sudo() {{ shift 2; "$@"; }}
node={node.name} address={node.address} target='{target}'
export PGHOST={node.folder}/run PGUSER=postgres
cd {node.nodes.folder}/source
"""


def blocks(text):
    """Pairs of where and what, in the order of the page."""
    return BLOCK.findall(text)


def parts(text):
    """The block in pieces: shell, or an action of systemd with its units."""
    shell = []
    for line in text.splitlines():
        unit = UNITS.fullmatch(line)
        if unit:
            if shell:
                yield "\n".join(shell), None
            shell = []
            yield unit[1], unit[2].split()
        else:
            shell.append(line)
    if shell:
        yield "\n".join(shell), None


def run(text, node, target=""):
    """One block on one node; what it printed."""
    printed = []
    for part, units in parts(text):
        if units is None:
            printed.append(node.nodes.run("bash", "-c", PRELUDE.format(node=node, target=target) + node.fill(part), node=node))
            node.adapt()
        else:
            for unit in units:
                printed.append(node.unit(part, unit))
    return "".join(text for text in printed if text)
