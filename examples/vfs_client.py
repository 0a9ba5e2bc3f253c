#!/usr/bin/env python3
"""A client of the file service, for tools in Python. Needs nothing beside Python itself.

    jp-confine vfs --arguments '{"path": "README.md"}' -- examples/vfs_client.py

As a program it counts the lines of a file; imported, `Host` is all that a tool needs.
"""

import base64
import json
import sys


class Refused(Exception):
    """The host says no: `code` is the number, `str()` says why and what to do."""

    def __init__(self, error):
        super().__init__(error["message"])
        self.code = error["code"]


class Host:
    """Asks one thing at a time and waits for the answer."""

    def __init__(self):
        self.tool = self._receive()["params"]["tool"]
        self._last = 0

    def ask(self, method, **params):
        self._last += 1
        self._send({"id": self._last, "method": method, "params": params})
        while True:
            reply = self._receive()
            if reply.get("id") == self._last:
                if "error" in reply:
                    raise Refused(reply["error"])
                return reply["result"]

    def read(self, path):
        file = self.ask("fs.read", path=path)
        if file.get("encoding") == "base64":
            return base64.b64decode(file["content"])
        return file["content"].encode()

    def result(self, text):
        self._send({"method": "result", "params": {"content": text}})

    def error(self, message):
        self._send({"method": "error", "params": {"message": message}})

    def _receive(self):
        line = sys.stdin.readline()
        return json.loads(line) if line else sys.exit("the host is gone")

    def _send(self, message):
        print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)


if __name__ == "__main__":
    host = Host()
    try:
        path = host.tool["arguments"]["path"]
        host.result(f"{path} has {len(host.read(path).splitlines())} lines")
    except (Refused, KeyError) as why:
        host.error(str(why))
