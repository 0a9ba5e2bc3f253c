//! How many requests a second. Says a number and asserts none: it is for an idle machine, and a release
//! build (`cargo test --release -p jp-confine-vfs -- --ignored --nocapture speed`).

use std::io::{BufRead as _, Write as _};
use std::process::Command;
use std::time::{Duration, Instant};

use jp_confine_vfs::message::{Contents, Init, ToolCall};
use jp_confine_vfs::person::Nobody;
use jp_confine_vfs::sdk;
use jp_confine_vfs::session::{Ending, Limits, OneShot, Session};

use crate::both::{POLICY, Place};

/// Names the tool that this test program is then.
const TOOL: &str = "JP_CONFINE_VFS_TEST_TOOL";
const REQUESTS: u32 = 10_000;
const NAMES: [&str; 4] = ["a.txt", "rw/a.txt", "rw/b.rs", "rw/sub/c.txt"];

/// The tool: reads small files as fast as it can. As a test it does nothing.
#[test]
fn tool() -> Result<(), Box<dyn std::error::Error>> {
    if std::env::var_os(TOOL).is_none() {
        return Ok(());
    }
    // The test runner has used standard output already: its lines are no messages, and answered.
    let mut from_host = std::io::stdin().lock();
    let mut to_host = std::fs::OpenOptions::new().write(true).open("/dev/stdout")?;
    let mut line = String::new();
    from_host.read_line(&mut line)?;
    let begun = Instant::now();
    for id in 1..=REQUESTS {
        let name = NAMES[id as usize % NAMES.len()];
        let params = serde_json::json!({ "path": name });
        to_host.write_all(&jp_confine_vfs::message::request(u64::from(id), "fs.read", &params))?;
        loop {
            line.clear();
            from_host.read_line(&mut line)?;
            if line.contains(&format!("\"id\":{id},")) {
                break;
            }
        }
        assert!(line.contains("\"content\""), "{line}");
    }
    let text = format!("{:.0} requests/s", f64::from(REQUESTS) / begun.elapsed().as_secs_f64());
    let content = serde_json::json!({ "content": Contents::text(text) });
    to_host.write_all(&jp_confine_vfs::message::notification("result", &content))?;
    Ok(())
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
    let init = Init { tool: ToolCall::default(), protocol_version: "0.1.0".to_owned() };
    match session.run(&mut command, &init)? {
        Ending::Result(contents) => {
            writeln!(std::io::stderr(), "{} fs.read: {}", REQUESTS, contents.to_text())?;
            let plain = plain_reads(&place)?;
            writeln!(std::io::stderr(), "{REQUESTS} plain reads: {plain:.0} reads/s")
                .map_err(Into::into)
        }
        other => panic!("{other:?}"),
    }
}

/// How many of the same files a second a program reads by itself.
fn plain_reads(place: &Place) -> std::io::Result<f64> {
    let paths = NAMES.map(|name| place.root().join(name));
    let begun = Instant::now();
    for path in paths.iter().cycle().take(REQUESTS as usize) {
        std::hint::black_box(std::fs::read(path)?);
    }
    Ok(f64::from(REQUESTS) / begun.elapsed().as_secs_f64())
}
