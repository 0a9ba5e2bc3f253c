//! Measures requests per second. It prints numbers and asserts nothing. Run it on an idle machine with a release build:
//! `cargo test --release -p jp-confine-vfs -- --ignored --nocapture speed`.

use std::io::Write as _;
use std::process::Command;
use std::time::{Duration, Instant};

use jp_confine_vfs::message::{Init, ToolCall};
use jp_confine_vfs::person::Nobody;
use jp_confine_vfs::sdk;
use jp_confine_vfs::session::{Ending, Limits, OneShot, Session};
use serde_json::json;

use crate::both::{POLICY, Place};
use crate::rate_example::{self, REQUESTS};

/// If set, this test program acts as the tool.
const TOOL: &str = "JP_CONFINE_VFS_TEST_TOOL";
const NAMES: [&str; 4] = ["a.txt", "rw/a.txt", "rw/b.rs", "rw/sub/c.txt"];

/// The tool. As a test it does nothing. The host answers the test runner's output as lines that are not messages.
#[test]
fn tool() -> Result<(), Box<dyn std::error::Error>> {
    if std::env::var_os(TOOL).is_none() { Ok(()) } else { rate_example::main() }
}

#[test]
#[ignore = "a measurement"]
fn small_files() -> Result<(), sdk::Error> {
    let place = Place::on_disk(POLICY);
    let mut nobody = Nobody;
    let mut service = place.service(&mut nobody);
    let session = Session {
        service: &mut service,
        conversation: &mut OneShot,
        diagnostics: &mut std::io::stderr(),
        interrupted: &|| false,
        limits: Limits { idle: Duration::from_secs(20), grace: Duration::from_secs(1) },
    };
    let mut command = Command::new(std::env::current_exe()?);
    command.args(["--exact", "speed::tool", "--nocapture", "-q"]).env(TOOL, "1");
    let mut tool = ToolCall::new("rate");
    tool.arguments = json!({"paths": NAMES});
    match session.run(&mut command, &Init::new(tool))? {
        Ending::Result(contents) => {
            writeln!(std::io::stderr(), "{} fs.read: {}", REQUESTS, contents.to_text())?;
            let plain = plain_reads(&place)?;
            writeln!(std::io::stderr(), "{REQUESTS} plain reads: {plain:.0} reads/s")
                .map_err(Into::into)
        }
        other => panic!("{other:?}"),
    }
}

/// How many reads of the same files per second a program makes without the service.
fn plain_reads(place: &Place) -> std::io::Result<f64> {
    let paths = NAMES.map(|name| place.root().join(name));
    let begun = Instant::now();
    for path in paths.iter().cycle().take(REQUESTS as usize) {
        std::hint::black_box(std::fs::read(path)?);
    }
    Ok(f64::from(REQUESTS) / begun.elapsed().as_secs_f64())
}
