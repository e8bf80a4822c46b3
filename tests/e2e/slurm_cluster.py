"""A Slurm cluster of three virtual nodes on this machine: two of one kind with a device each, one of another kind.

Everything runs in a PID namespace of its own (see `contained`), so that nothing of it outlives the test, however that ends.
"""
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

from stack import wait_for

PROGRAMS = ("slurmctld", "slurmd", "sbatch", "squeue", "sinfo", "scancel", "scontrol", "munged", "mungekey")
PATH = os.environ["PATH"] + ":/usr/sbin:/sbin"
NODES = {"h100-1": "h100,sm90", "h100-2": "h100,sm90", "mi300-1": "mi300,gfx942"}

CONFIG = """
ClusterName=perfci
SlurmctldHost={host}(127.0.0.1)
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={dir}/munge/munge.sock
SlurmctldPort={ports[0]}
SlurmctldPidFile={dir}/slurmctld.pid
SlurmdPidFile={dir}/slurmd-%n.pid
StateSaveLocation={dir}/ctld
SlurmdSpoolDir={dir}/spool/%n
MpiDefault=none
SwitchType=switch/none
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
JobCompType=jobcomp/none
SchedulerType=sched/backfill
SchedulerParameters=batch_sched_delay=0,sched_interval=1,bf_interval=1
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
ReturnToService=2
SlurmctldTimeout=30
SlurmdTimeout=10
JobRequeue=1
KillWait=5
MailProg=/bin/true
GresTypes=gpu
NodeName=h100-1 NodeHostname={host} NodeAddr=127.0.0.1 Port={ports[1]} CPUs=1 RealMemory=100 Feature=h100,sm90 Gres=gpu:1
NodeName=h100-2 NodeHostname={host} NodeAddr=127.0.0.1 Port={ports[2]} CPUs=1 RealMemory=100 Feature=h100,sm90 Gres=gpu:1
NodeName=mi300-1 NodeHostname={host} NodeAddr=127.0.0.1 Port={ports[3]} CPUs=1 RealMemory=100 Feature=mi300,gfx942
PartitionName=bench Nodes=ALL Default=YES MaxTime=60 State=UP OverSubscribe=EXCLUSIVE
"""


def missing():
    """Why no cluster can run here, in one sentence; None: it can."""
    absent = [p for p in PROGRAMS if not shutil.which(p, path=PATH)]
    if absent:
        return f"Slurm is not installed ({absent[0]} is missing): apt-get install slurmctld slurmd slurm-client munge"
    if os.geteuid() != 0:
        return "a Slurm cluster of its own needs root here: munged and slurmd change users"
    try:
        socket.gethostbyname(socket.gethostname())
    except OSError:
        return "this host's name does not resolve, which slurmctld needs: add it to /etc/hosts"
    done = subprocess.run(["unshare", "--pid", "--fork", "--mount-proc", "true"], capture_output=True, check=False)
    return None if done.returncode == 0 else "no PID namespace can be made here, so that Slurm's processes could outlive the test"


def contained(status=0):
    """Runs this script once more as a child of the first process of a new PID namespace, which reaps what is orphaned; with
    it ends all that the script starts. Ends with a sentence and this status where no cluster can run."""
    if os.environ.get("PFC_TEST_CONTAINED"):
        return
    why = missing()
    if why:
        print(f"skipped: {why}")
        sys.exit(status)
    os.environ["PFC_TEST_CONTAINED"] = "1"
    os.execvp("unshare", ["unshare", "--pid", "--fork", "--kill-child=KILL", "--mount-proc", "bash", "-c", '"$@"; exit $?', "bash",
                          sys.executable, *sys.argv])


def free_ports(count):
    sockets = [socket.socket() for _ in range(count)]
    for s in sockets:
        s.bind(("127.0.0.1", 0))
    ports = [s.getsockname()[1] for s in sockets]
    for s in sockets:
        s.close()
    return ports


class Cluster:
    def __init__(self):
        self.dir = tempfile.mkdtemp(prefix="pfc-slurm-", dir="/tmp")
        os.chmod(self.dir, 0o755)
        self.env = {"PATH": PATH, "SLURM_CONF": f"{self.dir}/slurm.conf", "LC_ALL": "C", "HOME": self.dir}
        self.daemons = {}

    def spawn(self, name, *argv):
        with open(f"{self.dir}/{name}.log", "ab") as log:
            self.daemons[name] = subprocess.Popen(argv, env=self.env, stdin=subprocess.DEVNULL, stdout=log, stderr=log)

    def start(self):
        d = self.dir
        munge = f"{d}/munge"
        os.mkdir(munge)
        shutil.chown(munge, "munge", "munge")
        os.mkdir(f"{d}/ctld")
        self.run("runuser", "-u", "munge", "--", "mungekey", "--create", f"--keyfile={munge}/munge.key")
        self.spawn("munged", "runuser", "-u", "munge", "--", "munged", "--foreground", f"--key-file={munge}/munge.key", f"--socket={munge}/munge.sock",
                   f"--pid-file={munge}/munged.pid", f"--log-file={munge}/munged.log", f"--seed-file={munge}/munged.seed")
        wait_for("munged listens", lambda: os.path.exists(f"{munge}/munge.sock"))
        with open(f"{d}/slurm.conf", "w", encoding="ascii") as file:
            file.write(CONFIG.format(host=socket.gethostname().split(".")[0], dir=d, ports=free_ports(4)))
        with open(f"{d}/gres.conf", "w", encoding="ascii") as file:
            file.write("NodeName=h100-[1-2] Name=gpu Count=1 File=/dev/null\n")
        self.start_controller()
        for node in NODES:
            os.makedirs(f"{d}/spool/{node}")
            self.start_node(node)
        wait_for("all nodes are idle", lambda: self.states() == {node: "idle" for node in NODES} or None)
        return self

    def start_controller(self):
        self.spawn("slurmctld", "slurmctld", "-D", "-f", self.env["SLURM_CONF"])

    def start_node(self, node):
        self.spawn(node, "slurmd", "-D", "-f", self.env["SLURM_CONF"], "-N", node)

    def run(self, *argv, check=True):
        done = subprocess.run(argv, env=self.env, capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=60, check=False)
        if check and done.returncode != 0:
            raise AssertionError(f"{argv}: {done.returncode}: {done.stderr}")
        return done.stdout

    def states(self):
        lines = self.run("sinfo", "-h", "-N", "-o", "%N|%t", check=False).split()
        return dict(line.split("|") for line in lines)

    def batches(self):
        """id -> (state, name, node) of those that have not ended."""
        lines = self.run("squeue", "-h", "-o", "%i|%T|%j|%N").splitlines()
        return {int(a): (b, c, d) for a, b, c, d in (line.split("|") for line in lines)}

    def kill_node(self, node, keep_work=False):
        """As a power cut: the node's daemon and, unless `keep_work`, all that its jobs started. With it only the network is
        cut, as far as Slurm can tell."""
        steps = self.processes_of(node)
        self.daemons.pop(node).kill()
        for pid in steps[:1] if keep_work else steps:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass

    def processes_of(self, node):
        """The step daemon of the node's batch job, then what that started."""
        running = [i for i, (state, _, where) in self.batches().items() if where == node]
        text = subprocess.run(["ps", "-e", "-o", "pid=,ppid=,args="], capture_output=True, text=True, check=True).stdout
        table = [(int(p), int(q), args) for p, q, args in (line.split(None, 2) for line in text.splitlines() if len(line.split(None, 2)) == 3)]
        found = [p for p, _, args in table if any(args.startswith(f"slurmstepd: [{i}.") for i in running)]
        grown = True
        while grown:
            more = [p for p, q, _ in table if q in found and p not in found]
            found += more
            grown = bool(more)
        return found

    def hasten(self):
        """A requeued job waits two minutes for its node's epilogue; not here."""
        for number, (state, _, _) in self.batches().items():
            if state == "PENDING":
                self.run("scontrol", "update", f"jobid={number}", "StartTime=now", check=False)

    def close(self):
        for process in self.daemons.values():
            process.terminate()
        for process in self.daemons.values():
            try:
                process.wait(timeout=20)
            except subprocess.TimeoutExpired:
                process.kill()
        shutil.rmtree(self.dir, ignore_errors=True)

    def logs(self):
        parts = []
        for name in ("slurmctld", *NODES):
            with open(f"{self.dir}/{name}.log", errors="replace", encoding="utf-8") as file:
                parts.append(f"--- {name}\n{file.read()[-1500:]}")
        return "\n".join(parts)


class Dispatcher:
    """`perfci-runner --executor slurm` on the cluster, for a service (stack.Stack)."""

    def __init__(self, cluster, stack, *flags):
        self.cluster, self.stack, self.flags = cluster, stack, flags
        self.work = os.path.join(stack.dir, "dispatcher")
        self.log = os.path.join(stack.dir, "dispatcher.log")
        self.token = os.path.join(stack.dir, "dispatcher.token")
        made = stack.api("/tokens", "POST", {"name": "slurm", "scopes": ["runner"]}, status=201)
        with open(self.token, "w", encoding="ascii") as file:
            file.write(made["token"])
        os.chmod(self.token, 0o600)
        self.process = None

    def start(self):
        from stack import BIN
        env = dict(self.stack.env, PATH=PATH, SLURM_CONF=self.cluster.env["SLURM_CONF"], PERFCI_JOB_ENV="PFC_TEST_COUNTERS")
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(
                [os.path.join(BIN, "perfci-runner"), "--executor", "slurm", "--url", self.stack.url, "--token-file", self.token,
                 "--work", self.work, *self.flags], env=env, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        return self

    def stop(self, how=signal.SIGTERM):
        self.process.send_signal(how)
        return self.process.wait(timeout=60)

    def logs(self):
        with open(self.log, encoding="utf-8", errors="replace") as file:
            text = "--- dispatcher\n" + file.read()[-6000:]
        for node in NODES:
            path = os.path.join(self.work, "nodes", node, "runner.log")
            if os.path.exists(path):
                with open(path, encoding="utf-8", errors="replace") as file:
                    text += f"\n--- on {node}\n{file.read()[-3000:]}"
        return text
