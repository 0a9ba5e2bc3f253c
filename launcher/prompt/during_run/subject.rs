//! What a question during a run is about.

use jp_confine_policy::Capabilities;
use jp_confine_policy::decide::Request;

use crate::prompt::during_run::identity::Identity;

/// What is being judged: where it is, and by which way it was reached.
#[derive(Clone, Copy)]
pub(crate) struct Subject<'p> {
    pub(crate) path: &'p [u8],
    pub(crate) route: &'p [u8],
    /// The other path of a call that names two; else empty.
    pub(crate) other: &'p [u8],
    /// What a person is to consent to there as well.
    pub(crate) also: Capabilities,
    /// What is there, where the kernel looks for it by its name after the answer.
    pub(crate) file: Option<Identity>,
    /// What would change in a configuration of git that is put there, in words; mostly nothing.
    pub(crate) changes: &'p str,
}

impl<'p> Subject<'p> {
    pub(crate) fn new(path: &'p [u8]) -> Self {
        Self::by_route(path, path)
    }

    pub(crate) fn by_route(path: &'p [u8], route: &'p [u8]) -> Self {
        Self { path, route, other: &[], also: Capabilities::NONE, file: None, changes: "" }
    }

    /// The same, where this object was found there.
    pub(crate) fn holding(self, file: Identity) -> Self {
        Self { file: Some(file), ..self }
    }

    pub(crate) fn request(&self) -> Request<'p> {
        Request::by_route(self.path, self.route)
    }
}
