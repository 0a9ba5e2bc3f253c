//! `process.run` (spec §11.3, §14.3): runs a program to its end, in the way that the service's creator configured.

use std::ffi::OsString;
use std::io::{self, ErrorKind, Read};
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use jp_confine_engine::coverage::Coverage;
use jp_confine_engine::env::Env;

use super::Service;
use super::advice;
use super::caller::Caller;
use super::secrets::is_secret_name;
use crate::fault::{Code, Fault};
use crate::group::Group;
use crate::method::{Ended, RunParams};
use crate::person::Question;

/// How often to check whether the program has ended or nobody waits for it.
const TICK: Duration = Duration::from_millis(10);

/// How long a program that nobody waits for may clean up.
const GRACE: Duration = Duration::from_secs(1);

/// How programs are started.
#[derive(Debug, Clone)]
pub struct Programs {
    /// The command that confines programs: a program and its arguments. The program to run and its arguments are
    /// appended.
    pub wrapper: Vec<OsString>,
    /// The working directory, pinned: by then its path may lead elsewhere.
    pub directory: Arc<OwnedFd>,
    /// The environment that every program gets.
    pub environment: Vec<(OsString, OsString)>,
    /// Whether that command applies the rules about programs. Otherwise the service does.
    pub are_judged: bool,
}

impl Service<'_> {
    pub(super) fn run(
        &mut self,
        params: &RunParams,
        caller: &mut dyn Caller,
    ) -> Result<Ended, Fault> {
        let Some(mut command) = self.programs.as_ref().map(Programs::command) else {
            return Err(Fault::new(Code::UnknownMethod, "programs are not run here"));
        };
        let RunParams { program, args, .. } = params;
        if program.is_empty() {
            return Err(Fault::params("`program` is empty"));
        }
        if self.programs.as_ref().is_none_or(|programs| !programs.are_judged) {
            self.may_run(params, caller)?;
        }
        command.arg(program).args(args).envs(self.forwarded(params));
        let ended = run(&mut command, self.limit, caller)?;
        let mut redacted = 0;
        let mut text = |bytes| {
            let (bytes, count) = self.secrets.scrub(bytes);
            redacted += count;
            String::from_utf8_lossy(&bytes).into_owned()
        };
        let (stdout, stderr) = (text(ended.stdout), text(ended.stderr));
        let exit_code = ended.status.code();
        let exit_code =
            exit_code.unwrap_or_else(|| 128 + ended.status.signal().unwrap_or_default());
        Ok(Ended { stdout, stderr, exit_code, redacted })
    }

    fn may_run(&mut self, params: &RunParams, caller: &mut dyn Caller) -> Result<(), Fault> {
        let RunParams { program, args, .. } = params;
        let question = Question {
            action: "run".to_owned(),
            what: line(program, args),
            written: None,
            preview: String::new(),
            reason: format!("no rule of access.commands is about {program}"),
        };
        let rules = &self.resources.commands;
        let coverage = rules.judge(program, args);
        let refusal = format!(
            "cannot run {program} with these arguments: access.commands does not allow it. {}",
            advice::command(rules, program, args)
        );
        self.gate.pass_covered(coverage, question, refusal, caller)
    }

    /// The variables that the program gets, by the rule about the program and the rules about variables. From now on,
    /// values that are secret by a rule or by their name are removed from output.
    fn forwarded(&mut self, params: &RunParams) -> Vec<(String, String)> {
        let granted = self.resources.commands.envs(&params.program);
        let granted = Env::readable(granted).unwrap_or_default();
        let env = &self.resources.env;
        let may = |name: &&String| {
            let coverage = env.judge(name);
            let undeclared = coverage == Coverage::Uncovered && !env.is_declared();
            granted.judge(name) == Coverage::Allowed
                && (undeclared || coverage == Coverage::Allowed)
        };
        let value = |name: &String| Some((name.clone(), (self.variables)(name)?));
        let forwarded: Vec<_> = params.envs.iter().filter(may).filter_map(value).collect();
        for (name, value) in &forwarded {
            let is_listed = self.resources.net_env.judge(name) == Coverage::Allowed;
            if is_listed || is_secret_name(name) {
                self.secrets.add(value);
            }
        }
        forwarded
    }
}

impl Programs {
    fn command(&self) -> Command {
        let mut words = self.wrapper.iter();
        let mut command = Command::new(words.next().cloned().unwrap_or_default());
        let directory = format!("/proc/self/fd/{}", self.directory.as_raw_fd());
        command.args(words).current_dir(directory);
        command.env_clear().envs(self.environment.iter().cloned());
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }
}

/// The command line that a prompt shows. No other program and arguments look the same.
fn line(program: &str, args: &[String]) -> String {
    let words = std::iter::once(program).chain(args.iter().map(String::as_str));
    words.map(quoted).collect::<Vec<_>>().join(" ")
}

/// `text` as a word for a shell.
fn quoted(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/._-+,@%=:".contains(&byte);
    if !text.is_empty() && text.bytes().all(plain) {
        return text.to_owned();
    }
    format!("'{}'", text.replace('\'', r"'\''"))
}

/// A program's exit status and output.
struct Output {
    status: ExitStatus,
    stdout: Vec<u8>,
    stderr: Vec<u8>,
}

/// Runs `command` until it ends or nobody waits for it.
fn run(command: &mut Command, limit: u64, caller: &mut dyn Caller) -> Result<Output, Fault> {
    let mut group = Group::start(command).map_err(|error| not_run(&error))?;
    let stdout = group.process().stdout.take().map(|pipe| collect(pipe, limit));
    let stderr = group.process().stderr.take().map(|pipe| collect(pipe, limit));
    let stdout = stdout.transpose().map_err(|error| not_run(&error))?;
    let stderr = stderr.transpose().map_err(|error| not_run(&error))?;
    while !group.has_exited().map_err(|error| not_run(&error))? {
        if caller.is_gone() {
            let _ = group.terminate(GRACE);
            return Err(Fault::cancelled());
        }
        thread::sleep(TICK);
    }
    // Ends the rest of the group, which would keep the pipes open.
    let status = group.collect().map_err(|error| not_run(&error))?;
    let written = |reader: Option<JoinHandle<Vec<u8>>>| {
        let bytes = reader.and_then(|reader| reader.join().ok()).unwrap_or_default();
        let fits = bytes.len() as u64 <= limit;
        let why = || Fault::new(Code::TooLarge, format!("it wrote more than {limit} bytes"));
        fits.then_some(bytes).ok_or_else(why)
    };
    Ok(Output { status, stdout: written(stdout)?, stderr: written(stderr)? })
}

/// Reads a pipe to its end, keeping at most one byte more than the limit.
fn collect(mut pipe: impl Read + Send + 'static, limit: u64) -> io::Result<JoinHandle<Vec<u8>>> {
    thread::Builder::new().spawn(move || {
        let mut bytes = Vec::new();
        let kept = pipe.by_ref().take(limit.saturating_add(1)).read_to_end(&mut bytes);
        let _ = kept.and_then(|_| io::copy(&mut pipe, &mut io::sink()));
        bytes
    })
}

fn not_run(error: &io::Error) -> Fault {
    let code = match error.kind() {
        ErrorKind::InvalidInput | ErrorKind::ArgumentListTooLong => Code::BadParams,
        _ => Code::Internal,
    };
    Fault::new(code, format!("the program was not run: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_asked_about_says_where_words_end() {
        for (words, shown) in [
            (&["-c", "echo a"][..], "sh -c 'echo a'"),
            (&["-c", "echo", "a"], "sh -c echo a"),
            (&["-c echo a"], "sh '-c echo a'"),
            (&["", "it's"], r"sh '' 'it'\''s'"),
        ] {
            let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
            assert_eq!(line("sh", &words), shown);
        }
    }
}
