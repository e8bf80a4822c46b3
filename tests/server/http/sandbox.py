"""The system calls that a systemd unit allows, and a process that may do no others."""
import ctypes
import functools
import re
import subprocess

ALLOW, KILL = 0x7FFF0000, 0x80000000


@functools.cache
def group(name):
    """The calls of "@name", as systemd-analyze lists them."""
    text = subprocess.run(["systemd-analyze", "syscall-filter", "--no-pager", name], capture_output=True, text=True,
                          timeout=120, stdin=subprocess.DEVNULL, check=True).stdout
    words = [w for line in text.splitlines()[1:] for w in line.split("#")[0].split()]
    return frozenset().union(*(expand(w) for w in words))


def expand(word):
    return group(word) if word.startswith("@") else frozenset((word,))


def allowed_calls(unit):
    """Of the unit's text: SystemCallFilter= lines from first to last; ~ takes away."""
    allowed = frozenset()
    for line in re.findall(r"^SystemCallFilter=(.*)$", unit, re.M):
        words = line.lstrip("~").split()
        calls = frozenset().union(*(expand(w) for w in words))
        allowed = allowed - calls if line.startswith("~") else allowed | calls
    if not allowed:
        raise AssertionError("the unit has no filter of system calls")
    return allowed


def restrict(allowed):
    """From here on any other call ends the process. For Popen's preexec_fn."""
    lib = ctypes.CDLL("libseccomp.so.2")
    lib.seccomp_init.restype = ctypes.c_void_p
    lib.seccomp_rule_add.argtypes = [ctypes.c_void_p, ctypes.c_uint32, ctypes.c_int, ctypes.c_uint]
    lib.seccomp_load.argtypes = [ctypes.c_void_p]
    context = lib.seccomp_init(KILL)
    for name in allowed:
        number = lib.seccomp_syscall_resolve_name(name.encode())
        if number >= 0:
            lib.seccomp_rule_add(context, ALLOW, number, 0)
    if lib.seccomp_load(context) != 0:
        raise OSError("the filter cannot be loaded")
