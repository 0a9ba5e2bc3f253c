//! Suggestions that come in rounds, because programs end at the first denial. Followed round by round they come to an
//! end, even where names differ each time.

use std::os::unix::fs::PermissionsExt as _;
use std::process::Command;

use serde_json::Value;

use crate::cli_advice::{READ, attempt, changes, denials, patterns, rules, texts, tree};
use crate::cli_status::product;
use crate::run::{Mode, Outcome, PRODUCT, Run, have};
use crate::scratch::Scratch;

/// Allows reading one file.
const FILE: &str = "[[access.fs]]\npath = 'dir/a'\nread = true\n";
/// Allows reading everything, and executing that file.
const ALL: &str = "[[access.fs]]\npath = '.'\nread = true\n
[[access.fs]]\npath = 'dir/a'\nread = true\nexecute = true\n";
/// Allows creating files, but not updating them.
const MAKE: &str = "[[access.fs]]\npath = '.'\nread = true\n
[[access.fs]]\npath = 'dir'\nread = true\ncreate = true\n";

/// Allows reading and changing everything.
const CHANGE: &str = "[[access.fs]]\npath = '.'\nread = true\nwrite = true\n";

/// Creates directories, fills them, and updates and deletes their contents.
const FILLED: &str = "mkdir -p o/d && cd o/d && for i in 1 2 3; do echo $i > $i; done && mv 1 4 && rm 2 && rm -r ../d";
/// Create files that then get their modes, are opened again, or are deleted.
const MADE: &str = "echo x > dir/new && chmod 600 dir/new && echo y >> dir/new";
const JOURNAL: &str = "echo x > dir/a-journal && echo y > dir/a-journal && rm dir/a-journal";
/// Creates a directory, and goes on to its contents whether it exists or not.
const REGARDLESS: &str = "mkdir o; for i in 1 2; do echo $i > o/$i; done; rm o/1 && ls o/2";

/// Creates a file of an unused name, and deletes it.
const FOR_A_WHILE: &str =
    "n=dir/fooq$(date +%N | cut -c2-5)zqxkvw; set -C; echo x > $n && rm $n && ! ls $n";
/// Replaces a file by one whose name was generated for that.
const REPLACED: &str =
    "n=dir/.a.Xk$(date +%N | cut -c2-5); echo x > $n && mv -f $n dir/a && grep x dir/a";

/// Creates a file for its own use, with neither a digit nor a capital in the name.
const PRIVATE: &str = "python3 -c \"import tempfile as t; \
                       t._RandomNameSequence.characters = 'bcdfghjklmnp'; \
                       t.NamedTemporaryFile(dir='dir', prefix='job_', suffix='.json')\"";

/// Create directories for their own use, with partly random names.
const PRIVATE_DIRECTORY: &str = "python3 -c \"import tempfile as t, time; \
     t._get_candidate_names = lambda: iter(['k%04dzqx' % (time.time_ns() // 1000 % 10000)]); \
     d = t.TemporaryDirectory(dir='dir', prefix='build-'); open(d.name + '/f', 'w')\"";
const OF_MKTEMP: &str = "d=$(mktemp -d dir/x.XXXX) && echo x > $d/f && rm -r $d";

/// Generate names from the process number, alone or with more beside it.
const OF_PROCESS: &str = "echo x > dir/conf$$.tmp; echo x > dir/conf$$; mkdir dir/conf$$.dir";
/// Create a file and a directory for their own use, with a random number in the name.
const NUMBERED: &str = "python3 -c \"import os, random; n = random.randrange(10**8, 10**9); \
                        os.open('dir/a%d.tmp' % n, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)\"";
const NUMBERED_DIRECTORY: &str =
    "python3 -c \"import os, random; os.mkdir('dir/a%d' % random.randrange(10**8, 10**9), 0o700)\"";

/// Start a script in a directory of a random name. The name shows that, or the mode does, or the directory is gone at
/// the end.
const IN_DRAWN: &str =
    "d=dir/b.q$(date +%N | cut -c1-4)ClS; mkdir $d && cp dir/script $d/s && $d/s";
const IN_PRIVATE: &str =
    "d=dir/b.QZ$(date +%N | cut -c1-4); mkdir -m 700 $d && cp dir/script $d/s && $d/s";
const IN_GONE: &str = "d=dir/b.q$(date +%N | cut -c1-4)ClS; mkdir $d && cp dir/script $d/s && $d/s; \
                       s=$?; rm -r $d; exit $s";
/// Starts three such scripts. Each is a denial.
const MANY_IN_DRAWN: &str = "d=dir/b.q$(date +%N | cut -c1-4)ClS; mkdir $d && for i in 1 2 3; do cp dir/script $d/$i; \
                             $d/$i; done";
/// Moves a file out of such a directory.
const OUT_OF_DRAWN: &str =
    "d=dir/b.q$(date +%N | cut -c1-4)ClS; mkdir $d && echo x > $d/s && mv $d/s dir/s";

/// Replace a file by one for their own use, whose name begins with that of the other.
const OF_BUSYBOX: &str = "busybox sed -i s/i/j/ dir/a";
const BEHIND_NAME: &str = "python3 -c \"import os, random; \
                           n = 'dir/a' + ''.join(random.choices('bcdfghjklmnp', k=6)); \
                           os.open(n, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600); os.rename(n, 'dir/a')\"";
/// Sets the times of a missing file, and then creates it.
const TOUCHED: &str = "busybox touch dir/new";

/// Policies, scripts that are denied under them at first, and the number of rounds after which the scripts must pass.
const ROWS: &[(&str, &str, usize)] = &[
    (FILE, "sed -i s/i/j/ dir/a", 2),
    (FILE, "ln -f dir/b dir/a", 2),
    (FILE, FOR_A_WHILE, 1),
    (FILE, REPLACED, 1),
    (ALL, "sed -i s/i/j/ dir/a", 2),
    (ALL, "ln -f dir/b dir/a", 2),
    (ALL, FOR_A_WHILE, 1),
    (ALL, REPLACED, 1),
    (MAKE, "sed -i s/i/j/ dir/a", 1),
    (MAKE, FOR_A_WHILE, 1),
    (MAKE, REPLACED, 1),
    (MAKE, BEHIND_NAME, 1),
    (FILE, FILLED, 1),
    (FILE, MADE, 1),
    (FILE, JOURNAL, 1),
    (FILE, REGARDLESS, 1),
    (FILE, "dir/script", 1),
    (FILE, PRIVATE, 1),
    (FILE, PRIVATE_DIRECTORY, 1),
    (FILE, OF_MKTEMP, 1),
    (FILE, OF_PROCESS, 1),
    (FILE, NUMBERED, 1),
    (FILE, NUMBERED_DIRECTORY, 1),
    (FILE, OF_BUSYBOX, 1),
    (FILE, BEHIND_NAME, 1),
    (FILE, TOUCHED, 1),
    (CHANGE, IN_DRAWN, 1),
    (CHANGE, IN_PRIVATE, 1),
    (CHANGE, IN_GONE, 1),
    (MAKE, OUT_OF_DRAWN, 1),
];

#[test]
fn rules_for_made_up_names_come_to_an_end() {
    // A number with few digits is not taken for that of a process. The numbers begin anew at the largest.
    let largest = std::fs::read_to_string("/proc/sys/kernel/pid_max").expect("a number");
    let largest: u32 = largest.trim().parse().expect("a number");
    let are_long = || {
        let mut newest = Command::new("true").spawn().expect("a process");
        newest.wait().expect("its end");
        (1000..largest - 1000).contains(&newest.id())
    };
    let lacks = |script: &str, program| script.starts_with(program) && !have(program);
    let can_run = |script: &str| {
        !["python3", "busybox"].iter().any(|program| lacks(script, program))
            && (!script.contains("$$") || are_long())
    };
    for (policy, script, rounds) in ROWS.iter().filter(|(_, script, _)| can_run(script)) {
        // Once in a while a random name looks like one that a person gave.
        let mut tries = (0..3).map(|_| after_rounds(policy, script, *rounds));
        let ended = tries.find(|(_, last)| last.code() == 0);
        assert!(ended.is_some(), "{script}: {:?}", after_rounds(policy, script, *rounds).0);
    }
}

/// The policy after that many rounds of suggestions, and how the script ends under it.
fn after_rounds(policy: &str, script: &str, rounds: usize) -> (String, Outcome) {
    let scratch = Scratch::new();
    let mut policy = policy.to_owned();
    scratch.write("ws/dir/a", "i");
    scratch.write("ws/dir/b", "b");
    script_at(&scratch, "dir/script", "#!/bin/sh\n");
    scratch.write("ws/jp-confine.toml", &policy);
    for _ in 0..rounds {
        let denials = denials_of_drawn(&scratch, script);
        policy = format!("{policy}\n{}", rules(&denials));
        scratch.write("ws/jp-confine.toml", &policy);
    }
    let last = attempt(&scratch, script);
    (policy, last)
}

/// Many denials in one directory do not become one suggestion if the directory's name will differ.
#[test]
fn directories_of_drawn_names_are_not_told_of_as_one() {
    let scratch = Scratch::new();
    script_at(&scratch, "dir/script", "#!/bin/sh\n");
    scratch.write("ws/jp-confine.toml", CHANGE);
    assert_ne!(attempt(&scratch, MANY_IN_DRAWN).code(), 0, "allowed from the start");
    let advice = denials(&scratch);
    assert!(advice.iter().all(|one| one["number"] != advice[0]["number"] || one == &advice[0]));
    assert_eq!(changes(&advice).count(), 3, "{advice:?}");
    let told = product(&scratch, &["why", "--last"]).run();
    assert!(!told.stdout.contains("\nall 3 in"), "{told}");
}

/// If the umask leaves everything to the user alone, ordinary directories are for that user alone, too.
#[test]
fn directories_are_for_their_user_alone_by_custom() {
    let scratch = Scratch::new();
    script_at(&scratch, "dir/script", "#!/bin/sh\n");
    scratch.write("ws/jp-confine.toml", CHANGE);
    let script = "mkdir dir/build-2024; cp dir/script dir/build-2024/s; dir/build-2024/s";
    let words = ["-c", "umask 077; exec \"$@\"", "sh", PRODUCT, "--", "sh", "-c", script];
    let run = Run::new(&scratch, "sh", &words).mode(Mode::Bare).run();
    run.assert_code(126);
    assert!(rules(&denials(&scratch)).contains("path = \"dir/build-2024/s\""), "{run}");
}

/// The denials of the script, once none of its random names is of small letters alone. One in two hundred is, and
/// passes for a word.
fn denials_of_drawn(scratch: &Scratch, script: &str) -> Vec<Value> {
    let is_word = |path: &String| {
        let name = path.rsplit('/').next().unwrap_or_default();
        let drawn = name.strip_prefix("Cu").or_else(|| name.strip_prefix("sed"));
        drawn.is_some_and(|drawn| drawn.bytes().all(|byte| byte.is_ascii_lowercase()))
    };
    loop {
        assert_ne!(attempt(scratch, script).code(), 0, "{script}: allowed from the start");
        let denials = denials(scratch);
        if !["path", "other"].iter().any(|key| texts(&denials, key).iter().any(is_word)) {
            return denials;
        }
    }
}

/// Creates an executable file in the workspace.
fn script_at(scratch: &Scratch, name: &str, text: &str) {
    scratch.write(&format!("ws/{name}"), text);
    let mode = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(scratch.ws().join(name), mode).expect("executable");
}

/// Scripts that create directories where no rule helps, and fill them.
const OUTSIDE: &[&str] = &[
    "mkdir $HOME/nd; echo a > $HOME/nd/f && rm $HOME/nd/f && rmdir $HOME/nd",
    "mkdir -p $HOME/.cache/foo/bar; cd $HOME/.cache/foo/bar && echo a > f && cat f",
    "mkdir way/d; echo a > way/d/f",
    "mkdir way/1 way/2 way/3; echo a > way/3/f",
];

/// Patterns for a directory that was to be created also cover its contents.
#[test]
fn directories_outside_are_filled_by_the_patterns_that_are_advised() {
    for script in OUTSIDE {
        let scratch = Scratch::new();
        std::os::unix::fs::symlink(scratch.out(), scratch.ws().join("way")).expect("linked");
        follow_patterns(&scratch, ["", ""], script);
    }
    let scratch = Scratch::new();
    follow_patterns(&scratch, ["default = 'deny'\n"; 2], "mkdir d; echo a > d/f");
}

/// Patterns that replace a read-only one also reach as far as the denied calls need.
#[test]
fn patterns_in_place_of_one_that_only_reads_reach_as_far_as_what_was_asked() {
    let filled = "mkdir -p $OUT/n/m && echo a > $OUT/n/m/f";
    let rows = [("$OUT/**", "sed -i s/x/y/ $OUT/target"), ("$OUT/**", filled), ("$OUT/n", filled)];
    for (pattern, script) in rows {
        let scratch = Scratch::new();
        let reads = scratch.expand(&format!("read_paths = ['{pattern}']\n"));
        follow_patterns(&scratch, [&reads, ""], script);
    }
    let [moved, linked] = ["mv", "ln"].map(|how| format!("{how} $OUT/dir/file $OUT/to/file"));
    for script in [moved, linked] {
        for patterns in ["'$OUT/dir/**', '$OUT/to/**'", "'$OUT/**'", "'$OUT/dir/file'"] {
            let scratch = Scratch::new();
            scratch.write("out/dir/file", "x");
            scratch.write("out/to/other", "x");
            let reads = scratch.expand(&format!("read_paths = [{patterns}]\n"));
            follow_patterns(&scratch, [&reads, ""], &script);
        }
    }
}

/// If a hidden directory exists already, a program that can see it goes on to the next one. Only the new directories
/// are granted for writing, by options and by patterns. A grant on them shows the directories above.
#[test]
fn a_hidden_directory_above_is_only_to_be_seen() {
    // Below `.ssh` no pattern grants anything: it is an auto-run directory.
    for (name, by_options) in [(".private", true), (".private", false)] {
        let script = &format!("mkdir -p $HOME/{name}/new/inner");
        let scratch = Scratch::new();
        scratch.write(&format!("home/{name}/key"), "");
        let hidden = scratch.path("home").join(name).display().to_string();
        let mut granted: Vec<String> = Vec::new();
        let mut lists = [Vec::new(), Vec::new()];
        let run = |granted: &[String]| {
            let script = scratch.expand(script);
            let words = granted.iter().map(String::as_str).chain(["--", "sh", "-c", &script]);
            product(&scratch, &words.collect::<Vec<_>>()).run()
        };
        for _ in 0..2 {
            assert_ne!(run(&granted).code(), 0, "allowed from the start: {granted:?} {lists:?}");
            let advice = denials(&scratch);
            let opens_all = texts(&advice, "options").contains(&format!("-r {hidden}"));
            assert!(!opens_all || name != ".ssh", "{advice:?}");
            if by_options {
                let options = texts(&advice, "options").join(" ");
                granted.extend(options.split(' ').map(str::to_owned));
                continue;
            }
            for (key, patterns) in patterns(&advice) {
                let kind = usize::from(key == "write_paths");
                lists[kind].extend(patterns.iter().map(|one| format!("{one:?}")));
            }
            let [read, write] = lists.each_ref().map(|list| list.join(", "));
            let text = format!("[file_policy]\nread_paths = [{read}]\nwrite_paths = [{write}]\n");
            scratch.write("home/.config/jp-confine/config.toml", &text);
        }
        run(&granted).assert_ok();
        let is_whole = |words: &[String]| words == ["-w", &hidden];
        assert!(!granted.windows(2).any(is_whole), "{granted:?}");
        assert!(!lists[1].contains(&format!("{hidden:?}")), "{lists:?}");
    }
    let scratch = Scratch::new();
    let script = "mkdir -p $HOME/.private/new/inner";
    scratch.write("home/.private/key", "");
    attempt(&scratch, script).assert_stderr("it is there already");
    let new = scratch.path("home/.private/new").display().to_string();
    product(&scratch, &["-w", &new, "--", "sh", "-c", &scratch.expand(script)]).run().assert_ok();
}

/// An entry for a hidden directory needs a grant on its own name there, which shows the directory. If a call does not
/// tell that name, the directory must first become visible. The supervisor keeps nobody from looking, so its programs
/// ask for the name itself.
#[test]
fn what_is_put_into_a_hidden_directory_is_granted_by_its_name() {
    let name = |scratch: &Scratch| scratch.path("home/.private/file").display().to_string();
    for how in ["mv file", "ln file", "busybox mv file", "busybox ln file"] {
        if how.starts_with("busybox") && !have("busybox") {
            continue;
        }
        let script = format!("{how} $HOME/.private");
        let scratch = Scratch::new();
        scratch.write("home/.private/key", "");
        scratch.write("ws/file", "x");
        assert_ne!(attempt(&scratch, &script).code(), 0, "{script}: allowed from the start");
        let (advice, place) = (denials(&scratch), name(&scratch));
        for one in &advice {
            assert_eq!(one["options"], format!("-w {place}"), "{script}: {one}");
            let all: Vec<String> =
                patterns(std::slice::from_ref(one)).into_values().flatten().collect();
            assert_eq!(all, [place.as_str()], "{script}");
        }
        let expanded = scratch.expand(&script);
        product(&scratch, &["-w", &place, "--", "sh", "-c", &expanded]).run().assert_ok();
        let scratch = Scratch::new();
        scratch.write("home/.private/key", "");
        scratch.write("ws/file", "x");
        follow_patterns(&scratch, ["", ""], &script);
    }
    for script in ["cp file $HOME/.private", "ln -s file $HOME/.private"] {
        let scratch = Scratch::new();
        scratch.write("home/.private/key", "");
        scratch.write("ws/file", "x");
        attempt(&scratch, script).assert_stderr("a grant on what is to be in it shows it, too");
        let place = name(&scratch);
        let expanded = scratch.expand(script);
        let directory = scratch.path("home/.private").display().to_string();
        let run = |options: &[&str]| {
            product(&scratch, &[options, &["--", "sh", "-c", &expanded]].concat()).run()
        };
        assert_eq!(texts(&denials(&scratch), "options")[0], format!("-r {directory}"));
        assert_ne!(run(&["-r", &directory]).code(), 0, "{script}");
        assert_eq!(texts(&denials(&scratch), "options"), [format!("-w {place}")], "{script}");
        run(&["-w", &place]).assert_ok();
    }
}

/// Follows a suggestion for the user's own configuration once, and lets `script` pass then. The configuration has
/// `before` already, which becomes `then` if the suggestion changes it.
fn follow_patterns(scratch: &Scratch, [before, then]: [&str; 2], script: &str) {
    let config = |before: &str, lists: &str| {
        let text = format!("[file_policy]\n{before}{lists}");
        scratch.write("home/.config/jp-confine/config.toml", &text);
    };
    config(before, "");
    assert_ne!(attempt(scratch, script).code(), 0, "{script}: allowed from the start");
    let advice = denials(scratch);
    let patterns = patterns(&advice).remove("write_paths").unwrap_or_default();
    config(then, &format!("write_paths = {patterns:?}\n"));
    let last = attempt(scratch, script);
    assert_eq!(last.code(), 0, "{script}: {patterns:?}\n{last}");
}

/// If a person types a program that is denied, the report is like that for other programs. It shows what would allow
/// the program, and what starts it.
#[test]
fn a_program_that_is_typed_has_a_way_out_too() {
    let scratch = tree();
    let typed = |options: &[&str]| {
        let line = [options, &["--events", "events", "--", "./script"]].concat();
        product(&scratch, &line).run()
    };
    let interpreter = scratch.expand("$WS/dir/program");
    script_at(&scratch, "script", &format!("#!{interpreter}\n"));
    product(&scratch, &["--", "cat", "/nowhere/else"]).run();
    for (name, starter) in [("script", "jp-confine"), ("dir/program", "script")] {
        let told = format!("denied execute {name} by {starter}");
        typed(&[]).assert_code(126).assert_stderr(&told).assert_stderr("rule `.`");
        let advice = denials(&scratch);
        let rules = rules(&advice);
        assert_eq!(texts(&advice, "path"), [scratch.expand(&format!("$WS/{name}"))]);
        let policy = scratch.read("ws/jp-confine.toml");
        scratch.write("ws/jp-confine.toml", &format!("{policy}\n{rules}"));
    }
    typed(&[]).assert_ok();
    typed(&["--deny", "script"]).assert_code(126).assert_stderr("leave out `--deny script`");
    scratch.write("ws/jp-confine.toml", "[file_policy]\ndeny_paths = [\"**/script\"]\n");
    typed(&["-q"]).assert_code(126).assert_stderr("`**/script` of deny_paths");
    let events = scratch.read("ws/events");
    assert_eq!(events.matches("\"event\":\"denial\"").count(), 4, "{events}");
}

/// A program comes with what it was installed with, wherever that is and whoever starts it.
#[test]
fn a_program_comes_with_its_prefix() {
    let scratch = Scratch::new();
    let expand = |text: &str| scratch.expand(text);
    for (program, unit) in [("app/bin/start", "app"), ("node_modules/a/start", "node_modules")] {
        scratch.write(&format!("out/{unit}/lib/part"), "echo started");
        let program = format!("../out/{program}");
        script_at(&scratch, &program, &expand(&format!("#!/bin/sh\n. $OUT/{unit}/lib/part\n")));
        for line in [vec![program.as_str()], vec!["sh", "-c", &program]] {
            let unit = expand(&format!("$OUT/{unit}"));
            let run = product(&scratch, &[&["--"], &line[..]].concat()).run();
            run.assert_code(126).assert_stderr(&format!("allow: jp-confine -x {unit}\n"));
            let with = [&["-x", &unit, "--"], &line[..]].concat();
            product(&scratch, &with).run().assert_ok().assert_stdout("started");
        }
    }
}

/// The option that denies must go, not the one that grants beside it.
#[test]
fn a_denial_that_was_typed_is_what_to_leave_out() {
    let scratch = Scratch::new();
    for flags in [["--deny", "file", "-r", "file"], ["-w", "file", "--deny", "file"]] {
        let run = product(&scratch, &[&flags[..], &["--", "cat", "file"]].concat()).run();
        run.assert_code(1).assert_stderr("leave out `--deny file`");
    }
}

/// No rule can name a file whose name differs each time, but a person can be prompted for it.
#[test]
fn a_sensitive_name_that_is_drawn_takes_a_person() {
    let scratch = Scratch::new();
    let text = "[[access.fs]]\npath = '.'\nread = true\nwrite = true\nexecute = true\n";
    scratch.write("ws/jp-confine.toml", text);
    let run = product(&scratch, &["--", "mktemp", ".env.XXXXXXXXXX"]).run();
    run.assert_code(1).assert_stderr("nobody consented; in a terminal it is asked about");
}

/// A profile grants reading a missing file only if it also grants creating it. So each of two such denials has the
/// suggestion that serves both.
#[test]
fn what_is_looked_for_and_then_made_behind_a_link_is_granted_as_one() {
    let script = "cat lk/dir/new; echo x > lk/dir/new && cat lk/dir/new";
    let rule = "[[access.fs]]\npath = 'lk'\nexternal = true\n";
    for at in [0, 1] {
        let scratch = Scratch::new();
        scratch.write("ws/jp-confine.toml", &format!("{READ}{rule}"));
        std::os::unix::fs::symlink("../out", scratch.ws().join("lk")).expect("linked");
        product(&scratch, &["approvals", "approve", "lk"]).run().assert_ok();
        attempt(&scratch, script);
        let told = denials(&scratch);
        assert_eq!(told.len(), 2, "{told:?}");
        let number = told[at]["number"].to_string();
        product(&scratch, &["allow", &number, "-y"]).run().assert_ok();
        let again = product(&scratch, &["--profile", "mine", "--", "sh", "-c", script]).run();
        again.assert_ok().assert_stdout("x\n");
    }
}
