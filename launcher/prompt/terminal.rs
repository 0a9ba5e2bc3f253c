//! Asks a person at the terminal that controls this process (spec §8.2).

use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::thread;
use std::time::Duration;

use rustix::io::Errno;
use rustix::stdio::{stderr, stdin, stdout};
use rustix::termios::{self, ioctl_tiocnxcl};

use crate::prompt::choices::{Choices, Reply, Typed};
use crate::prompt::confirmation_word::Countersign;
use crate::prompt::line_mode::Lines;
use crate::prompt::reader::Typing;
use crate::prompt::turns::{PromptLock, PromptQueue};
use crate::prompt::visibility::{ScreenVisibility, Size, size_of};
use crate::sys::groups::own_group;
use crate::sys::signals::{BlockedSignals, ENDING, Signals, stop_by};

/// How often to check whether a prompt is over.
const TICK: Duration = Duration::from_millis(100);

/// ^Z, and the signal that ends every stop.
const STOPS: [i32; 2] = [libc::SIGTSTP, libc::SIGCONT];

/// The controlling terminal, wherever the standard streams lead.
#[derive(Debug)]
pub(crate) struct Terminal {
    file: File,
    turns: PromptQueue,
    /// The prompt that waits for its answer. It ends before the turn does.
    standing: Option<Standing>,
    /// Kept between prompts: they are read together, and the next asker sees the outcome of all.
    own_turn: Option<OwnTurn>,
    /// The prompt that waited when this process was stopped.
    interrupted: Option<Words>,
}

/// The turn of this process.
#[derive(Debug)]
struct OwnTurn {
    _turn: PromptLock,
    /// Without this, a stopped process would keep the turn, and nobody would notice that the prompt must be shown
    /// again.
    stops: BlockedSignals,
}

/// The text of a prompt.
#[derive(Debug)]
struct Words {
    text: String,
    /// Only a person may say yes to it.
    is_consent: bool,
    /// Other jobs of this shell may write over it, as may a tool that asks.
    sight: ScreenVisibility,
    /// Before the prompt was shown again.
    was_any_typed: bool,
}

/// A prompt, and the terminal in the state that its answer needs.
#[derive(Debug)]
struct Standing {
    words: Words,
    /// The word that a yes must end with.
    sign: Option<Countersign>,
    typing: Typing,
    lines: Lines,
    /// Dropped last: otherwise a key that ends this process would leave the terminal in this state.
    _ending: BlockedSignals,
}

/// The line typed as an answer.
#[derive(Debug)]
struct Line {
    text: String,
    sign: Option<Countersign>,
}

impl Terminal {
    /// Opens it. `None` if nobody could answer: with `--non-interactive`, without a controlling terminal, and in the
    /// background, where a read would stop this process.
    pub(crate) fn open(turns: &PromptQueue, non_interactive: bool) -> Option<Self> {
        let terminal = Self::controlling(turns, non_interactive)?;
        if terminal.is_ours().ok()? {
            return Some(terminal);
        }
        // While another prompt is shown, the next owner of the terminal is unknown.
        let _turn = turns.next();
        terminal.is_ours().ok()?.then_some(terminal)
    }

    /// Opens it once it is this process's turn to ask. In the background this process stops until then, as a read
    /// would. `None` if nobody could answer, or nobody would continue the process.
    pub(crate) fn wait_for(turns: &PromptQueue, non_interactive: bool) -> Option<Self> {
        let mut terminal = Self::controlling(turns, non_interactive)?;
        terminal.take_turn().ok()?;
        Some(terminal)
    }

    /// Whether somebody could answer, now or after another prompt.
    pub(crate) fn is_there(turns: &PromptQueue, non_interactive: bool) -> bool {
        // The other prompt may end between the checks.
        let is_there =
            |it: Self| Ok::<_, Errno>(it.is_ours()? || turns.is_taken() || it.is_ours()?);
        Self::controlling(turns, non_interactive).is_some_and(|it| is_there(it).unwrap_or(false))
    }

    fn controlling(turns: &PromptQueue, non_interactive: bool) -> Option<Self> {
        if non_interactive {
            return None;
        }
        let file = controlling().ok()?;
        Some(Self { file, turns: turns.clone(), own_turn: None, standing: None, interrupted: None })
    }

    /// Its rows and columns, if known.
    pub(crate) fn size(&self) -> Option<Size> {
        size_of(&self.file)
    }

    /// Whether this process is in the foreground.
    ///
    /// # Errors
    /// Fails if the terminal is gone.
    fn is_ours(&self) -> Result<bool, Errno> {
        match termios::tcgetpgrp(&self.file) {
            Ok(group) => Ok(own_group() == Some(group)),
            // The group has no name here, for instance because it is in another namespace.
            Err(Errno::OPNOTSUPP) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Writes `question` as it is, and reads one of the `choices`. Asks again after any other line. Returns `None` once
    /// the prompt is `over`. Input from before the prompt is no answer. If a program may take the input, a yes must end
    /// with a confirmation word, announced above the prompt.
    ///
    /// # Errors
    /// Fails if the terminal cannot be used any more.
    pub(crate) fn ask_unless(
        &mut self,
        question: &str,
        choices: &Choices,
        over: &mut dyn FnMut() -> bool,
    ) -> io::Result<Option<Reply>> {
        self.take_turn()?;
        // Others may have asked meanwhile.
        if over() {
            return Ok(None);
        }
        self.stand(Words::new(question, true))?;
        while !over() {
            let Some(Line { text, sign }) = self.line(TICK)? else { continue };
            let typed = choices.typed(sign.as_ref(), &text);
            if let Typed::Reply(reply) = typed {
                return Ok(Some(reply));
            }
            self.file.write_all(choices.hint(typed).as_bytes())?;
            let was_any_typed = typed == Typed::Report || sign.is_some();
            self.stand(Words { was_any_typed, ..Words::new(question, true) })?;
        }
        if self.standing.take().is_some() {
            self.file.write_all(b"\n  (no answer is needed any more)\n")?;
        }
        Ok(None)
    }

    /// Writes `question` as it is, after any other prompt has ended. Input from before is no answer to it.
    ///
    /// # Errors
    /// Fails if the terminal cannot be used any more.
    pub(crate) fn put(&mut self, question: &str) -> io::Result<()> {
        self.stand(Words::new(question, false))
    }

    fn stand(&mut self, mut words: Words) -> io::Result<()> {
        self.take_turn()?;
        self.standing = None;
        let ending = Signals::of(&ENDING).hold();
        let lines = Lines::read_by(&self.file)?;
        let mut typing = Typing::at(&self.file)?;
        let sign =
            if words.is_consent { typing.countersign(&lines, words.was_any_typed)? } else { None };
        let sign_words = sign.as_ref().map(Countersign::words).unwrap_or_default();
        self.file.write_all((sign_words + &words.text).as_bytes())?;
        words.sight.begin(size_of(&self.file));
        self.standing = Some(Standing { words, sign, typing, lines, _ending: ending });
        Ok(())
    }

    /// Waits for this process's turn to ask, unless it has it.
    fn take_turn(&mut self) -> io::Result<()> {
        if self.own_turn.is_some() && self.is_ours()? {
            return Ok(());
        }
        // The old turn must end before the next begins.
        self.own_turn = None;
        let turn = self.next_turn()?;
        self.own_turn = Some(OwnTurn { _turn: turn, stops: Signals::of(&STOPS).hold() });
        Ok(())
    }

    fn next_turn(&self) -> io::Result<PromptLock> {
        loop {
            let turn = self.turns.next();
            if self.is_ours()? {
                return Ok(turn);
            }
            drop(turn);
            // Reading zero bytes also needs the foreground. In the background the terminal stops the reader
            // (`SIGTTIN`). The read fails if nobody would continue it.
            rustix::io::read(&self.file, &mut [0; 0])?;
            thread::sleep(TICK);
        }
    }

    /// The line typed by now or within `patience`, without its end. After a stop the next call shows the prompt again,
    /// since it may be out of sight. Input from during the stop went to other programs, which may have read an answer
    /// from it.
    ///
    /// # Errors
    /// Fails as [`Self::put`] does.
    pub(crate) fn answer(&mut self, patience: Duration) -> io::Result<Option<String>> {
        Ok(self.line(patience)?.map(|line| line.text))
    }

    fn line(&mut self, patience: Duration) -> io::Result<Option<Line>> {
        if let Some(words) = self.interrupted.take() {
            self.stand(words)?;
        }
        let line = self.standing.as_ref().map(|standing| standing.typing.line_within(patience));
        if Signals::of(&ENDING).is_any_waiting() {
            // The signal ends this process unless it is ignored or waited for.
            self.interrupt();
        }
        if self.was_stopped()? || !self.is_ours()? {
            self.interrupt();
            self.take_turn()?;
            return Ok(None);
        }
        let text = match line.transpose() {
            Ok(Some(Some(text))) => text,
            Ok(_) => {
                self.look()?;
                return Ok(None);
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {
                self.interrupt();
                return Ok(None);
            }
            Err(error) => return Err(error),
        };
        let Some(standing) = self.standing.take_if(|standing| standing.lines.are_known()) else {
            // The line was read in another mode than it was typed in.
            self.interrupt();
            return Ok(None);
        };
        let Standing { sign, .. } = standing;
        if let Some(line) = text.strip_suffix('\n') {
            return Ok(Some(Line { text: line.to_owned(), sign }));
        }
        // The line on the screen has no end yet.
        self.file.write_all(b"\n")?;
        Ok(Some(Line { text, sign }))
    }

    /// Shows a prompt again that other output moved out of sight.
    fn look(&mut self) -> io::Result<()> {
        let Some(Standing { words, typing, lines, .. }) = &mut self.standing else { return Ok(()) };
        // A person who types a free-text answer must not lose it.
        if words.is_consent && words.sight.is_lost(size_of(&self.file)) {
            words.was_any_typed = !typing.is_untouched(lines)?;
            self.interrupt();
            self.file.write_all(b"\n")?;
        }
        Ok(())
    }

    /// Restores the terminal. The prompt is shown again later.
    fn interrupt(&mut self) {
        if let Some(standing) = self.standing.take() {
            self.interrupted = Some(standing.words);
        }
    }

    /// Whether this process was stopped since the prompt was shown. On ^Z it stops here, and others may ask.
    fn was_stopped(&mut self) -> io::Result<bool> {
        let signals = Signals::of(&STOPS);
        let Some(arrival) = signals.wait(Some(Duration::ZERO))? else { return Ok(false) };
        self.interrupt();
        let _stops = self.own_turn.take().map(|own| own.stops);
        if arrival.signal == libc::SIGTSTP {
            stop_by(libc::SIGTSTP);
            // The signal that ended the stop.
            signals.wait(Some(Duration::ZERO))?;
        }
        Ok(true)
    }

    /// Asks for a yes or a no. A terminal that is gone means no. `None` if the answer is `known` by
    /// then.
    pub(crate) fn confirm_unless(
        &mut self,
        known: &mut dyn FnMut() -> bool,
        question: &str,
    ) -> Option<bool> {
        let question = format!("{question} [y/N] ");
        let reply = self.ask_unless(&question, &Choices::yes_or_no(), known);
        Some(reply.unwrap_or(Some(Reply::No))? == Reply::Yes)
    }
}

impl Words {
    fn new(text: &str, is_consent: bool) -> Self {
        Self {
            text: text.to_owned(),
            is_consent,
            sight: ScreenVisibility::new(),
            was_any_typed: false,
        }
    }
}

/// Opens the terminal that controls this process, even if a program reserved it (`TIOCEXCL`).
///
/// # Errors
/// Fails if there is none.
pub(crate) fn controlling() -> io::Result<File> {
    let flags = libc::O_NOCTTY | libc::O_CLOEXEC;
    let open = || OpenOptions::new().read(true).write(true).custom_flags(flags).open("/dev/tty");
    match open() {
        Err(error) if Errno::from_io_error(&error) == Some(Errno::BUSY) => {
            for stream in [stdin(), stdout(), stderr()] {
                // The stream may lead elsewhere.
                let _ = ioctl_tiocnxcl(stream);
            }
            open()
        }
        opened => opened,
    }
}
