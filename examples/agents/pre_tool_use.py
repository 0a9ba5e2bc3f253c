#!/usr/bin/env python3
"""A hook for coding agents that confines each shell command: it puts jp-confine in front.

Claude Code, ~/.claude/settings.json:

    {"hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": [
        {"type": "command", "command": "/path/to/pre_tool_use.py"}]}]}}

Codex, ~/.codex/hooks.json: the same with "/path/to/pre_tool_use.py --allow".

Gemini CLI, ~/.gemini/settings.json:

    {"hooks": {"BeforeTool": [{"matcher": "run_shell_command", "hooks": [
        {"type": "command", "command": "/path/to/pre_tool_use.py"}]}]}}

The agent asks as before whether it may run a command. With --allow it does not ask: Codex changes no command otherwise.
Further arguments are options of jp-confine.
"""

import json
import shlex
import shutil
import sys


def main() -> None:
    options = sys.argv[1:]
    allow = options[:1] == ["--allow"]
    call = json.load(sys.stdin)
    tool_input = call.get("tool_input", {})
    command = tool_input.get("command")
    if not isinstance(command, str):
        return
    # The agent's shell may have another PATH.
    words = [shutil.which("jp-confine") or "jp-confine", *options[allow:], "--", "bash", "-c", command]
    changed = {**tool_input, "command": shlex.join(words)}
    event = call.get("hook_event_name", "PreToolUse")
    output = {"hookEventName": event}
    if allow:
        output["permissionDecision"] = "allow"
    output["tool_input" if event == "BeforeTool" else "updatedInput"] = changed
    print(json.dumps({"hookSpecificOutput": output}))


main()
