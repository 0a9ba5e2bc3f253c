"""Asks `jp-confine serve` what a tool may do to paths.

    with Checker(tool="edit") as checker:
        if checker.check("update", "notes.md")["verdict"] == "allow":
            ...

A `Checker` keeps one server. Threads may share it. Whatever goes wrong is an `Unavailable`, or a refusal of
`authorize_read` and `authorize_write`: nothing is allowed without an answer. If the server has ended, the next
question starts another one, which loads the policy anew.
"""

from __future__ import annotations

import json
import subprocess
import threading
from collections import deque
from concurrent.futures import Future
from types import TracebackType
from typing import (
    Any, Deque, Dict, Iterable, List, Literal, Optional, Sequence, Tuple, Type, TypedDict, Union, cast,
)

__all__ = [
    "Authorization", "Authorized", "Batch", "Check", "Checker", "JudgedOperation", "Operation", "Refused", "Rule",
    "Unavailable",
]

Capability = Literal["read", "create", "update", "delete", "execute"]
OperationKind = Literal["read", "create", "update", "delete", "execute", "write", "move"]
Verdict = Literal["allow", "prompt", "deny"]


class Rule(TypedDict):
    """The rule that decided, and where it is written."""

    text: str
    file: Optional[str]
    line: Optional[int]


class Check(TypedDict):
    """The verdict on one path. `resolved` is where it leads, and `granting` are the paths that grant the capability."""

    path: str
    capability: Capability
    verdict: Verdict
    reason: Optional[str]
    resolved: Optional[str]
    rule: Optional[Rule]
    granting: List[str]


class _Operation(TypedDict):
    path: str
    operation: OperationKind


class Operation(_Operation, total=False):
    """What a tool wants to do to `path`. `move_to` is for `move`, and for an `update` that renames as well."""

    move_to: Optional[str]


class JudgedOperation(Operation):
    """The verdict on one operation, and on each capability that it takes."""

    verdict: Verdict
    message: Optional[str]
    checks: List[Check]


class Batch(TypedDict):
    """One verdict on many operations. `message` says why they are denied, or what to ask a person about."""

    verdict: Verdict
    message: Optional[str]
    operations: List[JudgedOperation]


class Authorized(TypedDict):
    """A path that the tool may use."""

    ok: Literal[True]
    resolved_path: str


class Refused(TypedDict):
    """A path that the tool may not use. `message` is for the person or model that asked."""

    ok: Literal[False]
    reason: Literal["outside_workspace", "symlink_escapes_workspace", "realpath_failed", "permission_denied"]
    message: str


Authorization = Union[Authorized, Refused]


class Unavailable(Exception):
    """There is no answer, so nothing is allowed. `code` is that of JSON-RPC, if the server answered with an error."""

    def __init__(self, message: str, code: Optional[int] = None) -> None:
        super().__init__(message)
        self.code = code


class Checker:
    """Keeps one `jp-confine serve` for a workspace, by default that of the working directory."""

    def __init__(
        self,
        workspace: Optional[str] = None,
        *,
        tool: Optional[str] = None,
        roots: Iterable[str] = (),
        options: Sequence[str] = (),
        program: str = "jp-confine",
        timeout: float = 30.0,
    ) -> None:
        """`roots` are further directories for `authorize_*`. `options` are options of `jp-confine`, such as `-p`."""
        line = [program, *options]
        line += ["-C", workspace] if workspace is not None else []
        line += ["--tool", tool] if tool is not None else []
        self._line = [*line, "serve"]
        for root in roots:
            self._line += ["--root", root]
        self._timeout = timeout
        self._lock = threading.Lock()
        self._server: Optional[_Server] = None
        self._closed = False

    def check(self, capability: Capability, path: str) -> Check:
        """The verdict on `path`, workspace-relative. Without a tool it may also be absolute."""
        return self.check_all(capability, [path])[0]

    def check_all(self, capability: Capability, paths: Sequence[str]) -> List[Check]:
        """The verdict on each path."""
        checks = self._ask("check", {"capability": capability, "paths": list(paths)})
        if not isinstance(checks, list) or len(checks) != len(paths):
            raise Unavailable("jp-confine serve did not answer for each path")
        return cast(List[Check], checks)

    def batch(self, operations: Sequence[Operation]) -> Batch:
        """One verdict on all operations, as if one command did them."""
        return cast(Batch, self._ask("batch", {"operations": list(operations)}))

    def explain(self, path: str) -> Dict[str, Any]:
        """The rules about `path`, as `jp-confine explain --json` prints them."""
        return cast(Dict[str, Any], self._ask("explain", {"path": path}))

    def authorize_read(
        self, path: str, source: str, *, allow_symlinks_outside_workspace: object = False
    ) -> Authorization:
        """Whether the tool named `source` may read the absolute `path`. Never raises."""
        return self._authorize("read", path, source, allow_symlinks_outside_workspace)

    def authorize_write(
        self, path: str, source: str, *, allow_symlinks_outside_workspace: object = False
    ) -> Authorization:
        """Whether the tool named `source` may create or update the absolute `path`. Never raises."""
        return self._authorize("write", path, source, allow_symlinks_outside_workspace)

    def reload(self) -> None:
        """Loads the policy again. If that fails, no question is answered until it succeeds."""
        self._ask("reload", {})

    def close(self) -> None:
        """Ends the server."""
        with self._lock:
            self._closed = True
            server, self._server = self._server, None
        if server is not None:
            server.close()

    def __enter__(self) -> Checker:
        return self

    def __exit__(
        self, kind: Optional[Type[BaseException]], error: Optional[BaseException], at: Optional[TracebackType]
    ) -> None:
        self.close()

    def _authorize(self, access: str, path: str, source: str, links_may_leave: object) -> Authorization:
        params = {
            "access": access,
            "path": path,
            "source": source,
            # Anything but `True` leaves it off.
            "allow_symlinks_outside_workspace": links_may_leave is True,
        }
        try:
            answer = self._ask("authorize", params)
            if answer["ok"] is True and isinstance(answer["resolved_path"], str):
                return cast(Authorized, answer)
            if answer["ok"] is False:
                return cast(Refused, answer)
            why = "jp-confine serve gave no answer"
        except (Unavailable, KeyError, TypeError) as error:
            why = str(error)
        return {"ok": False, "reason": "permission_denied", "message": f"{source}: cannot use {path}: {why}"}

    def _ask(self, method: str, params: Dict[str, Any]) -> Any:
        with self._lock:
            if self._closed:
                raise Unavailable("the checker is closed")
            if self._server is None or self._server.has_ended():
                self._server = _Server(self._line)
            server = self._server
        return server.ask(method, params, self._timeout)


class _Server:
    """A running server. It answers in the order of the questions."""

    def __init__(self, line: Sequence[str]) -> None:
        try:
            self._process = subprocess.Popen(line, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        except OSError as error:
            raise Unavailable(f"jp-confine cannot be started: {error}") from error
        # Held to write. The reader never waits for it while the server runs, or full pipes would block both.
        self._lock = threading.Lock()
        self._waiting: Deque[Tuple[int, Future[Any]]] = deque()
        self._last = 0
        self._ended = False
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def has_ended(self) -> bool:
        return self._ended

    def ask(self, method: str, params: Dict[str, Any], timeout: float) -> Any:
        future: Future[Any] = Future()
        with self._lock:
            if self._ended:
                raise Unavailable("jp-confine serve has ended")
            self._last += 1
            request = {"jsonrpc": "2.0", "id": self._last, "method": method, "params": params}
            try:
                # Raises for a path that is not UTF-8, which JSON cannot carry.
                line = json.dumps(request, ensure_ascii=False).encode() + b"\n"
            except (TypeError, ValueError) as error:
                raise Unavailable(f"the question cannot be sent: {error}") from error
            self._waiting.append((self._last, future))
            try:
                assert self._process.stdin is not None
                self._process.stdin.write(line)
                self._process.stdin.flush()
            except (OSError, ValueError):
                self._process.kill()  # The reader then fails all who wait.
        try:
            return future.result(timeout)
        except Unavailable:
            raise
        except Exception as error:
            self._process.kill()
            raise Unavailable("jp-confine serve did not answer in time") from error

    def close(self) -> None:
        with self._lock:
            assert self._process.stdin is not None
            try:
                self._process.stdin.close()
            except OSError:
                pass
        try:
            self._process.wait(5)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._reader.join()

    def _read(self) -> None:
        assert self._process.stdin is not None and self._process.stdout is not None
        try:
            for line in self._process.stdout:
                self._take(json.loads(line))
        except (ValueError, LookupError, TypeError, AttributeError):
            self._process.kill()  # It is not what this client speaks to.
        self._process.stdout.close()
        try:
            status = self._process.wait(1)
        except subprocess.TimeoutExpired:
            self._process.kill()
            status = self._process.wait()
        with self._lock:
            self._ended = True
            try:
                self._process.stdin.close()
            except OSError:
                pass  # Its buffer could not be written.
        while self._waiting:
            _, future = self._waiting.popleft()
            future.set_exception(Unavailable(f"jp-confine serve ended with status {status}"))

    def _take(self, reply: Dict[str, Any]) -> None:
        number, future = self._waiting.popleft()
        # A request that could not be read is answered without an id.
        error = reply.get("error")
        if reply["id"] not in (number, None) or (error is None and "result" not in reply):
            future.set_exception(Unavailable("jp-confine serve answered something else"))
            raise ValueError("out of order")
        if error is not None:
            future.set_exception(Unavailable(str(error["message"]), int(error["code"])))
        else:
            future.set_result(reply["result"])
