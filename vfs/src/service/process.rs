//! `process.run`: unfinished.
use super::Service;
use super::caller::Caller;
use crate::fault::{Code, Fault};
use crate::method::{Ended, RunParams};
/// X
#[derive(Debug)]
pub struct Programs;
impl Service<'_> {
    pub(super) fn run(&mut self, _p: &RunParams, _caller: &mut dyn Caller) -> Result<Ended, Fault> {
        Err(Fault::new(Code::UnknownMethod, "no process yet"))
    }
}
