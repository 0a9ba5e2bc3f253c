//! Tests which callers wait for which prompt, without a terminal.

use std::fs;
use std::io::Write as _;
use std::process::{Child, ChildStdin, Command, Stdio};

use jp_confine_engine::Capabilities;
use jp_confine_engine::build::{self, ImageSpec, View};
use jp_confine_engine::decide::Denial;
use jp_confine_engine::image::Image;
use jp_confine_engine::tier::Restraint;
use jp_confine_engine::tiers::Tiers;
use rustix::thread::gettid;

use super::*;
use crate::prompt::during_run::subject::Subject;
use crate::prompt::turns::PromptQueue;

fn about() -> PromptContext {
    PromptContext {
        interactive: true,
        workspace: "/w".into(),
        tiers: Tiers::default(),
        typed: None,
        turns: PromptQueue::default(),
    }
}

/// A prompt in which this process wants these rights in the workspace `/w`.
pub(super) fn question(pid: u32, subject: Subject<'_>, missing: Capabilities) -> Question {
    let denial = Denial {
        rule: None,
        missing,
        hidden: false,
        second: false,
        level: 0,
        visible: 0,
        restraint: Some(Restraint::Prompt),
        ask: true,
    };
    let image =
        build::build(&ImageSpec { views: &[view()], ..ImageSpec::to_ask(&[], "/w".as_ref()) });
    let image = image.expect("an image");
    let image = Image::parse(&image).expect("an image");
    about().question(&image, &denial, subject, b"/bin/cat".to_vec(), pid)
}

/// The one of the run.
fn view() -> View {
    View { place: "/home/u/tool".into(), backing: "/srv/tool".into() }
}

/// A prompt to read a file.
fn reading(pid: u32) -> Question {
    question(pid, Subject::new(b"/w/f"), Capabilities::READ)
}

/// The process of each prompt, and the number of its callers.
fn waiting(consent: &Consent) -> Vec<(u32, usize)> {
    let state = consent.state();
    state.pending.iter().map(|one| (one.question.pid, one.waiters.len())).collect()
}

/// Two threads of one process share a prompt. Another process does not.
#[test]
fn only_who_is_named_joins_a_question() {
    let consent = Consent::new(about());
    let join = |tid, pid| consent.join(tid, &reading(pid)).expect("joined");
    let _waiters = [join(7, 7), join(8, 7), join(9, 9)];
    assert_eq!(waiting(&consent), [(7, 2), (9, 1)]);
}

#[test]
fn an_answer_for_once_is_for_one_process() {
    let consent = Consent::new(about());
    let join = |tid: i32| consent.join(tid, &reading(tid.unsigned_abs())).expect("joined");
    let waiters = [join(3), join(4), join(5), join(6)];
    consent.answer(waiters[1].id, Answer::Once);
    // In order of arrival.
    assert_eq!(waiting(&consent), [(3, 1), (5, 1), (6, 1)]);
    consent.answer(waiters[0].id, Answer::Once);
    assert_eq!(waiting(&consent), [(5, 1), (6, 1)]);
    consent.answer(waiters[2].id, Answer::No);
    assert_eq!(waiting(&consent), []);
}

/// A killed process is not named, even if the thread waiting for it has not noticed yet.
#[test]
fn who_was_killed_is_not_asked_about() {
    let consent = Consent::new(about());
    let sleeping = || Command::new("sleep").arg("60").spawn().expect("started");
    let mut processes = [sleeping(), sleeping()];
    let pids = processes.each_ref().map(Child::id);
    let join = |pid: u32| consent.join(pid.cast_signed(), &reading(pid)).expect("joined");
    let _waiters = pids.map(join);
    let questions: Vec<_> =
        pids.iter().map(|pid| (u64::from(*pid == pids[1]), reading(*pid))).collect();
    let named = || consent.waited_for(&questions).iter().map(|(id, _)| *id).collect::<Vec<_>>();
    while named() != [0, 1] {
        std::thread::sleep(GATHER);
    }
    processes[0].kill().expect("killed");
    assert_eq!(named(), [1]);
    for mut process in processes {
        process.kill().expect("killed");
        process.wait().expect("ended");
    }
}

fn own_thread() -> i32 {
    gettid().as_raw_nonzero().get()
}

/// The library asks, and makes its own call. A call by the program's code is another.
#[test]
fn a_yes_to_the_library_is_for_its_own_call() {
    let consent = Consent::new(about());
    let (library, program) =
        (about as fn() -> PromptContext as usize, libc::getpid as *const () as usize);
    let by = |asker, instruction: usize| {
        let asking = Asking { asker, tid: own_thread(), instruction: instruction as u64 };
        (asking, reading(std::process::id()))
    };
    let known = |(asking, question)| consent.known(asking, &question);
    let (asking, question) = by(PromptedCaller::Library, library);
    consent.state().once.keep(asking, &question);
    assert_eq!(known(by(PromptedCaller::Call, program)), None);
    assert_eq!(known(by(PromptedCaller::Library, library)), None);
    assert_eq!(known(by(PromptedCaller::Call, library)), Some(Answer::Once));
    assert_eq!(known(by(PromptedCaller::Call, library)), None);
}

/// A process whose start of a file was allowed. It executes another program when it gets a line.
struct Starting {
    consent: Arc<Consent>,
    file: tempfile::NamedTempFile,
    process: Child,
    line: ChildStdin,
}

const START: Capabilities = Capabilities::READ.union(Capabilities::EXECUTE);

impl Starting {
    /// The start executes `image`.
    fn new(image: &str) -> Self {
        let mut waiting = Command::new("sh");
        waiting.args(["-c", "read line; exec sleep 60"]).stdin(Stdio::piped());
        let mut process = waiting.spawn().expect("started");
        let line = process.stdin.take().expect("a pipe");
        let file = tempfile::NamedTempFile::new().expect("a file");
        let starting = Self { consent: Arc::new(Consent::new(about())), file, process, line };
        let image = fs::canonicalize(have(image)).expect("a program");
        let image = FileIdentity::at(image.as_os_str().as_encoded_bytes()).expect("there");
        let (pid, question) = (starting.process.id(), starting.asked(START));
        starting.consent.begin_start(pid.cast_signed(), &[question], image);
        starting
    }

    fn asked(&self, wanted: Capabilities) -> Question {
        let path = self.file.path().as_os_str().as_encoded_bytes();
        let subject = Subject { file: FileIdentity::at(path), ..Subject::new(path) };
        question(self.process.id(), subject, wanted)
    }

    fn known(&self, wanted: Capabilities) -> Option<Answer> {
        let asking = Asking { asker: PromptedCaller::Call, tid: own_thread(), instruction: 0 };
        self.consent.known(asking, &self.asked(wanted))
    }

    /// Executes its next program.
    fn execute(&mut self) {
        self.line.write_all(b"\n").expect("written");
        while fs::read(format!("/proc/{}/comm", self.process.id())).expect("there") != b"sleep\n" {
            std::thread::sleep(GATHER);
        }
    }

    /// One of its threads makes a call.
    fn call(&self, tid: u32, executes: bool) {
        self.consent.settle_start((self.process.id(), tid.cast_signed()), executes);
    }
}

impl Drop for Starting {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// The path of an installed program.
fn have(name: &str) -> std::path::PathBuf {
    let path = std::env::var_os("PATH").expect("a path");
    std::env::split_paths(&path).map(|folder| folder.join(name)).find(|it| it.exists()).expect(name)
}

/// Applies only after it has executed the program. It covers no other process, no other file, and only reading.
#[test]
fn who_was_started_reads_what_it_was_started_from() {
    let mut starting = Starting::new("sleep");
    let pid = starting.process.id();
    starting.call(pid + 1, false);
    assert_eq!(starting.known(Capabilities::READ), None);
    starting.execute();
    assert_eq!(starting.known(Capabilities::READ), None, "nobody looked yet");
    assert!(starting.consent.is_any_starting());
    starting.call(pid, false);
    assert!(!starting.consent.is_any_starting());
    for _ in 0..2 {
        assert_eq!(starting.known(Capabilities::READ), Some(Answer::Once));
    }
    assert_eq!(starting.known(START), None);
    assert_eq!(starting.known(Capabilities::UPDATE), None);
    let asking = Asking { asker: PromptedCaller::Call, tid: own_thread(), instruction: 0 };
    let of_another = Question { pid: 1, ..starting.asked(Capabilities::READ) };
    assert_eq!(starting.consent.known(asking, &of_another), None);
    let other = tempfile::NamedTempFile::new().expect("a file");
    fs::rename(other.path(), starting.file.path()).expect("replaced");
    assert_eq!(starting.known(Capabilities::READ), None);
}

#[test]
fn who_executes_another_program_reads_nothing_by_that() {
    let mut starting = Starting::new("cat");
    starting.execute();
    starting.call(starting.process.id(), false);
    assert_eq!(starting.known(Capabilities::READ), None);
    assert!(!starting.consent.is_any_starting());
}

/// If its thread makes another call, or any thread tries to execute something, the start has failed.
#[test]
fn a_start_that_failed_is_over() {
    for (other, executes) in [(0, false), (0, true), (1, true)] {
        let mut starting = Starting::new("sleep");
        let pid = starting.process.id();
        starting.call(pid + other, executes);
        assert!(!starting.consent.is_any_starting());
        starting.execute();
        starting.call(pid, false);
        assert_eq!(starting.known(Capabilities::READ), None);
    }
}

/// The library makes its call, and finds another file than the prompt was about.
#[test]
fn a_yes_to_a_start_is_for_what_was_there() {
    let consent = Consent::new(about());
    let files = [(), ()].map(|()| tempfile::NamedTempFile::new().expect("a file"));
    let path = files[0].path().as_os_str().as_encoded_bytes();
    let library = about as fn() -> PromptContext as usize as u64;
    let by = |asker| {
        let asking = Asking { asker, tid: own_thread(), instruction: library };
        let subject = Subject { file: FileIdentity::at(path), ..Subject::new(path) };
        (asking, question(std::process::id(), subject, START))
    };
    let known = |(asking, question)| consent.known(asking, &question);
    let (asking, question) = by(PromptedCaller::Library);
    consent.state().once.keep(asking, &question);
    fs::rename(files[1].path(), files[0].path()).expect("replaced");
    assert_eq!(known(by(PromptedCaller::Call)), None);
}

/// Covers callers that already wait when prompts end, and callers that come later.
#[test]
fn what_is_withdrawn_nobody_answered() {
    let consent = Consent::new(about());
    let before = consent.join(7, &reading(7)).expect("joined");
    consent.withdraw();
    let after = consent.join(8, &reading(8)).expect("joined");
    assert_eq!([before, after].map(|one| one.wait().map(Answer::of)), [Ok(Answer::Silence); 2]);
    assert!(!Answer::Silence.consents());
    assert_eq!(waiting(&consent), []);
}
