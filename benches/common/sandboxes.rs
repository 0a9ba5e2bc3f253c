//! Lists the command lines that confine. Used by `programs` and `scale`.

use std::path::Path;

use super::measure::{Clock, Run};
use super::{have, words};

/// The program whose cost is measured, unless `JP_CONFINE_BENCH` names another build of it.
const PRODUCT: &str = env!("CARGO_BIN_EXE_jp-confine");

/// What a sandbox is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// This product: options can be added.
    Ours,
    /// The kernel's layers by themselves.
    Layers,
    Other,
}

/// Something that confines a program.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sandbox {
    /// Its name in the tables.
    pub(crate) name: &'static str,
    /// The words before the program and its arguments. `OURS` stands for this product, and `./` for the folder that
    /// the benchmark prepared.
    line: &'static str,
    pub(crate) kind: Kind,
    /// More words, which deny a directory that stands for `HOLE`; empty if it can deny none.
    hole: &'static str,
}

const fn sandbox(
    kind: Kind,
    name: &'static str,
    line: &'static str,
    hole: &'static str,
) -> Sandbox {
    Sandbox { name, line, kind, hole }
}

/// All of them. The others deny nothing, but for the hole: they show what their mechanism costs by itself.
const SANDBOXES: [Sandbox; 9] = [
    sandbox(Kind::Ours, "cooperative", "OURS --enforce cooperative", "--deny HOLE"),
    sandbox(Kind::Ours, "layered", "OURS", "--deny HOLE"),
    sandbox(Kind::Ours, "strict", "OURS --enforce strict", "--deny HOLE"),
    sandbox(Kind::Layers, "Landlock alone", "./kernel --no-filter --", ""),
    sandbox(Kind::Layers, "Landlock and a filter", "./kernel --", ""),
    sandbox(Kind::Other, "bubblewrap", "bwrap --dev-bind / /", "--tmpfs HOLE"),
    sandbox(Kind::Other, "firejail", "firejail --quiet --noprofile", "--blacklist=HOLE"),
    sandbox(
        Kind::Other,
        "landrun",
        "landrun --rwx / --unrestricted-network --env PATH --env HOME",
        "",
    ),
    sandbox(Kind::Other, "sandlock", "sandlock run -w / --", ""),
];

/// Those that are installed and can run `true` here. `folder` has the compiled programs.
pub(crate) fn usable(folder: &Path) -> Vec<Sandbox> {
    let works = |sandbox: &Sandbox| {
        let line = sandbox.confine(folder, &[], None, &words("true")).expect("no hole");
        let run =
            Run { line, folder: folder.to_owned(), before: String::new(), clock: Clock::Wall };
        sandbox.is_ours() || (have(&run.line[0]) && run.once().is_ok())
    };
    SANDBOXES.into_iter().filter(works).collect()
}

impl Sandbox {
    /// Whether it is this product.
    pub(crate) fn is_ours(&self) -> bool {
        self.kind == Kind::Ours
    }

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
        if self.is_ours() {
            own.extend_from_slice(options);
            own.push("--".to_owned());
        }
        own.extend_from_slice(line);
        Some(own)
    }
}
