//! A tool that reads files as fast as the host answers, and reports the rate.
//!
//! ```sh
//! cargo build --release -p jp-confine-vfs --example rate
//! jp-confine vfs --arguments '{"paths": ["Cargo.toml"]}' -- target/release/examples/rate
//! ```

use std::error::Error;
use std::time::Instant;

use jp_confine_vfs::sdk;
use serde::Deserialize;

/// The arguments of the tool.
#[derive(Deserialize)]
struct Rate {
    /// The files, read in turn.
    paths: Vec<String>,
}

/// How many reads the tool makes.
pub(crate) const REQUESTS: u32 = 10_000;

pub(crate) fn main() -> Result<(), Box<dyn Error>> {
    let mut host = sdk::connect()?;
    let Rate { paths } = serde_json::from_value(host.tool().arguments.clone())?;
    let begun = Instant::now();
    for path in paths.iter().cycle().take(REQUESTS as usize) {
        host.read(path)?;
    }
    let rate = f64::from(REQUESTS) / begun.elapsed().as_secs_f64();
    Ok(host.result(format!("{rate:.0} requests/s"))?)
}
