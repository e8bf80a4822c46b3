"""A client of the Model Context Protocol for tests: starts `perfci mcp`, and holds every message to the published schemas."""

import json
import os
import pathlib
import queue
import subprocess
import threading

import jsonschema

SCHEMAS = pathlib.Path(__file__).parents[1] / "data" / "mcp"
MODERN, OLD, OLDEST = "2026-07-28", "2025-11-25", "2025-06-18"
DEADLINE_S = 240
PREFIX = "io.modelcontextprotocol/"
# The definition of a method's result, where its name does not follow from the method.
RESULTS = {"initialize": "InitializeResult", "ping": "EmptyResult", "server/discover": "DiscoverResult", "tools/list": "ListToolsResult",
           "tools/call": "CallToolResult", "resources/list": "ListResourcesResult", "resources/read": "ReadResourceResult",
           "resources/templates/list": "ListResourceTemplatesResult", "prompts/list": "ListPromptsResult",
           "prompts/get": "GetPromptResult"}
REQUESTS = {"initialize": "InitializeRequest", "ping": "PingRequest", "server/discover": "DiscoverRequest", "tools/list": "ListToolsRequest",
            "tools/call": "CallToolRequest", "resources/list": "ListResourcesRequest", "resources/read": "ReadResourceRequest",
            "prompts/list": "ListPromptsRequest", "prompts/get": "GetPromptRequest",
            "notifications/cancelled": "CancelledNotification", "notifications/initialized": "InitializedNotification"}
ERRORS = {-32022: "UnsupportedProtocolVersionError"}


class Schema:
    """One version's schema."""

    def __init__(self, version):
        self.document = json.loads((SCHEMAS / f"schema-{version}.json").read_text(encoding="utf-8"))
        self.key = "$defs" if "$defs" in self.document else "definitions"
        self.kind = jsonschema.validators.validator_for(self.document)
        self.version = version

    def check(self, name, value):
        """Fails when the value is no `name`; a name that the version does not have is a fault of the test."""
        assert name in self.document[self.key], f"{self.version} has no {name}"
        self.kind({**self.document, "$ref": f"#/{self.key}/{name}"}).validate(value)

    def has(self, name):
        return name in self.document[self.key]


class Refused(AssertionError):
    """The server answered with an error of the protocol."""

    def __init__(self, error):
        super().__init__(str(error))
        self.code, self.message, self.data = error["code"], error["message"], error.get("data")


class Client:
    """One process of `perfci mcp` and a version to speak to it in. Everything that it prints must be a message."""

    def __init__(self, program, *args, version=MODERN, env=None, cwd=None, handshake=True, check_outputs=True):
        self.schema = Schema(version)
        self.version, self.modern, self.check_outputs = version, version == MODERN, check_outputs
        self.process = subprocess.Popen([program, "mcp", *args], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                        env=env, cwd=cwd)
        self.lines, self.serial, self.outputs, self.said = queue.Queue(), 0, None, []
        self.readers = [threading.Thread(target=self._read, daemon=True), threading.Thread(target=self._listen, daemon=True)]
        for reader in self.readers:
            reader.start()
        self.info = None
        if handshake and not self.modern:
            self.info = self.request("initialize", protocolVersion=version, capabilities={}, clientInfo={"name": "test", "version": "1"})
            self.notify("notifications/initialized")
        elif handshake:
            self.info = self.request("server/discover")

    def _read(self):
        for line in self.process.stdout:
            self.lines.put(line)
        self.lines.put(None)

    def _listen(self):
        for line in self.process.stderr:
            self.said.append(line.decode())

    # ---- what is sent

    def message(self, method, request_id, params):
        if self.modern:
            params = {"_meta": {PREFIX + "protocolVersion": self.version, PREFIX + "clientCapabilities": {},
                                PREFIX + "clientInfo": {"name": "test", "version": "1"}}, **params}
        document = {"jsonrpc": "2.0", "method": method, **({"params": params} if params else {})}
        return document if request_id is None else {**document, "id": request_id}

    def write(self, data):
        self.process.stdin.write(data if isinstance(data, bytes) else data.encode())
        self.process.stdin.flush()

    def post(self, document):
        """Sends a message; a good one is held to its schema, too, so that the test speaks the protocol."""
        if self.schema.has(REQUESTS.get(document["method"], "")):
            self.schema.check(REQUESTS[document["method"]], document)
        self.write(json.dumps(document) + "\n")

    def start(self, method, **params):
        """Sends a request and returns its id."""
        self.serial += 1
        self.post(self.message(method, self.serial, params))
        return self.serial

    def notify(self, method, **params):
        document = {"jsonrpc": "2.0", "method": method, **({"params": params} if params else {})}
        self.post(document)

    # ---- what comes back

    def receive(self):
        """The next message; every one is a response that its schema takes."""
        line = self.lines.get(timeout=DEADLINE_S)
        if line is None:
            raise AssertionError(f"the output ended: {''.join(self.said)}")
        assert line.endswith(b"\n") and b"\n" not in line[:-1], line
        message = json.loads(line)
        if "error" in message:
            # JSON-RPC has null for an unknown id; the schema of 2025-06-18 forgot the case, later ones leave the member out.
            known = {**message, "id": 0} if self.version == OLDEST and message.get("id", 0) is None else message
            name = "JSONRPCErrorResponse" if self.schema.has("JSONRPCErrorResponse") else "JSONRPCError"
            self.schema.check(name, known)
            if message["error"]["code"] in ERRORS and self.modern:
                self.schema.check(ERRORS[message["error"]["code"]], message)
        else:
            self.schema.check("JSONRPCResultResponse" if self.schema.has("JSONRPCResultResponse") else "JSONRPCResponse", message)
        return message

    def result(self, request_id, method):
        """The result of a request; Refused when it was an error."""
        message = self.receive()
        assert message.get("id") == request_id, (message, request_id)
        if "error" in message:
            raise Refused(message["error"])
        result = message["result"]
        self.schema.check(RESULTS[method], result)
        assert ("resultType" in result) == self.modern, result
        assert ((PREFIX + "serverInfo") in result.get("_meta", {})) == self.modern, result
        return result

    def request(self, method, **params):
        return self.result(self.start(method, **params), method)

    def tools(self):
        """All tools by name, page by page."""
        found, cursor = {}, {}
        while True:
            page = self.request("tools/list", **cursor)
            assert not found.keys() & {tool["name"] for tool in page["tools"]}
            found.update((tool["name"], tool) for tool in page["tools"])
            if "nextCursor" not in page:
                return found
            cursor = {"cursor": page["nextCursor"]}

    def call(self, name, **arguments):
        """The structured content of a good call. The text is the same document, and both keep to the tool's output schema."""
        result = self.request("tools/call", name=name, arguments=arguments)
        assert not result["isError"], result["content"]
        content = result["structuredContent"]
        assert [json.loads(part["text"]) for part in result["content"]] == [content]
        if self.check_outputs:
            if self.outputs is None:
                self.outputs = {tool: row["outputSchema"] for tool, row in self.tools().items()}
            jsonschema.Draft202012Validator(self.outputs[name]).validate(content)
        return content

    def fails(self, name, **arguments):
        """The text of a call that the tool refused."""
        result = self.request("tools/call", name=name, arguments=arguments)
        assert result["isError"] is True and "structuredContent" not in result, result
        part, = result["content"]
        return part["text"]

    def close(self, status=0):
        """Ends the input; the process ends with the status."""
        if not self.process.stdin.closed:
            self.process.stdin.close()
        got = self.process.wait(timeout=DEADLINE_S)
        for reader in self.readers:
            reader.join(timeout=DEADLINE_S)
        self.process.stdout.close()
        self.process.stderr.close()
        assert got == status, (got, "".join(self.said))

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        if kind is None:
            self.close()
            return
        self.process.kill()
        self.process.wait()


def clean_environment(**more):
    return {**{k: v for k, v in os.environ.items() if not k.startswith(("PERFCI_", "GIT_", "PG"))}, **more}
