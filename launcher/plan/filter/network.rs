//! The part of the filter for runs that judge the network: which sockets may be created, and which sends go to the
//! supervisor. Sends on a connected socket pass, because its destination was judged before.

use libc::c_int;

use super::assembler::{Label, Test};
use super::{Arg, SOCKET_TYPE, Sockets, Writer, arguments};

/// The internet's address families.
const INTERNET: [c_int; 2] = [libc::AF_INET, libc::AF_INET6];
/// Socket types whose addresses can be judged. They exclude those that write their own headers.
const KINDS: [c_int; 2] = [libc::SOCK_STREAM, libc::SOCK_DGRAM];
/// The allowed protocols. Zero is the default for the type.
const PROTOCOLS: [c_int; 4] = [0, libc::IPPROTO_TCP, libc::IPPROTO_UDP, libc::IPPROTO_MPTCP];

impl Writer {
    /// `socket` and `socketpair`. A supervisor denies the others, so that the denial is reported.
    pub(super) fn socket(&mut self) {
        let told = self.traps.is_some();
        match self.sockets {
            Sockets::All => self.no_event_socket(told),
            Sockets::Local => self.only_local_socket(told),
            Sockets::Judged => self.judged_socket(),
        }
    }

    /// `socket`, if only local ones are allowed.
    fn only_local_socket(&mut self, told: bool) {
        let refusal = self.refusal(libc::EACCES);
        let others = if told { self.program.label() } else { refusal };
        self.local_socket(others);
        if told {
            self.program.place(others);
            // The C library uses these to query the machine's addresses, and copes without. The denial is not reported.
            self.load_argument(0);
            self.program.branch(Test::Is(libc::AF_NETLINK.cast_unsigned()), refusal, self.notify);
        }
    }

    /// `socket`, if every kind is allowed except those with which root would speak for the kernel.
    fn no_event_socket(&mut self, told: bool) {
        let refused = if told { self.notify } else { self.refusal(libc::EPERM) };
        let netlink = self.program.label();
        self.load_argument(0);
        self.program.branch(Test::Is(libc::AF_NETLINK.cast_unsigned()), netlink, self.allow);
        self.program.place(netlink);
        self.load_argument(2);
        for protocol in arguments::EVENT_PROTOCOLS {
            self.program.branch_away(Test::Is(protocol.cast_unsigned()), refused);
        }
        self.jump(self.allow);
    }

    /// Lets local sockets pass. Others go to `others`.
    fn local_socket(&mut self, others: Label) {
        self.load_argument(0);
        self.program.branch(Test::Is(libc::AF_UNIX.cast_unsigned()), self.allow, others);
    }

    /// `socket`, for local ones and those whose addresses can be judged.
    fn judged_socket(&mut self) {
        let others = self.program.label();
        self.local_socket(others);
        self.program.place(others);
        self.internet_socket();
    }

    fn internet_socket(&mut self) {
        let [internet, protocols] = [(); 2].map(|()| self.program.label());
        let refusal = self.refusal(libc::EACCES);
        self.load_argument(0);
        for family in INTERNET {
            self.program.branch_away(Test::Is(family.cast_unsigned()), internet);
        }
        // The C library uses it to query the machine's addresses.
        let netlink = self.program.label();
        self.program.branch(Test::Is(libc::AF_NETLINK.cast_unsigned()), netlink, self.notify);
        self.program.place(netlink);
        self.load_argument(2);
        let route = Test::Is(libc::NETLINK_ROUTE.cast_unsigned());
        self.program.branch(route, self.allow, refusal);

        self.program.place(internet);
        self.load_argument(1);
        self.program.mask(SOCKET_TYPE);
        for kind in KINDS {
            self.program.branch_away(Test::Is(kind.cast_unsigned()), protocols);
        }
        self.jump(self.notify);
        self.program.place(protocols);
        self.load_argument(2);
        for protocol in PROTOCOLS {
            self.program.branch_away(Test::Is(protocol.cast_unsigned()), self.allow);
        }
        self.jump(self.notify);
    }

    /// Sends: without an address they pass. A call that connects and sends at once fails as on a kernel that does not
    /// know it.
    pub(super) fn send(&mut self, flags: Arg, address: Option<Arg>) {
        let unknown = self.refusal(libc::EOPNOTSUPP);
        self.load_argument(flags);
        self.program.branch_away(Test::Any(libc::MSG_FASTOPEN.cast_unsigned()), unknown);
        match address {
            Some(address) => self.notify_with(address),
            None => self.jump(self.notify),
        }
    }

    /// A call with an address in that argument goes to the supervisor. Without one it passes.
    pub(super) fn notify_with(&mut self, address: Arg) {
        self.branch_on_pointer(address, self.notify, self.allow);
    }

    pub(super) fn socket_option(&mut self) {
        let refusal = self.refusal(libc::EACCES);
        let refused = arguments::ROUTING_OPTIONS.iter().map(|&option| (option, refusal));
        for ((level, option), fate) in refused.chain([(arguments::SHARING_OPTION, self.notify)]) {
            let [same_level, next] = [(); 2].map(|()| self.program.label());
            self.load_argument(1);
            self.program.branch(Test::Is(level.cast_unsigned()), same_level, next);
            self.program.place(same_level);
            self.load_argument(2);
            self.program.branch(Test::Is(option.cast_unsigned()), fate, next);
            self.program.place(next);
        }
        self.jump(self.allow);
    }
}
