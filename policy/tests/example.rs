//! Checks that the example works as described.

#[allow(dead_code, reason = "it has a `main` of its own")]
#[path = "../examples/authorize.rs"]
mod authorize_example;

use std::fs;

use authorize_example::answers;

#[test]
fn a_host_reads_and_writes_what_is_granted() {
    let folder = tempfile::tempdir().unwrap();
    let top = folder.path().canonicalize().unwrap();
    fs::create_dir_all(top.join("w/drafts")).unwrap();
    fs::create_dir(top.join("o")).unwrap();
    fs::write(top.join("o/secret"), "").unwrap();
    std::os::unix::fs::symlink("../o", top.join("w/link")).unwrap();
    fs::write(top.join("w/notes"), "spring").unwrap();
    let top = top.to_str().unwrap();
    let requests = [
        "read @/w/notes",
        "write @/w/drafts/one summer",
        "read @/w/drafts/one",
        "write @/w/notes autumn",
        "read @/w/link/secret",
        "hello",
    ]
    .map(|request| request.replace('@', top));
    let answers = answers(&folder.path().join("w"), &requests.each_ref().map(String::as_str));
    let answers: Vec<String> = answers.iter().map(|answer| answer.replace(top, "@")).collect();
    assert_eq!(answers[..3], ["spring", "wrote @/w/drafts/one", "summer"]);
    assert!(answers[3].starts_with("write_file: cannot update @/w/notes: "), "{}", answers[3]);
    assert!(answers[4].starts_with("read_file: cannot use @/w/link/secret: "), "{}", answers[4]);
    assert_eq!(answers[5], "read PATH, or write PATH TEXT");
}
