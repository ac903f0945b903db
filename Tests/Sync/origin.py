"""The scripted origin, a process of its own: origin.py SEED LOG PORTS PATH...

Serves the resources at the paths on several free ports, so that Larder sees several hosts, and prints the ports as a
JSON array. LOG gets the effects and the requests of Larder. A rival writes, and faults happen, until a request `PUT
/-/calm` arrives. Requests with the field `Reader` read past the faults, and the field `Change` names a change in the
log.
"""

import json
import random
import socket
import struct
import sys
import threading
import time
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import faults
from merging import dump, parse
from resources import EffectLog, Refused, Resource, kind

# An exact number that no double holds. Each write must keep its text.
EXACT = "12345678901234567890.123456789012345678"


class World:
    """The resources and the log. All members are used under the lock."""

    def __init__(self, seed, log, paths):
        self.seed = seed
        self.lock = threading.RLock()
        self.log = log
        self.calm = False
        self.faults = Counter()
        self.rivals = 0
        self.requests = Counter()
        self.keys = {}
        self.secrets = 1
        self.resources = {path: Resource(path, self.first_body(path)) for path in paths}
        for path, resource in self.resources.items():
            self.note("origin", path, "PUT", resource.body, resource)

    @staticmethod
    def first_body(path):
        if kind(path) == "items":
            return "[]"
        return "first" if kind(path) == "text" else f'{{"id": "{path}", "exact": {EXACT}, "nested": {{"n": 1.0}}}}'

    def note(self, writer, path, method, result, resource, **more):
        self.log.add(effect=True, writer=writer, path=path, method=method, result=result, stored=resource.body, **more)

    def fault(self, method, path):
        with self.lock:
            if self.calm:
                return faults.NONE
            self.requests[method == "GET", path] += 1
            fault = faults.choose(self.seed, method, path, self.requests[method == "GET", path])
            if fault is not faults.NONE:
                self.faults[fault.name] += 1
            return fault

    @property
    def secret(self):
        return f"secret-{self.secrets}"

    # MARK: The rival

    def rival_edit(self, path, choice):
        """Edits a resource as another writer, which sees the present version."""
        with self.lock:
            if self.calm or kind(path) == "items":
                return
            self.rivals += 1
            resource, value = self.resources[path], f"r{self.rivals}"
            draw = choice.random()
            if resource.body is None:
                if draw < 0.6:
                    return
                body = value if resource.kind == "text" else dump({"id": path, "r0": value})
            elif draw < 0.02:
                body = None
            elif resource.kind == "text":
                body = value
            else:
                edited = resource.value
                names = ["r0", "r1", "r2"] * 5 + ["shared", "c0"]
                for name in choice.sample(names, choice.choice((1, 1, 2))):
                    edited[name] = value
                if choice.random() < 0.3 and isinstance(edited.get("nested"), dict):
                    edited["nested"]["r3"] = value
                if choice.random() < 0.1:
                    edited.pop("r1", None)
                # Another program has another layout.
                body = dump(edited, gap=choice.choice(("", " ")))
            resource.store(body)
            self.note("rival", path, "DELETE" if body is None else "PUT", body, resource)

    def rival(self):
        choice = random.Random(f"{self.seed} rival")
        paths = sorted(self.resources)
        while not self.calm:
            self.rival_edit(choice.choice(paths), choice)
            if choice.random() < 0.01:
                self.secrets += 1
            time.sleep(choice.expovariate(6))


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    # The head and the body are two writes.
    disable_nagle_algorithm = True

    def log_message(self, *arguments):
        pass

    def do_GET(self):
        self.body = self.rfile.read(int(self.headers.get("Content-Length", 0))).decode()
        if self.path.startswith("/-/"):
            return self.control()
        world = self.server.world
        fault = faults.NONE if "Reader" in self.headers else world.fault(self.command, self.path)
        time.sleep(fault.before)
        # The date belongs to the tag, although a slow answer is sent later.
        date = self.date_time_string()
        status, answer, fields = fault.status, "", {}
        if fault.has_effect:
            honest, answer, fields = self.honest()
            if status is not None:
                answer, fields = "", {}
            status = status or honest
        if "Reader" not in self.headers:
            world.log.add(
                effect=False, path=self.path, method=self.command, change=self.headers.get("Change"), status=status,
                fault=fault.name)
        if fault.ambush:
            count = world.requests[self.command == "GET", self.path]
            world.rival_edit(self.path, random.Random(f"{world.seed} ambush {self.path} {count}"))
        time.sleep(fault.after)
        if fault.reset:
            return self.reset()
        if fault.retry_after is not None:
            fields["Retry-After"] = str(fault.retry_after)
        self.answer(status, answer, {**fields, "Date": date}, fault.cut)

    do_PUT = do_PATCH = do_DELETE = do_POST = do_GET

    def control(self):
        world = self.server.world
        if self.path == "/-/calm":
            world.calm = True
        with world.lock:
            report = {"faults": world.faults, "secret": world.secret}
        self.answer(200, json.dumps(report), {"Content-Type": "application/json"})

    def honest(self):
        """Performs a request. Returns the status, the body and the fields of its answer."""
        world = self.server.world
        key = self.headers.get("Idempotency-Key")
        with world.lock:
            resource = world.resources.get(self.path)
            if resource is None:
                return 404, "", {}
            if resource.kind == "secret" and "Reader" not in self.headers:
                if self.headers.get("Authorization") != world.secret:
                    return 401, "", {"WWW-Authenticate": "Secret"}
            if self.command == "GET":
                return (404, "", {}) if resource.body is None else (200, resource.body, resource.fields())
            if key in world.keys:
                return world.keys[key], "", {}
            try:
                precondition = resource.check(self.headers)
                if self.command == "POST":
                    status = self.add_item(resource)
                else:
                    status = 200 if resource.body is not None else 201
                    result = resource.result(self.command, self.body, self.headers.get("Content-Type"))
                    resource.store(result)
            except Refused as refusal:
                return refusal.status, "", {}
            if self.command == "POST":
                result = self.body
            if key is not None:
                world.keys[key] = status
            world.note(
                "larder", self.path, self.command, result, resource, change=self.headers.get("Change"),
                precondition=precondition or ("Idempotency-Key" if key else None))
            return status, "", {} if resource.body is None else {"ETag": resource.tag()} if resource.tag() else {}

    def add_item(self, resource):
        if resource.kind != "items":
            raise Refused(405)
        resource.items.append(parse(self.body))
        resource.store(dump(resource.items))
        return 201

    def answer(self, status, body, fields, cut=False):
        data = body.encode()
        self.send_response_only(status)
        for name, value in fields.items():
            self.send_header(name, value)
        if status != 204:
            self.send_header("Content-Length", str(len(data) + (10 if cut else 0)))
        self.end_headers()
        self.wfile.write(data)
        if cut:
            self.close_connection = True

    def reset(self):
        """Closes the connection with a RST."""
        self.close_connection = True
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        # The socket is closed when the file on top of it is.
        self.rfile.close()
        self.connection.close()


class Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64

    def __init__(self, world):
        super().__init__(("127.0.0.1", 0), Handler)
        self.world = world
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def handle_error(self, request, client_address):
        # Larder was killed, or has given up the request.
        if not isinstance(sys.exc_info()[1], OSError):
            super().handle_error(request, client_address)


def main(seed, log, count, *paths):
    world = World(seed, EffectLog(log), paths)
    servers = [Server(world) for _ in range(int(count))]
    print(json.dumps([server.server_port for server in servers]), flush=True)
    threading.Thread(target=world.rival, daemon=True).start()
    # The origin ends with its caller, which holds the other end of the pipe.
    sys.stdin.read()


if __name__ == "__main__":
    main(*sys.argv[1:])
