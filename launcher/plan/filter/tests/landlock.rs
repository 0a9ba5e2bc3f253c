//! Tests sandboxes that programs build for themselves.

use super::*;

/// Asking for the version is such a call, too.
#[test]
fn there_is_none_where_the_supervisor_acts_for_programs() {
    let absent = fails(libc::EOPNOTSUPP);
    for number in needing(Need::TurnedOff) {
        let call = Call::of(number, &[0, 0, 1]);
        for (traps, cookie) in
            [(NOTHING, Some(COOKIE)), (EVERYTHING, Some(COOKIE)), (NOTHING, None)]
        {
            let filter = assemble(traps, cookie, Sockets::All);
            assert_eq!(answer(&filter, call), absent, "call {number}");
            assert_eq!(answer(&filter, call.with_cookie(COOKIE)), absent, "call {number}");
        }
        assert_eq!(answer(&refusals(Sockets::Local), call), ALLOW, "call {number}");
    }
    assert_eq!(needing(Need::TurnedOff), [444, 445, 446], "the same on every processor");
}
