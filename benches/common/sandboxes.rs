//! Lists the command lines that confine. Used by `programs` and `scale`.

use std::path::Path;

use super::measure::{Clock, Run};
use super::{have, words};

/// The program whose cost is measured, unless `JP_CONFINE_BENCH` names another build of it.
const PRODUCT: &str = env!("CARGO_BIN_EXE_jp-confine");

/// Something that confines a program.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sandbox {
    /// Its name in the tables.
    pub(crate) name: &'static str,
    /// The words before the program and its arguments. `OURS` stands for this product, and `./` for the folder that
    /// the benchmark prepared.
    line: &'static str,
    /// Whether options of this product can be added.
    pub(crate) is_ours: bool,
    /// More words, which deny a directory that stands for `HOLE`; empty if it can deny none.
    hole: &'static str,
}

const fn ours(name: &'static str, line: &'static str) -> Sandbox {
    Sandbox { name, line, is_ours: true, hole: "--deny HOLE" }
}

const fn other(name: &'static str, line: &'static str, hole: &'static str) -> Sandbox {
    Sandbox { name, line, is_ours: false, hole }
}

/// All of them. The others deny nothing, but for the hole: they show what their mechanism costs by itself.
const SANDBOXES: [Sandbox; 9] = [
    ours("cooperative", "OURS --enforce cooperative"),
    ours("layered", "OURS"),
    ours("strict", "OURS --enforce strict"),
    other("Landlock alone", "./kernel --no-filter --", ""),
    other("Landlock and a filter", "./kernel --", ""),
    other("bubblewrap", "bwrap --dev-bind / /", "--tmpfs HOLE"),
    other("firejail", "firejail --quiet --noprofile", "--blacklist=HOLE"),
    other("landrun", "landrun --rwx / --unrestricted-network --env PATH --env HOME", ""),
    other("sandlock", "sandlock run -w / --", ""),
];

/// Those that are installed and can run `true` here. `folder` has the compiled programs.
pub(crate) fn usable(folder: &Path) -> Vec<Sandbox> {
    let works = |sandbox: &Sandbox| {
        let line = sandbox.confine(folder, &[], None, &words("true")).expect("no hole");
        let run =
            Run { line, folder: folder.to_owned(), before: String::new(), clock: Clock::Wall };
        sandbox.is_ours || (have(&run.line[0]) && run.once().is_ok())
    };
    SANDBOXES.into_iter().filter(works).collect()
}

impl Sandbox {
    /// The command line that runs `line` confined, with options of this product if it is ours. None if it cannot deny
    /// `hole`.
    pub(crate) fn confine(
        &self,
        folder: &Path,
        options: &[String],
        hole: Option<&Path>,
        line: &[String],
    ) -> Option<Vec<String>> {
        let product = std::env::var("JP_CONFINE_BENCH").unwrap_or_else(|_| PRODUCT.to_owned());
        let here = format!("{}/", folder.display());
        let mut own = words(&self.line.replace("OURS", &product).replace("./", &here));
        if let Some(hole) = hole {
            if self.hole.is_empty() {
                return None;
            }
            own.extend(words(&self.hole.replace("HOLE", &hole.to_string_lossy())));
        }
        if self.is_ours {
            own.extend_from_slice(options);
            own.push("--".to_owned());
        }
        own.extend_from_slice(line);
        Some(own)
    }
}
