//! The layout of an image: its header, the elements of its tables, and how a table is found in it. [`crate::build`] writes
//! it and [`crate::image`] reads it.

use zerocopy::little_endian::{U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// The first eight bytes of an image.
pub(crate) const MAGIC: [u8; 8] = *b"JPCONFIM";

/// Increased whenever the layout changes: the preload library and the launcher must be of one build.
pub(crate) const VERSION: u32 = 10;

/// The index that stands for "none".
pub(crate) const NONE: u32 = u32::MAX;

/// A run of `count` elements that starts `offset` bytes into the image.
#[derive(Clone, Copy, Debug, Default, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub(crate) struct Span {
    pub(crate) offset: U32,
    pub(crate) count: U32,
}

/// The start of an image.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub(crate) struct Header {
    pub(crate) magic: [u8; 8],
    pub(crate) version: U32,
    /// Bytes in the whole image.
    pub(crate) length: U32,
    /// [`checksum`] of everything from here ([`Header::SUMMED`]) to the JSON text.
    pub(crate) checksum: U64,
    pub(crate) session: U64,
    /// The bits of [`Behind`].
    pub(crate) behind: U32,
    pub(crate) nodes: Span,
    /// A power of two, at least twice the number of edges.
    pub(crate) slots: Span,
    pub(crate) rules: Span,
    pub(crate) patterns: Span,
    /// The default tier, for paths that no pattern of the tiers matches: its number or zero, and [`crate::image::tiers::ASKS`].
    pub(crate) default_tier: U32,
    /// The automaton of the tiers, see [`crate::automaton`]. Without classes there is none.
    pub(crate) classes: Span,
    pub(crate) states: Span,
    pub(crate) edges: Span,
    pub(crate) starts: Span,
    /// The places where patterns of the built-in list of auto-run files begin, each a [`Base`].
    pub(crate) autorun: Span,
    /// The views of the run, each a [`ImageView`].
    pub(crate) views: Span,
    /// Rules about environment variables, in lists.
    pub(crate) variables: Span,
    /// The list of them for every program: a span of `variables`.
    pub(crate) environment: Span,
    /// [`LISTED`] and [`TIED`].
    pub(crate) flags: U32,
    /// Rules about programs, see [`crate::invocation`].
    pub(crate) commands: Span,
    pub(crate) lines: Span,
    pub(crate) words: Span,
    pub(crate) bytes: Span,
    pub(crate) texts: [Span; Text::COUNT],
    /// In a second form: where it counts, and how characters are folded ([`crate::volume`]).
    pub(crate) volumes: Span,
    pub(crate) folds: Span,
    pub(crate) fold_texts: Span,
    /// If case is ignored anywhere: an image of the same policy with all names folded.
    pub(crate) folded: Span,
    /// Last in the image, and outside the checksum: no decision depends on it.
    pub(crate) json: Span,
}

impl Header {
    /// The start of the part that the checksum covers. The fields before it are compared one by one.
    pub(crate) const SUMMED: usize = core::mem::offset_of!(Self, session);
}

/// Only programs that the image lists may be started.
pub(crate) const LISTED: u32 = 1;

/// Several external rules have one anchor, and the spelling decides between them (spec §5.1, tie (a)).
pub(crate) const TIED: u32 = 2;

/// A path prefix that is a rule's anchor or leads to one.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub(crate) struct Node {
    /// The rule whose anchor this is, or [`NONE`].
    pub(crate) rule: U32,
    /// The path that names from here on lead to: a span of `bytes`, empty if none. It is the target of a symlink that
    /// was here at compile time, or the backing of a view.
    pub(crate) alias: Span,
    /// [`VIEW`], [`VIEW_BELOW`], [`BACKING`] and [`BACKING_BELOW`].
    pub(crate) view: u8,
    /// Capabilities that every rule strictly below grants.
    pub(crate) below_all: u8,
    /// Capabilities that some rule strictly below grants.
    pub(crate) below_any: u8,
    /// Whether the node has children at all.
    pub(crate) interior: u8,
    /// [`ALIAS_BELOW`], [`HIDDEN_BELOW`], and how far tiers reach into the rules strictly below
    /// ([`crate::reaches::Reaches`]).
    pub(crate) flags: u8,
}

/// The alias of the node belongs to a view.
pub(crate) const VIEW: u8 = 1;

/// A view has its place strictly below the node.
pub(crate) const VIEW_BELOW: u8 = 2;

/// The node is the backing of a view.
pub(crate) const BACKING: u8 = 4;

/// A view has its backing strictly below the node.
pub(crate) const BACKING_BELOW: u8 = 8;

impl Node {
    /// Whether it is on the way to something that programs see.
    pub(crate) const fn is_way(&self) -> bool {
        self.below_any != 0 || self.view & VIEW_BELOW != 0
    }
}

/// The node, or one below it, is an alias.
pub(crate) const ALIAS_BELOW: u8 = 1;

/// The rule of the node, or one below it, hides the paths that it covers, or a view shows others there.
pub(crate) const HIDDEN_BELOW: u8 = 2;

/// One edge of the trie. `child` is zero in a free slot, because the root is no child.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub(crate) struct Slot {
    pub(crate) parent: U32,
    pub(crate) child: U32,
    pub(crate) hash: U32,
    pub(crate) name: Span,
}

/// One compiled rule.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub(crate) struct Rule {
    pub(crate) caps: u8,
    pub(crate) hidden: u8,
    /// How far tiers reach into the rule: a [`crate::tier::Reach`].
    pub(crate) reach: u8,
    /// Whether its anchor is at or below an auto-run file and may be changed. Then its author meant that file.
    pub(crate) names_autorun: u8,
    /// Patterns that the rule excludes.
    pub(crate) patterns: Span,
    /// For an external rule the absolute spelling of its path, else empty: a span of `bytes`.
    pub(crate) route: Span,
    /// An earlier external rule on the same anchor, or [`NONE`] (spec §5.1, tie (a)).
    pub(crate) earlier: U32,
    /// The state of the patterns' automaton after the anchor.
    pub(crate) state: U32,
}

/// A place where patterns of the built-in list of auto-run files begin.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub(crate) struct Base {
    /// The number of a [`crate::autorun::list::Place`].
    pub(crate) place: u8,
    /// Its canonical path: a span of `bytes`.
    pub(crate) path: Span,
}

/// A directory that a run sees in another's place.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub(crate) struct ImageView {
    /// The canonical path that programs name: a span of `bytes`.
    pub(crate) place: Span,
    /// The canonical path of the directory that they get: a span of `bytes`.
    pub(crate) backing: Span,
}

/// Texts that the preload library needs besides the rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub enum Text {
    /// Absolute path of the preload library.
    ShimPath = 0,
    /// Absolute path of the file that denials are appended to.
    EventsPath = 1,
    /// Absolute path of the directory that temporary files go to.
    TempDir = 2,
    /// Absolute path under which a process that lost its descriptor finds the shared page.
    SharedPage = 3,
    /// Canonical absolute path of the workspace, where most paths lead.
    Workspace = 4,
}

impl Text {
    pub(crate) const COUNT: usize = 5;
}

/// Why bytes are not a usable image. Any of these denies everything (spec §13).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ImageError {
    /// Shorter than its own length field, or than a header.
    Truncated,
    /// Not an image at all.
    Magic,
    /// Written by another version of the launcher.
    Version,
    /// The checksum does not match.
    Checksum,
    /// A table lies outside the image or has an impossible size.
    Layout,
}

/// The index of a rule, in the order in which the writer got the grants.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RuleId(pub(crate) u32);

impl RuleId {
    /// The index, for a caller that kept the list of grants.
    #[must_use]
    pub const fn index(self) -> usize {
        self.0 as usize
    }

    /// The number as event records store it.
    #[must_use]
    pub const fn raw(self) -> u32 {
        self.0
    }
}

/// The elements of a table, or an error if it is not inside the image.
pub(crate) fn table<T: FromBytes + Immutable + KnownLayout + Unaligned>(
    whole: &[u8],
    span: Span,
) -> Result<&[T], ImageError> {
    let tail = whole.get(span.offset.get() as usize..).ok_or(ImageError::Layout)?;
    <[T]>::ref_from_prefix_with_elems(tail, span.count.get() as usize)
        .map(|(elements, _)| elements)
        .map_err(|_| ImageError::Layout)
}

/// The elements of a table in `span`, or none if `span` is not inside it.
pub(crate) fn part<T>(table: &[T], span: Span) -> &[T] {
    let start = span.offset.get() as usize;
    let end = start.saturating_add(span.count.get() as usize);
    table.get(start..end).unwrap_or(&[])
}

/// A rule about environment variables.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub(crate) struct Variable {
    /// The literal part of its name: a span of `bytes`.
    pub(crate) name: Span,
    /// [`crate::variables::PREFIX`] and [`crate::variables::READ`].
    pub(crate) flags: U32,
}

/// A rule about a program.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub(crate) struct Command {
    /// The canonical path of its file: a span of `bytes`.
    pub(crate) program: Span,
    /// The name that the program must have: a span of `bytes`.
    pub(crate) name: Span,
    /// [`crate::invocation::ANY_ARGUMENTS`].
    pub(crate) flags: U32,
    /// Lines of arguments, one of which must match: a span of `lines`.
    pub(crate) lines: Span,
    /// The variables that it may read: a span of `variables`.
    pub(crate) envs: Span,
}

/// Arguments that a rule allows.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub(crate) struct Line {
    /// A span of `words`.
    pub(crate) words: Span,
    /// Not zero if any more arguments may follow.
    pub(crate) rest: U32,
}
