//! Says what a call would do that no rule can allow. The report's suggestion depends on it.

/// The effect that a call would have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Create a device.
    Device,
    /// Change what paths mean.
    Paths,
    /// Change what names mean, including paths.
    Names,
    /// Reach files by other means than their paths.
    Around,
    /// Administer the whole machine.
    Machine,
    /// Read or change the kernel's log.
    Log,
    /// Type into a terminal, change what it is, or hang it up.
    Terminal,
    /// Use a message queue of another namespace.
    Queue,
    /// Reach into other processes: nothing distinguishes those of the run from others here.
    Memory,
    /// Rank or limit other processes.
    Process,
}
