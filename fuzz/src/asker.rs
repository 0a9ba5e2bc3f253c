//! Runs a confined program that opens paths on request. Used by `library`.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use rustix::fs::OFlags;
use rustix::io::Errno;

/// The policy of the program: everything in the workspace, with these exceptions.
const POLICY: &str = "[[access.fs]]\npath = '.'\nread = true\nwrite = true\n\
    [[access.fs]]\npath = 'c'\n[[access.fs]]\npath = 'a/b'\n\
    [[access.fs]]\npath = 'b/c'\nread = true\n";

/// Requests after which a new program is started.
const QUESTIONS: u32 = 20_000;

/// Whether the policy grants `place` in the workspace: for reading, or else for creating and updating.
pub(crate) fn is_granted(place: &Path, reads: bool) -> bool {
    match place {
        place if place.starts_with("c") || place.starts_with("a/b") => false,
        place => reads || !place.starts_with("b/c"),
    }
}

/// The program, and the number of requests so far.
#[derive(Debug)]
pub(crate) struct Asker {
    product: PathBuf,
    folder: PathBuf,
    /// The directory of the program and the policy, outside the workspace.
    tools: tempfile::TempDir,
    running: Running,
    asked: u32,
}

#[derive(Debug)]
struct Running {
    child: Child,
    questions: ChildStdin,
    answers: BufReader<ChildStdout>,
}

impl Asker {
    /// Compiles the program and starts it in `folder`, confined by `product`.
    ///
    /// # Panics
    /// If that is impossible.
    pub(crate) fn new(product: &Path, folder: &Path) -> Self {
        let tools = tempfile::tempdir().expect("a folder for the program");
        fs::write(tools.path().join("policy.toml"), POLICY).expect("the policy");
        let source = concat!(env!("CARGO_MANIFEST_DIR"), "/asker.c");
        let made = Command::new("cc")
            .args(["-O1", "-o"])
            .arg(tools.path().join("asker"))
            .arg(source)
            .status();
        assert!(made.expect("a C compiler").success(), "the program does not compile");
        let running = start(product, folder, tools.path());
        Self { product: product.to_owned(), folder: folder.to_owned(), tools, running, asked: 0 }
    }

    /// Starts a new program now and then, while the directory is empty, because a run keeps the record of its denials.
    ///
    /// # Panics
    /// If the program cannot be started again.
    pub(crate) fn renew(&mut self) {
        if self.asked >= QUESTIONS {
            self.asked = 0;
            let next = start(&self.product, &self.folder, self.tools.path());
            let Running { mut child, questions, answers } =
                std::mem::replace(&mut self.running, next);
            drop((questions, answers));
            child.wait().expect("the end of the program");
        }
    }

    /// The path that opening `path` led to.
    ///
    /// # Errors
    /// The error of open(2).
    ///
    /// # Panics
    /// If the program has ended.
    pub(crate) fn open(&mut self, path: &Path, flags: OFlags) -> Result<PathBuf, Errno> {
        self.asked += 1;
        self.running.ask(path, flags)
    }
}

impl Running {
    fn ask(&mut self, path: &Path, flags: OFlags) -> Result<PathBuf, Errno> {
        let Self { questions, answers, .. } = self;
        writeln!(questions, "{} {}", flags.bits(), path.display()).expect("a program that listens");
        let mut answer = String::new();
        answers.read_line(&mut answer).expect("an answer");
        assert!(answer.ends_with('\n'), "the program has ended");
        match answer.trim_end_matches('\n').parse() {
            Ok(number) => Err(Errno::from_raw_os_error(number)),
            Err(_) => Ok(PathBuf::from(answer.trim_end_matches('\n'))),
        }
    }
}

fn start(product: &Path, folder: &Path, tools: &Path) -> Running {
    let mut child = Command::new(product)
        // The views of caches stay. The kernel, which it is compared with, knows none where the tree is.
        .args(["-q", "--share-tmp", "-C"])
        .arg(folder)
        .arg("-p")
        .arg(tools.join("policy.toml"))
        .arg("-x")
        .arg(tools)
        .arg("--")
        .arg(tools.join("asker"))
        .current_dir(folder)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the product starts");
    let questions = child.stdin.take().expect("piped");
    let answers = BufReader::new(child.stdout.take().expect("piped"));
    let mut running = Running { child, questions, answers };
    // Once it answers, the policy is compiled, and the directory may change.
    running.ask(Path::new("."), OFlags::RDONLY).expect("the workspace");
    running
}
