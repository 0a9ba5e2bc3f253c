//! Checks what happens to a run whose terminal is gone.

use std::process::{Command, Stdio};

use crate::run::{Mode, Run, have, skip};
use crate::scratch::Scratch;

/// Starts a command in a terminal of its own, whose session it leads. Closes the terminal once the command prints `up`.
/// Fails if the command does not end then.
const CLOSED_TERMINAL: &str = "
import os, pty, sys, time
pid, terminal = pty.fork()
if pid == 0:
    os.execvp(sys.argv[1], sys.argv[1:])
said = b''
while b'up' not in said:
    said += os.read(terminal, 1000)
os.close(terminal)
for _ in range(200):
    if os.waitpid(pid, os.WNOHANG)[0]:
        sys.exit(0)
    time.sleep(0.05)
sys.exit('it goes on')
";

/// `xterm -e` and `ssh -t` start their commands so.
#[test]
fn a_terminal_that_is_closed_ends_what_leads_its_session() {
    if !have("python3") {
        return skip("no python3");
    }
    let scratch = Scratch::new();
    let script = "sleep 300 & echo up; sleep 3; echo x > survived; sleep 300";
    let job = "bash -mc 'echo up; sleep 300; :'";
    for (mode, script) in
        [Mode::Bare, Mode::Confined].into_iter().flat_map(|mode| [(mode, script), (mode, job)])
    {
        let run = Run::sh(&scratch, script).mode(mode);
        let mut command = run.command();
        let line = run.command_line();
        let mut closing = Command::new("python3");
        closing.args(["-c", CLOSED_TERMINAL]).args(line).env_clear();
        closing.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
        closing.current_dir(command.stdin(Stdio::null()).get_current_dir().expect("a folder"));
        let output = closing.output().expect("python3");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{mode:?}: {said}");
        assert!(!scratch.ws().join("survived").exists(), "{mode:?}: {said}");
    }
}
