//! Finds grants whose path leads through a symlink that programs of this run could create. An earlier run may have
//! planted it, and the person who wrote the path did not mean its target. One run must not widen the next
//! (`docs/decisions/0028-planted-links.md`).

use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use jp_confine_engine::build::{Grant, Origin};
use jp_confine_engine::decide::{self, Request, Verdict};
use jp_confine_engine::image::Image;
use jp_confine_engine::tier::Tier;
use jp_confine_engine::tiers::Tiers;
use jp_confine_engine::{Capabilities, canonical};

use crate::compile::image;
use crate::compile::led_path::Led;
use crate::error::Failure;
use crate::text::quote;

/// Such a grant, and the link that it must not follow.
#[derive(Clone, Debug)]
pub(crate) struct Planted<'l> {
    pub(crate) led: &'l Led,
    pub(crate) link: PathBuf,
}

/// The grants with a link on the way that programs could create under `grants` and `tiers`, in the workspace at `root`.
/// Also those whose last name is a link that the grant itself would allow to create. Looks at the disk.
pub(crate) fn planted<'l>(
    led: impl Iterator<Item = &'l Led>,
    grants: &[Grant],
    tiers: &Tiers,
    root: &Path,
) -> Result<Vec<Planted<'l>>, Failure> {
    let creates = |grant: &Grant| grant.caps.contains(Capabilities::CREATE);
    let makers: Vec<&Path> =
        grants.iter().filter(|grant| creates(grant)).map(|grant| grant.anchor.as_path()).collect();
    // Links near such a directory are rare.
    let is_near = |link: &Path| {
        tiers.opening().next().is_some()
            || makers.iter().any(|dir| canonical::below(dir, link).is_some())
    };
    let mut found = Vec::new();
    let mut near = Vec::new();
    for led in led {
        let own = creates(&led.grant).then(|| led.place()).flatten();
        for link in led.links() {
            if own.as_ref() == Some(&link) {
                found.push(Planted { led, link });
            } else if is_near(&link) {
                near.push(Planted { led, link });
            }
        }
    }
    let links: Vec<&Path> = near.iter().map(|planted| planted.link.as_path()).collect();
    if !links.is_empty() {
        let image = image::image_over(grants, Some(tiers), &links, root)?;
        let image = image::parse_image(&image)?;
        near.retain(|planted| allows(&image, &planted.link, Capabilities::CREATE));
        found.append(&mut near);
    }
    Ok(found)
}

/// Makes opening patterns of `tiers` match only their spelling if programs could create a link on the way under
/// `grants` and `tiers`. Returns warnings.
pub(crate) fn distrust(
    tiers: &mut Tiers,
    grants: &[Grant],
    root: &Path,
) -> Result<Vec<String>, Failure> {
    let links: Vec<PathBuf> = tiers.opening_links().map(Path::to_owned).collect();
    if links.is_empty() {
        return Ok(Vec::new());
    }
    let paths: Vec<&Path> = links.iter().map(PathBuf::as_path).collect();
    let image = image::image_over(grants, Some(tiers), &paths, root)?;
    let image = image::parse_image(&image)?;
    let told = |(tier, text, link): (Tier, String, PathBuf)| {
        let of_target = if tier == Tier::Read { "only restricted" } else { "left out" };
        format!(
            "{} {}: {} is a link that what runs here could have made: its target is {of_target}",
            tier.field(),
            quote::path(&text),
            quote::quoted(bytes(&link))
        )
    };
    let planted = tiers.distrust(|link| allows(&image, link, Capabilities::CREATE));
    Ok(planted.into_iter().map(told).collect())
}

impl Planted<'_> {
    /// Describes the problem.
    pub(crate) fn told(&self) -> String {
        let Led { grant, spelled, .. } = self.led;
        let who = match &grant.origin {
            Origin::Flag { text } => quote::path(text),
            Origin::Profile { name, entry, .. } => {
                format!("profile {name}, {}", quote::path(entry))
            }
            _ => quote::quoted(spelled.as_os_str().as_bytes()),
        };
        let [link, target] = [&self.link, &grant.anchor].map(|it| quote::quoted(bytes(it)));
        format!("{who}: {link} is a link to {target} that what runs here could have made")
    }

    /// The option to type if the target is meant.
    pub(crate) fn way_out(&self) -> String {
        if let Some(view) = &self.led.view {
            let word = quote::quoted(view.word().as_bytes());
            return format!("if its target is meant: --view {word}");
        }
        let Grant { anchor, caps, .. } = &self.led.grant;
        let flag = match caps {
            caps if caps.contains(Capabilities::CREATE) => "-w",
            caps if caps.contains(Capabilities::EXECUTE) => "-x",
            _ => "-r",
        };
        format!("if its target is meant: {}", quote::words(&[(flag, anchor.clone())]))
    }
}

fn allows(image: &Image<'_>, place: &Path, caps: Capabilities) -> bool {
    decide::access(image, &Request::canonical(bytes(place)), caps) == Verdict::Allow
}

fn bytes(path: &Path) -> &[u8] {
    path.as_os_str().as_bytes()
}
