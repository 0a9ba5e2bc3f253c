//! Says what is wrong with a command line: the mistake, and what may be meant.

use clap::Error;

/// The mistake, and what may be meant or where to read more.
pub(super) fn words(error: &Error) -> (String, String) {
    let text = error.render().to_string();
    let text = text.strip_prefix("error: ").unwrap_or(&text);
    let message = text.split("\n\n").next().unwrap_or(text);
    let message = message.lines().map(str::trim).collect::<Vec<_>>().join(" ");
    let tip = text.lines().find_map(|line| line.trim().strip_prefix("tip: "));
    let tip = tip.unwrap_or("for what can be typed: jp-confine -h");
    (message, tip.to_owned())
}
