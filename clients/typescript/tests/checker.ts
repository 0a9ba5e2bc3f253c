// Tests the client against the program that PROGRAM names. Prints `done`.

import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";

import { Checker, type Task, Unavailable } from "../src/index.ts";

const POLICY = `
[[access.fs]]
path = "."
read = true

[[access.fs]]
path = "work"
read = true
write = true

[file_policy]
prompt_paths = ["<workspace>/work/asked"]
`;

const folder = realpathSync(mkdtempSync(join(tmpdir(), "checker-")));
const root = join(folder, "workspace");
const policy = join(root, "jp-confine.toml");
mkdirSync(join(root, "work"), { recursive: true });
mkdirSync(join(folder, "outside"));
for (const name of ["workspace/work/plain", "workspace/work/asked", "outside/file"]) {
  writeFileSync(join(folder, name), "");
}
symlinkSync(join(folder, "outside"), join(root, "link"));
writeFileSync(policy, POLICY);

const program = process.env["PROGRAM"] ?? "jp-confine";
const plain = join(root, "work", "plain");
const ledOut = join(root, "link", "file");
const source = "read_file";
const checker = new Checker({ workspace: root, program, options: ["-q"] });

const isUnavailable = (code: number | undefined) => (error: unknown) => error instanceof Unavailable && error.code === code;

async function verdicts() {
  assert.equal((await checker.check("update", "work/plain")).verdict, "allow");
  const denied = await checker.check("update", "other");
  assert.deepEqual([denied.verdict, denied.reason], ["deny", "denied"]);
  const checks = await checker.checkAll("read", ["work/asked", "../x"]);
  assert.deepEqual(checks.map((one) => one.verdict), ["prompt", "deny"]);
  assert.equal((await checker.explain("work/plain"))["exists"], true);
  assert.equal((await checker.check("read", 'a\u2028\n"b')).verdict, "allow");
  await assert.rejects(checker.check("read", "a\ud800"), isUnavailable(-32602));
}

async function batches() {
  const batch = await checker.batch([
    { path: "work/asked", operation: "read" },
    { path: "work/plain", operation: "update", move_to: "work/new" },
  ]);
  assert.deepEqual([batch.verdict, ...batch.operations.map((one) => one.verdict)], ["prompt", "prompt", "allow"]);
  assert.match(batch.message ?? "", /^read work\/asked \(/);
  await assert.rejects(checker.batch([{ path: "a", operation: "move" }]), isUnavailable(-32602));
}

async function authorizations() {
  const requestedPath = join(root, "work", "new");
  assert.deepEqual(await checker.authorizeWrite({ requestedPath, source }), { ok: true, resolvedPath: requestedPath });
  const refused = await checker.authorizeWrite({ requestedPath: join(root, "other"), source });
  assert(!refused.ok);
  assert.equal(refused.reason, "permission_denied");
  assert(refused.message.startsWith("read_file: "), refused.message);
}

async function optIn() {
  const task = (getState: () => unknown): Task => ({ providerRef: { deref: () => ({ getState }) } });
  const doubts: (Task | undefined)[] = [
    undefined,
    { providerRef: { deref: () => undefined } },
    task(() => undefined),
    task(() => ({ allowSymlinksOutsideWorkspace: "yes" })),
    task(() => Promise.reject(new Error("torn down"))),
    task(() => {
      throw new Error("torn down");
    }),
  ];
  for (const doubt of doubts) {
    const refused = await checker.authorizeRead({ task: doubt, requestedPath: ledOut, source });
    assert(!refused.ok);
    assert.equal(refused.reason, "symlink_escapes_workspace");
  }
  const allowing = task(() => Promise.resolve({ allowSymlinksOutsideWorkspace: true }));
  const allowed = await checker.authorizeRead({ task: allowing, requestedPath: ledOut, source });
  assert.deepEqual(allowed, { ok: true, resolvedPath: join(folder, "outside", "file") });
}

async function overlapping() {
  const numbers = Array.from({ length: 400 }, (_, number) => number);
  const ask = async (number: number) => {
    const path = number % 2 ? `work/${number}` : `other/${number}`;
    const check = await checker.check("create", path);
    assert.deepEqual([check.path, check.verdict], [path, number % 2 ? "allow" : "deny"]);
  };
  await Promise.all(numbers.map(ask));
}

async function reloads() {
  writeFileSync(policy, "[acess]\n");
  await assert.rejects(checker.reload(), isUnavailable(-32603));
  assert(!(await checker.authorizeRead({ requestedPath: plain, source })).ok);
  writeFileSync(policy, '[[access.fs]]\npath = "."\nread = true\n');
  await checker.reload();
  assert.equal((await checker.check("update", "work/plain")).verdict, "deny");
  writeFileSync(policy, POLICY);
  await checker.reload();
}

async function deaths() {
  // This one ends without an answer, at each question.
  const dying = new Checker({ program: "sh", options: ["-c", "read line"] });
  for (let attempt = 0; attempt < 2; attempt++) {
    const refused = await dying.authorizeRead({ requestedPath: plain, source });
    assert(!refused.ok);
    assert.match(refused.message, /^read_file: cannot use .* ended/);
  }
  // This one is another program.
  const foreign = new Checker({ program: "sh", options: ["-c", "read line; echo '{\"id\": 7, \"result\": []}'; read line"] });
  await assert.rejects(foreign.check("read", "a"), Unavailable);
  const silent = new Checker({ program: "sh", options: ["-c", "read line; read line"], timeout: 100 });
  await assert.rejects(silent.check("read", "a"), /in time/);
  const missing = new Checker({ program: "/no/such/program" });
  await assert.rejects(missing.check("read", "a"), /cannot be started/);
  // This one ends after each answer, and another one takes its place.
  const script = `head -n 1 | "${program}" -q -C "${root}" serve`;
  const brief = new Checker({ program: "sh", options: ["-c", script] });
  for (let answers = 0; answers < 3; ) {
    try {
      assert.equal((await brief.check("read", "work/plain")).verdict, "allow");
      answers++;
    } catch (error) {
      assert(error instanceof Unavailable);
    }
  }
  brief.close();
  checker.close();
  await assert.rejects(checker.check("read", "work/plain"), /closed/);
}

for (const test of [verdicts, batches, authorizations, optIn, overlapping, reloads, deaths]) {
  await test();
}
rmSync(folder, { recursive: true });
console.log("done");
