//! The answers that a prompt offers, and what a typed line means among them.

use crate::prompt::confirmation_word::Countersign;
use crate::prompt::terminal_reports::is_reported_in;

/// A person's answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reply {
    /// Yes, once.
    Yes,
    /// Yes, in this run.
    Run,
    /// Yes, in this run, for all below a directory.
    Below,
    /// Yes, in this run, and in the policy afterwards.
    Always,
    /// Each of several questions by itself.
    Each,
    /// No, once.
    Skip,
    /// No.
    No,
}

/// The meaning of a line at a prompt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Typed {
    /// An answer.
    Reply(Reply),
    /// The wish to see what can be typed.
    Help,
    /// Nothing that is offered.
    Unknown,
    /// A report of the terminal on the mouse or the focus, which programs can enable. Nobody typed it.
    Report,
}

/// One answer on offer.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Choice {
    reply: Reply,
    words: String,
}

/// The answers that a prompt offers. No is always one of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Choices(Vec<Choice>);

impl Reply {
    const ALL: [Self; 7] =
        [Self::Yes, Self::Run, Self::Below, Self::Always, Self::Each, Self::Skip, Self::No];

    /// The key to type.
    const fn key(self) -> &'static str {
        match self {
            Self::Yes => "y",
            Self::Run => "r",
            Self::Below => "d",
            Self::Always => "a",
            Self::Each => "e",
            Self::Skip => "s",
            Self::No => "n",
        }
    }

    /// The reply with this key, in any case, or the whole word `yes`. An empty line is a no, and so is everything that
    /// begins like `never`.
    fn typed(text: &str) -> Option<Self> {
        let text = text.trim().to_ascii_lowercase();
        match text.as_str() {
            "yes" => Some(Self::Yes),
            no if no.is_empty() || no.starts_with('n') => Some(Self::No),
            key => Self::ALL.into_iter().find(|reply| reply.key() == key),
        }
    }

    /// Whether the line at the prompt names it. The others are in the help.
    const fn is_in_line(self) -> bool {
        matches!(self, Self::Yes | Self::Run | Self::Each | Self::No)
    }
}

impl Choices {
    /// Yes or no.
    pub(crate) fn yes_or_no() -> Self {
        Self::of([(Reply::Yes, "yes")])
    }

    /// These answers, each with what it means, and no.
    pub(crate) fn of<W: Into<String>>(offered: impl IntoIterator<Item = (Reply, W)>) -> Self {
        let offered =
            offered.into_iter().map(|(reply, words)| Choice { reply, words: words.into() });
        Self(offered.collect())
    }

    /// These answers, and one more.
    pub(crate) fn and(mut self, reply: Reply, words: impl Into<String>) -> Self {
        self.0.push(Choice { reply, words: words.into() });
        self
    }

    /// The end of a prompt, on a line of its own.
    pub(crate) fn offer(&self) -> String {
        let shown = self.0.iter().filter(|choice| choice.reply.is_in_line());
        let shown = shown.map(|choice| format!("  [{}] {}", choice.reply.key(), choice.words));
        shown.collect::<String>() + "  [N] no  [?] help: "
    }

    /// All that can be typed, a line each.
    pub(crate) fn help(&self) -> String {
        let all = self.0.iter().map(|choice| (choice.reply.key(), choice.words.as_str()));
        let has_skip = self.0.iter().any(|choice| choice.reply == Reply::Skip);
        let no = if has_skip { "no, in this run" } else { "no" };
        let lines = all.chain([("n", no), ("", "Enter, ^D and ^C mean no, too")]);
        let lines: Vec<String> =
            lines.map(|(key, words)| format!("    {key:<2} {words}")).collect();
        lines.join("\n") + "\n"
    }

    /// The meaning of a typed line. The whole line counts, so the beginning of a command is no answer. The end of a terminal's
    /// report about itself is a no (`ESC [ row ; column R`), as are all control characters. If there is a confirmation
    /// word, a line without it is a no: it may be what is left of another answer.
    pub(crate) fn typed(&self, countersign: Option<&Countersign>, line: &str) -> Typed {
        if is_reported_in(line) {
            return Typed::Report;
        }
        let answer = countersign.map_or(line, |sign| sign.of(line));
        if line.chars().any(char::is_control) {
            return Typed::Reply(Reply::No);
        }
        if line.trim() == "?" {
            return Typed::Help;
        }
        let is_offered = |reply: &Reply| {
            *reply == Reply::No || self.0.iter().any(|choice| choice.reply == *reply)
        };
        Reply::typed(answer).filter(is_offered).map_or(Typed::Unknown, Typed::Reply)
    }

    /// The words after a line that is no answer, before the prompt is shown again.
    pub(crate) fn hint(&self, typed: Typed) -> String {
        match typed {
            Typed::Help => self.help(),
            Typed::Unknown => "  that is no answer here; ? shows what can be typed\n".to_owned(),
            Typed::Reply(_) | Typed::Report => String::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn during_a_run() -> Choices {
        Choices::of([(Reply::Yes, "yes, once"), (Reply::Run, "yes, in this run")])
            .and(Reply::Skip, "no, once")
    }

    #[test]
    fn the_whole_line_is_the_answer() {
        let typed = |line: &str| during_a_run().typed(None, line);
        for (line, reply) in [
            ("y", Reply::Yes),
            (" YES ", Reply::Yes),
            ("r", Reply::Run),
            ("S", Reply::Skip),
            ("", Reply::No),
            ("n", Reply::No),
            ("No", Reply::No),
            ("never", Reply::No),
        ] {
            assert_eq!(typed(line), Typed::Reply(reply), "{line}");
        }
        for line in ["rm -rf build", "yesterday", "y n", "yy", "run", "exit", "ye", "e", "d", "a"] {
            assert_eq!(typed(line), Typed::Unknown, "{line}");
        }
        for line in ["\u{1b}r", "\u{1b}[5;1R", "\ry", "y\t", "\u{9b}y", "\0y", "\u{1b}[24;80R"] {
            assert_eq!(typed(line), Typed::Reply(Reply::No), "{line:?}");
        }
        assert_eq!(typed(" ? "), Typed::Help);
        assert_eq!(typed("\u{1b}[<0;10;5My"), Typed::Report);
    }

    #[test]
    fn what_can_be_typed_is_told() {
        let offer = during_a_run().offer();
        assert_eq!(offer, "  [y] yes, once  [r] yes, in this run  [N] no  [?] help: ");
        let help = during_a_run().help();
        assert!(help.contains("    s  no, once\n    n  no, in this run\n"), "{help}");
    }
}
