//! Finds the next definition of a function: libc's own, which a hook replaces. Used by hooks that call libc's function.
//!
//! This walks the loader's list of objects itself, because `dlsym` takes locks and may allocate. The loader wrote
//! everything read here before the program's first instruction. glibc's and musl's formats agree (`<link.h>`, elf(5),
//! System V gABI "Dynamic Linking"). Objects that are loaded later only follow behind those.

use core::ffi::{CStr, c_ulong};
use core::sync::atomic::{AtomicUsize, Ordering};

unsafe extern "C" {
    /// The library's own dynamic section, which the linker defines.
    static _DYNAMIC: [u64; 2];
    /// getauxval(3), called through `c/process.c`.
    safe fn jp_auxiliary(entry: c_ulong) -> c_ulong;
}

const PT_DYNAMIC: u32 = 2;
const PT_PHDR: u32 = 6;

const DT_NULL: u64 = 0;
const DT_HASH: u64 = 4;
const DT_STRTAB: u64 = 5;
const DT_SYMTAB: u64 = 6;
const DT_DEBUG: u64 = 21;
const DT_GNU_HASH: u64 = 0x6fff_fef5;
const DT_VERSYM: u64 = 0x6fff_fff0;

/// The bit of a `DT_VERSYM` entry that marks a version other than the default.
const NOT_DEFAULT: u16 = 0x8000;
const STT_FUNC: u8 = 2;
const STT_GNU_IFUNC: u8 = 10;

/// The function that the library's own one of the same name replaces. Looked up once.
#[derive(Debug)]
pub(crate) struct Original {
    name: &'static CStr,
    /// Zero until found. Two threads, or a `vfork` child, may find it at the same time, with the same address.
    address: AtomicUsize,
}

impl Original {
    pub(crate) const fn new(name: &'static CStr) -> Self {
        Self { name, address: AtomicUsize::new(0) }
    }

    /// The address of the function, or `None` if this process's libc lacks it.
    pub(crate) fn address(&self) -> Option<usize> {
        let known = self.address.load(Ordering::Relaxed);
        if known != 0 {
            return Some(known);
        }
        let found = next(self.name)?;
        self.address.store(found, Ordering::Relaxed);
        Some(found)
    }
}

/// The wanted version of a function.
#[derive(Clone, Copy, Debug)]
enum Wanted {
    Default,
    /// Any version. Some functions have no default one, and exist only for old programs.
    Any,
    At(usize),
}

/// The first definition of the function `name` in the objects that were loaded after the library.
pub(crate) fn next(name: &CStr) -> Option<usize> {
    find_next(name, Wanted::Default).or_else(|| find_next(name, Wanted::Any))
}

fn find_next(name: &CStr, wanted: Wanted) -> Option<usize> {
    let mut at = peek::<LinkMap>(own_object()?).next;
    while at != 0 {
        let map: LinkMap = peek(at);
        if let Some(address) = Object::new(&map).and_then(|object| object.find(name, wanted)) {
            return Some(address);
        }
        at = map.next;
    }
    None
}

/// The library's own function `name`, if it exports one.
pub(crate) fn own(name: &CStr) -> Option<usize> {
    Object::new(&peek(own_object()?))?.find(name, Wanted::Default)
}

/// Whether the function at `address` is a definition of `name`, in any version, in an object from the library up to
/// libc. Objects after libc may be unloaded at any time.
pub(crate) fn is_original(name: &CStr, address: usize) -> bool {
    const ONLY_IN_LIBC: &CStr = c"__libc_start_main";
    let mut at = own_object().map_or(0, |own| peek::<LinkMap>(own).next);
    while at != 0 {
        let map: LinkMap = peek(at);
        if let Some(object) = Object::new(&map) {
            if object.find(name, Wanted::At(address)).is_some() {
                return true;
            }
            if object.find(ONLY_IN_LIBC, Wanted::Default).is_some() {
                return false;
            }
        }
        at = map.next;
    }
    false
}

/// The library's own entry in the loader's list.
fn own_object() -> Option<usize> {
    let own = (&raw const _DYNAMIC).addr();
    let mut at = first_object()?;
    while at != 0 {
        let map: LinkMap = peek(at);
        if map.dynamic == own {
            return Some(at);
        }
        at = map.next;
    }
    None
}

/// Reads a structure of the loader at `address`.
fn peek<T: Copy>(address: usize) -> T {
    let place = core::ptr::with_exposed_provenance::<T>(address);
    // SAFETY: addresses come only from the loader's structures, which stay mapped. Every `T` used in this file is valid
    // with any bytes.
    unsafe { place.read_unaligned() }
}

/// The element `index` of a table of `T` at `address`.
fn element<T: Copy>(address: usize, index: usize) -> T {
    peek(address.wrapping_add(index.wrapping_mul(size_of::<T>())))
}

/// `struct link_map` of `<link.h>`.
#[derive(Clone, Copy)]
#[repr(C)]
struct LinkMap {
    base: usize,
    name: usize,
    dynamic: usize,
    next: usize,
}

#[derive(Clone, Copy)]
#[repr(C)]
struct ProgramHeader {
    kind: u32,
    flags: u32,
    offset: u64,
    address: usize,
    rest: [u64; 4],
}

#[derive(Clone, Copy)]
#[repr(C)]
struct Symbol {
    name: u32,
    info: u8,
    other: u8,
    section: u16,
    value: usize,
    size: u64,
}

fn auxiliary(entry: c_ulong) -> usize {
    usize::try_from(jp_auxiliary(entry)).unwrap_or(0)
}

/// The head of the loader's list, from the `DT_DEBUG` entry that it fills in for debuggers.
fn first_object() -> Option<usize> {
    /// Offset of `r_map` in `struct r_debug`.
    const MAP: usize = 8;
    let headers = auxiliary(libc::AT_PHDR);
    let count = auxiliary(libc::AT_PHNUM);
    if headers == 0 {
        return None;
    }
    let find = |kind: u32| {
        (0..count)
            .map(|index| element::<ProgramHeader>(headers, index))
            .find(|header| header.kind == kind)
    };
    let base = find(PT_PHDR).map_or(0, |header| headers.wrapping_sub(header.address));
    let dynamic = base.wrapping_add(find(PT_DYNAMIC)?.address);
    match entry(dynamic, DT_DEBUG) {
        Some(debug) if debug != 0 => Some(peek(debug.wrapping_add(MAP))),
        _ => None,
    }
}

/// The value of the first entry `tag` in a dynamic section.
fn entry(dynamic: usize, tag: u64) -> Option<usize> {
    let mut at = dynamic;
    loop {
        let [found, value]: [u64; 2] = peek(at);
        if found == DT_NULL {
            return None;
        }
        if found == tag {
            return usize::try_from(value).ok();
        }
        at = at.wrapping_add(size_of::<[u64; 2]>());
    }
}

/// The tables of one loaded object that a lookup needs.
struct Object {
    base: usize,
    symbols: usize,
    strings: usize,
    versions: Option<usize>,
    index: Index,
}

enum Index {
    Gnu(usize),
    SystemV(usize),
}

impl Object {
    fn new(map: &LinkMap) -> Option<Self> {
        if map.dynamic == 0 {
            return None;
        }
        // glibc relocates these entries in place; musl does not.
        let table = |tag| {
            entry(map.dynamic, tag)
                .map(|value| if value < map.base { value.wrapping_add(map.base) } else { value })
        };
        let gnu = table(DT_GNU_HASH).map(Index::Gnu);
        Some(Self {
            base: map.base,
            symbols: table(DT_SYMTAB)?,
            strings: table(DT_STRTAB)?,
            versions: table(DT_VERSYM),
            index: gnu.or_else(|| table(DT_HASH).map(Index::SystemV))?,
        })
    }

    /// The function `name` in the `wanted` version, if the object defines it.
    fn find(&self, name: &CStr, wanted: Wanted) -> Option<usize> {
        match self.index {
            Index::Gnu(table) => self.find_gnu(table, name, wanted),
            Index::SystemV(table) => self.find_system_v(table, name, wanted),
        }
    }

    /// Searches `DT_GNU_HASH`. Symbols of a bucket are adjacent, and an odd hash marks the last.
    fn find_gnu(&self, table: usize, name: &CStr, wanted: Wanted) -> Option<usize> {
        let [buckets, first, bloom, _]: [u32; 4] = peek(table);
        let hash = name
            .to_bytes()
            .iter()
            .fold(5381_u32, |hash, &byte| hash.wrapping_mul(33).wrapping_add(u32::from(byte)));
        let bucket_table = table
            .wrapping_add(size_of::<[u32; 4]>())
            .wrapping_add((bloom as usize).wrapping_mul(size_of::<u64>()));
        let chains = bucket_table.wrapping_add((buckets as usize).wrapping_mul(size_of::<u32>()));
        let bucket = hash.checked_rem(buckets)?;
        let mut index = element::<u32>(bucket_table, bucket as usize);
        if index < first {
            return None;
        }
        loop {
            let chained: u32 = element(chains, index.wrapping_sub(first) as usize);
            if chained | 1 == hash | 1
                && let Some(address) = self.definition(index, name, wanted)
            {
                return Some(address);
            }
            if chained & 1 == 1 {
                return None;
            }
            index = index.wrapping_add(1);
        }
    }

    /// Searches `DT_HASH`. Symbols of a bucket form a list.
    fn find_system_v(&self, table: usize, name: &CStr, wanted: Wanted) -> Option<usize> {
        let [buckets, _]: [u32; 2] = peek(table);
        let hash = name.to_bytes().iter().fold(0_u32, |hash, &byte| {
            let sum = (hash << 4).wrapping_add(u32::from(byte));
            let high = sum & 0xf000_0000;
            (sum ^ (high >> 24)) & !high
        });
        let words = table.wrapping_add(size_of::<[u32; 2]>());
        let mut index: u32 = element(words, hash.checked_rem(buckets)? as usize);
        while index != 0 {
            if let Some(address) = self.definition(index, name, wanted) {
                return Some(address);
            }
            index = element(words, (buckets as usize).wrapping_add(index as usize));
        }
        None
    }

    /// The address of symbol `index`, if it defines a function `name` in the `wanted` version.
    fn definition(&self, index: u32, name: &CStr, wanted: Wanted) -> Option<usize> {
        let symbol: Symbol = element(self.symbols, index as usize);
        let kind = symbol.info & 0xf;
        if symbol.section == 0 || symbol.value == 0 || !matches!(kind, STT_FUNC | STT_GNU_IFUNC) {
            return None;
        }
        let version = self.versions.map_or(1, |table| element::<u16>(table, index as usize));
        let other = matches!(wanted, Wanted::Default) && version & NOT_DEFAULT != 0;
        if version == 0 || other || !self.is_named(&symbol, name) {
            return None;
        }
        let address = self.base.wrapping_add(symbol.value);
        let address = if kind == STT_GNU_IFUNC { choose(address) } else { address };
        match wanted {
            Wanted::At(wanted) if wanted != address => None,
            _ => Some(address),
        }
    }

    fn is_named(&self, symbol: &Symbol, name: &CStr) -> bool {
        let text = self.strings.wrapping_add(symbol.name as usize);
        name.to_bytes_with_nul()
            .iter()
            .enumerate()
            .all(|(offset, &byte)| element::<u8>(text, offset) == byte)
    }
}

/// Calls an indirect function's resolver, which chooses the implementation for this processor.
#[cfg(target_arch = "x86_64")]
fn choose(resolver: usize) -> usize {
    type Resolver = extern "C" fn() -> usize;
    // SAFETY: the symbol's type says that this is a resolver.
    let resolver = unsafe { core::mem::transmute::<usize, Resolver>(resolver) };
    resolver()
}

/// Like the x86-64 form, but the resolver gets the processor's features (`<sys/ifunc.h>`).
#[cfg(target_arch = "aarch64")]
fn choose(resolver: usize) -> usize {
    type Resolver = extern "C" fn(u64, *const [u64; 3]) -> usize;
    const HAS_ARGUMENT: u64 = 1 << 62;
    let features = auxiliary(libc::AT_HWCAP) as u64;
    let argument = [24, features, auxiliary(libc::AT_HWCAP2) as u64];
    // SAFETY: as on x86-64.
    let resolver = unsafe { core::mem::transmute::<usize, Resolver>(resolver) };
    resolver(features | HAS_ARGUMENT, &raw const argument)
}
