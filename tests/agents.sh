#!/bin/sh
# Installs the coding agents of `tests/integration/agents_installed.rs` into `target/agents`, and the client of
# `tests/mcp`: those that are named, or all. Takes a network, and up to 2 GB.
set -eu
cd "$(dirname "$0")/.."
into=$PWD/target/agents
[ $# -gt 0 ] || set -- mcp claude codex gemini copilot opencode pi aider
for agent; do
    [ ! -e "$into/bin/$agent" ] || continue
    case $agent in
        mcp) package=@modelcontextprotocol/sdk ;;
        claude) package=@anthropic-ai/claude-code ;;
        codex) package=@openai/codex ;;
        gemini) package=@google/gemini-cli ;;
        copilot) package=@github/copilot ;;
        opencode) package=opencode-ai ;;
        pi) package=@mariozechner/pi-coding-agent ;;
        aider)
            /usr/bin/python3 -m venv "$into/aider" &&
                "$into/aider/bin/pip" install --quiet aider-chat &&
                mkdir -p "$into/bin" && ln -sf ../aider/bin/aider "$into/bin/aider" || echo "not installed: aider"
            continue
            ;;
        *) echo "unknown agent: $agent" && exit 2 ;;
    esac
    # The client has no program.
    [ ! -e "$into/lib/node_modules/$package" ] || continue
    npm install --global --silent --no-audit --no-fund --prefix "$into" "$package" || echo "not installed: $agent"
done
