//! The terminal that controls this process, to ask a person (spec §8.2).

use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::thread;
use std::time::Duration;

use rustix::io::Errno;
use rustix::process;
use rustix::stdio::{stderr, stdin, stdout};
use rustix::termios::{self, ioctl_tiocnxcl};

use crate::prompt::confirmation_word::{Countersign, Why};
use crate::prompt::line_mode::Lines;
use crate::prompt::reader::Typing;
use crate::prompt::reply::Reply;
use crate::prompt::turns::{Turn, Turns};
use crate::prompt::visibility::{Sight, Size, size_of};
use crate::sys::signals::{ENDING, Held, Signals, stop_by};

/// How often it is looked whether a question is over.
const TICK: Duration = Duration::from_millis(100);

/// ^Z, and what ends every stop.
const STOPS: [i32; 2] = [libc::SIGTSTP, libc::SIGCONT];

/// The controlling terminal, wherever the standard streams lead.
#[derive(Debug)]
pub(crate) struct Terminal {
    file: File,
    turns: Turns,
    /// The question that waits for its answer; over before the turn is.
    standing: Option<Standing>,
    /// Kept between questions: they are read together, and who asks next finds what came of all of them.
    own_turn: Option<OwnTurn>,
    /// The one that did before this process was stopped.
    interrupted: Option<Words>,
}

/// The turn of this process.
#[derive(Debug)]
struct OwnTurn {
    _turn: Turn,
    /// Else a stop would keep the turn, and nobody see that the question has to be put again.
    stops: Held,
}

/// What is asked.
#[derive(Debug)]
struct Words {
    text: String,
    /// A yes to it has to be a person's.
    is_consent: bool,
    /// Others of this shell's jobs may write over it, and a tool that asks.
    sight: Sight,
    /// Before it was shown again.
    was_any_typed: bool,
}

/// A question, and the terminal as it has to be for its answer.
#[derive(Debug)]
struct Standing {
    words: Words,
    /// What a yes has to end with.
    sign: Option<Countersign>,
    typing: Typing,
    lines: Lines,
    /// The last to be dropped: else a key that ends this process would leave the terminal so.
    _ending: Held,
}

/// What was typed in answer.
#[derive(Debug)]
struct Line {
    text: String,
    sign: Option<Countersign>,
}

impl Terminal {
    /// Opens it. `None` where nobody could answer: with `--non-interactive`, without a controlling
    /// terminal, and in the background of one, where reading would stop this process.
    pub(crate) fn open(turns: &Turns, non_interactive: bool) -> Option<Self> {
        let terminal = Self::controlling(turns, non_interactive)?;
        if terminal.is_ours().ok()? {
            return Some(terminal);
        }
        // While another question stands it is not known whom the terminal goes back to.
        let _turn = turns.next();
        terminal.is_ours().ok()?.then_some(terminal)
    }

    /// Opens it once it is this process's turn to ask. In the background this process is stopped until then, as
    /// by reading; `None` where nobody could answer, and where nobody would continue it.
    pub(crate) fn wait_for(turns: &Turns, non_interactive: bool) -> Option<Self> {
        let mut terminal = Self::controlling(turns, non_interactive)?;
        terminal.take_turn().ok()?;
        Some(terminal)
    }

    /// Whether somebody could answer, be it after another question.
    pub(crate) fn is_there(turns: &Turns, non_interactive: bool) -> bool {
        // It may end between the looks.
        let is_there =
            |it: Self| Ok::<_, Errno>(it.is_ours()? || turns.is_taken() || it.is_ours()?);
        Self::controlling(turns, non_interactive).is_some_and(|it| is_there(it).unwrap_or(false))
    }

    fn controlling(turns: &Turns, non_interactive: bool) -> Option<Self> {
        if non_interactive {
            return None;
        }
        let file = controlling().ok()?;
        Some(Self { file, turns: turns.clone(), own_turn: None, standing: None, interrupted: None })
    }

    /// How many rows and columns it has, if it says.
    pub(crate) fn size(&self) -> Option<Size> {
        size_of(&self.file)
    }

    /// Whether this process is in the foreground.
    ///
    /// # Errors
    /// Where the terminal has gone.
    fn is_ours(&self) -> Result<bool, Errno> {
        match termios::tcgetpgrp(&self.file) {
            Ok(group) => Ok(group == process::getpgrp()),
            // A group that cannot be named here, of another namespace for instance.
            Err(Errno::OPNOTSUPP) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Writes `question`, as it is, and reads what is typed after it, for as long as nobody says that it is `over`;
    /// `None` then. What was typed before the question is no answer to it. Where a program may take what is typed, a
    /// yes has to carry a countersign, which is said before the question.
    ///
    /// # Errors
    /// Where the terminal cannot be used any more.
    pub(crate) fn ask_unless(
        &mut self,
        question: &str,
        over: &mut dyn FnMut() -> bool,
    ) -> io::Result<Option<Reply>> {
        self.take_turn()?;
        // While others asked, for instance.
        if over() {
            return Ok(None);
        }
        self.stand(Words::new(question, true))?;
        while !over() {
            let Some(Line { text, sign }) = self.line(TICK)? else { continue };
            if let Some(reply) = Reply::to(sign.as_ref(), &text) {
                return Ok(Some(reply));
            }
            self.stand(Words { was_any_typed: true, ..Words::new(question, true) })?;
        }
        if self.standing.take().is_some() {
            self.file.write_all(b"\n  (no answer is needed any more)\n")?;
        }
        Ok(None)
    }

    /// Writes `question`, as it is, once no other stands; what was typed before it is no answer to it.
    ///
    /// # Errors
    /// Where the terminal cannot be used any more.
    pub(crate) fn put(&mut self, question: &str) -> io::Result<()> {
        self.stand(Words::new(question, false))
    }

    fn stand(&mut self, mut words: Words) -> io::Result<()> {
        self.take_turn()?;
        self.standing = None;
        let ending = Signals::of(&ENDING).hold();
        let lines = Lines::read_by(&self.file)?;
        let mut typing = Typing::at(&self.file)?;
        let sign = words.countersign(&mut typing, &lines)?;
        let sign_words = sign.as_ref().map(Countersign::words).unwrap_or_default();
        self.file.write_all((sign_words + &words.text).as_bytes())?;
        words.sight.begin(size_of(&self.file));
        self.standing = Some(Standing { words, sign, typing, lines, _ending: ending });
        Ok(())
    }

    /// Waits until this process may ask, if it may not yet.
    fn take_turn(&mut self) -> io::Result<()> {
        if self.own_turn.is_some() && self.is_ours()? {
            return Ok(());
        }
        // What is left of it has to be over before the next.
        self.own_turn = None;
        let turn = self.next_turn()?;
        self.own_turn = Some(OwnTurn { _turn: turn, stops: Signals::of(&STOPS).hold() });
        Ok(())
    }

    fn next_turn(&self) -> io::Result<Turn> {
        loop {
            let turn = self.turns.next();
            if self.is_ours()? {
                return Ok(turn);
            }
            drop(turn);
            // To read nothing takes the foreground, too: the terminal stops whoever does it in the background
            // (`SIGTTIN`), and it fails where nobody would continue them.
            rustix::io::read(&self.file, &mut [0; 0])?;
            thread::sleep(TICK);
        }
    }

    /// The line that was typed by now, or is within `patience`, without its end. After a stop the question is put
    /// again by the next call: it may not be seen any more, and what was typed meanwhile was typed to others, who may
    /// have had it answered.
    ///
    /// # Errors
    /// As of [`Self::put`].
    pub(crate) fn answer(&mut self, patience: Duration) -> io::Result<Option<String>> {
        Ok(self.line(patience)?.map(|line| line.text))
    }

    fn line(&mut self, patience: Duration) -> io::Result<Option<Line>> {
        if let Some(words) = self.interrupted.take() {
            self.stand(words)?;
        }
        let line = self.standing.as_ref().map(|standing| standing.typing.line_within(patience));
        if Signals::of(&ENDING).is_any_waiting() {
            // It ends this process, unless somebody waits for it or it is ignored.
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
            // It was read in another way than it was typed.
            self.interrupt();
            return Ok(None);
        };
        let Standing { sign, .. } = standing;
        if let Some(line) = text.strip_suffix('\n') {
            return Ok(Some(Line { text: line.to_owned(), sign }));
        }
        // The line that is on the screen was not ended.
        self.file.write_all(b"\n")?;
        Ok(Some(Line { text, sign }))
    }

    /// Has the question put again that others have moved out of sight.
    fn look(&mut self) -> io::Result<()> {
        let Some(Standing { words, typing, lines, .. }) = &mut self.standing else { return Ok(()) };
        // Who types an answer in words of their own is not to lose them.
        if words.is_consent && words.sight.is_lost(size_of(&self.file)) {
            words.was_any_typed = !typing.is_untouched(lines)?;
            self.interrupt();
            self.file.write_all(b"\n")?;
        }
        Ok(())
    }

    /// Leaves the terminal as it was; the question is put again.
    fn interrupt(&mut self) {
        if let Some(standing) = self.standing.take() {
            self.interrupted = Some(standing.words);
        }
    }

    /// Whether this process was stopped since the question was put; of ^Z it stops here, and others may ask.
    fn was_stopped(&mut self) -> io::Result<bool> {
        let signals = Signals::of(&STOPS);
        let Some(arrival) = signals.wait(Some(Duration::ZERO))? else { return Ok(false) };
        self.interrupt();
        let _stops = self.own_turn.take().map(|own| own.stops);
        if arrival.signal == libc::SIGTSTP {
            stop_by(libc::SIGTSTP);
            // What ended the stop.
            signals.wait(Some(Duration::ZERO))?;
        }
        Ok(true)
    }

    /// Asks for a yes; everything else is a no, and so is a terminal that has gone. `None` where it is `known` by
    /// then.
    pub(crate) fn confirm_unless(
        &mut self,
        known: &mut dyn FnMut() -> bool,
        question: &str,
    ) -> Option<bool> {
        let reply = self.ask_unless(&format!("{question} [y/N] "), known);
        Some(reply.unwrap_or(Some(Reply::No))? == Reply::Yes)
    }
}

impl Words {
    fn new(text: &str, is_consent: bool) -> Self {
        Self { text: text.to_owned(), is_consent, sight: Sight::new(), was_any_typed: false }
    }

    /// What a yes has to end with, as of [`Typing::countersign`], also where what was typed before is discarded.
    fn countersign(&self, typing: &mut Typing, lines: &Lines) -> io::Result<Option<Countersign>> {
        if !self.is_consent {
            return Ok(None);
        }
        match typing.countersign(lines)? {
            None if self.was_any_typed => Countersign::new(Why::Typed).map(Some),
            sign => Ok(sign),
        }
    }
}

/// Opens the terminal that controls this process, also where a program wanted to keep it to itself (`TIOCEXCL`).
///
/// # Errors
/// Where there is none.
pub(crate) fn controlling() -> io::Result<File> {
    let flags = libc::O_NOCTTY | libc::O_CLOEXEC;
    let open = || OpenOptions::new().read(true).write(true).custom_flags(flags).open("/dev/tty");
    match open() {
        Err(error) if Errno::from_io_error(&error) == Some(Errno::BUSY) => {
            for stream in [stdin(), stdout(), stderr()] {
                // It may lead elsewhere.
                let _ = ioctl_tiocnxcl(stream);
            }
            open()
        }
        opened => opened,
    }
}
