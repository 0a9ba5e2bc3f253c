//! `http.get` and `http.post`: unfinished.
use super::Service;
use super::caller::Caller;
use crate::fault::{Code, Fault};
use crate::method::{HttpParams, HttpReply};
#[derive(Default)]
pub(super) struct Http;
impl Service<'_> {
    pub(super) fn http(
        &mut self,
        _m: &str,
        _p: HttpParams,
        _caller: &mut dyn Caller,
    ) -> Result<HttpReply, Fault> {
        Err(Fault::new(Code::UnknownMethod, "no http yet"))
    }
}
