//! Recognises what a terminal reports about the mouse and the focus among typed lines.

/// Whether `line` contains reports on the mouse or the focus, which programs can enable, and no other control
/// characters.
pub(crate) fn is_reported_in(line: &str) -> bool {
    let (mut rest, mut is_any) = (line, false);
    while let Some(at) = rest.find(char::is_control) {
        let Some(behind) = behind_report(&rest[at..]) else { return false };
        (rest, is_any) = (behind, true);
    }
    is_any
}

/// The rest after a report at the start of `text` (`ctlseqs` of xterm, "Mouse Tracking").
fn behind_report(text: &str) -> Option<&str> {
    let text = text.strip_prefix("\u{1b}[")?;
    if let Some(characters) = text.strip_prefix('M') {
        // Three characters. The terminal may have taken one of them for the erase key.
        let mut characters = characters.chars();
        characters.by_ref().take(3).for_each(drop);
        return Some(characters.as_str());
    }
    text.strip_prefix(['I', 'O']).or_else(|| match text.strip_prefix('<') {
        Some(numbers) => behind_three(numbers)?.strip_prefix(['M', 'm']),
        None => behind_three(text)?.strip_prefix('M'),
    })
}

/// The rest after three numbers.
fn behind_three(text: &str) -> Option<&str> {
    let end = text.find(|one: char| !one.is_ascii_digit() && one != ';')?;
    let (numbers, rest) = text.split_at(end);
    let are_all = numbers.split(';').all(|number| !number.is_empty());
    (are_all && numbers.split(';').count() == 3).then_some(rest)
}

#[cfg(test)]
mod tests {
    use super::is_reported_in;

    #[test]
    fn reports_are_told_from_what_is_typed() {
        let reports = [
            "\u{1b}[<0;10;5M",
            "\u{1b}[<0;10;5m",
            "\u{1b}[0;10;5M",
            "\u{1b}[M !!",
            "\u{1b}[M !",
            "\u{1b}[M \u{fffd}!",
            "\u{1b}[O\u{1b}[I",
            "\u{1b}[<0;10;5M\u{1b}[<0;10;5m",
        ];
        for report in reports {
            for line in [report.to_owned(), format!("{report}y"), format!("y {report} n")] {
                assert!(is_reported_in(&line), "{line:?}");
            }
        }
        let others = [
            "y",
            "\u{1b}[24;80R",
            "\u{1b}[<0;10M",
            "\u{1b}[<0;;5M",
            "\u{1b}[0;10;5m",
            "\u{1b}[<0;10;5",
            "\u{1b}[",
            "\u{1b}OI",
            "\u{1b}[I\u{1b}[24;80R",
            "\u{1b}[I\ty",
        ];
        for line in others {
            assert!(!is_reported_in(line), "{line:?}");
        }
    }
}
