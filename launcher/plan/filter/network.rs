//! The part of the filter for runs whose network is judged: which sockets may be made, and what of sending
//! goes to the supervisor. What a connected socket sends passes; where it leads was judged before.

use libc::c_int;

use super::assembler::{Label, Test};
use super::{SOCKET_TYPE, Writer, calls};

/// Families of the internet.
const INTERNET: [c_int; 2] = [libc::AF_INET, libc::AF_INET6];
/// Kinds of their sockets whose addresses can be judged: none that write headers of their own.
const KINDS: [c_int; 2] = [libc::SOCK_STREAM, libc::SOCK_DGRAM];
/// Their protocols; zero is the usual one for the kind.
const PROTOCOLS: [c_int; 4] = [0, libc::IPPROTO_TCP, libc::IPPROTO_UDP, libc::IPPROTO_MPTCP];

impl Writer {
    /// `socket`, where only local ones may be made.
    pub(super) fn only_local_socket(&mut self, told: bool) {
        let refusal = self.refusal(libc::EACCES);
        let others = if told { self.program.label() } else { refusal };
        self.local_socket(others);
        if told {
            self.program.place(others);
            // By these the C library asks for the addresses of this machine, and does without: no news.
            self.load_argument(0);
            self.program.branch(Test::Is(libc::AF_NETLINK.cast_unsigned()), refusal, self.notify);
        }
    }

    /// `socket`, where all may be made but those by which root would speak for the kernel.
    pub(super) fn no_event_socket(&mut self, told: bool) {
        let refused = if told { self.notify } else { self.refusal(libc::EPERM) };
        let netlink = self.program.label();
        self.load_argument(0);
        self.program.branch(Test::Is(libc::AF_NETLINK.cast_unsigned()), netlink, self.allow);
        self.program.place(netlink);
        self.load_argument(2);
        for protocol in calls::EVENT_PROTOCOLS {
            self.program.branch_away(Test::Is(protocol.cast_unsigned()), refused);
        }
        self.jump(self.allow);
    }

    /// Local sockets pass; making others goes to `others`.
    fn local_socket(&mut self, others: Label) {
        self.load_argument(0);
        self.program.branch(Test::Is(libc::AF_UNIX.cast_unsigned()), self.allow, others);
    }

    /// `socket`, for local ones and those whose addresses can be judged.
    pub(super) fn socket(&mut self) {
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
        // By which the C library learns the addresses of this machine.
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

    /// Sending: without an address it passes, and what would connect and send at once fails as where the
    /// kernel does not know it.
    pub(super) fn send(&mut self, flags: u32, address: Option<u32>) {
        let unknown = self.refusal(libc::EOPNOTSUPP);
        self.load_argument(flags);
        self.program.branch_away(Test::Any(libc::MSG_FASTOPEN.cast_unsigned()), unknown);
        match address {
            Some(address) => self.notify_with(address),
            None => self.jump(self.notify),
        }
    }

    /// A call with an address in that argument goes to the supervisor; without one it passes.
    pub(super) fn notify_with(&mut self, address: u32) {
        self.branch_on_pointer(address, self.notify, self.allow);
    }

    pub(super) fn socket_option(&mut self) {
        let refusal = self.refusal(libc::EACCES);
        let refused = calls::ROUTING_OPTIONS.iter().map(|&option| (option, refusal));
        for ((level, option), fate) in refused.chain([(calls::SHARING_OPTION, self.notify)]) {
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
