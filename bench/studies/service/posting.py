"""Posts documents of runs by several clients at a time."""
import http.client
import os
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.environ["PERFCI_SOURCE_DIR"], "tests/server/http"))
import support  # noqa: E402


def post(server, documents, clients):
    """Each client has one connection and takes the next document from one list. Returns when each was stored, in
    seconds from the start."""
    queue, ends, lock, faults = iter(documents), [], threading.Lock(), []
    head = {"Authorization": "Bearer " + server.admin, "Content-Type": "application/json"}

    def work():
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=support.DEADLINE_S)
        while not faults:
            with lock:
                body = next(queue, None)
            if body is None:
                break
            connection.request("POST", "/api/v1/runs", body=body, headers=head)
            answer = connection.getresponse()
            text = answer.read()
            if answer.status != 201:
                faults.append(f"{answer.status} {text[:300]!r}")
                break
            with lock:
                ends.append(time.perf_counter() - begin)
        connection.close()

    threads = [threading.Thread(target=work) for _ in range(clients)]
    begin = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if faults:
        raise SystemExit(faults[0])
    return ends
