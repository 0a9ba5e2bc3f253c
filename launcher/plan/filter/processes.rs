//! The part of the filter for calls on processes by number, and for namespaces. Calls of a process on itself pass.

use rustix::process::Resource;

use super::arguments::PRIVILEGED_NAMESPACES;
use super::assembler::Test;
use super::{Arg, Writer};

/// The limit of core files (`setrlimit(2)`).
const CORE: u32 = Resource::Core as u32;

impl Writer {
    /// Acts on the process with the number in that argument.
    pub(super) fn process(&mut self, number: Arg) {
        self.load_argument(number);
        self.program.branch(Test::Is(0), self.allow, self.notify);
    }

    /// As `process`, if the call sets a limit.
    pub(super) fn limits(&mut self) {
        if self.traps.is_some_and(|traps| traps.cores) {
            self.limits_of_cores();
        }
        let another = self.program.label();
        self.load_argument(0);
        self.program.branch(Test::Is(0), self.allow, another);
        self.program.place(another);
        self.notify_with(2);
    }

    /// Sets a limit, which may be that of core files.
    pub(super) fn cores(&mut self) {
        let done = self.refusal(0);
        self.load_argument(0);
        self.program.branch(Test::Is(CORE), done, self.allow);
    }

    /// As `cores`, for any process. A call that also asks for the old limit fails, because nobody could answer that.
    fn limits_of_cores(&mut self) {
        let (done, refused) = (self.refusal(0), self.refusal(libc::EPERM));
        let [cores, sets, others] = [(); 3].map(|()| self.program.label());
        self.load_argument(1);
        self.program.branch(Test::Is(CORE), cores, others);
        self.program.place(cores);
        self.branch_on_pointer(2, sets, others);
        self.program.place(sets);
        self.branch_on_pointer(3, refused, done);
        self.program.place(others);
    }

    /// Acts on one process if the first argument is `one`, else on many.
    pub(super) fn priority(&mut self, one: u32) {
        let process = self.program.label();
        self.load_argument(0);
        self.program.branch(Test::Is(one), process, self.notify);
        self.program.place(process);
        self.process(1);
    }

    /// Namespaces that need a capability. In a new user namespace the caller has it.
    pub(super) fn namespaces(&mut self, flags: Arg) {
        self.load_argument(flags);
        self.program.branch_away(Test::Any(libc::CLONE_NEWUSER.cast_unsigned()), self.allow);
        let privileged = Test::Any(PRIVILEGED_NAMESPACES.cast_unsigned());
        self.program.branch(privileged, self.notify, self.allow);
    }

    /// `PR_SET_DUMPABLE` with `SUID_DUMP_DISABLE` (`PR_SET_DUMPABLE(2const)`). After that, the supervisor could read no
    /// argument and would deny every call.
    pub(super) fn hiding(&mut self) {
        let done = self.refusal(0);
        let [hides, wholly] = [(); 2].map(|()| self.program.label());
        self.load_argument(0);
        self.program.branch(Test::Is(libc::PR_SET_DUMPABLE.cast_unsigned()), hides, self.allow);
        self.program.place(hides);
        self.load_argument(1);
        self.program.branch(Test::Is(0), wholly, self.allow);
        self.program.place(wholly);
        self.load_argument_at(1, size_of::<u32>());
        self.program.branch(Test::Is(0), done, self.allow);
    }
}
