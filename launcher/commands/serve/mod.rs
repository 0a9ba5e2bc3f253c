//! Implements `serve`: answers questions about the policy, which it compiles once, until its input ends. Hosts of tools
//! keep it running. Its requests and replies are lines of JSON-RPC, as those of the file service.

mod lines;
pub(crate) mod questions;

use std::cell::OnceCell;
use std::io;
use std::path::PathBuf;

use jp_confine_engine::authorize::Authorizer;
use jp_confine_vfs::incoming::{self, Id, Malformed};
use jp_confine_vfs::{Code, Fault};
use serde_json::value::RawValue;

use self::lines::Lines;
use self::questions::{Nothing, Questions, read, result};
use crate::cli::Options;
use crate::commands::authorize;
use crate::commands::query::common;
use crate::compile::prepared::Prepared;
use crate::error::Failure;
use crate::host::context::Context;
use crate::output;
use crate::plan::Plan;
use crate::plan::holder::Holder;

/// Answers until the input ends, or nobody reads the replies. Absolute paths may also be in `roots`.
pub(crate) fn serve(
    context: &Context,
    options: &Options,
    roots: &[PathBuf],
) -> Result<u8, Failure> {
    let load = || Policy::load(context, options, roots);
    let mut policy: Result<_, String> = Ok(load()?);
    let mut lines = Lines::standard();
    let served = loop {
        let reload = match &mut policy {
            Ok((policy, folders)) => {
                let mut questions = Questions::about(policy, std::mem::take(folders));
                lines.answer(|method, params| questions.answer(method, params))
            }
            // The old policy may allow what the new one is meant to deny.
            Err(why) => lines.answer(|_, _| Err(Fault::new(Code::Internal, why.clone()))),
        };
        let id = match reload {
            Ok(Some(id)) => id,
            Ok(None) => break Ok(()),
            Err(error) => break Err(error),
        };
        policy = load().map_err(|failure| output::in_words(&failure));
        let done = match &policy {
            Ok(_) => result(&Nothing {}),
            Err(why) => Err(Fault::new(Code::Internal, why)),
        };
        if let Err(error) = lines.reply(Some(&id), done.as_deref()) {
            break Err(error);
        }
    };
    match served {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(Failure::own(format!("the standard streams fail: {error}")))
        }
        _ => Ok(0),
    }
}

/// The loaded policy.
struct Policy<'p> {
    context: &'p Context,
    options: &'p Options,
    prepared: Prepared,
    /// Found when it is first asked for.
    plan: OnceCell<Plan>,
}

impl<'p> Policy<'p> {
    /// The policy that the options select, and the directories that absolute paths may be in.
    fn load(
        context: &'p Context,
        options: &'p Options,
        roots: &[PathBuf],
    ) -> Result<(Self, Authorizer), Failure> {
        let prepared = common::prepared(context, options, None)?;
        let folders = authorize::folders(context, options, &prepared, roots)?;
        Ok((Self { context, options, prepared, plan: OnceCell::new() }, folders))
    }

    /// The layers that hold each capability of a run.
    fn holders(&self) -> Result<&[Holder], Failure> {
        if self.plan.get().is_none() {
            let plan = common::plan(self.context, self.options, &self.prepared)?;
            let _ = self.plan.set(plan);
        }
        Ok(self.plan.get().map(|plan| &plan.holders[..]).unwrap_or_default())
    }
}

impl Lines {
    /// Answers requests until one asks for the policy to be loaded again. Returns its id, or none at the end of input.
    fn answer(
        &mut self,
        mut answer: impl FnMut(&str, Option<&RawValue>) -> Result<Box<RawValue>, Fault>,
    ) -> io::Result<Option<Id>> {
        let mut line = Vec::new();
        while self.next(&mut line)? {
            let (id, answered) = match incoming::call(&line) {
                Ok(call) if call.id.is_none() => {
                    let why = format!("the request `{}` has no `id`", call.method);
                    (None, Err(Fault::new(Code::Malformed, why)))
                }
                Ok(call) if call.method == "reload" => match read::<Nothing>(call.params) {
                    Ok(_) => return Ok(call.id),
                    Err(fault) => (call.id, Err(fault)),
                },
                Ok(call) => (call.id, answer(&call.method, call.params)),
                Err(Malformed { id, fault }) => (id, Err(fault)),
            };
            self.reply(id.as_ref(), answered.as_deref())?;
        }
        Ok(None)
    }
}
