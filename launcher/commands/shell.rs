//! Implements `shell`: the person's shell, confined, with a prompt that says so.

use std::ffi::{OsStr, OsString};
use std::path::Path;

use crate::cli::Options;
use crate::commands::run;
use crate::error::Failure;
use crate::host::context::Context;

/// Marks the prompt of bash, whatever start files set.
const BASH: &str = r#"case $PS1 in "(confined) "*) ;; *) PS1="(confined) $PS1" ;; esac"#;

/// Marks the prompt of fish.
const FISH: &str = "functions -c fish_prompt unmarked_prompt; \
                    function fish_prompt; echo -n '(confined) '; unmarked_prompt; end";

/// Runs `$SHELL`, or `/bin/sh`, with these arguments.
pub(crate) fn shell(
    context: &mut Context,
    options: &Options,
    arguments: Vec<OsString>,
) -> Result<u8, Failure> {
    let shell = context.variable("SHELL".as_ref()).unwrap_or("/bin/sh".as_ref()).to_owned();
    let mut words = Vec::new();
    let marked = match Path::new(&shell).file_name().and_then(OsStr::to_str) {
        Some("bash") => Some(("PROMPT_COMMAND", BASH)),
        Some("zsh") => Some(("PS1", "(confined) %m%# ")),
        Some("fish") => {
            words.extend(["--init-command", FISH].map(OsString::from));
            None
        }
        _ => Some(("PS1", "(confined) $ ")),
    };
    context.set_variables(marked.into_iter().map(|(name, value)| (name, OsStr::new(value))));
    words.extend(arguments);
    Ok(run::run(context, options, &shell, &words, None)?.end.follow())
}
