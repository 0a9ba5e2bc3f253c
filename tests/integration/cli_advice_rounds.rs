//! Advice that comes in parts, because programs end at the first refusal: followed round by round it comes to an
//! end, also where names are others each time.

use crate::cli_advice::{attempt, denials, texts};
use crate::scratch::Scratch;

/// Each replaces a file by one of a made-up name, and is refused to begin with.
const ROWS: [&str; 2] = ["sed -i s/i/j/ dir/a", "ln -f dir/b dir/a"];

/// So often denials are followed, before the script has to pass.
const ROUNDS: usize = 2;

#[test]
fn rules_for_made_up_names_come_to_an_end() {
    for policy in [
        "[[access.fs]]\npath = 'dir/a'\nread = true\n",
        "[[access.fs]]\npath = '.'\nread = true\n
[[access.fs]]\npath = 'dir/a'\nread = true\nexecute = true\n",
    ] {
        for script in ROWS {
            let scratch = Scratch::new();
            let mut policy = policy.to_owned();
            scratch.write("ws/dir/a", "i");
            scratch.write("ws/dir/b", "b");
            scratch.write("ws/jp-confine.toml", &policy);
            for _ in 0..ROUNDS {
                assert_ne!(attempt(&scratch, script).code(), 0, "{script}: {policy}");
                policy = format!("{policy}\n{}", texts(&denials(&scratch), "toml").join("\n"));
                scratch.write("ws/jp-confine.toml", &policy);
            }
            let last = attempt(&scratch, script);
            assert_eq!(last.code(), 0, "{script}: {policy}\n{last}");
        }
    }
}
