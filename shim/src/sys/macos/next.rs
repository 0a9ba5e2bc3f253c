//! libSystem's own functions that the hooks replace. Here a plain reference to them suffices, because dyld does not
//! change this library's references.

use core::ffi::CStr;

/// A function that a hook replaces.
#[derive(Debug)]
pub(crate) struct Original {
    name: &'static CStr,
}

/// The functions, in the form for this processor.
macro_rules! functions {
    ($($name:literal: $x86_64:literal, $aarch64:literal;)*) => {
        [$((
            $name,
            {
                unsafe extern "C" {
                    #[cfg_attr(target_arch = "x86_64", link_name = $x86_64)]
                    #[cfg_attr(target_arch = "aarch64", link_name = $aarch64)]
                    fn original();
                }
                original
            },
        )),*]
    };
}

type Function = unsafe extern "C" fn();

static FUNCTIONS: [(&CStr, Function); 5] = functions! {
    c"freopen": "freopen", "freopen";
    c"fts_open": "fts_open$INODE64", "fts_open";
    c"glob": "glob$INODE64", "glob";
    c"realpath": "realpath$DARWIN_EXTSN", "realpath$DARWIN_EXTSN";
    c"scandir": "scandir$INODE64", "scandir";
};

impl Original {
    pub(crate) const fn new(name: &'static CStr) -> Self {
        Self { name }
    }

    /// The address of the function.
    pub(crate) fn address(&self) -> Option<usize> {
        let found = FUNCTIONS.iter().find(|(name, _)| *name == self.name)?;
        Some((found.1 as *const ()).expose_provenance())
    }
}
