//! Reads the environment that glibc's loader passes to a constructor, and the auxiliary vector after it (getauxval(3)).
//! musl passes nothing, and a hook that runs first has neither. Then this reads the environment from the kernel's copy.

use core::ffi::c_char;

use super::process::Strings;
use super::{openat, read};
use crate::libc_functions;
use crate::sys::environment;

/// Types of auxiliary vector entries (elf.h).
const AT_NULL: usize = 0;
const AT_PHDR: usize = 3;
const AT_PHNUM: usize = 5;
const AT_EXECFN: usize = 31;

unsafe extern "C" {
    /// Defined in `c/process.c`.
    safe fn jp_environ() -> Strings;
}

/// The program's environment, as its libc has it now.
pub(crate) fn environ() -> Strings {
    jp_environ()
}

/// The strings and entries above the first stack frame, while constructors run.
#[derive(Clone, Copy)]
pub(crate) struct Startup {
    environment: *const *const c_char,
}

impl Startup {
    /// Takes the third argument of a constructor. `None` for musl's loader.
    pub(crate) fn of_constructor(environment: *const *const c_char) -> Option<Self> {
        libc_functions::is_glibc().then_some(Self { environment })
    }

    /// Calls `parse` with the value of a variable that was passed to the program. Reads it where the loader points, or
    /// otherwise in the kernel's block. That exists before libc is initialised, and changes of `environ` do not affect
    /// it.
    pub(crate) fn inherited<T>(
        startup: Option<Self>,
        name: &[u8],
        parse: impl Fn(&[u8]) -> Option<T>,
    ) -> Option<T> {
        match startup {
            Some(startup) => parse(startup.variable(name)?),
            None => find_in_kernel_block(name, parse),
        }
    }

    /// The value of a variable; `name` ends in `=`.
    fn variable(self, name: &[u8]) -> Option<&'static [u8]> {
        // SAFETY: the loader passed this environment.
        unsafe { environment::variable(self.environment, name) }
    }

    /// Calls `note` with the number, start and end of each of the program's own readable segments, which stay mapped.
    pub(crate) fn program_segments(self, note: impl Fn(usize, usize, usize)) {
        let (Some(address), Some(count)) = (self.auxiliary(AT_PHDR), self.auxiliary(AT_PHNUM))
        else {
            return;
        };
        let headers = core::ptr::with_exposed_provenance::<libc::Elf64_Phdr>(address);
        // SAFETY: the kernel gave the address and number of the headers, which are mapped with the program.
        let headers = unsafe { core::slice::from_raw_parts(headers, count) };
        let of_headers = headers.iter().find(|header| header.p_type == libc::PT_PHDR);
        let Some(base) = of_headers.map(|header| address.wrapping_sub(register(header.p_vaddr)))
        else {
            return;
        };
        let readable = |header: &&libc::Elf64_Phdr| {
            header.p_type == libc::PT_LOAD && header.p_flags & libc::PF_R != 0
        };
        for (index, header) in headers.iter().filter(readable).enumerate() {
            let start = base.wrapping_add(register(header.p_vaddr));
            note(index, start, start.wrapping_add(register(header.p_memsz)));
        }
    }

    /// The end of the main stack. The program's name is there, above the arguments and the environment.
    pub(crate) fn stack_top(self) -> Option<usize> {
        self.auxiliary(AT_EXECFN)
    }

    /// The value of an entry of the auxiliary vector.
    fn auxiliary(self, kind: usize) -> Option<usize> {
        let mut end = self.environment;
        // SAFETY: the array ends with a null pointer, and this is not past it.
        while !unsafe { end.read() }.is_null() {
            end = end.wrapping_add(1);
        }
        let mut entry = end.wrapping_add(1).cast::<[usize; 2]>();
        loop {
            // SAFETY: the vector ends with an entry of type `AT_NULL`, and this is not past it.
            match unsafe { entry.read() } {
                [AT_NULL, _] => return None,
                [found, value] if found == kind => return Some(value),
                _ => entry = entry.wrapping_add(1),
            }
        }
    }
}

fn register(value: u64) -> usize {
    usize::try_from(value).unwrap_or(0)
}

fn find_in_kernel_block<T>(name: &[u8], parse: impl Fn(&[u8]) -> Option<T>) -> Option<T> {
    let flags = libc::O_RDONLY | libc::O_CLOEXEC;
    let file = openat(libc::AT_FDCWD, c"/proc/self/environ", flags, 0).ok()?;
    let mut buffer = [0_u8; 2048];
    let mut search = Search::new(name);
    loop {
        let count = read(file.raw(), &mut buffer).ok()?;
        if count == 0 {
            return None;
        }
        for &byte in buffer.get(..count)? {
            if search.feed(byte) {
                return parse(search.value());
            }
        }
    }
}

/// Finds a variable in a stream of `NAME=VALUE` strings.
struct Search<'a> {
    name: &'a [u8],
    /// How much of the name has matched. `None` once the current string is another variable.
    matched: Option<usize>,
    value: [u8; 32],
    len: usize,
}

impl<'a> Search<'a> {
    const fn new(name: &'a [u8]) -> Self {
        Self { name, matched: Some(0), value: [0; 32], len: 0 }
    }

    /// Takes the next byte. Returns true once the value is complete.
    fn feed(&mut self, byte: u8) -> bool {
        let complete = byte == 0 && self.matched == Some(self.name.len());
        match self.matched {
            _ if complete => {}
            _ if byte == 0 => self.matched = Some(0),
            Some(at) if at == self.name.len() => {
                if let Some(slot) = self.value.get_mut(self.len) {
                    *slot = byte;
                }
                self.len = self.len.saturating_add(1);
            }
            Some(at) => {
                let fits = self.name.get(at) == Some(&byte);
                self.matched = fits.then_some(at.saturating_add(1));
            }
            None => {}
        }
        complete
    }

    fn value(&self) -> &[u8] {
        self.value.get(..self.len).unwrap_or(&[])
    }
}
