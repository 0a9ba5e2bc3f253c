//! A project in memory: for tests, and for hosts whose projects are not on disk.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use jp_confine_engine::Capability;
use jp_confine_engine::granted::Granted;
use jp_confine_engine::moves_alone::RenameKind;

use super::{ProjectFiles, Standing};

/// Files in memory, below the root of a workspace without a directory. There are no symlinks.
#[derive(Debug)]
pub struct InMemory {
    nodes: RefCell<BTreeMap<PathBuf, Node>>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Node {
    File(Vec<u8>),
    Dir,
}

impl InMemory {
    /// An empty project whose workspace has the canonical root `root`.
    #[must_use]
    pub fn new(root: &Path) -> Self {
        Self { nodes: RefCell::new(BTreeMap::from([(root.to_owned(), Node::Dir)])) }
    }

    /// Adds a file at the absolute `path`, with the directories above it.
    #[must_use]
    pub fn with(self, path: &Path, contents: &[u8]) -> Self {
        let mut nodes = self.nodes.borrow_mut();
        for dir in path.ancestors().skip(1).take_while(|dir| dir.parent().is_some()) {
            nodes.entry(dir.to_owned()).or_insert(Node::Dir);
        }
        nodes.insert(path.to_owned(), Node::File(contents.to_owned()));
        drop(nodes);
        self
    }

    /// The node at a path. Fails where a file stands above the path.
    fn node(&self, path: &Path) -> io::Result<Option<Node>> {
        let nodes = self.nodes.borrow();
        // The nodes above any node are directories.
        let nearest = path.ancestors().skip(1).find_map(|dir| nodes.get(dir));
        if matches!(nearest, Some(Node::File(_))) {
            return Err(ErrorKind::NotADirectory.into());
        }
        Ok(nodes.get(path).cloned())
    }

    /// Fails unless something new can be created at `path`.
    fn vacant(&self, path: &Path) -> io::Result<()> {
        if self.node(path)?.is_some() {
            return Err(ErrorKind::AlreadyExists.into());
        }
        match path.parent().map(|dir| self.node(dir)).transpose()?.flatten() {
            Some(_) => Ok(()),
            None => Err(ErrorKind::NotFound.into()),
        }
    }

    fn file(&self, path: &Path) -> io::Result<Vec<u8>> {
        match self.node(path)? {
            Some(Node::File(contents)) => Ok(contents),
            Some(Node::Dir) => Err(ErrorKind::IsADirectory.into()),
            None => Err(ErrorKind::NotFound.into()),
        }
    }

    /// Fails unless there is a file whose contents may be replaced.
    fn replaceable(&self, file: &Granted) -> io::Result<()> {
        demand(file, Capability::Update)?;
        self.file(file.path()).map(drop)
    }

    fn put(&self, path: &Path, node: Node) {
        self.nodes.borrow_mut().insert(path.to_owned(), node);
    }
}

fn demand(granted: &Granted, capability: Capability) -> io::Result<()> {
    if granted.capability() == capability {
        Ok(())
    } else {
        Err(ErrorKind::PermissionDenied.into())
    }
}

impl ProjectFiles for InMemory {
    fn look(&self, path: &Path) -> io::Result<Option<Standing>> {
        Ok(self.node(path)?.map(|node| match node {
            Node::File(contents) => Standing::File(contents.len() as u64),
            Node::Dir => Standing::Dir,
        }))
    }

    fn read(&self, file: &Granted, longest: u64) -> io::Result<Vec<u8>> {
        demand(file, Capability::Read)?;
        let mut contents = self.file(file.path())?;
        contents.truncate(usize::try_from(longest).unwrap_or(usize::MAX));
        Ok(contents)
    }

    fn names(&self, dir: &Granted) -> io::Result<Vec<String>> {
        demand(dir, Capability::Read)?;
        let nodes = self.nodes.borrow();
        let name = |path: &PathBuf| {
            let name = path.strip_prefix(dir.path()).ok()?.to_str()?;
            (!name.is_empty() && !name.contains('/')).then(|| name.to_owned())
        };
        Ok(nodes.keys().filter_map(name).collect())
    }

    fn create_dir(&self, dir: &Granted) -> io::Result<()> {
        demand(dir, Capability::Create)?;
        self.vacant(dir.path())?;
        self.put(dir.path(), Node::Dir);
        Ok(())
    }

    fn write(&self, file: &Granted, contents: &[u8]) -> io::Result<()> {
        match file.capability() {
            Capability::Create => self.vacant(file.path())?,
            _ => self.replaceable(file)?,
        }
        self.put(file.path(), Node::File(contents.to_owned()));
        Ok(())
    }

    fn remove(&self, file: &Granted) -> io::Result<()> {
        demand(file, Capability::Delete)?;
        self.file(file.path())?;
        self.nodes.borrow_mut().remove(file.path());
        Ok(())
    }

    /// Ignores `kind`: only files are renamed, and no other process changes the project.
    fn rename(&self, from: &Granted, to: &Granted, _: RenameKind) -> io::Result<()> {
        demand(from, Capability::Delete)?;
        let contents = self.file(from.path())?;
        match to.capability() {
            Capability::Create => self.vacant(to.path())?,
            _ => self.replaceable(to)?,
        }
        self.nodes.borrow_mut().remove(from.path());
        self.put(to.path(), Node::File(contents));
        Ok(())
    }
}
