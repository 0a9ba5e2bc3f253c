//! Takes paths apart into names. Used by everything that walks along a path.

/// Whether `prefix` is a component-wise, non-empty prefix of `path`.
pub(crate) fn leads_to(prefix: &[u8], path: &[u8]) -> bool {
    !prefix.is_empty()
        && path.strip_prefix(prefix).is_some_and(|rest| matches!(rest, [] | [b'/', ..]))
}

/// One component of a path and the position of its end.
pub(crate) struct Component<'p> {
    pub(crate) name: &'p [u8],
    pub(crate) end: usize,
}

/// The components of a path.
pub(crate) struct Components<'p> {
    path: &'p [u8],
    at: usize,
}

impl<'p> Components<'p> {
    pub(crate) const fn of(path: &'p [u8]) -> Self {
        Self::behind(path, 0)
    }

    /// The components after the first `at` bytes.
    pub(crate) const fn behind(path: &'p [u8], at: usize) -> Self {
        Self { path, at }
    }

    /// The end of the component that came last.
    #[cfg(feature = "std")]
    pub(crate) const fn at(&self) -> usize {
        self.at
    }
}

impl<'p> Iterator for Components<'p> {
    type Item = Component<'p>;

    fn next(&mut self) -> Option<Component<'p>> {
        let rest = self.path.get(self.at..)?;
        let skip = rest.iter().position(|&byte| byte != b'/')?;
        let rest = rest.get(skip..)?;
        let length = rest.iter().position(|&byte| byte == b'/').unwrap_or(rest.len());
        let end = self.at.saturating_add(skip).saturating_add(length);
        self.at = end;
        Some(Component { name: rest.get(..length)?, end })
    }
}
