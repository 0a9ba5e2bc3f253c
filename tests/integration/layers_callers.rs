//! Programs without the library that are hard to answer: without room, without a page for their paths, or stopped
//! during a call. They get the answers of the kernel.

use std::fs::Permissions;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, lchown, symlink};
use std::os::unix::net::UnixDatagram;

use crate::attack::{Linking, answer, arena_with, call, set_up};
use crate::layers::Holder;
use crate::layers_stress::{
    BOTH, Linked, assert_as_bare, assert_says, assert_static_as_bare, ground, run,
};
use crate::run::{Mode, PRODUCT, Run, given, have, skip};
use crate::scratch::{NOBODY, Scratch};
use crate::terminal::Terminal;

/// A user who owns nothing else.
const STRANGER: u32 = 1234;

/// Fails unless a Python program of the workspace prints the same bare and in every mode, and no more.
fn assert_script_as_bare(scratch: &Scratch, program: &str) {
    let run = |mode, flags: &[&str]| {
        Run::new(scratch, "python3", &[program]).mode(mode).flags(flags).run()
    };
    let bare = run(Mode::Bare, &[]);
    for enforce in ["cooperative", "layered", "strict"] {
        let confined = run(Mode::Confined, &["--enforce", enforce]);
        assert_eq!(confined.stdout, bare.assert_ok().stdout, "{enforce}: {confined}");
        assert!(confined.stderr.is_empty(), "{enforce}: {confined}");
    }
}

/// The kernel waits for the page if the caller is root, and fails the call of everybody else.
#[test]
fn a_path_that_never_comes_stalls_nobody() {
    for scratch in [Scratch::new(), Scratch::for_ordinary_user()] {
        let scratch = ground(scratch, Linked::Statically);
        let bare = run(&scratch, Mode::Bare, "unserved 50");
        let confined = run(&scratch, Mode::under_test(), "unserved 50");
        let (Some(bare), Some(confined)) = (bare, confined) else { return };
        if bare.stdout == "none\n" {
            return skip("no userfaultfd");
        }
        bare.assert_stdout("others 50");
        assert_eq!(confined.assert_ok().stdout, bare.stdout, "{confined}");
    }
}

/// A dangling symlink stands for its target, even if the target is granted and the symlink is not (spec §4.1.5).
#[test]
fn what_a_link_dangles_to_is_judged_by_its_place() {
    const POLICY: &str = "[[access.fs]]\npath = 'bin'\nread = true\nexecute = true\n\
                          [[access.fs]]\npath = 'dir'\nread = true\nwrite = true\n";
    for linking in [Linking::Dynamic, Linking::Static] {
        let scratch = arena_with(linking, Scratch::new());
        let links = "mkdir dir apart; ln -s ../dir/none apart/link; ln -s missing apart/closed";
        set_up(&scratch, links);
        scratch.write("ws/jp-confine.toml", POLICY);
        for (operation, expected) in [
            ("open apart/link", "ENOENT"),
            ("open_with wronly apart/link", "ENOENT"),
            ("open apart/closed", "EACCES"),
            ("creat apart/link", "ok"),
        ] {
            let run = call(&scratch, Mode::under_test(), &format!("-q -- {operation}"));
            assert_eq!(answer(&run), expected, "{operation}: {run}");
        }
    }
}

#[test]
fn callers_without_room_for_descriptors() {
    for most in [3, 4, 8, 16] {
        assert_static_as_bare(&format!("few-files {most}"));
    }
}

#[test]
fn a_caller_that_may_start_nothing() {
    let made = |mode| {
        let scratch = ground(Scratch::for_ordinary_user(), Linked::Statically);
        run(&scratch, mode, "no-processes").map(|outcome| outcome.stdout)
    };
    let Some(bare) = made(Mode::Bare) else { return };
    assert_eq!(bare, "fork EAGAIN open ok mkdir ok\n");
    assert_eq!(made(Mode::under_test()), Some(bare));
}

#[test]
fn a_caller_that_sends_to_nobody() {
    assert_as_bare("hangup");
}

/// The kernel writes the core file, and no call asks for it.
#[test]
fn a_crash_leaves_no_file_of_memory() {
    for scratch in [Scratch::new(), Scratch::for_ordinary_user()] {
        scratch.write("ws/dir/inner", "inner\n");
        scratch.hand_over();
        let crash =
            "ulimit -S -c unlimited; cd dir; sh -c 'kill -s SEGV $$' 2> /dev/null; ls | grep core";
        let left =
            |mode, flags: &[&str]| Run::sh(&scratch, crash).mode(mode).flags(flags).run().code();
        if left(Mode::Bare, &[]) != 0 {
            return skip("the kernel makes no such files here, or a program gets them");
        }
        Run::sh(&scratch, "rm dir/*core*").mode(Mode::Bare).run().assert_ok();
        assert_eq!(left(Mode::under_test(), &[]), 1);
    }
}

/// `ssh-agent` and similar programs hide their memory from other processes of the same user.
#[test]
fn a_caller_that_hides_its_memory() {
    let done = |linked, mode| {
        let scratch = ground(Scratch::for_ordinary_user(), linked);
        run(&scratch, mode, "hidden own-file dir").map(|outcome| outcome.stdout)
    };
    for linked in BOTH {
        let Some(bare) = done(linked, Mode::Bare) else { return };
        assert!(bare.contains("make ok chmod ok"), "{bare}");
        assert_eq!(done(linked, Mode::under_test()), Some(bare), "{linked:?}");
    }
}

/// The supervisor cannot read the program's requests. So the report says why the program gets nothing.
#[test]
fn a_program_that_its_user_may_not_read() {
    if Holder::under_test() == Holder::Library {
        return skip("the library is not in it");
    }
    let scratch = ground(Scratch::for_ordinary_user(), Linked::Statically);
    let program = scratch.path("ws/stress");
    std::fs::set_permissions(&program, Permissions::from_mode(0o111)).expect("chmod");
    let outcome = Run::sh(&scratch, "./stress write-to file").flags(&["-v"]).run();
    assert!(!outcome.stdout.contains("ok"), "{outcome}");
    outcome.assert_stderr("nobody may look into it: make it readable");
}

/// As in many containers, root too may not look into processes that became another user's.
#[test]
fn a_caller_that_becomes_another_user_where_root_may_not_look() {
    if Holder::under_test() == Holder::Library || !rustix::process::geteuid().is_root() {
        return skip("only root can be another user, and the library is not in it");
    }
    if !have("setpriv") {
        return skip("no setpriv");
    }
    let scratch = ground(Scratch::new(), Linked::Statically);
    let user = STRANGER.to_string();
    let without =
        ["--bounding-set", "-sys_ptrace", "--inh-caps", "-sys_ptrace", PRODUCT, "-v", "--"];
    let line = [&without[..], &["./stress", "stranger", &user, "write-to", "file"]].concat();
    let outcome = Run::new(&scratch, "setpriv", &line).mode(Mode::Bare).run();
    assert!(!outcome.stdout.contains("ok"), "{outcome}");
    outcome.assert_stderr("or start it as the user that it becomes");
}

/// The library hands over its descriptors by `/proc`. Once the user changes, only the process itself finds them there,
/// or its root and its working directory.
#[test]
fn a_caller_that_becomes_another_user() {
    if !rustix::process::geteuid().is_root() {
        return skip("only root can");
    }
    let done = |linked, mode, line: &str| {
        let scratch = ground(Scratch::new(), linked);
        symlink(scratch.path("ws/dir"), scratch.path("ws/way")).expect("a link");
        scratch.write("ws/script", "#!/bin/sh\nexit 7\n");
        let commands =
            ["./stress", "./script", "sh"].map(|name| format!("[access.commands.'{name}']\n"));
        scratch.write("commands.toml", &commands.concat());
        for name in ["ws", "ws/dir", "ws/script"] {
            std::fs::set_permissions(scratch.path(name), Permissions::from_mode(0o777))
                .expect("chmod");
        }
        run(&scratch, mode, line).map(|outcome| outcome.stdout)
    };
    for linked in BOTH {
        for (line, expected) in [
            ("own-file dir way /proc/self/cwd/dir /proc/self/cwd/way", "make ok chmod ok times ok"),
            ("write-to /dev/null", "ok"),
            (
                "send-to-own served",
                "from 1234\nas root: Operation not permitted\nas root apart: refused",
            ),
            ("start ./script", "status 7"),
            ("start ./stress write-to /dev/null", "ok\nstatus 0"),
        ] {
            let line = format!("stranger {STRANGER} {line}");
            let Some(bare) = done(linked, Mode::Bare, &line) else { return };
            assert!(bare.contains(expected), "{bare}");
            for flags in ["", "--enforce strict", "-p $WS/../commands.toml"] {
                let confined = done(linked, Mode::under_test(), &format!("{flags} -- {line}"));
                assert_eq!(confined.as_ref(), Some(&bare), "{linked:?} {flags} {line}");
            }
        }
    }
}

/// As after `su`: a user who may not open the terminal by its own name may do so by `/dev/tty`.
#[test]
fn a_caller_whose_terminal_is_another_users() {
    if Holder::under_test() == Holder::Library || !rustix::process::geteuid().is_root() {
        return skip("only root can be another user, and the library is not in it");
    }
    if !have("script") || !have("setpriv") || !have("stty") {
        return skip("no script, setpriv or stty");
    }
    let scratch = ground(Scratch::for_ordinary_user(), Linked::Statically);
    let user = NOBODY.to_string();
    let become_user = ["--reuid", &user, "--regid", &user, "--clear-groups"];
    let of_another = [&become_user[..], &[PRODUCT, "-q", "--", "./stress", "self"]].concat();
    let that_became = ["-q", "--", "./stress", "stranger", &user, "self"];
    for (program, line) in [("setpriv", &of_another[..]), (PRODUCT, &that_became)] {
        let mut terminal = Terminal::start(&Run::new(&scratch, program, line).mode(Mode::Bare));
        terminal.see("tty ok");
    }
}

#[test]
fn a_tracer_that_stops_who_waits_in_a_call() {
    for verb in ["attached fifo", "seized fifo"] {
        assert_as_bare(verb);
        assert_says(Linked::Statically, verb, "stopped then 7");
    }
}

/// The kernel may forbid following others' symlinks (`fs.protected_symlinks`). It may also forbid opening others' files
/// by opens that would have created them (`fs.protected_regular`, `fs.protected_fifos`). Then the supervisor does
/// neither for its callers. These settings are the machine's, so the test mounts others over them.
#[test]
fn what_others_left_where_everybody_may() {
    if !rustix::process::geteuid().is_root() || !have("unshare") {
        return skip("only root can mount");
    }
    BOTH.into_iter().for_each(assert_nothing_left_is_opened);
}

fn assert_nothing_left_is_opened(linked: Linked) {
    if Holder::under_test() == Holder::Library && linked == Linked::Statically {
        return skip("the library is not in programs like these");
    }
    let scratch = ground(Scratch::new(), linked);
    scratch.write("on", "1\n");
    let shared = scratch.path("ws/shared");
    std::fs::create_dir(&shared).expect("a folder");
    std::fs::set_permissions(&shared, Permissions::from_mode(0o1777)).expect("chmod");
    lchown(&shared, Some(NOBODY), None).expect("chown");
    let links =
        [("own", "../file", 0), ("host", "../file", NOBODY), ("planted", "../file", STRANGER)];
    for (name, target, owner) in [&links[..], &[("way", "../dir", STRANGER)]].concat() {
        symlink(target, shared.join(name)).expect("a link");
        lchown(shared.join(name), Some(owner), None).expect("chown");
    }
    for (name, owner) in [("mine", 0), ("theirs", STRANGER)] {
        scratch.write(&format!("ws/shared/{name}"), "left\n");
        lchown(shared.join(name), Some(owner), None).expect("chown");
    }
    std::fs::rename(scratch.path("ws/fifo"), shared.join("fifo")).expect("moved");
    lchown(shared.join("fifo"), Some(STRANGER), None).expect("chown");
    symlink("shared/theirs", scratch.path("ws/way")).expect("a link");
    // Calls that the library leaves to the kernel follow the machine's own settings.
    let (verbs, expected) = match linked {
        Linked::Statically => (
            "write-to shared/own shared/host shared/planted shared/way/inner shared/theirs; \
             STRESS make-there shared/mine shared/theirs way shared/fifo",
            "ok ok EACCES ok ok\nok EACCES EACCES EACCES",
        ),
        Linked::Dynamically => ("make-there shared/mine way", "ok EACCES"),
    };
    let stress = format!("{PRODUCT} -- ./stress");
    let script = format!(
        "for kind in symlinks regular fifos; do mount --bind $WS/../on /proc/sys/fs/protected_$kind || exit 77; done
         {stress} {}",
        verbs.replace("STRESS", &stress)
    );
    let args = ["-m", "--propagation", "private", "sh", "-c", &scratch.expand(&script)];
    let outcome = Run::new(&scratch, "unshare", &args).mode(Mode::Bare).run();
    if outcome.code() == 77 || outcome.stderr.contains("unshare failed") {
        return skip("nothing can be mounted");
    }
    assert_eq!(outcome.stdout.trim_end(), expected, "{outcome}");
}

/// If a socket has a timeout, a signal ends a call on it for good, even if the supervisor waits. A call that began
/// again would wait for the whole time anew (`signal(7)`).
#[test]
fn a_socket_with_a_timeout_begins_nothing_again() {
    let Some(scratch) = given(&["python3"], Scratch::new) else { return };
    scratch.write(
        "ws/wait.py",
        r"
import ctypes, errno, os, signal, socket, struct
lib = ctypes.CDLL(None, use_errno=True)
signal.signal(signal.SIGALRM, lambda *_: None)
signal.siginterrupt(signal.SIGALRM, False)
def answer(kind, act):
    one = socket.socket(*kind)
    one.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, struct.pack('ll', 60, 0))
    signal.setitimer(signal.ITIMER_REAL, .05, .05)
    failed = act(one.fileno())
    why = ctypes.get_errno()
    signal.setitimer(signal.ITIMER_REAL, 0)
    return errno.errorcode[why] if failed < 0 else 'ok'
def fill(kind, address, act):
    full = []
    for _ in range(2000):
        full.append(socket.socket(*kind))
        full[-1].setblocking(False)
        if act(full[-1], address) in (errno.EAGAIN, errno.EINPROGRESS, errno.ETIMEDOUT) and len(full) > 2: return full
local = lambda name: struct.pack('=H', 1) + name + b'\0'
for name in b'here', b'\0jp-confine-wait-%d' % os.getpid():
    server = socket.socket(1)
    server.bind(name)
    server.listen(0)
    full = fill([1], name, socket.socket.connect_ex)
    print(answer([1], lambda fd: lib.connect(fd, local(name), 2 + len(name))))
    if name == b'here': os.unlink(name)
def send(one, address):
    try: one.sendto(b'', address)
    except OSError as why: return why.errno
server = socket.socket(1, 2)
server.bind('there')
full = fill([1, 2], 'there', send)
print(answer([1, 2], lambda fd: lib.sendto(fd, b'', 0, 0, local(b'there'), 8)))
os.unlink('there')
server = socket.socket()
server.bind(('127.0.0.1', 0))
server.listen(0)
full = fill([2], server.getsockname(), socket.socket.connect_ex)
host = struct.pack('=H', 2) + struct.pack('!H', server.getsockname()[1]) + b'\x7f\0\0\1' + bytes(8)
print(answer([2], lambda fd: lib.connect(fd, host, 16)))
",
    );
    let run = |mode, flags: &[&str]| {
        let run = Run::new(&scratch, "python3", &["wait.py"]).mode(mode).flags(flags);
        run.run().assert_ok().assert_stdout("EINTR\nEINTR\nEINTR\nEINTR\n");
    };
    run(Mode::Bare, &[]);
    for enforce in ["cooperative", "layered", "strict"] {
        run(Mode::Confined, &["--enforce", enforce]);
    }
    run(Mode::Confined, &["--net", "none.invalid"]);
}

/// Addresses are no longer than the kernel accepts them.
#[test]
fn an_address_is_taken_as_by_the_kernel() {
    let Some(scratch) = given(&["python3"], Scratch::new) else { return };
    scratch.write(
        "ws/address.py",
        r"
import ctypes, errno, os, socket, struct
lib = ctypes.CDLL(None, use_errno=True)
def answer(call, *given):
    failed = call(*given)
    return errno.errorcode[ctypes.get_errno()] if failed < 0 else 'ok'
server = socket.socket(1)
server.bind('here')
server.listen(9)
place = socket.socket(1, 2)
place.bind('there')
def path(name, length=110): return (struct.pack('=H', 1) + name).ljust(length, b'\0')
bad = ctypes.c_void_p(8)
for kind in 1, 2:
    for name in b'here', b'there', b'none':
        for at, length in [(path(name), 110)] + [(path(name, 128), n) for n in (111, 112, 113, 128, 129)] + [(bad, 16)]:
            one = socket.socket(1, kind)
            fd = one.fileno()
            answers = [answer(lib.connect, fd, at, length)]
            if kind != 1: answers.append(answer(lib.sendto, fd, b'', 0, 0, at, length))
            if length != 110 or name != b'none': answers.append(answer(lib.bind, fd, at, length))
            print(kind, name, length, answers)
for used in lambda one: one.connect((0, 0)), lambda one: one.bind((0, 0)), lambda one: one.sendto(bytes(16), (0, 0)):
    one = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0)
    used(one)
    print(one.getsockname()[0] == os.getpid())
    one.close()
os.unlink('here')
os.unlink('there')
",
    );
    assert_script_as_bare(&scratch, "address.py");
}

/// With a filter of its own, a program may forge the answers of calls that query a socket.
#[test]
fn what_a_socket_says_of_itself_opens_no_path() {
    let Some(scratch) = given(&["python3"], Scratch::new) else { return };
    let server = UnixDatagram::bind(scratch.out().join("server")).expect("a server outside");
    server.set_nonblocking(true).expect("a server that does not wait");
    let script = format!(
        "
import ctypes, errno, socket, struct, sys
lib = ctypes.CDLL(None, use_errno=True)
refused = 0x50000 | int(sys.argv[1])
steps = [(0x20, 0, 0, 0), (0x15, 0, 1, {number}), (6, 0, 0, refused), (6, 0, 0, 0x7fff0000)]
code = ctypes.create_string_buffer(b''.join(struct.pack('=HBBI', *step) for step in steps))
filter = ctypes.create_string_buffer(struct.pack('=H6xQ', len(steps), ctypes.addressof(code)))
one = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
if lib.prctl(38, 1, 0, 0, 0) or lib.prctl(22, 2, filter): sys.exit('no filter')
for call in (lambda: one.sendto(b'x', '$OUT/server'), lambda: one.sendmsg([b'x'], [], 0, '$OUT/server'),
             lambda: one.bind('$OUT/new')):
    try: print(call())
    except OSError as error: print(errno.errorcode[error.errno])
",
        number = libc::SYS_getsockopt
    );
    scratch.write("ws/lie.py", &scratch.expand(&script));
    for errno in ["0", "9", "88"] {
        let told = Run::new(&scratch, "python3", &["lie.py", errno]).mode(Mode::Confined).run();
        assert_eq!(told.assert_ok().stdout, "EACCES\nEACCES\nEACCES\n", "{errno}: {told}");
    }
    assert!(server.recv(&mut [0; 9]).is_err(), "the server outside was reached");
    assert!(!scratch.path("out/new").exists());
}

/// musl's `fchmod` and `fchown` accept a descriptor that only holds its object. The policy still applies, and the calls
/// themselves stay the kernel's.
#[test]
fn what_musl_changes_by_a_held_object() {
    let Some(scratch) = given(&["musl-gcc"], Scratch::new) else { return };
    scratch.write(
        "ws/held.c",
        "#define _GNU_SOURCE\n#include <errno.h>\n#include <fcntl.h>\n#include <stdio.h>\n#include <string.h>\n\
         #include <sys/stat.h>\n#include <sys/syscall.h>\n#include <unistd.h>\n\
         static void say(long failed) { printf(\"%s\\n\", failed ? strerror(errno) : \"ok\"); }\n\
         int main(int n, char **a) { int fd = open(a[n - 1], O_PATH);\
         say(fchmod(fd, 0600)); say(fchown(fd, -1, -1)); say(futimens(fd, 0));\
         say(syscall(SYS_fchmod, fd, 0600)); say(syscall(SYS_fchown, fd, -1, -1));\
         say(fchmod(-1, 0600)); say(fchown(-1, -1, -1)); }\n",
    );
    scratch.write("ws/own", "");
    scratch.write("ws/kept", "");
    scratch.write(
        "ws/jp-confine.toml",
        "[[access.fs]]\npath = 'held'\nread = true\nexecute = true\n\
         [[access.fs]]\npath = 'held-static'\nread = true\nexecute = true\n\
         [[access.fs]]\npath = 'own'\nread = true\nwrite = true\n\
         [[access.fs]]\npath = 'kept'\nread = true\n",
    );
    let build =
        "musl-gcc -o held held.c; musl-gcc -static -o held-static held.c; chmod 644 own kept";
    set_up(&scratch, build);
    let run = |program, mode, flags: &[&str], name| {
        Run::new(&scratch, program, &[name]).mode(mode).flags(flags).run()
    };
    let bare = run("./held", Mode::Bare, &[], "own");
    for (enforce, program) in [
        ("cooperative", "./held"),
        ("layered", "./held"),
        ("strict", "./held"),
        ("layered", "./held-static"),
        ("strict", "./held-static"),
    ] {
        let own = run(program, Mode::Confined, &["--enforce", enforce], "own");
        assert_eq!(own.stdout, bare.assert_ok().stdout, "{enforce}: {own}");
        let kept = run(program, Mode::Confined, &["-q", "--enforce", enforce], "kept");
        assert!(kept.stdout.starts_with(&"Permission denied\n".repeat(2)), "{enforce}: {kept}");
    }
    assert_eq!(scratch.path("ws/own").metadata().expect("there").mode() & 0o777, 0o600);
    assert_eq!(scratch.path("ws/kept").metadata().expect("there").mode() & 0o777, 0o644);
}

/// A program that connects gets the answers of the kernel. The supervisor may connect for it, or the program itself, by
/// an address that is longer than the given one.
#[test]
fn to_connect_is_answered_as_by_the_kernel() {
    let Some(scratch) = given(&["python3"], Scratch::new) else { return };
    scratch.write(
        "ws/connect.py",
        r"
import ctypes, errno, socket, struct
lib = ctypes.CDLL(None, use_errno=True)
def answer(kind, address):
    one = socket.socket(*kind)
    failed = lib.connect(one.fileno(), address, len(address))
    return errno.errorcode[ctypes.get_errno()] if failed else 'ok'
v4 = struct.pack('=H', socket.AF_INET) + struct.pack('!H', 1) + b'\x7f\0\0\1' + bytes(8)
v6 = struct.pack('=H', socket.AF_INET6) + struct.pack('!H', 1) + bytes(19) + b'\1' + bytes(4)
local = struct.pack('=H', socket.AF_UNIX)
addresses = [v4, v6, v4[:8], v6[:24], v4 + bytes(112), v6 + bytes(100), v4 + bytes(113), v4[:2], b'', bytes(16)]
addresses += [local, local + b'\0none', local + bytes(108), local + bytes(126)]
for kind in [(2, 1), (2, 2), (10, 1), (10, 2), (1, 1), (1, 2)]:
    print(kind, [answer(kind, address) for address in addresses])
for kind in socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.SOCK_SEQPACKET:
    name = '\0jp-confine-%d-%d' % (kind, __import__('os').getpid())
    server, client = socket.socket(1, kind), socket.socket(1, kind)
    server.bind(name)
    if kind != socket.SOCK_DGRAM: server.listen(1)
    client.connect(name)
    client.send(b'told')
    print((server if kind == socket.SOCK_DGRAM else server.accept()[0]).recv(9))
",
    );
    assert_script_as_bare(&scratch, "connect.py");
}

/// A user namespace is denied with one errno, whichever function of the C library asks for it.
#[test]
fn a_namespace_of_users_is_refused_by_one_number() {
    let Some(scratch) = given(&["python3"], Scratch::new) else { return };
    let script = format!(
        "
import ctypes, os, struct
libc = ctypes.CDLL(None, use_errno=True)
def answer(result):
    if result == 0: os._exit(0)
    return ctypes.get_errno()
users = 0x10000000
how = ctypes.create_string_buffer(struct.pack('11Q', users, 0, 0, 0, 17, *[0] * 6))
print(answer(libc.syscall({clone}, users | 17, 0, 0, 0, 0)),
      answer(libc.syscall({clone3}, how, 88)),
      answer(libc.syscall({unshare}, users)), answer(libc.unshare(users)))
",
        clone = libc::SYS_clone,
        clone3 = libc::SYS_clone3,
        unshare = libc::SYS_unshare,
    );
    let run = Run::new(&scratch, "python3", &["-c", &script]).mode(Mode::Confined);
    let run = run.flags(&["-v"]).run();
    run.assert_ok().assert_stdout("1 1 1 1").assert_stderr("denied clone3 /");
}

/// The library acts by `/proc/self/fd`. Messages say which calls fail without it, and all others go on.
#[test]
fn without_proc_it_is_said_what_fails() {
    if !rustix::process::geteuid().is_root() || !have("unshare") {
        return skip("only root can mount");
    }
    let scratch = Scratch::new();
    let hidden = |line: &str| {
        let script = format!("mount -t tmpfs none /proc || exit 77; {PRODUCT} {line}");
        let args = ["-m", "--propagation", "private", "sh", "-c", &script];
        Run::new(&scratch, "unshare", &args).mode(Mode::Bare).run()
    };
    let run = hidden("-- cat file");
    if run.code() == 77 || run.stderr.contains("unshare failed") {
        return skip("nothing can be mounted");
    }
    let lost = "`chmod`, `touch`, `ln` and `rm -r` fail";
    run.assert_ok().assert_stdout("inside").assert_stderr(lost);
    scratch.write("ws/dir/inner/file", "");
    for line in ["chmod 600 file", "touch file", "ln file new", "rm -r dir"] {
        assert_ne!(hidden(&format!("--quiet -- {line}")).code(), 0, "{line} goes on");
    }
    // Libraries of these programs make calls before the library's own constructor has run.
    for line in ["mkdir new", "stat /", "mv new newer", "ls -l .", "rm file"] {
        hidden(&format!("--quiet -- {line}")).assert_ok();
    }
    hidden("-v --dry-run -- cat file").assert_ok().assert_stdout("`rm -r` fail");
    hidden("doctor").assert_ok().assert_stdout(lost).assert_stdout("remedy: mount /proc");
}
