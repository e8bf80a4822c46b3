"""Many servers behind one PgBouncer with few connections, killed under load: no acknowledged run is lost or doubled.

pooled_servers.py [--servers N] [--connections N] [--kills N] [--clients N] [--minutes M] [--seed S]

All servers reach the database through PgBouncer, which pools transactions over `connections` connections. Runs are posted
to all servers at once. In turn a server, another server, PgBouncer and the whole database are killed (kill -9) at a
random instant and started again. A server's connection to the database itself receives events only. After each kill the
database must hold exactly what was acknowledged, each run once (ground.py). In the end everything is judged as in an
undisturbed project, bit for bit.
"""
import argparse
import concurrent.futures
import math
import shutil
import sys
import time

import ground
from ground import support, want

from pooler import Pooler  # noqa: E402 (ground.py adds its folder)

VICTIMS = ("server", "server", "PgBouncer", "database")


class Service:
    def __init__(self, args):
        self.servers, self.pooler = [], None
        self.cluster = support.Cluster()
        try:
            self.database = self.cluster.database()
            self.pooler = Pooler(self.database, args.connections)
            # The first one makes the schema.
            self.servers.append(self.server())
            with concurrent.futures.ThreadPoolExecutor(4) as starting:
                self.servers += [done.result() for done in [starting.submit(self.server) for _ in range(args.servers - 1)]]
        except BaseException:
            self.close()
            raise

    def server(self):
        return support.Server(self.pooler.url, "--workers", "1", "--threads", "4",
                              environment={"PERFCI_DATABASE_PREPARE": "0", "PERFCI_DATABASE_DIRECT_URL": self.database})

    def kill(self, victim, rng):
        if victim == "server":
            server = rng.choice(self.servers)
            server.kill()
            server.start()
        elif victim == "PgBouncer":
            self.pooler.kill()
            self.pooler.start()
        else:
            ground.kill_database(self.cluster)

    def close(self):
        for server in self.servers:
            server.close()
        if self.pooler:
            self.pooler.close()
        self.cluster.close()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name, default in (("servers", 16), ("connections", 20), ("kills", 20), ("clients", 32), ("seed", 1)):
        parser.add_argument("--" + name, type=int, default=default)
    parser.add_argument("--minutes", type=float, default=math.inf, help="the most that it takes: no kill comes after that")
    args = parser.parse_args()
    if not shutil.which("pgbouncer", path="/usr/sbin:/usr/bin:/usr/local/bin"):
        print("pooled_servers: skipped: PgBouncer is not installed (package pgbouncer)")
        return 77
    begin, kills, most = time.monotonic(), 0, (0, 0)
    ground.CLIENTS = args.clients
    service = Service(args)
    try:
        ledger = ground.Ledger(service.database, service.servers, args.seed)
        while kills < args.kills and (kills == 0 or time.monotonic() < begin + 60 * args.minutes):
            victim = VICTIMS[kills % len(VICTIMS)]
            ledger.trial(lambda v=victim: service.kill(v, ledger.random), count=3 * args.clients)
            served, clients = service.pooler.connections()
            want(served <= args.connections, f"{served} connections of PgBouncer, expected at most {args.connections}")
            most = (max(most[0], served), max(most[1], clients))
            kills += 1
            print(f"  {kills} of {args.kills}: {victim} killed, {ledger.last} runs stored ({time.monotonic() - begin:.0f} s)", flush=True)
        want(min(most) > 0, "no connection came through PgBouncer")
        ledger.finish()
    finally:
        service.close()
    short = f" of {args.kills} (the time was over)" if kills < args.kills else ""
    print(f"pooled: {args.servers} servers over {args.connections} connections, {kills}{short} kills: {ledger.last} runs acknowledged and"
          f" stored once each, {ledger.repeated} sent again, {ledger.refused} times \"not now\", {most[0]} connections of PgBouncer for"
          f" {most[1]} of the servers ({time.monotonic() - begin:.0f} s, seed {args.seed})")
    return 0


if __name__ == "__main__":
    sys.exit(main())
