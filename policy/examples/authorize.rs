//! A small host of tools. It reads requests, one a line, and does what the policy of the given directory allows.
//!
//! ```sh
//! echo "read $PWD/README.md" | cargo run -p jp-confine-policy --example authorize -- "$PWD"
//! ```

use std::error::Error;
use std::io::{self, BufRead as _, Write as _};
use std::path::Path;

use jp_confine_policy::{Authorizer, Policy};

/// Everything may be read, and only drafts may be written.
const POLICY: &str = r#"{"access": {"fs": [
    {"path": ".", "read": true},
    {"path": "drafts", "read": true, "write": true}
]}}"#;

fn main() -> Result<(), Box<dyn Error>> {
    let folder = std::env::args_os().nth(1).ok_or("which folder?")?;
    let host = host(Path::new(&folder))?;
    for request in io::stdin().lock().lines() {
        match answer(&host, &request?) {
            Ok(text) => writeln!(io::stdout(), "{text}")?,
            // A denial is for the caller: it says what is granted, and how to get more.
            Err(refusal) => writeln!(io::stdout(), "error: {refusal}")?,
        }
    }
    Ok(())
}

/// A host for one directory. It has no approvals, so external rules deny.
fn host(folder: &Path) -> Result<Authorizer, Box<dyn Error>> {
    Ok(Authorizer::default().with_folder(folder, &Policy::from_json(POLICY)?)?)
}

/// Does what `request` says: `read PATH` or `write PATH TEXT`, with an absolute path.
fn answer(host: &Authorizer, request: &str) -> Result<String, Box<dyn Error>> {
    let mut words = request.splitn(3, ' ');
    match (words.next(), words.next(), words.next()) {
        (Some("read"), Some(path), None) => {
            let file = host.authorize_read(path, "read_file")?;
            Ok(io::read_to_string(file.open()?)?)
        }
        (Some("write"), Some(path), Some(text)) => {
            let file = host.authorize_write(path, "write_file")?;
            file.write(text.as_bytes())?;
            Ok(format!("wrote {}", file.path().display()))
        }
        _ => Err("read PATH, or write PATH TEXT".into()),
    }
}

/// Runs with the other tests of the crate.
#[cfg(test)]
pub(crate) fn answers(folder: &Path, requests: &[&str]) -> Vec<String> {
    let host = host(folder).unwrap();
    let one = |request: &&str| answer(&host, request).unwrap_or_else(|error| error.to_string());
    requests.iter().map(one).collect()
}
