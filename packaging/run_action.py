"""Runs the steps of action.yml as a runner does. Used by packaging/test.sh.

usage: run_action.py ACTION.YML [INPUT=VALUE]...

Prints the outputs of the action. Knows the two kinds of expressions that action.yml has.
"""

import os
import re
import subprocess
import sys
import tempfile

import yaml


def main(file, *words):
    with open(file) as text:
        action = yaml.safe_load(text)
    inputs = {name: "" for name in action["inputs"]} | dict(word.split("=", 1) for word in words)
    values = {f"inputs.{name}": value for name, value in inputs.items()}

    def expand(text):
        return re.sub(r"\$\{\{ (\S+) \}\}", lambda found: values[found[1]], text)

    with tempfile.TemporaryDirectory() as temp:
        files = {name: os.path.join(temp, name) for name in ("GITHUB_PATH", "GITHUB_OUTPUT")}
        where = {"GITHUB_ACTION_PATH": os.path.dirname(os.path.abspath(file)), "RUNNER_TEMP": temp}
        path = os.environ["PATH"]
        for step in action["runs"]["steps"]:
            for name in files.values():
                open(name, "w").close()
            given = {name: expand(value) for name, value in step.get("env", {}).items()}
            script = os.path.join(temp, "script")
            with open(script, "w") as text:
                text.write(expand(step["run"]))
            subprocess.run(
                [step["shell"], "-e", script], check=True, env=os.environ | files | where | given | {"PATH": path}
            )
            with open(files["GITHUB_PATH"]) as lines:
                path = ":".join([*reversed(lines.read().split()), path])
            with open(files["GITHUB_OUTPUT"]) as lines:
                for name, value in (line.rstrip("\n").split("=", 1) for line in lines):
                    values[f"steps.{step['id']}.outputs.{name}"] = value
    for name, output in action["outputs"].items():
        print(f"{name}={expand(output['value'])}")


main(*sys.argv[1:])
