//! Knows which paths a command line names, and what its program wants there (spec §9.7). Used to ask about all of them at
//! once, and about none if one is denied (spec §9.5).

/// A path as typed, and what happens to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct NamedPath<'w> {
    pub(super) typed: &'w [u8],
    pub(super) used: Use,
}

/// What a program does with a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Use {
    /// It reads the file, if there is one.
    Read,
    /// It changes or creates the file.
    Write,
    /// It removes the entry.
    Delete,
}

/// Options of `grep`, `rg` and `sed` whose value is a pattern or a script, or a file with some.
const PATTERN: [&[u8]; 5] = [b"-e", b"-f", b"--regexp", b"--expression", b"--file"];

/// The paths that these words name. The first word is the program. Of a program that the table does not have, each
/// operand may be a path to read.
pub(super) fn named<'w>(words: &[&'w [u8]]) -> Vec<NamedPath<'w>> {
    let Some((program, arguments)) = words.split_first() else { return Vec::new() };
    let name = program.rsplit(|byte| *byte == b'/').next().unwrap_or_default();
    let has = |options: &[&[u8]]| {
        arguments.iter().any(|word| options.iter().any(|option| word.starts_with(option)))
    };
    let mut operands = operands(arguments);
    let all = |operands: Vec<&'w [u8]>, used| {
        operands.into_iter().map(|typed| NamedPath { typed, used }).collect()
    };
    match name {
        b"rm" | b"rmdir" | b"unlink" => all(operands, Use::Delete),
        b"mkdir" | b"touch" | b"tee" => all(operands, Use::Write),
        b"cp" | b"mv" => {
            let sources = if name == b"mv" { Use::Delete } else { Use::Read };
            let last = operands.pop().map(|typed| NamedPath { typed, used: Use::Write });
            all(operands, sources).into_iter().chain(last).collect()
        }
        b"grep" | b"rg" | b"sed" => {
            let is_value = |at: usize| at > 0 && PATTERN.contains(&arguments[at - 1]);
            let words = arguments.iter().enumerate().filter(|(at, _)| !is_value(*at));
            operands = self::operands(&words.map(|(_, word)| *word).collect::<Vec<_>>());
            // Without such an option the first operand is a pattern or a script.
            let first = usize::from(!has(&PATTERN));
            let in_place = name == b"sed" && has(&[b"-i", b"--in-place"]);
            let used = if in_place { Use::Write } else { Use::Read };
            all(operands.into_iter().skip(first).collect(), used)
        }
        b"dd" => arguments.iter().filter_map(of_dd).collect(),
        b"find" => {
            let is_root = |word: &&&[u8]| !word.starts_with(b"-") && !matches!(**word, b"(" | b"!");
            let roots = arguments.iter().take_while(is_root).copied().collect();
            all(roots, Use::Read)
        }
        _ => all(operands, Use::Read),
    }
}

/// The words that are no options. A single dash is a stream, unless it comes after `--`.
fn operands<'w>(arguments: &[&'w [u8]]) -> Vec<&'w [u8]> {
    let end = arguments.iter().position(|word| *word == b"--").unwrap_or(arguments.len());
    let (before, after) = arguments.split_at(end);
    let before = before.iter().filter(|word| !word.starts_with(b"-"));
    before.chain(after.iter().skip(1)).copied().filter(|word| !word.is_empty()).collect()
}

fn of_dd<'w>(word: &&'w [u8]) -> Option<NamedPath<'w>> {
    let of = |prefix: &[u8], used| word.strip_prefix(prefix).map(|typed| NamedPath { typed, used });
    of(b"if=", Use::Read).or_else(|| of(b"of=", Use::Write))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_program_has_its_paths() {
        for (line, expected) in [
            ("cat a b", "a read, b read"),
            ("/usr/bin/cat -n a - -- - -b", "a read, - read, -b read"),
            ("grep x a", "a read"),
            ("grep -e x a", "a read"),
            ("rg -n x a b", "a read, b read"),
            ("sed s/a/b/ f", "f read"),
            ("sed -i s/a/b/ f", "f write"),
            ("sed --in-place=~ -e s/a/b/ f", "f write"),
            ("rm -rf a", "a delete"),
            ("touch a", "a write"),
            ("cp -r a b c", "a read, b read, c write"),
            ("mv a b", "a delete, b write"),
            ("dd if=a of=b bs=1", "a read, b write"),
            ("find a b -name c", "a read, b read"),
            ("python3 app.py --in=x data", "app.py read, data read"),
            ("ls", ""),
            ("", ""),
        ] {
            let words: Vec<&[u8]> = line.split(' ').map(str::as_bytes).collect();
            let said: Vec<String> = named(&words)
                .into_iter()
                .map(|NamedPath { typed, used }| {
                    let used = format!("{used:?}").to_lowercase();
                    format!("{} {used}", String::from_utf8_lossy(typed))
                })
                .collect();
            assert_eq!(said.join(", "), expected, "{line}");
        }
    }
}
