#!/usr/bin/env python3
"""A client of the file service, for tools in Python: `Host`. As a program it counts the lines of a file:

    jp-confine vfs --arguments '{"path": "README.md"}' -- examples/vfs_client.py
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
        while (reply := self._receive()).get("id") != self._last:
            pass
        if "error" in reply:
            raise Refused(reply["error"])
        return reply["result"]

    def read(self, path):
        file = self.ask("fs.read", path=path)
        content = file["content"].encode()
        return base64.b64decode(content) if file.get("encoding") == "base64" else content

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
