/**
 * Asks `jp-confine serve` what a tool may do to paths.
 *
 * A `Checker` keeps one server. Calls may overlap. Whatever goes wrong rejects with `Unavailable`, or is a refusal of
 * `authorizeRead` and `authorizeWrite`: nothing is allowed without an answer. If the server has ended, the next call
 * starts another one, which loads the policy anew.
 */

import { type ChildProcess, spawn } from "node:child_process";

export type Capability = "read" | "create" | "update" | "delete" | "execute";
export type OperationKind = Capability | "write" | "move";
export type Verdict = "allow" | "prompt" | "deny";

/** The rule that decided, and where it is written. */
export interface Rule {
  text: string;
  file: string | null;
  line: number | null;
}

/** The verdict on one path. `resolved` is where it leads, and `granting` are the paths that grant the capability. */
export interface Check {
  path: string;
  capability: Capability;
  verdict: Verdict;
  reason: string | null;
  resolved: string | null;
  rule: Rule | null;
  granting: string[];
}

/** What a tool wants to do to `path`. `move_to` is for `move`, and for an `update` that renames as well. */
export interface Operation {
  path: string;
  operation: OperationKind;
  move_to?: string | null;
}

/** The verdict on one operation, and on each capability that it takes. */
export interface JudgedOperation extends Operation {
  verdict: Verdict;
  message: string | null;
  checks: Check[];
}

/** One verdict on many operations. `message` says why they are denied, or what to ask a person about. */
export interface Batch {
  verdict: Verdict;
  message: string | null;
  operations: JudgedOperation[];
}

export type RefusalReason =
  | "outside_workspace"
  | "symlink_escapes_workspace"
  | "realpath_failed"
  | "permission_denied";

/** A path to use, or why there is none: `message` is for the person or model that asked. */
export type AuthorizeResult =
  | { ok: true; resolvedPath: string }
  | { ok: false; reason: RefusalReason; message: string };

/** A task whose settings may let symlinks lead out of the workspace. Its provider may be gone. */
export interface Task {
  providerRef: { deref(): { getState(): unknown } | undefined };
}

export interface AuthorizeOptions {
  /** Whose state has `allowSymlinksOutsideWorkspace`. Without it, or if that cannot be read, it is off. */
  task?: Task | undefined;
  /** Absolute. */
  requestedPath: string;
  /** The name of the tool, with which messages begin. */
  source: string;
}

export interface CheckerOptions {
  /** The workspace. By default that of the working directory. */
  workspace?: string;
  tool?: string;
  /** Further directories for `authorizeRead` and `authorizeWrite`, each under its own policy. */
  roots?: string[];
  /** Options of `jp-confine`, such as `-p`. */
  options?: string[];
  /** By default `jp-confine`, looked up in `PATH`. */
  program?: string;
  /** For how many milliseconds an answer may take. By default 30,000. */
  timeout?: number;
}

/** There is no answer, so nothing is allowed. `code` is that of JSON-RPC, if the server answered with an error. */
export class Unavailable extends Error {
  readonly code: number | undefined;

  constructor(message: string, code?: number) {
    super(message);
    this.name = "Unavailable";
    this.code = code;
  }
}

/** Keeps one `jp-confine serve`. */
export class Checker {
  readonly #program: string;
  readonly #line: string[];
  readonly #timeout: number;
  #server: Server | undefined;
  #isClosed = false;

  constructor({ workspace, tool, roots = [], options = [], program = "jp-confine", timeout = 30_000 }: CheckerOptions = {}) {
    this.#program = program;
    this.#timeout = timeout;
    this.#line = [...options];
    if (workspace !== undefined) this.#line.push("-C", workspace);
    if (tool !== undefined) this.#line.push("--tool", tool);
    this.#line.push("serve", ...roots.flatMap((root) => ["--root", root]));
  }

  /** The verdict on `path`, workspace-relative. Without a tool it may also be absolute. */
  async check(capability: Capability, path: string): Promise<Check> {
    const [check] = await this.checkAll(capability, [path]);
    return check as Check;
  }

  /** The verdict on each path. */
  async checkAll(capability: Capability, paths: string[]): Promise<Check[]> {
    const checks = await this.#ask("check", { capability, paths });
    if (!Array.isArray(checks) || checks.length !== paths.length) {
      throw new Unavailable("jp-confine serve did not answer for each path");
    }
    return checks;
  }

  /** One verdict on all operations, as if one command did them. */
  async batch(operations: Operation[]): Promise<Batch> {
    return (await this.#ask("batch", { operations })) as Batch;
  }

  /** The rules about `path`, as `jp-confine explain --json` prints them. */
  async explain(path: string): Promise<Record<string, unknown>> {
    return (await this.#ask("explain", { path })) as Record<string, unknown>;
  }

  /** Whether the tool may read the path. Never rejects. */
  authorizeRead(options: AuthorizeOptions): Promise<AuthorizeResult> {
    return this.#authorize("read", options);
  }

  /** Whether the tool may create or update the path. Never rejects. */
  authorizeWrite(options: AuthorizeOptions): Promise<AuthorizeResult> {
    return this.#authorize("write", options);
  }

  /** Loads the policy again. If that fails, no question is answered until it succeeds. */
  async reload(): Promise<void> {
    await this.#ask("reload", {});
  }

  /** Ends the server. Until then it keeps the process of Node alive. */
  close(): void {
    this.#isClosed = true;
    this.#server?.close();
  }

  async #authorize(access: "read" | "write", { task, requestedPath, source }: AuthorizeOptions): Promise<AuthorizeResult> {
    let why = "jp-confine serve gave no answer";
    try {
      const allow_symlinks_outside_workspace = await linksMayLeave(task);
      const params = { access, path: requestedPath, source, allow_symlinks_outside_workspace };
      const answer = (await this.#ask("authorize", params)) as Record<string, unknown>;
      if (answer["ok"] === true && typeof answer["resolved_path"] === "string") {
        return { ok: true, resolvedPath: answer["resolved_path"] };
      }
      if (answer["ok"] === false) {
        return { ok: false, reason: answer["reason"] as RefusalReason, message: String(answer["message"]) };
      }
    } catch (error) {
      why = error instanceof Error ? error.message : String(error);
    }
    return { ok: false, reason: "permission_denied", message: `${source}: cannot use ${requestedPath}: ${why}` };
  }

  async #ask(method: string, params: object): Promise<unknown> {
    if (this.#isClosed) throw new Unavailable("the checker is closed");
    if (this.#server === undefined || this.#server.hasEnded) {
      this.#server = new Server(this.#program, this.#line);
    }
    return this.#server.ask(method, params, this.#timeout);
  }
}

/** Whether the state of the task lets symlinks lead out of the workspace. On any doubt it does not. */
async function linksMayLeave(task: Task | undefined): Promise<boolean> {
  try {
    const state = (await task?.providerRef.deref()?.getState()) as { allowSymlinksOutsideWorkspace?: unknown } | undefined;
    return state?.allowSymlinksOutsideWorkspace === true;
  } catch {
    return false;
  }
}

interface Waiting {
  id: number;
  resolve(result: unknown): void;
  reject(error: Unavailable): void;
}

/** A running server. It answers in the order of the questions. */
class Server {
  readonly #process: ChildProcess;
  #waiting: Waiting[] = [];
  #unread = "";
  #last = 0;
  hasEnded = false;

  constructor(program: string, line: string[]) {
    this.#process = spawn(program, line, { stdio: ["pipe", "pipe", "inherit"] });
    this.#process.on("error", (error) => this.#end(`jp-confine cannot be started: ${error.message}`));
    this.#process.on("close", (status, signal) => this.#end(`jp-confine serve ended with ${signal ?? `status ${status}`}`));
    // A server that has ended is reported by "close".
    this.#process.stdin?.on("error", () => {});
    this.#process.stdout?.setEncoding("utf8").on("data", (text: string) => this.#read(text));
  }

  ask(method: string, params: object, timeout: number): Promise<unknown> {
    return new Promise((resolve, reject) => {
      if (this.hasEnded) throw new Unavailable("jp-confine serve has ended");
      const id = ++this.#last;
      const fail = () => this.#fail("jp-confine serve did not answer in time");
      const timer = setTimeout(fail, timeout);
      this.#waiting.push({
        id,
        resolve: (result) => (clearTimeout(timer), resolve(result)),
        reject: (error) => (clearTimeout(timer), reject(error)),
      });
      this.#process.stdin?.write(`${JSON.stringify({ jsonrpc: "2.0", id, method, params })}\n`);
    });
  }

  close(): void {
    this.#process.stdin?.end();
  }

  #read(text: string): void {
    // Not by `readline`, which also breaks lines at characters that names may have.
    const lines = (this.#unread + text).split("\n");
    this.#unread = lines.pop() ?? "";
    try {
      for (const line of lines) this.#take(JSON.parse(line));
    } catch {
      this.#fail("jp-confine serve answered something else");
    }
  }

  #take(reply: { id: unknown; result?: unknown; error?: { code: number; message: string } }): void {
    const waiting = this.#waiting.shift();
    // A request that could not be read is answered without an id.
    const isReply = reply.error !== undefined || "result" in reply;
    if (waiting === undefined || (reply.id !== waiting.id && reply.id !== null) || !isReply) {
      waiting?.reject(new Unavailable("jp-confine serve answered something else"));
      throw new Error("out of order");
    }
    if (reply.error !== undefined) {
      waiting.reject(new Unavailable(String(reply.error.message), reply.error.code));
    } else {
      waiting.resolve(reply.result);
    }
  }

  #fail(why: string): void {
    this.#process.kill("SIGKILL");
    this.#end(why);
  }

  #end(why: string): void {
    this.hasEnded = true;
    for (const waiting of this.#waiting.splice(0)) waiting.reject(new Unavailable(why));
  }
}
