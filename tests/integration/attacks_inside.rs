//! Files that libc opens by itself, and other ways past a name that has a hook.

use macro_rules_attribute::apply;

use crate::attack::{answer, arena, attacks, call, set_up};
use crate::layers::{Difference, Holder, row};
use crate::run::Mode;
use crate::scratch::Scratch;

attacks! {
    old_version: "", "old_glob $OUT/*" => "EACCES";
    old_version_by_name: "", "old_glob_by_name $OUT/*" => "EACCES";
    old_version_of_spawn: "", "old_spawn $OUT/secret" => "EACCES";
    number_with_an_upper_half: "", "raw_open_wide $OUT/secret" => "ENOSYS";

    library: "echo 'int x;' | cc -shared -o $OUT/lib.so -x c -", "dlopen $OUT/lib.so" => "EACCES";
    library_by_link: "echo 'int x;' | cc -shared -o $OUT/lib.so -x c -; ln -s $OUT d",
        "dlopen d/lib.so" => "EACCES";
    // The library denies the token, the layers behind it deny the file.
    library_by_token: "echo 'int x;' | cc -shared -o $OUT/lib.so -x c -",
        "dlopen_token $OUT/lib.so" => "EACCES|EPERM";

    words_of_a_pattern: "", "wordexp_list $OUT/s*" => "EACCES";
    watch: "", "inotify $OUT" => "EACCES";
    watch_a_file: "ln -s $OUT/secret l", "inotify l" => "EACCES";
    watch_by_number: "", "raw_inotify $OUT" => "EACCES";
    message_queue: "", "mq_open /jp-confine-test" => "EACCES";

    hidden_statfs: "", "statfs $HOME/.private/key" => "ENOENT";
    hidden_statfs_by_number: "", "raw_statfs $HOME/.private/key" => "ENOENT";
    hidden_statvfs: "", "statvfs $HOME/.private/key" => "ENOENT";
    hidden_pathconf: "", "pathconf $HOME/.private/key" => "ENOENT";
    hidden_ftok: "", "ftok $HOME/.private/key" => "ENOENT";

    resolver_quotes: "", "host_conf $OUT/secret" => "EACCES";
    network_password: "printf 'machine localhost login me password TOPSECRET\\n' > $OUT/.netrc; chmod 600 $OUT/.netrc",
        "ruserpass $OUT" => "EACCES";
    login_records_elsewhere: "head -c 384 /dev/zero > records; { head -c 76 /dev/zero; printf TOPSECRET; head -c 299 /dev/zero; } > $OUT/records",
        "utmp_elsewhere $OUT" => "EACCES";
    date_masks: "echo %Y > $OUT/masks", "getdate $OUT/masks" => "EACCES";
    catalogue: "printf '$set 1\\n1 text\\n' | gencat $OUT/messages -", "catopen $OUT/messages" => "EACCES";
    profile: "", "gmon $OUT/profile" => "EACCES";
    shadow: "", "getspnam root" => "EACCES|EPERM";
    file_of_the_name_service: "", "nss_fopen $OUT/secret" => "EACCES";
}

/// Programs that share memory among themselves work, in the run's own directory.
#[apply(row!)]
fn names_are_the_run_s_own() {
    let scratch = arena(Scratch::new());
    let outcome = call(&scratch, Mode::under_test(), "names_work");
    if let Some(difference) = Difference::of_this_test() {
        return assert_eq!(Some(answer(&outcome)), difference.answer, "{outcome}");
    }
    assert!(answer(&outcome).starts_with("ok /"), "{outcome}");
    assert!(!answer(&outcome).contains("/dev/shm"), "{outcome}");
}

/// No call, by name or by instruction, uses or removes a message queue that a process outside made.
#[apply(row!)]
fn message_queue_of_somebody_outside() {
    let name = format!("/jp-confine-{}", std::process::id());
    let by_instruction: &[&str] = match Holder::under_test() {
        Holder::Library => &[],
        _ => &["i_mq_use", "i_mq_unlink"],
    };
    let scratch = arena(Scratch::new());
    set_up(&scratch, &format!("$ATTACK mq_make {name}"));
    let verbs = ["mq_use", "mq_unlink"].iter().chain(by_instruction);
    let answers: Vec<String> = verbs
        .map(|verb| call(&scratch, Mode::under_test(), &format!("{verb} {name}")))
        .map(|outcome| answer(&outcome).to_owned())
        .collect();
    let removed = call(&scratch, Mode::Bare, &format!("mq_unlink {name}"));
    assert!(answers.iter().all(|answer| answer == "EACCES"), "{answers:?}");
    assert_eq!(answer(&removed), "ok", "it is gone: {removed}");
}

/// A grant on a queue's file in `/dev/mqueue` grants the queue, whether `/dev/mqueue` is mounted or not.
#[apply(row!)]
fn message_queue_that_is_granted() {
    let name = format!("jp-confine-granted-{}", std::process::id());
    let scratch = arena(Scratch::new());
    let open = |grant: &str| {
        let line = format!("-w /dev/mqueue/{grant} -- mq_open /{name}");
        answer(&call(&scratch, Mode::under_test(), &line)).to_owned()
    };
    assert_eq!([open("another"), open(&name)], ["EACCES", "ok"]);
}

/// Other programs of the user keep their keys there.
#[apply(row!)]
fn keys_of_the_user() {
    let by_instruction: &[&str] = match Holder::under_test() {
        Holder::Library => &[],
        _ => &["i_keys"],
    };
    let scratch = arena(Scratch::new());
    for verb in [&["keys"], by_instruction].concat() {
        let outcome = call(&scratch, Mode::under_test(), verb);
        assert_eq!(answer(&outcome), "ENOSYS", "{outcome}");
    }
}

/// Calls that nobody may make are reported, by `syscall` as by name. They fail as the kernel fails them without the
/// privilege.
#[apply(row!)]
fn refused_whoever_calls() {
    let scratch = arena(Scratch::new());
    let by_number = [
        "pivot_root swapoff bpf fanotify_init open_by_handle_at mount umount2 chroot",
        "init_module finit_module delete_module kexec_load kexec_file_load vhangup",
        "reboot settimeofday clock_settime",
        if cfg!(target_arch = "x86_64") { "iopl ioperm" } else { "" },
    ];
    let by_name = [
        "mount umount2 chroot acct swapon vhangup reboot clock_settime",
        if cfg!(target_arch = "x86_64") { "iopl ioperm" } else { "" },
    ];
    let verbs = [("raw_refused", &by_number[..]), ("refused", &by_name)];
    for (verb, name) in verbs.iter().flat_map(|(verb, names)| {
        names.iter().flat_map(|names| names.split_whitespace()).map(move |name| (verb, name))
    }) {
        let outcome = call(&scratch, Mode::under_test(), &format!("{verb} {name}"));
        outcome.assert_stderr(&format!("denied {name} /"));
        assert_eq!(answer(&outcome), "EPERM", "{name}: {outcome}");
    }
}
