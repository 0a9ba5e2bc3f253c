//! Recognises names that programs generate, so that the next run has others. Used by `learn`, `advice` and the
//! supervisor.

use std::ffi::OsStr;
use std::fs::Metadata;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::time::{Duration, SystemTime};

use crate::sys::proc::status::Status;

/// Shortest random part that `mktemp` generates.
const RANDOM: usize = 6;

/// Characters that Python generates.
const DRAWN: usize = 8;

/// Digits in a random 32-bit number (fewer in 1 of 4,000).
const LONG: usize = 7;

/// Digits in a date.
const OF_DATE: usize = 8;

/// Digits in a time of day.
const OF_TIME: usize = 6;

/// Seconds in a day, and in a quarter of an hour.
const DAY: u64 = 24 * 60 * 60;
const QUARTER: u64 = 15 * 60;

/// Seconds within which a program, even a script, uses the time that it has read.
const MOMENT: u64 = 10;

/// Fewest hexadecimal digits that count as a hash. A hash stays the same as long as its content does.
const HASH: usize = 16;

/// Most processes that may start between one that puts its number into a name and the one that uses the name.
const NEAR: u32 = 256;

/// Suffixes that editors and others append to the name of the file they work on.
const ENDINGS: [&[u8]; 5] = [b"~", b".tmp", b".temp", b".swp", b".part"];

/// Prefixes of names that `mktemp`, libraries, `ln` and `sed` generate.
const BEGINNINGS: [&[u8]; 5] = [b"tmp.", b".tmp", b"tmp", b"Cu", b"sed"];

/// Whether a program seems to have generated the name, for instance from the name of a file that it replaces. A file
/// with such a name does not last.
pub(crate) fn is_made_up(name: &[u8]) -> bool {
    is_temporary(name) || is_another_each_time(name)
}

/// Like [`is_made_up`], for a name that process `pid` used, see [`is_another_for`].
pub(crate) fn is_made_up_for(name: &[u8], pid: u32) -> bool {
    is_temporary(name) || is_another_for(name, pid)
}

fn is_temporary(name: &[u8]) -> bool {
    let starts: [&[u8]; 5] = [b"#", b".#", b"tmp", b".tmp", b"temp-"];
    starts.iter().any(|start| name.starts_with(start))
        || ENDINGS.iter().any(|end| name.ends_with(end))
}

/// The files that this name may be a working copy of. It has a fixed suffix, and maybe a dot in front (`.a.c.swp`), so
/// it is the same each time.
pub(crate) fn worked_on(name: &[u8]) -> impl Iterator<Item = &[u8]> {
    let swapped = || {
        let dot = name.iter().rposition(|&byte| is_swap(name) && byte == b'.');
        name.get(..dot?)
    };
    let bare = ENDINGS.iter().find_map(|end| name.strip_suffix(*end)).or_else(swapped);
    let bare = bare.filter(|_| !is_another_each_time(name));
    bare.into_iter().flat_map(|bare| [Some(bare), bare.strip_prefix(b".")]).flatten()
}

/// The part of a name that other names share if they are generated alike. Each long word of letters and digits, or of
/// small letters and capitals, becomes asterisks of the same length. Words of digits alone are people's, and stay.
pub(crate) fn kind(name: &[u8]) -> Option<Vec<u8>> {
    let is_drawn = |word: &[u8]| {
        let has = |kind: fn(&u8) -> bool| word.iter().any(kind);
        let kinds = [u8::is_ascii_digit, u8::is_ascii_lowercase, u8::is_ascii_uppercase];
        word.len() >= RANDOM && kinds.into_iter().filter(|kind| has(*kind)).count() > 1
    };
    let is_of_word =
        |one: &u8, next: &u8| one.is_ascii_alphanumeric() == next.is_ascii_alphanumeric();
    let pieces = name.chunk_by(is_of_word);
    let blank = |word: &[u8]| if is_drawn(word) { vec![b'*'; word.len()] } else { word.to_vec() };
    (has_random_word(name) || has_turning_word(name)).then(|| pieces.flat_map(blank).collect())
}

/// Whether the name is that of a file that a database keeps beside another one while it changes that.
pub(crate) fn is_journal(name: &[u8]) -> bool {
    [&b"-journal"[..], b"-wal", b"-shm"].iter().any(|end| name.ends_with(end))
}

/// Whether a program seems to generate another name each time.
pub(crate) fn is_another_each_time(name: &[u8]) -> bool {
    is_drawn(name) || has_random_word(name) || number_at_end(name).is_some()
}

/// Like [`is_another_each_time`], for a name that process `pid` used. A number in it counts only if it is that of the
/// process or of one that started shortly before, such as a shell's `$$`, even after letters (`conf$$.tmp`). Other
/// numbers may be people's.
pub(crate) fn is_another_for(name: &[u8], pid: u32) -> bool {
    let is_of_process = |number: u32| number <= pid && pid - number < NEAR;
    is_drawn(name) || has_random_word(name) || numbers_at_ends(name).any(is_of_process)
}

fn has_random_word(name: &[u8]) -> bool {
    words(name).any(is_random)
}

fn has_hash(name: &[u8]) -> bool {
    words(name).any(|word| word.len() >= HASH && word.iter().all(u8::is_ascii_hexdigit))
}

fn words(name: &[u8]) -> impl Iterator<Item = &[u8]> {
    name.split(|byte| !byte.is_ascii_alphanumeric())
}

/// Whether the program at this path generates the names of all that it creates.
pub(crate) fn draws_names(program: &[u8]) -> bool {
    name_of(Path::new(OsStr::from_bytes(program))) == b"mktemp"
}

/// Whether `mktemp`, a library, `ln`, `sed` or the like generates such names. People do not give them.
pub(crate) fn is_drawn(name: &[u8]) -> bool {
    let made_up = |start: &[u8]| name.strip_prefix(start).is_some_and(is_of_mktemp);
    BEGINNINGS.iter().any(|start| made_up(start)) || is_of_a_copy(name)
}

/// Whether the path is a directory that `git` creates for all hashes that begin alike. The next hash begins otherwise.
pub(crate) fn is_of_hashes(path: &Path) -> bool {
    let name = |path: &Path| path.file_name().map(|it| it.as_bytes().to_owned());
    let is_beginning = |name: Vec<u8>| name.len() == 2 && name.iter().all(u8::is_ascii_hexdigit);
    name(path).is_some_and(is_beginning)
        && path.parent().and_then(name).is_some_and(|above| above == b"objects")
}

/// The directory for entries like `path`, whose name is generated. The directory has the same name next time.
pub(crate) fn directory(path: &Path) -> Option<&Path> {
    let directory = path.parent()?;
    if is_of_hashes(directory) { directory.parent() } else { Some(directory) }
}

/// Whether the object at `path` was created since a run `began`, and its name may be generated. Looks at the disk.
pub(crate) fn is_of_run(path: &Path, began: Option<SystemTime>) -> bool {
    let name = name_of(path);
    may_be_drawn(name) && was_made_since(path, began)
}

/// Whether the object at `path` was created since a run `began`. Looks at the disk.
pub(crate) fn was_made_since(path: &Path, began: Option<SystemTime>) -> bool {
    path.symlink_metadata().is_ok_and(|found| is_since(&found, began))
}

/// The directory that holds the topmost generated directory on the way to `path`. A program created that for the run
/// that `began` then, so another one is there next time. Looks at the disk.
pub(crate) fn holder(path: &Path, began: Option<SystemTime>) -> Option<&Path> {
    let above = path.ancestors().skip(1).filter(|above| is_directory_of_run(above, began));
    above.last().and_then(directory)
}

/// Whether a program created the directory for a run. Its name alone says so, even if it is gone by now. Or it is for
/// its user alone and its name may be generated. Hashes are the same in each run. Looks at the disk.
fn is_directory_of_run(path: &Path, began: Option<SystemTime>) -> bool {
    let name = name_of(path);
    let is_drawn = is_drawn(name) || words(name).any(is_mixed);
    let Ok(found) = path.symlink_metadata() else { return is_drawn || ends_in_letters(name) };
    // With such a umask every new directory is private, so that says nothing.
    let is_custom = || Status::own_mask().is_some_and(|mask| mask & 0o077 == 0o077);
    let is_private =
        || found.mode() & 0o777 == 0o700 && may_be_drawn_for_oneself(name) && !is_custom();
    found.is_dir() && is_since(&found, began) && (is_drawn || is_private() && !has_hash(name))
}

/// Whether the name ends, after other text, in small letters and capitals that are not words, as from `mktemp`.
fn ends_in_letters(name: &[u8]) -> bool {
    mixed_end(name).is_some_and(|end| !is_of_words(end))
}

/// The last word of a name, after other text, if it is long enough for `mktemp` and has small letters and capitals.
fn mixed_end(name: &[u8]) -> Option<&[u8]> {
    let start = name.iter().rposition(|byte| !byte.is_ascii_alphanumeric()).filter(|&at| at > 0);
    let end = name.get(start? + 1..)?;
    let has = |kind: fn(&u8) -> bool| end.iter().any(kind);
    let is_mixed = has(u8::is_ascii_lowercase) && has(u8::is_ascii_uppercase);
    (end.len() >= RANDOM && is_mixed).then_some(end)
}

/// Whether an object was created since a run `began`.
pub(crate) fn is_since(found: &Metadata, began: Option<SystemTime>) -> bool {
    // Some file systems do not tell when a file was created.
    let made = found.created().or_else(|_| found.modified());
    began.is_some_and(|began| made.is_ok_and(|made| made >= began))
}

fn name_of(path: &Path) -> &[u8] {
    path.file_name().map_or(&b""[..], OsStr::as_bytes)
}

/// Whether a name may be generated: letters after digits, capitals in between, or the name of a swap file. People give
/// such names, too: one number in a word counts as theirs if nothing precedes it.
pub(crate) fn may_be_drawn(name: &[u8]) -> bool {
    is_another_each_time(name) || is_swap(name) || has_turning_word(name)
}

fn has_turning_word(name: &[u8]) -> bool {
    let words = name.split(|byte| !byte.is_ascii_alphanumeric() && *byte != b'_').enumerate();
    words.filter(|(_, word)| word.len() >= RANDOM).any(|(at, word)| {
        let (start, end) = word.split_at(word.len().saturating_sub(DRAWN));
        let of_number = if at == 0 && start.is_empty() { 1 } else { 2 };
        let turns = end.windows(2).filter_map(|pair| match pair {
            [a, b] if a.is_ascii_digit() && b.is_ascii_alphabetic() => Some(of_number),
            [a, b] if a.is_ascii_lowercase() && b.is_ascii_uppercase() => Some(1),
            _ => None,
        });
        turns.sum::<usize>() > 1
    })
}

/// Whether the name of an object that is not there yet may be generated. Unlike [`may_be_drawn`], it also accepts an
/// end as of `mktemp`, with a capital among small letters or digits.
pub(crate) fn may_be_drawn_anew(name: &[u8]) -> bool {
    may_be_drawn(name) || ends_mixed(name)
}

fn ends_mixed(name: &[u8]) -> bool {
    let is_mixed = |end: &[u8; RANDOM]| {
        let has = |kind: fn(&u8) -> bool| end.iter().any(kind);
        has(u8::is_ascii_uppercase) && (has(u8::is_ascii_lowercase) || has(u8::is_ascii_digit))
    };
    may_be_random(name) && name.last_chunk().is_some_and(is_mixed)
}

/// Whether the name of a file that a program created for itself alone may be generated, with or without a suffix.
/// Python and others generate such names, which need neither a capital nor a digit.
pub(crate) fn may_be_drawn_for_oneself(name: &[u8]) -> bool {
    let dot = name.iter().rposition(|&byte| byte == b'.').unwrap_or(name.len());
    let ends = [Some(name), name.get(..dot)];
    let is_drawn = |end: &[u8]| ends_mixed(end) || ends_in_no_word(end) || is_of_python(end);
    may_be_drawn(name)
        || has_drawn_number(name)
        || is_of_rsync(name)
        || ends.into_iter().flatten().any(is_drawn)
}

/// Whether Python generates such names if it gets no prefix.
fn is_of_python(name: &[u8]) -> bool {
    let end = name.strip_prefix(b"tmp");
    end.is_some_and(|end| end.len() == DRAWN && end.iter().copied().all(is_drawn_by_python))
}

const fn is_drawn_by_python(byte: u8) -> bool {
    matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'_')
}

/// Whether `rsync` generates such names for copies: `.NAME.XXXXXX`. Few of them have neither capitals nor digits.
fn is_of_rsync(name: &[u8]) -> bool {
    let end = name.strip_prefix(b".").and_then(<[u8]>::split_last_chunk::<RANDOM>);
    end.is_some_and(|(before, end)| {
        before.len() > 1 && before.ends_with(b".") && is_no_word_of_mktemp(end)
    })
}

/// Whether it has as many letters and digits as `mktemp` generates, and is not a word, even with a capital in front.
fn is_no_word_of_mktemp(end: &[u8]) -> bool {
    let mut within = end.iter().skip(1);
    end.len() == RANDOM
        && end.iter().all(u8::is_ascii_alphanumeric)
        && end.iter().any(u8::is_ascii_alphabetic)
        && (within.any(|byte| !byte.is_ascii_lowercase()) || has_few_vowels(end))
}

/// Whether fewer than one letter in four is a vowel, as in no word.
fn has_few_vowels(word: &[u8]) -> bool {
    let vowels = word.iter().filter(|byte| b"aeiouy".contains(&byte.to_ascii_lowercase())).count();
    vowels * 4 < word.iter().filter(|byte| byte.is_ascii_alphabetic()).count()
}

/// Whether the name of a new socket may be generated, such as that of a message bus (`dbus-gBHHSRvfkt`). After other
/// text, it mixes small letters and capitals, but not as words that each begin with a capital. A server that clients
/// must find has a name that lasts.
pub(crate) fn may_be_drawn_for_socket(name: &[u8]) -> bool {
    let is_word = |word: &[u8]| {
        let least = if word.first().is_some_and(u8::is_ascii_lowercase) { 2 } else { 3 };
        let has_vowel = word.iter().any(|byte| b"aeiouy".contains(&byte.to_ascii_lowercase()));
        word.len() >= least && has_vowel
    };
    let is_in_words = |end: &[u8]| end.chunk_by(|_, next| !next.is_ascii_uppercase()).all(is_word);
    mixed_end(name).is_some_and(|end| !is_in_words(end))
}

/// Whether a name holds a random 32-bit number, as Go generates it, whatever stands beside it. The name is that of an
/// object that a program created for itself alone. Of other numbers only dates are as long.
pub(crate) fn has_drawn_number(name: &[u8]) -> bool {
    let is_date = |number: &[u8]| {
        number.len() == OF_DATE && (number.starts_with(b"19") || number.starts_with(b"20"))
    };
    let mut numbers = name.split(|byte| !byte.is_ascii_digit());
    numbers.any(|number| number.len() >= LONG && !is_date(number))
}

/// Whether a name is that of a program followed by a generated part, such as `cargo-installimYdCs`.
pub(crate) fn is_drawn_behind(program: &[u8], name: &[u8]) -> bool {
    !program.is_empty() && name.starts_with(program) && may_be_drawn_anew(name)
}

/// Whether a program appended six characters to its own name, as `sed` does. The name is that of an object that it
/// created for itself alone.
pub(crate) fn is_drawn_to_program(program: &[u8], name: &[u8]) -> bool {
    begun(name).is_some_and(|start| start == name_of(Path::new(OsStr::from_bytes(program))))
}

/// Whether a name ends in eight of Python's characters that are neither words nor words with numbers. A number within
/// them is not a person's if other text precedes them.
fn ends_in_no_word(name: &[u8]) -> bool {
    let Some((before, end)) = name.split_last_chunk::<DRAWN>() else { return false };
    let digits = end.iter().rev().take_while(|byte| byte.is_ascii_digit()).count();
    let (start, _) = end.split_at(end.len() - digits);
    let has = |kind: fn(&u8) -> bool| start.iter().any(kind);
    let is_drawn = if has(u8::is_ascii_digit) { !before.is_empty() } else { has_few_vowels(start) };
    end.iter().copied().all(is_drawn_by_python) && has(u8::is_ascii_lowercase) && is_drawn
}

/// Whether the name is that of a swap file of `vim`, which takes another last letter if a swap file is left over.
fn is_swap(name: &[u8]) -> bool {
    let end = name.rsplit(|&byte| byte == b'.').next().unwrap_or_default();
    name.starts_with(b".")
        && matches!(end, [b's', b'w', b'a'..=b'z'] | [b's', b'w', b'a'..=b'z', b'x'])
}

/// The name of the file that a file called `name` is to replace, if `name` was generated from it.
pub(crate) fn replaced(name: &[u8]) -> Option<&[u8]> {
    let dot = name.iter().rposition(|&byte| byte == b'.')?;
    let start = usize::from(name.starts_with(b"."));
    let other = name.get(start..dot)?;
    is_drawn_to(name, other).then_some(other)
}

/// The part of a name before six characters that a program may have generated.
pub(crate) fn begun(name: &[u8]) -> Option<&[u8]> {
    let (start, end) = name.split_last_chunk::<RANDOM>()?;
    (!start.is_empty() && end.iter().all(u8::is_ascii_alphanumeric)).then_some(start)
}

/// Whether a program generated the name from that of a file to replace: `.NAME.XXXXXX`, as `rsync` does.
pub(crate) fn is_drawn_to(name: &[u8], other: &[u8]) -> bool {
    let bare = name.strip_prefix(b".").unwrap_or(name);
    let end = bare.strip_prefix(other).and_then(|end| end.strip_prefix(b"."));
    !other.is_empty() && end.is_some_and(|end| is_of_mktemp(end) || is_of_rsync(name))
}

/// Whether the name is that of a copy that is to replace another file, as `rsync` (`.NAME.XXXXXX`) and `perl -i`
/// (`XXXXXXXX`, whose first two stay `XX`) generate it.
fn is_of_a_copy(name: &[u8]) -> bool {
    let rsync = name.strip_prefix(b".").and_then(|name| {
        let dot = name.iter().rposition(|&byte| byte == b'.')?;
        name.get(dot + 1..)
    });
    let end = rsync.or_else(|| name.strip_prefix(b"XX"));
    end.is_some_and(|end| {
        let has = |kind: fn(&u8) -> bool| end.iter().skip(1).any(kind);
        // A word has no capital or digit within.
        end.len() == RANDOM
            && end.iter().all(u8::is_ascii_alphanumeric)
            && end.iter().any(u8::is_ascii_lowercase)
            && (has(u8::is_ascii_uppercase) || has(u8::is_ascii_digit))
    })
}

/// Whether a name that did not last may be one of `mktemp`'s, which ends in six letters and digits. A word has neither
/// capitals nor digits there.
pub(crate) fn may_be_random(name: &[u8]) -> bool {
    name.last_chunk::<RANDOM>().is_some_and(|end| {
        end.iter().all(u8::is_ascii_alphanumeric) && !end.iter().all(u8::is_ascii_lowercase)
    })
}

/// Whether a name that did not last may have been generated, even from small letters alone.
pub(crate) fn may_have_been_drawn(name: &[u8]) -> bool {
    let is_drawn = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
    let ends_so = name.last_chunk::<RANDOM>().is_some_and(|end| end.iter().all(is_drawn));
    !is_journal(name) && (ends_so || may_be_drawn(name))
}

/// Whether `mktemp`, or a library with its own generator, appends such text to a prefix.
fn is_of_mktemp(end: &[u8]) -> bool {
    let is_drawn = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
    (RANDOM..=RANDOM + 4).contains(&end.len())
        && end.iter().all(is_drawn)
        && !end.iter().all(|byte| byte.is_ascii_lowercase() || *byte == b'_')
}

/// Whether a word may be from `mktemp`, or a hash: no language has such words.
fn is_random(word: &[u8]) -> bool {
    let has = |kind: fn(&u8) -> bool| word.iter().any(kind);
    let digits = has(u8::is_ascii_digit);
    let is_hex = |byte: &u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    let turns = word.windows(2).filter(|pair| pair[0].is_ascii_digit() != pair[1].is_ascii_digit());
    let turns = turns.count();
    let hash = word.len() >= 7 && word.iter().all(is_hex) && turns > 1;
    // A name that people give has one number, within or at an end.
    let base36 = word.len() >= 10 && turns > 3 && has(u8::is_ascii_lowercase);
    digits && (hash || base36) || is_mixed(word)
}

/// Whether a word has digits, small letters and capitals, as from `mktemp`. A hash has no capitals.
fn is_mixed(word: &[u8]) -> bool {
    let has = |kind: fn(&u8) -> bool| word.iter().any(kind);
    let kinds = [u8::is_ascii_digit, u8::is_ascii_lowercase, u8::is_ascii_uppercase];
    word.len() >= RANDOM && kinds.into_iter().all(has) && !is_of_words(word)
}

/// Whether it is made of words that begin with capitals or follow numbers, such as `getUserById2`. At least half of the
/// words have three letters or more, and none has one.
fn is_of_words(word: &[u8]) -> bool {
    let begins = |pair: &[u8]| {
        let [before, byte] = pair else { return false };
        byte.is_ascii_uppercase() && !before.is_ascii_uppercase()
    };
    let mut lengths = vec![0];
    for (at, byte) in word.iter().enumerate() {
        let is_next = at > 0 && word.get(at - 1..=at).is_some_and(begins);
        if !byte.is_ascii_alphabetic() || is_next {
            lengths.push(0);
        }
        if let Some(length) = lengths.last_mut().filter(|_| byte.is_ascii_alphabetic()) {
            *length += 1;
        }
    }
    lengths.retain(|length| *length > 0);
    let long = lengths.iter().filter(|length| **length > 2).count();
    !lengths.contains(&1) && long * 2 >= lengths.len()
}

/// A number at the end, such as the process number that `git apply` puts after a tilde.
fn number_at_end(name: &[u8]) -> Option<u32> {
    let mut parts = name.rsplit(|byte| b".-_~".contains(byte));
    let last = parts.next().filter(|last| last.iter().all(u8::is_ascii_digit))?;
    parts.next().and_then(|_| number(last))
}

/// The numbers at the end and before a suffix, whatever precedes them.
fn numbers_at_ends(name: &[u8]) -> impl Iterator<Item = u32> {
    name.split(|byte| b".-_~".contains(byte)).filter_map(|part| {
        let start = part.iter().rposition(|byte| !byte.is_ascii_digit()).map_or(0, |at| at + 1);
        part.get(start..).and_then(number)
    })
}

/// Whether a name holds a time close to `now`, so that a program seems to have generated it. This is a date, a time of
/// day with seconds in any time zone, or the time since 1970.
pub(crate) fn tells_time(name: &[u8], now: SystemTime) -> bool {
    let Ok(now) = now.duration_since(SystemTime::UNIX_EPOCH).map(|since| since.as_secs()) else {
        return false;
    };
    let digits: Vec<u8> = name.iter().copied().filter(u8::is_ascii_digit).collect();
    let is_second = |time: &[u8]| seconds_of_day(time).is_some_and(|time| is_just_past(time, now));
    let mut numbers = name.split(|byte| !byte.is_ascii_digit());
    dates_around(now).any(|date| digits.windows(OF_DATE).any(|digits| digits == date.as_bytes()))
        || digits.windows(OF_TIME).any(is_second)
        || numbers.any(|number| is_since_1970(number, now))
}

/// The dates of yesterday, today and tomorrow: each may be the date in some time zone.
fn dates_around(now: u64) -> impl Iterator<Item = String> {
    [now.saturating_sub(DAY), now, now + DAY].into_iter().map(|time| {
        let time = SystemTime::UNIX_EPOCH + Duration::from_secs(time);
        let date = humantime::format_rfc3339_seconds(time).to_string();
        date.chars().filter(char::is_ascii_digit).take(OF_DATE).collect()
    })
}

/// Seconds of the day at `HHMMSS`.
fn seconds_of_day(time: &[u8]) -> Option<u64> {
    let number: u64 = std::str::from_utf8(time).ok()?.parse().ok()?;
    let (hours, minutes, seconds) = (number / 10_000, number / 100 % 100, number % 100);
    (hours < 24 && minutes < 60 && seconds < 60).then_some(hours * 3600 + minutes * 60 + seconds)
}

/// Whether this is the time of day a moment before `now` in some time zone: zones differ by quarters of an hour.
fn is_just_past(time: u64, now: u64) -> bool {
    (now + DAY - time) % QUARTER < MOMENT
}

/// Whether a number is a time of the last day before `now`, in seconds, milli-, micro- or nanoseconds since 1970.
fn is_since_1970(number: &[u8], now: u64) -> bool {
    let is_whole = [10, 13, 16, 19].contains(&number.len());
    let seconds = number.get(..10).and_then(|digits| std::str::from_utf8(digits).ok());
    let seconds = seconds.filter(|_| is_whole).and_then(|digits| digits.parse::<u64>().ok());
    seconds.is_some_and(|seconds| seconds <= now && now - seconds < DAY)
}

/// All numbers in a name that may be process numbers.
pub(crate) fn numbers(name: &[u8]) -> impl Iterator<Item = u32> {
    name.split(|byte| !byte.is_ascii_digit()).filter_map(number)
}

/// Parses a process number. `None` for fewer than four digits or a leading zero.
fn number(digits: &[u8]) -> Option<u32> {
    let digits = Some(digits).filter(|digits| digits.len() >= 4 && !digits.starts_with(b"0"))?;
    std::str::from_utf8(digits).ok()?.parse().ok()
}

#[cfg(test)]
mod tests;
