//! Builds and reads images while grants are assembled.

use std::path::Path;

use jp_confine_engine::build::{self, Grant, ImageSpec};
use jp_confine_engine::canonical;
use jp_confine_engine::image::Image;
use jp_confine_engine::tiers::Tiers;

use crate::error::Failure;

/// The image that `spec` describes.
pub(crate) fn build_image(spec: &ImageSpec<'_>) -> Result<Vec<u8>, Failure> {
    build::build(spec)
        .map_err(|error| Failure::own(format!("the policy cannot be compiled: {error}")))
}

/// Reads an image to query it. There is one evaluator, and it reads images.
pub(crate) fn parse_image(image: &[u8]) -> Result<Image<'_>, Failure> {
    Image::read(image).map_err(|error| Failure::own(format!("the image is unusable: {error:?}")))
}

/// An image to query what `grants` hold on canonical `paths`.
pub(crate) fn image_over(
    grants: &[Grant],
    tiers: Option<&Tiers>,
    paths: &[&Path],
    workspace: &Path,
) -> Result<Vec<u8>, Failure> {
    image_of(&over(grants, paths), tiers, workspace)
}

/// An image of all the `grants`.
pub(crate) fn image_of(
    grants: &[Grant],
    tiers: Option<&Tiers>,
    workspace: &Path,
) -> Result<Vec<u8>, Failure> {
    build_image(&ImageSpec {
        tiers: tiers.filter(|tiers| !tiers.is_empty()),
        ..ImageSpec::to_ask(grants, workspace)
    })
}

/// The `grants` at, above and below canonical `paths`. The others say nothing about them.
pub(crate) fn over(grants: &[Grant], paths: &[&Path]) -> Vec<Grant> {
    let touches = |one: &Path, other: &Path| {
        canonical::below(one, other).is_some() || canonical::below(other, one).is_some()
    };
    let covers = |grant: &&Grant| paths.iter().any(|path| touches(&grant.anchor, path));
    grants.iter().filter(covers).cloned().collect()
}
