//! Writes the tables of an image about other things than files: variables and programs.

use std::os::unix::ffi::OsStrExt as _;
use std::string::String;
use std::vec::Vec;

use crate::build::bytes::{intern, size};
use crate::build_error::BuildError;
use crate::commands::{self, Listed};
use crate::env::Env;
use crate::invocation::ANY_ARGUMENTS;
use crate::layout::{Command, LISTED, Line, Span, Variable};
use crate::variables::{PREFIX, READ};

/// The rules of a policy about other things than files, for inside a run.
#[derive(Clone, Copy, Debug, Default)]
pub struct Beyond<'a> {
    /// The rules about variables. Only their denials count inside.
    pub env: Option<&'a Env>,
    /// The programs that may be started. Absent: all.
    pub commands: Option<&'a [Listed]>,
}

/// The tables while they are built.
#[derive(Debug, Default)]
pub(super) struct Tables {
    pub(super) variables: Vec<Variable>,
    pub(super) environment: Span,
    pub(super) flags: u32,
    pub(super) commands: Vec<Command>,
    pub(super) lines: Vec<Line>,
    pub(super) words: Vec<Span>,
}

impl Tables {
    /// The tables of `beyond`, with its texts among the `bytes` of the image.
    pub(super) fn of(beyond: Beyond<'_>, bytes: &mut Vec<u8>) -> Result<Self, BuildError> {
        let mut tables = Self::default();
        if let Some(env) = beyond.env.filter(|env| env.rules().any(|rule| !rule.read)) {
            tables.environment = tables.list(env, bytes)?;
        }
        if let Some(commands) = beyond.commands {
            tables.flags = LISTED;
            for listed in commands {
                let command = tables.command(listed, bytes)?;
                tables.commands.push(command);
            }
        }
        Ok(tables)
    }

    fn list(&mut self, env: &Env, bytes: &mut Vec<u8>) -> Result<Span, BuildError> {
        let offset = size(self.variables.len())?;
        for rule in env.rules() {
            let flag = |set: bool, flag: u32| if set { flag } else { 0 };
            let flags = flag(rule.is_prefix, PREFIX) | flag(rule.read, READ);
            let name = intern(bytes, rule.literal)?;
            self.variables.push(Variable { name, flags: flags.into() });
        }
        Ok(Span { offset, count: size(self.variables.len() - offset.get() as usize)? })
    }

    fn command(&mut self, listed: &Listed, bytes: &mut Vec<u8>) -> Result<Command, BuildError> {
        let rule = &listed.rule;
        let offset = size(self.lines.len())?;
        for pattern in rule.args.iter().flatten() {
            let line = self.line(pattern, bytes)?;
            self.lines.push(line);
        }
        let lines = Span { offset, count: size(self.lines.len() - offset.get() as usize)? };
        let variables = rule.variables().map_err(|error| BuildError::Variable(error.name))?;
        Ok(Command {
            program: intern(bytes, listed.program.as_os_str().as_bytes())?,
            name: intern(bytes, listed.name().as_bytes())?,
            flags: if rule.args.is_none() { ANY_ARGUMENTS } else { 0 }.into(),
            lines,
            envs: self.list(&variables, bytes)?,
        })
    }

    fn line(&mut self, pattern: &[String], bytes: &mut Vec<u8>) -> Result<Line, BuildError> {
        let (words, rest) = commands::words(pattern);
        let offset = size(self.words.len())?;
        for word in words {
            self.words.push(intern(bytes, word.as_bytes())?);
        }
        let words = Span { offset, count: size(words.len())? };
        Ok(Line { words, rest: u32::from(rest).into() })
    }
}
