//! Runs the everyday commands of `tests/tools/commands.toml` bare and confined, as an ordinary user and as root, and says
//! in a few words how the two differ. Used by `tools_document`.

use std::fmt::Write as _;
use std::fs;
use std::net::TcpListener;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::LazyLock;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};
use serde::Deserialize;

use crate::documents::numbers_replaced;
use crate::layers::Holder;
use crate::run::{PRODUCT, SYSTEM_PATH, ends};
use crate::scratch::NOBODY;
use crate::sys::leave_terminal;

/// Time that a command has.
const LIMIT: Duration = Duration::from_secs(60);

/// Most bytes of a suggestion or message that the page shows.
const SHOWN: usize = 100;

/// Creates the checkout and its home. The caller goes there first.
const CHECKOUT: &str = "set -e
mkdir project
echo '# settings' >.bashrc
git config --global user.name me
git config --global user.email me@example.org
git config --global init.defaultBranch main
git init -q project
cd project
printf 'one\\ntwo\\nthree\\n' >notes.txt
mkdir dir
echo inner >dir/inner.txt
git add .
git commit -q -m first
";

/// Gives a home the tool chain of these tests, as `rustup` installs it. `$1` is the home, `$2` its owner.
const TOOL_CHAIN: &str = "set -e
from=$(rustc --print sysroot)
chain=$1/.rustup/toolchains/stable-$(rustc -vV | sed -n 's/^host: //p')
mkdir -p $chain $1/.rustup/update-hashes $1/.cargo/bin
for part in bin lib libexec; do
    cp -al $from/$part $chain 2>/dev/null || cp -a $from/$part $chain
done
for name in rustup cargo rustc; do
    cp -Ll \"$(command -v rustup)\" $1/.cargo/bin/$name 2>/dev/null || cp -L \"$(command -v rustup)\" $1/.cargo/bin/$name
done
printf 'version = \"12\"\\ndefault_toolchain = \"%s\"\\n' ${chain##*/} >$1/.rustup/settings.toml
chown $2 $1/.rustup $1/.rustup/* $1/.cargo $1/.cargo/bin
";

/// Where `TOOL_CHAIN` works.
static HAS_RUSTUP: LazyLock<bool> = LazyLock::new(|| {
    let found = Command::new("sh").args(["-c", "command -v rustup && command -v rustc"]).output();
    found.is_ok_and(|found| found.status.success())
});

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct List {
    command: Vec<Typed>,
}

/// A command. The file itself explains the keys.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Typed {
    pub(crate) group: String,
    line: String,
    about: Option<String>,
    #[serde(default)]
    before: String,
    #[serde(default)]
    starter: String,
    #[serde(default)]
    setup: String,
    #[serde(default)]
    after: String,
    #[serde(default)]
    options: String,
    #[serde(default)]
    needs: Vec<String>,
    #[serde(default)]
    status: bool,
    #[serde(default)]
    pub(crate) slow: bool,
}

/// All commands, in the order of the file.
pub(crate) fn commands() -> Vec<Typed> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/tools/commands.toml");
    let text = fs::read_to_string(path).expect("the commands");
    toml::from_str::<List>(&text).unwrap_or_else(|error| panic!("{error}")).command
}

/// The user of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum User {
    Ordinary,
    Root,
}

/// How a command went.
#[derive(Debug, PartialEq, Eq)]
struct Went {
    /// `None` if it had not ended in time.
    status: Option<String>,
    stdout: String,
    stderr: String,
    /// The lines of `jp-confine`.
    report: Vec<String>,
}

impl Typed {
    /// The command as the page names it.
    pub(crate) fn title(&self) -> String {
        let code = |text: &str| format!("`{}`", text.replace('|', "\\|"));
        let mut title = code(&self.line);
        if let Some(about) = &self.about {
            let _ = write!(title, " {about}");
        }
        if !self.options.is_empty() {
            let _ = write!(title, " (with {})", code(&self.options));
        }
        title
    }

    /// A program that is missing here.
    pub(crate) fn lacks(&self) -> Option<&str> {
        let is_there = |program: &&String| {
            if *program == "cargo" {
                return *HAS_RUSTUP;
            }
            SYSTEM_PATH.split(':').any(|dir| Path::new(dir).join(program).exists())
        };
        self.needs.iter().find(|program| !is_there(program)).map(String::as_str)
    }

    /// The difference between the confined and the bare command, in a few words.
    pub(crate) fn result(&self, user: User) -> String {
        leave_terminal();
        let bare = self.run(user, "");
        if bare.status.as_deref() != Some("0") {
            return format!("not tried: without jp-confine its status is {}", shown(bare.status));
        }
        let confined = self.run(user, &format!("{PRODUCT} {} -- ", self.options));
        self.difference(&bare, confined)
    }

    fn difference(&self, bare: &Went, confined: Went) -> String {
        let mut parts = Vec::new();
        if confined.status != bare.status {
            parts.push(format!("status {}", shown(confined.status)));
        } else if !self.status && confined.stdout != bare.stdout {
            parts.push("other output".to_owned());
        } else if !self.status && confined.stderr != bare.stderr {
            let is_new = |line: &&str| !bare.stderr.contains(line);
            let line = confined.stderr.lines().find(is_new).unwrap_or("fewer messages");
            parts.push(format!("it says `{}`", start(line)));
        }
        if parts.is_empty() {
            parts.push("same".to_owned());
        }
        parts.extend(told(&confined.report));
        parts.join("; ").replace('|', "\\|")
    }

    /// Runs the command with `prefix` before it, in a home that is deleted afterwards.
    fn run(&self, user: User, prefix: &str) -> Went {
        let mut builder = tempfile::Builder::new();
        let builder = builder.prefix("t-").rand_bytes(3);
        let root = builder.tempdir_in(Holder::current().folder()).expect("a directory");
        let (home, out) = (root.path().join("h"), root.path().join("o"));
        let id = if user == User::Ordinary { NOBODY } else { 0 };
        for directory in [root.path(), &home, &out] {
            let _ = fs::create_dir(directory);
            if rustix::process::geteuid().is_root() {
                std::os::unix::fs::chown(directory, Some(id), Some(id)).expect("chown");
            }
        }
        let mut path = SYSTEM_PATH.to_owned();
        if self.needs.iter().any(|program| program == "cargo") {
            let copied = Command::new("sh")
                .args(["-c", TOOL_CHAIN, "sh"])
                .arg(&home)
                .arg(id.to_string())
                .status();
            assert!(copied.expect("sh").success(), "no tool chain");
            path = format!("{}/.cargo/bin:{path}", home.display());
        }
        let mut command = Command::new("sh");
        command.arg("-c").arg(self.script(prefix, &out)).current_dir(&home);
        command.env_clear().env("PATH", path).env("HOME", &home).env("USER", "me");
        command.env("LANG", "C.UTF-8").env("TERM", "dumb").env("PORT", free_port().to_string());
        // Package managers look for news otherwise.
        command.env("npm_config_offline", "true").env("npm_config_update_notifier", "false");
        if rustix::process::geteuid().is_root() {
            command.uid(id).gid(id);
        }
        let has_ended = finish(command);
        Went::read(&home, &out, has_ended)
    }

    /// The script that `sh` runs in the home.
    fn script(&self, prefix: &str, out: &Path) -> String {
        let Self { setup, before, starter, line, after, .. } = self;
        let out = out.display();
        format!(
            "({CHECKOUT}) || exit\ncd project\n{{ :\n{setup}\n}} >{out}/setup 2>&1\n{before}\n\
             {{ {starter} {prefix}{line}\n}} >{out}/stdout 2>{out}/stderr\nstatus=$?\n\
             {{ :\n{after}\n}} >>{out}/stdout 2>/dev/null\necho $status >{out}/status\n"
        )
    }
}

impl Went {
    fn read(home: &Path, out: &Path, has_ended: bool) -> Self {
        let read = |name: &str| {
            let bytes = fs::read(out.join(name)).unwrap_or_default();
            let text = String::from_utf8_lossy(&bytes).into_owned();
            text.replace(home.to_str().expect("UTF-8"), "~")
        };
        let stderr = read("stderr");
        let lines: Vec<&str> = stderr.lines().collect();
        let own = lines.iter().position(|line| line.starts_with("jp-confine: "));
        let (theirs, report) = lines.split_at(own.unwrap_or(lines.len()));
        let status = read("status").trim().to_owned();
        Self {
            status: Some(status).filter(|_| has_ended),
            stdout: without_numbers(&read("stdout")),
            stderr: without_numbers(&theirs.join("\n")),
            report: report.iter().map(|line| (*line).to_owned()).collect(),
        }
    }
}

fn shown(status: Option<String>) -> String {
    status.unwrap_or_else(|| format!("missing: it does not end within {} s", LIMIT.as_secs()))
}

/// Runs the command in a process group of its own, and ends what is left of the group. Whether it ended in time.
fn finish(mut command: Command) -> bool {
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).process_group(0);
    let mut child = command.spawn().expect("sh");
    let pid = Pid::from_child(&child);
    let has_ended = ends(pid, LIMIT);
    let _ = kill_process_group(pid, Signal::KILL);
    child.wait().expect("sh");
    has_ended
}

fn free_port() -> u16 {
    let server = TcpListener::bind(("127.0.0.1", 0)).expect("a port");
    server.local_addr().expect("an address").port()
}

/// The text with one `0` for each number, which may be hexadecimal, and one space for several: times, sizes, hashes.
fn without_numbers(text: &str) -> String {
    let is_part = |it: char| it.is_ascii_alphanumeric();
    let mut plain = String::new();
    for part in text.split_inclusive(|it: char| !is_part(it)) {
        let word = part.trim_end_matches(|it: char| !is_part(it));
        let is_hash = word.len() > 6 && word.chars().all(|it| it.is_ascii_hexdigit());
        let mut digits = false;
        for it in if is_hash { "0" } else { word }.chars() {
            if !(it.is_ascii_digit() && digits) {
                plain.push(if it.is_ascii_digit() { '0' } else { it });
            }
            digits = it.is_ascii_digit();
        }
        let rest = &part[word.len()..];
        if !(rest == " " && plain.ends_with(' ')) {
            plain.push_str(rest);
        }
    }
    plain
}

/// The report in a few words: its first denial with the suggestion, or each line.
fn told(report: &[String]) -> Vec<String> {
    let Some(denial) = report.iter().find_map(|line| line.strip_prefix("  ")) else {
        return report.iter().map(|line| told_line(line)).collect();
    };
    let words: Vec<&str> = denial.split(' ').collect();
    let what = words.get(1..3).unwrap_or_default().join(" ");
    let by = words.last().unwrap_or(&"");
    let option = report.iter().find_map(|line| line.split_once("allow: jp-confine "));
    let suggested = option.map(|(_, option)| format!("suggested: `{}`", start(option)));
    vec![format!("{what} by {by}"), suggested.unwrap_or_else(|| "nothing is suggested".to_owned())]
}

/// A line of the report. How many denials there are depends on the machine if there are several.
fn told_line(line: &str) -> String {
    let line = line.strip_prefix("jp-confine: ").unwrap_or(line);
    match line.split_once(" did not matter: ") {
        Some((count @ ("1 denial" | "2 denials"), _)) => format!("{count} did not matter"),
        Some(_) => "several denials did not matter".to_owned(),
        None => format!("`{}`", start(&numbers_replaced(line, "(", ")", "4711"))),
    }
}

/// The start of a line.
fn start(line: &str) -> String {
    let line = line.trim();
    match line.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{} …", &line[..end]),
        None => line.to_owned(),
    }
}

/// The path of a page of the documents.
pub(crate) fn page() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/tools.md")
}

#[test]
fn numbers_do_not_count() {
    for (text, plain) in [
        ("took 12.5 s,  0x7ffe", "took 0.0 s, 0x0ffe"),
        ("commit 96a0e9ef on main", "commit 0 on main"),
        ("a1b22", "a0b0"),
    ] {
        assert_eq!(without_numbers(text), plain);
    }
}

#[test]
fn a_report_is_told_in_a_few_words() {
    let told = |text: &str| told(&text.lines().map(str::to_owned).collect::<Vec<_>>());
    for (report, words) in [
        ("", &[][..]),
        (
            "jp-confine: 2 denials did not matter: jp-confine why --last",
            &["2 denials did not matter"],
        ),
        (
            "jp-confine: left: a (12)\njp-confine: 33 denials did not matter: x",
            &["`left: a (4711)`", "several denials did not matter"],
        ),
        (
            "jp-confine: 1 denial\n  1 denied read /a by cat\n    no rule covers it; allow: jp-confine -r /a",
            &["denied read by cat", "suggested: `-r /a`"],
        ),
        (
            "jp-confine: 1 denial\n  1 denied clone / by a\n    no option",
            &["denied clone by a", "nothing is suggested"],
        ),
    ] {
        assert_eq!(told(report), words);
    }
}
