//! Measures the cost of a trapped call. Run with `cargo test --release -- --ignored speed --nocapture`.

use std::time::Instant;

use super::{Ground, address, c, call};

/// The median time of a call, in nanoseconds.
fn median(mut act: impl FnMut()) -> u128 {
    let mut times: Vec<u128> = (0..3000)
        .map(|_| {
            let start = Instant::now();
            act();
            start.elapsed().as_nanos()
        })
        .collect();
    times.sort_unstable();
    times[times.len() / 2]
}

fn measured() -> String {
    let (file, new, none, deep, link) =
        (c("f"), c("new"), c("none/x"), c("/usr/lib/os-release"), c("l"));
    let close = |fd: i64| {
        let _ = call(libc::SYS_close, &[usize::try_from(fd).expect("a descriptor")]);
    };
    let open = |path: &std::ffi::CString, flags: i32| {
        let flags = usize::try_from(flags).expect("positive");
        median(|| call(libc::SYS_open, &[address(path), flags, 0o600]).map_or((), close))
    };
    let create = libc::O_CREAT | libc::O_EXCL | libc::O_WRONLY;
    let rows = [
        (
            "round trip (fchmod of -1)",
            median(|| {
                let _ = call(libc::SYS_fchmod, &[usize::MAX, 0]);
            }),
        ),
        ("open, relative", open(&file, libc::O_RDONLY)),
        ("open, absolute", open(&deep, libc::O_RDONLY)),
        ("open through a link", open(&link, libc::O_RDONLY)),
        ("open of nothing", open(&none, libc::O_RDONLY)),
        (
            "create and unlink",
            median(|| {
                let flags = usize::try_from(create).expect("positive");
                let _ = call(libc::SYS_open, &[address(&new), flags, 0o600]).map(close);
                let _ = call(libc::SYS_unlink, &[address(&new)]);
            }),
        ),
        (
            "chmod",
            median(|| {
                let _ = call(libc::SYS_chmod, &[address(&file), 0o600]);
            }),
        ),
    ];
    rows.map(|(what, time)| format!("{what}\t{time}")).join("\n")
}

#[test]
#[ignore = "a measurement"]
fn speed() {
    let ground = Ground::new(&[]);
    let bare = ground.bare(measured);
    let (trapped, _) = ground.trapped_counting(false, measured);
    for (bare, trapped) in bare.lines().zip(trapped.lines()) {
        let (what, bare) = bare.split_once('\t').expect("two columns");
        let (_, trapped) = trapped.split_once('\t').expect("two columns");
        crate::output::note(&format!("{what}: {bare} ns bare, {trapped} ns trapped"));
    }
}
