//! Checks that the example works as described.

use crate::authorize_example::answers;
use crate::place::Place;

#[test]
fn a_host_reads_and_writes_what_is_granted() {
    let place = Place::new("w/drafts/ w/link=../o o/secret");
    std::fs::write(place.path("w/notes"), "spring").unwrap();
    let requests = [
        "read @/w/notes",
        "write @/w/drafts/one summer",
        "read @/w/drafts/one",
        "write @/w/notes autumn",
        "read @/w/link/secret",
        "hello",
    ]
    .map(|request| request.replace('@', place.path("").to_str().unwrap().trim_end_matches('/')));
    let answers = answers(&place.path("w"), &requests.each_ref().map(String::as_str));
    let answers: Vec<String> = answers.iter().map(|answer| place.anonymous(answer)).collect();
    assert_eq!(answers[..3], ["spring", "wrote @/w/drafts/one", "summer"]);
    assert!(answers[3].starts_with("write_file: cannot update @/w/notes: "), "{}", answers[3]);
    assert!(answers[4].starts_with("read_file: cannot use @/w/link/secret: "), "{}", answers[4]);
    assert_eq!(answers[5], "read PATH, or write PATH TEXT");
}
