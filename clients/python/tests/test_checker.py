"""Tests the client against the program that PROGRAM names, by default `jp-confine`."""

import os
import tempfile
import threading
import time
import unittest
from concurrent.futures import ThreadPoolExecutor

from jp_confine import Checker, Unavailable

PROGRAM = os.environ.get("PROGRAM", "jp-confine")
POLICY = """
[[access.fs]]
path = "."
read = true

[[access.fs]]
path = "work"
read = true
write = true

[file_policy]
prompt_paths = ["<workspace>/work/asked"]
"""


class TestChecker(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = os.path.join(os.path.realpath(folder.name), "workspace")
        outside = os.path.join(os.path.realpath(folder.name), "outside")
        os.makedirs(os.path.join(self.root, "work"))
        os.mkdir(outside)
        for name in ("workspace/work/plain", "workspace/work/asked", "outside/file"):
            self.write(os.path.join(folder.name, name), "")
        os.symlink(outside, os.path.join(self.root, "link"))
        self.policy = os.path.join(self.root, "jp-confine.toml")
        self.write(self.policy, POLICY)
        self.outside = os.path.join(outside, "file")
        self.led_out = os.path.join(self.root, "link", "file")
        self.checker = Checker(self.root, program=PROGRAM, options=["-q"])
        self.addCleanup(self.checker.close)

    def write(self, path: str, text: str) -> None:
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)

    def test_verdicts(self) -> None:
        self.assertEqual(self.checker.check("update", "work/plain")["verdict"], "allow")
        denied = self.checker.check("update", "other")
        self.assertEqual((denied["verdict"], denied["reason"]), ("deny", "denied"))
        verdicts = [one["verdict"] for one in self.checker.check_all("read", ["work/asked", "../x"])]
        self.assertEqual(verdicts, ["prompt", "deny"])
        self.assertEqual(self.checker.explain("work/plain")["exists"], True)

    def test_batch(self) -> None:
        batch = self.checker.batch([
            {"path": "work/asked", "operation": "read"},
            {"path": "work/plain", "operation": "update", "move_to": "work/new"},
        ])
        self.assertEqual(batch["verdict"], "prompt")
        self.assertEqual([one["verdict"] for one in batch["operations"]], ["prompt", "allow"])
        self.assertIn("read work/asked (", batch["message"] or "")
        with self.assertRaises(Unavailable) as raised:
            self.checker.batch([{"path": "a", "operation": "move"}])
        self.assertEqual(raised.exception.code, -32602)

    def test_authorize(self) -> None:
        path = os.path.join(self.root, "work", "new")
        self.assertEqual(self.checker.authorize_write(path, "edit"), {"ok": True, "resolved_path": path})
        refused = self.checker.authorize_write(os.path.join(self.root, "other"), "edit")
        assert not refused["ok"]
        self.assertEqual(refused["reason"], "permission_denied")
        self.assertTrue(refused["message"].startswith("edit: "), refused)

    def test_symlinks_lead_out_only_by_the_opt_in(self) -> None:
        for doubt in (False, None, 1, "yes"):
            refused = self.checker.authorize_read(self.led_out, "t", allow_symlinks_outside_workspace=doubt)
            assert not refused["ok"]
            self.assertEqual(refused["reason"], "symlink_escapes_workspace", doubt)
        allowed = self.checker.authorize_read(self.led_out, "t", allow_symlinks_outside_workspace=True)
        self.assertEqual(allowed, {"ok": True, "resolved_path": self.outside})

    def test_threads_share_one(self) -> None:
        def ask(number: int) -> None:
            path = f"work/{number}" if number % 2 else f"other/{number}"
            check = self.checker.check("create", path)
            self.assertEqual((check["path"], check["verdict"]), (path, "allow" if number % 2 else "deny"))

        with ThreadPoolExecutor(8) as threads:
            list(threads.map(ask, range(400)))

    def test_paths_that_are_not_text(self) -> None:
        with self.assertRaises(Unavailable):
            self.checker.check("read", "a\udcff")
        self.assertEqual(self.checker.check("read", "a\u2028\n\"b")["verdict"], "allow")

    def test_reload(self) -> None:
        self.assertEqual(self.checker.check("update", "work/plain")["verdict"], "allow")
        self.write(self.policy, "[acess]\n")
        for _ in range(2):
            with self.assertRaises(Unavailable) as raised:
                self.checker.reload()
            self.assertEqual(raised.exception.code, -32603)
        self.assertFalse(self.checker.authorize_read(os.path.join(self.root, "work", "plain"), "t")["ok"])
        self.write(self.policy, '[[access.fs]]\npath = "."\nread = true\n')
        self.checker.reload()
        self.assertEqual(self.checker.check("update", "work/plain")["verdict"], "deny")

    def test_a_server_that_ends_allows_nothing(self) -> None:
        self.checker.check("read", "work/plain")
        server = self.checker._server
        assert server is not None
        # A stopped server cannot answer before it is killed.
        server._process.send_signal(19)
        outcome = []

        def ask() -> None:
            outcome.append(self.checker.authorize_read(os.path.join(self.root, "work", "plain"), "t"))

        thread = threading.Thread(target=ask)
        thread.start()
        while not server._waiting:
            time.sleep(0.001)
        server._process.kill()
        thread.join()
        refused = outcome[0]
        assert not refused["ok"]
        self.assertIn("ended", refused["message"])
        self.assertEqual(self.checker.check("read", "work/plain")["verdict"], "allow", "of another server")

    def test_no_server(self) -> None:
        with Checker(self.root, program="/no/such/program") as checker:
            with self.assertRaises(Unavailable):
                checker.check("read", "work/plain")
            self.assertFalse(checker.authorize_read(os.path.join(self.root, "work", "plain"), "t")["ok"])
        self.write(self.policy, "[acess]\n")
        with Checker(self.root, program=PROGRAM, options=["-q"]) as checker:
            with self.assertRaisesRegex(Unavailable, "status 125|has ended"):
                checker.check("read", "work/plain")
        with self.assertRaisesRegex(Unavailable, "closed"):
            checker.check("read", "work/plain")


if __name__ == "__main__":
    unittest.main()
