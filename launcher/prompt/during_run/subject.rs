//! Describes the access that a prompt is about.

use jp_confine_engine::Capabilities;
use jp_confine_engine::decide::Request;

use crate::prompt::during_run::identity::FileIdentity;

/// The object under judgement: its path, and the route by which it was reached.
#[derive(Clone, Copy)]
pub(crate) struct Subject<'p> {
    pub(crate) path: &'p [u8],
    pub(crate) route: &'p [u8],
    /// The second path of a call that names two, or empty.
    pub(crate) other: &'p [u8],
    /// The rights that also need consent at `other`.
    pub(crate) also: Capabilities,
    /// The file there, if the kernel looks up its name again after the answer.
    pub(crate) file: Option<FileIdentity>,
    /// The changes to a Git configuration that is put there, in words. Usually empty.
    pub(crate) changes: &'p str,
}

impl<'p> Subject<'p> {
    pub(crate) fn new(path: &'p [u8]) -> Self {
        Self::by_route(path, path)
    }

    pub(crate) fn by_route(path: &'p [u8], route: &'p [u8]) -> Self {
        Self { path, route, other: &[], also: Capabilities::NONE, file: None, changes: "" }
    }

    /// The same subject, with the object that was found there.
    pub(crate) fn holding(self, file: FileIdentity) -> Self {
        Self { file: Some(file), ..self }
    }

    pub(crate) fn request(&self) -> Request<'p> {
        Request::by_route(self.path, self.route)
    }
}
