//! Advice about names that are links by the time that it is given.

use crate::cli_advice::{attempt, denials, texts, tree};
use crate::run::{Mode, PRODUCT, Run};

/// A link that the run itself made is not followed to where it leads: what is advised counts for its name, from the
/// same beginning.
#[test]
fn a_link_made_since_is_not_followed() {
    let policy = "[[access.fs]]\npath = '.'\nread = true\n
[[access.fs]]\npath = 'new'\nread = true\ncreate = true\n
[[access.fs]]\npath = 'new/link'\nread = true\ncreate = true\n";
    for script in [
        "ln -s dir new; rm new",
        "ln -s dir new; touch -h new",
        "mkdir new; ln -s ../dir new/link; touch -h new/link",
    ] {
        let scratch = tree();
        let restart = |rules: &str| {
            Run::sh(&scratch, "rm -rf new").mode(Mode::Bare).run().assert_ok();
            scratch.write("ws/jp-confine.toml", &format!("{policy}\n{rules}"));
        };
        restart("");
        let denied = attempt(&scratch, script);
        assert_ne!(denied.code(), 0, "{script}: allowed from the start");
        denied.assert_stderr("first remove the link new");
        let advice = denials(&scratch);
        let (options, rules) = (texts(&advice, "options").join(" "), texts(&advice, "toml"));
        restart(&rules.join("\n"));
        attempt(&scratch, script).assert_ok();
        restart("");
        let line = format!("{PRODUCT} {options} -- sh -c \"$0\"");
        let run = Run::new(&scratch, "sh", &["-c", &line, script]);
        run.mode(Mode::Bare).run().assert_ok();
    }
}
