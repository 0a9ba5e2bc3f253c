//! The workspace on disk. Everything goes through descriptors of what was judged.

use std::io::{self, Read as _};
use std::path::Path;

use jp_confine_policy::granted::Granted;
use jp_confine_policy::pin::Pin;

use super::{ProjectFiles, Standing};

/// So much of a file is read at once; more of those that are larger.
const SMALL: usize = 8 << 10;

/// The files where the paths say they are.
#[derive(Debug, Clone, Copy, Default)]
pub struct OnDisk;

impl ProjectFiles for OnDisk {
    fn look(&self, path: &Path) -> io::Result<Option<Standing>> {
        Ok(Pin::look(path)?.map(|metadata| match metadata.file_type() {
            kind if kind.is_dir() => Standing::Dir,
            kind if kind.is_file() => Standing::File(metadata.len()),
            _ => Standing::Other,
        }))
    }

    fn read(&self, file: &Granted, longest: u64) -> io::Result<Vec<u8>> {
        let mut contents = Vec::with_capacity(SMALL);
        file.pin()?.open()?.take(longest).read_to_end(&mut contents)?;
        Ok(contents)
    }

    fn names(&self, dir: &Granted) -> io::Result<Vec<String>> {
        let names = dir.pin()?.names()?;
        Ok(names.into_iter().filter_map(|name| name.into_string().ok()).collect())
    }

    fn create_dir(&self, dir: &Granted) -> io::Result<()> {
        dir.pin()?.create_dir()
    }

    fn write(&self, file: &Granted, contents: &[u8]) -> io::Result<()> {
        file.pin()?.write(contents)
    }

    fn remove(&self, file: &Granted) -> io::Result<()> {
        file.pin()?.remove()
    }

    fn rename(&self, from: &Granted, to: &Granted) -> io::Result<()> {
        from.pin()?.rename_to(&to.pin_entry()?)
    }
}
