//! Tests message queues, whose names are judged as paths in `/dev/mqueue`.

use std::path::Path;

use jp_confine_engine::Capabilities;

use super::{Ground, address, c, call, said, shown};

const NEW: usize = (libc::O_CREAT | libc::O_EXCL | libc::O_RDWR).cast_unsigned() as usize;

/// Creates, opens and deletes a queue.
fn use_queue(name: &str) -> String {
    let name = c(name);
    let attributes: [u64; 8] = [0, 2, 16, 0, 0, 0, 0, 0];
    let attributes = attributes.as_ptr().expose_provenance();
    let open = |flags, attributes| {
        said(call(libc::SYS_mq_open, &[address(&name), flags, 0o600, attributes]).map(closing))
    };
    let remove = || said(call(libc::SYS_mq_unlink, &[address(&name)]));
    [open(NEW, attributes), open(NEW, 0), open(0, 0), open(0, 1), remove(), remove(), open(0, 0)]
        .join("\n")
}

/// Whether a new descriptor closes on exec, as a queue's does.
fn closing(queue: i64) -> i64 {
    let queue = usize::try_from(queue).expect("a descriptor");
    let flags = call(libc::SYS_fcntl, &[queue, 1]).expect("F_GETFD");
    call(libc::SYS_close, &[queue]).expect("closed");
    flags
}

#[test]
fn granted_as_bare() {
    let name = format!("jp-confine-trapped-{}", std::process::id());
    let mut ground = Ground::new(&[]);
    ground.grant(&Path::new("/dev/mqueue").join(&name), Capabilities::ALL);
    let all = || [use_queue(&name), use_queue("a/b"), use_queue(""), use_queue("..")].join("\n");
    let bare = ground.bare(all);
    let (trapped, denials) = ground.trapped(all);
    assert_eq!(bare, trapped, "{:?}", shown(&denials));
    assert!(bare.starts_with("1\n"), "{bare}");
}

/// The kernel tells new from existing.
#[test]
fn only_new_and_only_existing() {
    let name = format!("jp-confine-half-{}", std::process::id());
    let path = Path::new("/dev/mqueue").join(&name);
    let [mut makes, mut uses] = [(); 2].map(|()| Ground::new(&[]));
    makes.grant(&path, Capabilities::CREATE);
    uses.grant(&path, Capabilities::READ.union(Capabilities::UPDATE));
    let open = |ground: &Ground| {
        let flags = NEW & !libc::O_EXCL.cast_unsigned() as usize;
        let body =
            || said(call(libc::SYS_mq_open, &[address(&c(&name)), flags, 0o600]).map(closing));
        let (text, denials) = ground.trapped(body);
        (text, shown(&denials))
    };
    let told = |missing: &str| vec![format!("mq_open {missing}: {}", path.display())];
    let denied = said(Err(libc::EACCES));
    assert_eq!(open(&uses), (denied.clone(), told("create")));
    assert_eq!(open(&makes), ("1".to_owned(), vec![]));
    assert_eq!(open(&makes), (denied, told("read, update")));
    assert_eq!(open(&uses), ("1".to_owned(), vec![]));
    Ground::new(&[]).bare(|| said(call(libc::SYS_mq_unlink, &[address(&c(&name))])));
}

/// Each denial leaves one record that names the call, the missing right, and the queue's file.
#[test]
fn refused_and_told() {
    let (text, denials) = Ground::new(&[]).trapped(|| use_queue("jp-confine-none"));
    assert!(text.lines().filter(|line| line.contains("code: 13,")).count() == 4, "{text}");
    let path = "/dev/mqueue/jp-confine-none";
    for line in [format!("mq_open create: {path}"), format!("mq_unlink delete: {path}")] {
        assert!(shown(&denials).contains(&line), "{:?}", shown(&denials));
    }
}
