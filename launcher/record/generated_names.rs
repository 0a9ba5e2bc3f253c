//! Names that programs make up: the next run has others.

use std::ffi::OsStr;
use std::fs::Metadata;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::time::{Duration, SystemTime};

use crate::sys::proc::status::Status;

/// How many characters `mktemp` makes up, at least.
const RANDOM: usize = 6;

/// How many Python does.
const DRAWN: usize = 8;

/// So many digits a number of 32 bits has that is drawn, but for one in four thousand.
const LONG: usize = 7;

/// As many has a date.
const OF_DATE: usize = 8;

/// As many has a time of day.
const OF_TIME: usize = 6;

/// In seconds.
const DAY: u64 = 24 * 60 * 60;
const QUARTER: u64 = 15 * 60;

/// So many seconds after it told the time a program uses that, be it a script.
const MOMENT: u64 = 10;

/// So many hexadecimal digits are the hash of something, which stays as long as that does.
const HASH: usize = 16;

/// So many processes may be started between one that makes up a name by its number and the one that uses it.
const NEAR: u32 = 256;

/// What editors and others put behind the name of what they work on.
const ENDINGS: [&[u8]; 5] = [b"~", b".tmp", b".temp", b".swp", b".part"];

/// What precedes them, of `mktemp`, of libraries, of `ln` and of `sed`.
const BEGINNINGS: [&[u8]; 5] = [b"tmp.", b".tmp", b"tmp", b"Cu", b"sed"];

/// Whether a program seems to have made the name up, be it to the name of what it replaces: what is called so
/// does not last.
pub(crate) fn is_made_up(name: &[u8]) -> bool {
    is_temporary(name) || is_another_each_time(name)
}

/// The same of a name that process `pid` was to use, see [`is_another_for`].
pub(crate) fn is_made_up_for(name: &[u8], pid: u32) -> bool {
    is_temporary(name) || is_another_for(name, pid)
}

fn is_temporary(name: &[u8]) -> bool {
    let starts: [&[u8]; 5] = [b"#", b".#", b"tmp", b".tmp", b"temp-"];
    starts.iter().any(|start| name.starts_with(start))
        || ENDINGS.iter().any(|end| name.ends_with(end))
}

/// The names of what one may be working on under this name, which is the same each time: with something fixed behind
/// it, be there a dot before it (`.a.c.swp`).
pub(crate) fn worked_on(name: &[u8]) -> impl Iterator<Item = &[u8]> {
    let swapped = || {
        let dot = name.iter().rposition(|&byte| is_swap(name) && byte == b'.');
        name.get(..dot?)
    };
    let bare = ENDINGS.iter().find_map(|end| name.strip_suffix(*end)).or_else(swapped);
    let bare = bare.filter(|_| !is_another_each_time(name));
    bare.into_iter().flat_map(|bare| [Some(bare), bare.strip_prefix(b".")]).flatten()
}

/// What a name that may be drawn has in common with others that are drawn alike: all but its long words of letters and
/// digits, or of letters small and large, as long as they are. Numbers alone are those of people.
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

/// Whether it is as of what databases keep beside a file while they change that.
pub(crate) fn is_journal(name: &[u8]) -> bool {
    [&b"-journal"[..], b"-wal", b"-shm"].iter().any(|end| name.ends_with(end))
}

/// Whether a program seems to make up another name each time.
pub(crate) fn is_another_each_time(name: &[u8]) -> bool {
    is_drawn(name) || has_random_word(name) || number_at_end(name).is_some()
}

/// The same of a name that process `pid` was to use: a number in it is that of the process, or of one that started it
/// a little before, as a shell's `$$`, be there letters before it (`conf$$.tmp`). People number files, too.
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

/// Whether the program of this path makes nothing whose name it has not drawn.
pub(crate) fn draws_names(program: &[u8]) -> bool {
    name_of(Path::new(OsStr::from_bytes(program))) == b"mktemp"
}

/// Whether it is a name as `mktemp`, libraries, `ln` and `sed` make them up: nobody gives such.
pub(crate) fn is_drawn(name: &[u8]) -> bool {
    let made_up = |start: &[u8]| name.strip_prefix(start).is_some_and(is_of_mktemp);
    BEGINNINGS.iter().any(|start| made_up(start)) || is_of_a_copy(name)
}

/// Whether it is a directory that `git` makes for hashes of one beginning: the next has another.
pub(crate) fn is_of_hashes(path: &Path) -> bool {
    let name = |path: &Path| path.file_name().map(|it| it.as_bytes().to_owned());
    let is_beginning = |name: Vec<u8>| name.len() == 2 && name.iter().all(u8::is_ascii_hexdigit);
    name(path).is_some_and(is_beginning)
        && path.parent().and_then(name).is_some_and(|above| above == b"objects")
}

/// The directory for entries like `path`, whose name is made up, that has the same name the next time.
pub(crate) fn directory(path: &Path) -> Option<&Path> {
    let directory = path.parent()?;
    if is_of_hashes(directory) { directory.parent() } else { Some(directory) }
}

/// Whether a program seems to have made up the name of what was made since a run `began`. Looks at the disk.
pub(crate) fn is_of_run(path: &Path, began: Option<SystemTime>) -> bool {
    let name = name_of(path);
    may_be_drawn(name) && was_made_since(path, began)
}

/// Whether something is there that was made since a run `began`. Looks at the disk.
pub(crate) fn was_made_since(path: &Path, began: Option<SystemTime>) -> bool {
    path.symlink_metadata().is_ok_and(|found| is_since(&found, began))
}

/// What holds the first directory on the way to `path` that a program made for a run which `began` then, under a name
/// that it drew: another stands there the next time. Looks at the disk.
pub(crate) fn holder(path: &Path, began: Option<SystemTime>) -> Option<&Path> {
    let above = path.ancestors().skip(1).filter(|above| is_directory_of_run(above, began));
    above.last().and_then(directory)
}

/// Whether a program made the directory for a run: its name alone says so, be it gone by now, or it is for its user
/// alone and its name may be drawn. Hashes are the same in each run. Looks at the disk.
fn is_directory_of_run(path: &Path, began: Option<SystemTime>) -> bool {
    let name = name_of(path);
    let is_drawn = is_drawn(name) || words(name).any(is_mixed);
    let Ok(found) = path.symlink_metadata() else { return is_drawn || ends_in_letters(name) };
    // Where that is so of all that is made it says nothing.
    let is_custom = || Status::own_mask().is_some_and(|mask| mask & 0o077 == 0o077);
    let is_private =
        || found.mode() & 0o777 == 0o700 && may_be_drawn_for_oneself(name) && !is_custom();
    found.is_dir() && is_since(&found, began) && (is_drawn || is_private() && !has_hash(name))
}

/// Whether small letters and capitals that are no words end a name behind something else, as `mktemp` has it.
fn ends_in_letters(name: &[u8]) -> bool {
    mixed_end(name).is_some_and(|end| !is_of_words(end))
}

/// What stands at the end of a name behind something else, if it is as long as what `mktemp` makes up, and has small
/// letters and capitals.
fn mixed_end(name: &[u8]) -> Option<&[u8]> {
    let start = name.iter().rposition(|byte| !byte.is_ascii_alphanumeric()).filter(|&at| at > 0);
    let end = name.get(start? + 1..)?;
    let has = |kind: fn(&u8) -> bool| end.iter().any(kind);
    let is_mixed = has(u8::is_ascii_lowercase) && has(u8::is_ascii_uppercase);
    (end.len() >= RANDOM && is_mixed).then_some(end)
}

/// Whether something was made since a run `began`.
pub(crate) fn is_since(found: &Metadata, began: Option<SystemTime>) -> bool {
    // Some file systems do not say when a file was made.
    let made = found.created().or_else(|_| found.modified());
    began.is_some_and(|began| made.is_ok_and(|made| made >= began))
}

fn name_of(path: &Path) -> &[u8] {
    path.file_name().map_or(&b""[..], OsStr::as_bytes)
}

/// Whether a name is as programs draw them: letters after digits, capitals here and there, or that of a swap file.
/// People give such names, too: where nothing stands before it, one number in a word is theirs.
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

/// Whether a name under which something was to be made that is not there yet may be drawn: it ends as `mktemp` has
/// it, with a capital among small letters or digits.
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

/// Whether a name under which a program was to make a file for itself alone may be drawn, be there a suffix behind:
/// so Python and others have it, and nobody asks them for a capital or a digit.
pub(crate) fn may_be_drawn_for_oneself(name: &[u8]) -> bool {
    let dot = name.iter().rposition(|&byte| byte == b'.').unwrap_or(name.len());
    let ends = [Some(name), name.get(..dot)];
    let is_drawn = |end: &[u8]| ends_mixed(end) || ends_in_no_word(end) || is_of_python(end);
    may_be_drawn(name)
        || has_drawn_number(name)
        || is_of_rsync(name)
        || ends.into_iter().flatten().any(is_drawn)
}

/// Whether it is as Python has names where nobody gives a beginning.
fn is_of_python(name: &[u8]) -> bool {
    let end = name.strip_prefix(b"tmp");
    end.is_some_and(|end| end.len() == DRAWN && end.iter().copied().all(is_drawn_by_python))
}

const fn is_drawn_by_python(byte: u8) -> bool {
    matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'_')
}

/// Whether it is as `rsync` has names of copies, `.NAME.XXXXXX`, of which few have neither capitals nor digits.
fn is_of_rsync(name: &[u8]) -> bool {
    let end = name.strip_prefix(b".").and_then(<[u8]>::split_last_chunk::<RANDOM>);
    end.is_some_and(|(before, end)| {
        before.len() > 1 && before.ends_with(b".") && is_no_word_of_mktemp(end)
    })
}

/// Whether it is of letters and digits, as many as `mktemp` makes up, and no word, be there a capital before it.
fn is_no_word_of_mktemp(end: &[u8]) -> bool {
    let mut within = end.iter().skip(1);
    end.len() == RANDOM
        && end.iter().all(u8::is_ascii_alphanumeric)
        && end.iter().any(u8::is_ascii_alphabetic)
        && (within.any(|byte| !byte.is_ascii_lowercase()) || has_few_vowels(end))
}

/// Of four letters in a word one is a vowel.
fn has_few_vowels(word: &[u8]) -> bool {
    let vowels = word.iter().filter(|byte| b"aeiouy".contains(&byte.to_ascii_lowercase())).count();
    vowels * 4 < word.iter().filter(|byte| byte.is_ascii_alphabetic()).count()
}

/// Whether the name of a new socket may be drawn, as that of a message bus is (`dbus-gBHHSRvfkt`): small letters and
/// capitals are mixed behind something else, and not as where each word begins with a capital. Servers whose clients
/// have to find them have names that last.
pub(crate) fn may_be_drawn_for_socket(name: &[u8]) -> bool {
    let is_word = |word: &[u8]| {
        let least = if word.first().is_some_and(u8::is_ascii_lowercase) { 2 } else { 3 };
        let has_vowel = word.iter().any(|byte| b"aeiouy".contains(&byte.to_ascii_lowercase()));
        word.len() >= least && has_vowel
    };
    let is_in_words = |end: &[u8]| end.chunk_by(|_, next| !next.is_ascii_uppercase()).all(is_word);
    mixed_end(name).is_some_and(|end| !is_in_words(end))
}

/// Whether a number is in a name under which a program was to make something for itself alone that is drawn of 32
/// bits, as Go has it, whatever stands beside it: only dates are as long.
pub(crate) fn has_drawn_number(name: &[u8]) -> bool {
    let is_date = |number: &[u8]| {
        number.len() == OF_DATE && (number.starts_with(b"19") || number.starts_with(b"20"))
    };
    let mut numbers = name.split(|byte| !byte.is_ascii_digit());
    numbers.any(|number| number.len() >= LONG && !is_date(number))
}

/// Whether a name is that of a program with something drawn behind, as `cargo-installimYdCs` is.
pub(crate) fn is_drawn_behind(program: &[u8], name: &[u8]) -> bool {
    !program.is_empty() && name.starts_with(program) && may_be_drawn_anew(name)
}

/// Whether a name ends in eight of what Python draws from, which are neither words nor words with numbers: a number
/// within is no person's where something else stands before it.
fn ends_in_no_word(name: &[u8]) -> bool {
    let Some((before, end)) = name.split_last_chunk::<DRAWN>() else { return false };
    let digits = end.iter().rev().take_while(|byte| byte.is_ascii_digit()).count();
    let (start, _) = end.split_at(end.len() - digits);
    let has = |kind: fn(&u8) -> bool| start.iter().any(kind);
    let is_drawn = if has(u8::is_ascii_digit) { !before.is_empty() } else { has_few_vowels(start) };
    end.iter().copied().all(is_drawn_by_python) && has(u8::is_ascii_lowercase) && is_drawn
}

/// Whether it is as of the swap files of `vim`, which takes the next letter where one is left over.
fn is_swap(name: &[u8]) -> bool {
    let end = name.rsplit(|&byte| byte == b'.').next().unwrap_or_default();
    name.starts_with(b".")
        && matches!(end, [b's', b'w', b'a'..=b'z'] | [b's', b'w', b'a'..=b'z', b'x'])
}

/// The name of what a file is to replace whose name was made up to that.
pub(crate) fn replaced(name: &[u8]) -> Option<&[u8]> {
    let dot = name.iter().rposition(|&byte| byte == b'.')?;
    let start = usize::from(name.starts_with(b"."));
    let other = name.get(start..dot)?;
    is_drawn_to(name, other).then_some(other)
}

/// What a name begins with that a program drew six characters to.
pub(crate) fn begun(name: &[u8]) -> Option<&[u8]> {
    let (start, end) = name.split_last_chunk::<RANDOM>()?;
    (!start.is_empty() && end.iter().all(u8::is_ascii_alphanumeric)).then_some(start)
}

/// Whether a program made the name up to another, which it is to replace: `.NAME.XXXXXX`, as `rsync` does.
pub(crate) fn is_drawn_to(name: &[u8], other: &[u8]) -> bool {
    let bare = name.strip_prefix(b".").unwrap_or(name);
    let end = bare.strip_prefix(other).and_then(|end| end.strip_prefix(b"."));
    !other.is_empty() && end.is_some_and(|end| is_of_mktemp(end) || is_of_rsync(name))
}

/// Whether it is a name for a copy that is to replace another file, as `rsync` (`.NAME.XXXXXX`) and `perl -i`
/// (`XXXXXXXX`, of which two are as written here) make them up.
fn is_of_a_copy(name: &[u8]) -> bool {
    let rsync = name.strip_prefix(b".").and_then(|name| {
        let dot = name.iter().rposition(|&byte| byte == b'.')?;
        name.get(dot + 1..)
    });
    let end = rsync.or_else(|| name.strip_prefix(b"XX"));
    end.is_some_and(|end| {
        let has = |kind: fn(&u8) -> bool| end.iter().skip(1).any(kind);
        // No word has a capital or a digit within.
        end.len() == RANDOM
            && end.iter().all(u8::is_ascii_alphanumeric)
            && end.iter().any(u8::is_ascii_lowercase)
            && (has(u8::is_ascii_uppercase) || has(u8::is_ascii_digit))
    })
}

/// Whether a name that did not last may be one of `mktemp`'s, which ends in six letters and digits: a
/// word has neither capitals nor digits there.
pub(crate) fn may_be_random(name: &[u8]) -> bool {
    name.last_chunk::<RANDOM>().is_some_and(|end| {
        end.iter().all(u8::is_ascii_alphanumeric) && !end.iter().all(u8::is_ascii_lowercase)
    })
}

/// Whether a name that did not last may have been drawn, be it of small letters alone.
pub(crate) fn may_have_been_drawn(name: &[u8]) -> bool {
    let is_drawn = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
    let ends_so = name.last_chunk::<RANDOM>().is_some_and(|end| end.iter().all(is_drawn));
    !is_journal(name) && (ends_so || may_be_drawn(name))
}

/// What `mktemp`, and libraries that have their own, put behind a beginning.
fn is_of_mktemp(end: &[u8]) -> bool {
    let is_drawn = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
    (RANDOM..=RANDOM + 4).contains(&end.len())
        && end.iter().all(is_drawn)
        && !end.iter().all(|byte| byte.is_ascii_lowercase() || *byte == b'_')
}

/// A word as of `mktemp` or a hash: no language has such.
fn is_random(word: &[u8]) -> bool {
    let has = |kind: fn(&u8) -> bool| word.iter().any(kind);
    let digits = has(u8::is_ascii_digit);
    let is_hex = |byte: &u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    let turns = word.windows(2).filter(|pair| pair[0].is_ascii_digit() != pair[1].is_ascii_digit());
    let turns = turns.count();
    let hash = word.len() >= 7 && word.iter().all(is_hex) && turns > 1;
    // Of names that people give one has a number within, or at an end.
    let base36 = word.len() >= 10 && turns > 3 && has(u8::is_ascii_lowercase);
    digits && (hash || base36) || is_mixed(word)
}

/// A word of digits and of letters small and large, as of `mktemp`: of a hash all are small.
fn is_mixed(word: &[u8]) -> bool {
    let has = |kind: fn(&u8) -> bool| word.iter().any(kind);
    let kinds = [u8::is_ascii_digit, u8::is_ascii_lowercase, u8::is_ascii_uppercase];
    word.len() >= RANDOM && kinds.into_iter().all(has) && !is_of_words(word)
}

/// Whether it is words that begin with capitals or follow numbers, as `getUserById2` is: half of them of three
/// letters at least, and none of one.
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

/// A number at the end, as `git apply` has that of its process behind a tilde.
fn number_at_end(name: &[u8]) -> Option<u32> {
    let mut parts = name.rsplit(|byte| b".-_~".contains(byte));
    let last = parts.next().filter(|last| last.iter().all(u8::is_ascii_digit))?;
    parts.next().and_then(|_| number(last))
}

/// The numbers at the end, and before a suffix, whatever precedes them.
fn numbers_at_ends(name: &[u8]) -> impl Iterator<Item = u32> {
    name.split(|byte| b".-_~".contains(byte)).filter_map(|part| {
        let start = part.iter().rposition(|byte| !byte.is_ascii_digit()).map_or(0, |at| at + 1);
        part.get(start..).and_then(number)
    })
}

/// Whether a name tells a time close to `now`, at which it seems to have been made up: a date, hours, minutes and
/// seconds in whatever zone, or how long it is since 1970.
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

/// The dates of yesterday, today and tomorrow: somewhere it is each of them.
fn dates_around(now: u64) -> impl Iterator<Item = String> {
    [now.saturating_sub(DAY), now, now + DAY].into_iter().map(|time| {
        let time = SystemTime::UNIX_EPOCH + Duration::from_secs(time);
        let date = humantime::format_rfc3339_seconds(time).to_string();
        date.chars().filter(char::is_ascii_digit).take(OF_DATE).collect()
    })
}

/// How much of a day has gone by at `HHMMSS`.
fn seconds_of_day(time: &[u8]) -> Option<u64> {
    let number: u64 = std::str::from_utf8(time).ok()?.parse().ok()?;
    let (hours, minutes, seconds) = (number / 10_000, number / 100 % 100, number % 100);
    (hours < 24 && minutes < 60 && seconds < 60).then_some(hours * 3600 + minutes * 60 + seconds)
}

/// Whether this is the time of day a moment before `now`, in some zone: they differ by quarters of an hour.
fn is_just_past(time: u64, now: u64) -> bool {
    (now + DAY - time) % QUARTER < MOMENT
}

/// Whether a number is that of the seconds from 1970 to the day before `now`, or of parts of them.
fn is_since_1970(number: &[u8], now: u64) -> bool {
    let is_whole = [10, 13, 16, 19].contains(&number.len());
    let seconds = number.get(..10).and_then(|digits| std::str::from_utf8(digits).ok());
    let seconds = seconds.filter(|_| is_whole).and_then(|digits| digits.parse::<u64>().ok());
    seconds.is_some_and(|seconds| seconds <= now && now - seconds < DAY)
}

/// All numbers in a name that may be those of processes.
pub(crate) fn numbers(name: &[u8]) -> impl Iterator<Item = u32> {
    name.split(|byte| !byte.is_ascii_digit()).filter_map(number)
}

/// A number as one of a process is written, where it is not short.
fn number(digits: &[u8]) -> Option<u32> {
    let digits = Some(digits).filter(|digits| digits.len() >= 4 && !digits.starts_with(b"0"))?;
    std::str::from_utf8(digits).ok()?.parse().ok()
}

#[cfg(test)]
mod tests;
