//! Judges opens, which may need other rights for a new file than for an existing one.

use core::ffi::c_int;

use super::{access, metadata, permits};
use crate::capability::Capabilities;
use crate::image::Image;
use crate::request::Request;
use crate::verdict::{Denial, Verdict};

/// How a file is to be opened (spec §5.2).
#[derive(Clone, Copy, Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is one flag of open(2)")]
pub struct OpenRequest {
    /// The descriptor can read.
    pub read: bool,
    /// The descriptor can write, or opening truncates.
    pub write: bool,
    /// `O_CREAT`.
    pub create: bool,
    /// `O_EXCL` together with `O_CREAT`.
    pub exclusive: bool,
    /// `O_PATH`: the descriptor gives no access. It only must not reveal a hidden object.
    pub bare: bool,
}

/// The flag for a descriptor that gives no access. macOS has none.
#[cfg(target_os = "linux")]
const BARE: c_int = libc::O_PATH;
#[cfg(not(target_os = "linux"))]
const BARE: c_int = 0;

impl OpenRequest {
    /// The open with these flags of open(2).
    #[must_use]
    pub const fn of_flags(flags: c_int) -> Self {
        let access = flags & libc::O_ACCMODE;
        let create = flags & libc::O_CREAT != 0;
        Self {
            read: access != libc::O_WRONLY,
            write: access != libc::O_RDONLY || flags & libc::O_TRUNC != 0,
            create,
            exclusive: create && flags & libc::O_EXCL != 0,
            bare: flags & BARE != 0,
        }
    }

    /// The rights that the open needs on an existing object.
    #[must_use]
    pub fn need_on_existing(self) -> Capabilities {
        Capabilities::NONE
            .with_if(self.read && !self.bare, Capabilities::READ)
            .with_if(self.write && !self.bare, Capabilities::UPDATE)
    }

    /// All rights that the open may need, whether or not the file exists.
    #[must_use]
    pub fn need_in_any_case(self) -> Capabilities {
        self.need_on_existing().with_if(self.create, Capabilities::CREATE)
    }
}

/// How much of an open the policy allows. The kernel tells new from existing; no check beforehand does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OpenVerdict {
    /// As asked.
    Allow,
    /// Only if the open creates the file: add `O_EXCL`. The denial is for the other case.
    OnlyNew(Denial),
    /// Only if the file exists: drop `O_CREAT`. The denial is for the other case.
    OnlyExisting(Denial),
    /// Not at all.
    Deny(Denial),
}

impl OpenVerdict {
    /// Whether the policy allows the open in any case at all.
    #[must_use]
    pub const fn at_all(self) -> Verdict {
        match self {
            Self::Deny(denial) => Verdict::Deny(denial),
            _ => Verdict::Allow,
        }
    }
}

/// Whether an open may go ahead, and whether for new or existing files only.
#[must_use]
pub fn open(image: &Image<'_>, request: &Request<'_>, how: OpenRequest) -> OpenVerdict {
    if how.bare {
        return match metadata(image, request) {
            Verdict::Allow => OpenVerdict::Allow,
            Verdict::Deny(denial) => OpenVerdict::Deny(denial),
        };
    }
    if permits(image, request, how.need_in_any_case()) {
        return OpenVerdict::Allow;
    }
    open_partly(image, request, how)
}

/// The allowed part of an open that is not allowed as a whole.
#[cold]
#[inline(never)]
fn open_partly(image: &Image<'_>, request: &Request<'_>, how: OpenRequest) -> OpenVerdict {
    let need = how.need_on_existing();
    let judge = |request: &Request<'_>| {
        let existing = access(image, request, need);
        let new = if how.create { access(image, request, Capabilities::CREATE) } else { existing };
        (existing, new)
    };
    let (existing, new) = judge(request);
    let asked = [existing, new].map(Verdict::question);
    let Some(question) = asked.into_iter().flatten().next() else {
        return combine(how, existing, new);
    };
    let asked = asked.into_iter().flatten().map(|denial| denial.missing);
    let missing = asked.fold(Capabilities::NONE, Capabilities::union);
    let (existing, new) = judge(&request.consented());
    match combine(how, existing, new) {
        refused @ OpenVerdict::Deny(_) => refused,
        _ => OpenVerdict::Deny(Denial { missing, ..question }),
    }
}

fn combine(how: OpenRequest, existing: Verdict, new: Verdict) -> OpenVerdict {
    match (how.create, how.exclusive, existing, new) {
        (false, _, Verdict::Allow, _)
        | (true, true, _, Verdict::Allow)
        | (true, false, Verdict::Allow, Verdict::Allow) => OpenVerdict::Allow,
        (true, false, Verdict::Deny(denial), Verdict::Allow) => OpenVerdict::OnlyNew(denial),
        (true, false, Verdict::Allow, Verdict::Deny(denial)) => OpenVerdict::OnlyExisting(denial),
        (false, _, Verdict::Deny(denial), _) | (true, _, _, Verdict::Deny(denial)) => {
            OpenVerdict::Deny(denial)
        }
    }
}
