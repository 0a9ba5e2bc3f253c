//! How the preload library tells the supervisor what it refused by itself.

/// The number of a system call that no kernel has, between the newest of them and those of x32. The
/// filter hands it to the supervisor, and where there is none it fails, as if it were not known.
///
/// Its arguments are the address and the number of the vectors, as of `writev(2)`, that hold one record
/// of a denial. So the record of a run need not be writable from inside.
pub const CALL: i64 = 0x3fff_0000;

/// How many vectors there are: the fixed part, path, route, program and call.
pub const VECTORS: usize = 5;
