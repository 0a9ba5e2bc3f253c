//! States in which the library could be wrong about the process: its working directory, an inode number, its process
//! number, its stack size, what its threads share.

use std::process::{Command, Stdio};

use macro_rules_attribute::apply;

use crate::attack::{answer, arena, attacks, call};
use crate::layers::{Holder, row};
use crate::run::Mode;
use crate::scratch::{SECRET, Scratch};

attacks! {
    daemon_changes_to_the_root: "", "write_creat known , daemon open .$OUT/secret" => "EACCES";
    child_that_shares_the_working_directory: "", "write_creat known , clone_chdir $OUT open secret" => "EACCES";
    child_that_shares_the_memory: "", "write_creat known , clone_memory $OUT open secret" => "EACCES";
    inode_number_used_again:
        "mkdir drop; printf \"[[access.fs]]\\npath='.'\\nread=true\\nwrite=true\\nexecute=true\\n[[access.fs]]\\npath='drop'\\ncreate=true\\n\" > ../policy.toml",
        "-p ../policy.toml -- reused_inode drop" => "EACCES";
    inode_number_used_again_and_nobody_told:
        "mkdir drop; printf \"[[access.fs]]\\npath='.'\\nread=true\\nwrite=true\\nexecute=true\\n[[access.fs]]\\npath='drop'\\ncreate=true\\n\" > ../policy.toml",
        "-p ../policy.toml -- forge reused_inode drop" => "EACCES";
    moved_after_a_walk:
        "mkdir drop; printf \"[[access.fs]]\\npath='.'\\nread=true\\nwrite=true\\nexecute=true\\n[[access.fs]]\\npath='drop'\\nwrite=true\\n\" > ../policy.toml",
        "-p ../policy.toml -- walked drop" => "EACCES";

    smallest_stack: "", "small_stack open $OUT/secret" => "EACCES";
    smallest_stack_by_link: "ln -s $OUT d", "small_stack open d/dir/../secret" => "EACCES";
    smallest_stack_rename: "ln -s $OUT d", "small_stack rename d/secret got" => "EACCES";
    smallest_stack_mkdir: "ln -s $OUT d", "small_stack mkdir d/new" => "EACCES";
    smallest_stack_exec: "", "small_stack exec_self open $OUT/secret" => "EACCES";
    smallest_stack_exec_by_link: "printf '#!/bin/sh\necho ok\n' > $OUT/ok; chmod +x $OUT/ok; ln -s $OUT d", "small_stack exec d/ok" => "EACCES";
    smallest_stack_connect: "$ATTACK hold_socket $OUT/socket; ln -s $OUT d", "small_stack connect d/socket" => "EACCES";
    smallest_stack_spawn: "", "small_stack spawn_self open $OUT/secret" => "EACCES";

    thread_with_own_descriptors_mkdir: "ln -s $OUT d", "own_descriptors . mkdir d/new" => "EACCES";
    thread_with_own_descriptors_rename: "ln -s $OUT d", "own_descriptors . rename d/secret got" => "EACCES";
    thread_with_own_descriptors_chmod: "ln -s $OUT d", "own_descriptors . chmod d/secret" => "EACCES";
    thread_with_own_descriptors_open: "ln -s $OUT d", "own_descriptors . write_creat d/new" => "EACCES";
    thread_with_own_directory: "", "own_directory $OUT mkdir new" => "EACCES";
    thread_that_outlives_the_first: "ln -s $OUT d", "outlive_first mkdir d/new" => "EACCES";

    environment_of_another_process: "touch none", "--deny none -- other_environment" => "EACCES";
    environment_of_another_process_by_number: "", "other_environment_by_number" => "EACCES|EPERM";

    character_device: "", "mknod_char new" => "EPERM|EACCES";
    block_device: "", "mknod_block new" => "EPERM|EACCES";
}

/// `EPERM` does not show who denied a call. So the denial of a device is reported.
#[apply(row!)]
fn devices_are_told_of() {
    let scratch = arena(Scratch::new());
    for verb in ["mknod_char", "mknod_block"] {
        let outcome = call(&scratch, Mode::under_test(), &format!("{verb} new"));
        assert_eq!(answer(&outcome), "EPERM", "{outcome}");
        // Some C libraries call `mknodat`.
        let told = ["denied mknod", " new by attack"];
        assert!(told.iter().all(|part| outcome.stderr.contains(part)), "{outcome}");
    }
}

/// No call, by name or by instruction, reaches what `/proc` shows of a process outside the run.
#[apply(row!)]
fn process_outside_the_run() {
    let scratch = arena(Scratch::new());
    let mut outsider = Command::new("sleep");
    outsider.arg("100").env_clear().env("KEY", SECRET).current_dir(scratch.out());
    let mut outsider = outsider.stdin(Stdio::null()).spawn().expect("sleep");
    let pid = outsider.id();
    let mut wrong = Vec::new();
    for path in ["environ", "cwd/secret", "root$OUT/secret", "task/PID/environ", "mem"] {
        let path = path.replace("PID", &pid.to_string());
        for verb in ["open", "i_open"] {
            if verb == "i_open" && Holder::under_test() == Holder::Library {
                continue;
            }
            let line = format!("{verb} /proc/{pid}/{path}");
            let run = call(&scratch, Mode::under_test(), &line);
            if !["EACCES", "EPERM", "ENOENT"].contains(&answer(&run)) {
                wrong.push(run.to_string());
            }
        }
    }
    outsider.kill().expect("a process to end");
    outsider.wait().expect("its end");
    assert!(wrong.is_empty(), "{wrong:#?}");
}
