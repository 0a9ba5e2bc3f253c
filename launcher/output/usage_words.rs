//! Says what is wrong with a command line: the mistake, and what may be meant.

use clap::Error;

/// The mistake, and what may be meant or where to read more.
pub(super) fn words(error: &Error) -> (String, String) {
    let text = error.render().to_string();
    let text = text.strip_prefix("error: ").unwrap_or(&text);
    let message = text.split("\n\n").next().unwrap_or(text);
    let message = message.lines().map(str::trim).collect::<Vec<_>>().join(" ");
    let tip = text.lines().find_map(|line| line.trim().strip_prefix("tip: "));
    let tip =
        tip.map_or_else(|| format!("for what can be typed: {} -h", command(text)), str::to_owned);
    (message, tip)
}

/// The command that the error is about, with its name, if the text shows how it is used.
fn command(text: &str) -> String {
    let usage = text.lines().find_map(|line| line.trim().strip_prefix("Usage: "));
    let is_name = |word: &&str| !word.starts_with(['[', '<', '-']);
    let words = usage.unwrap_or("jp-confine").split_whitespace().take_while(is_name);
    words.collect::<Vec<_>>().join(" ")
}
