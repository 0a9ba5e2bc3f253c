//! Serves requests: checks the policy, perhaps asks a person, then acts. Used by `session`.

mod advice;
mod caller;
mod edit;
mod fs;
mod grep;
mod http;
mod ignored;
mod policy_check;
mod process;
mod resolver;
mod secrets;
mod substitution;
mod walk;

use std::fmt;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use jp_confine_engine::check::Context;
use jp_confine_engine::net::Net;
use jp_confine_engine::resources::Resources;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::value::{RawValue, to_raw_value};

use crate::fault::{Code, Fault};
use crate::files::ProjectFiles;
use crate::incoming::Request;
use crate::person::Person;

pub use caller::{Caller, Patient};
pub use process::Programs;
pub use secrets::{SHORTEST, is_secret_name};

use http::Http;
use policy_check::PolicyCheck;
use secrets::Secrets;

/// The default limit for a file's contents in a message: 10 MiB (spec §14.5).
pub const FILE_LIMIT: u64 = 10 << 20;

/// The default time limit of one search. It is below the 30 seconds after which a tool may cancel (spec §14.5).
pub const SEARCH_LIMIT: Duration = Duration::from_secs(20);

/// Looks up a variable in the host's environment.
pub type Variables<'a> = &'a dyn Fn(&str) -> Option<String>;

/// Serves the requests of one tool under one policy, one at a time.
pub struct Service<'a> {
    gate: PolicyCheck<'a>,
    files: &'a dyn ProjectFiles,
    resources: Resources,
    variables: Variables<'a>,
    programs: Option<Programs>,
    http: Http,
    secrets: Secrets,
    limit: u64,
    patience: Duration,
    /// Each running search holds one clone, so the count tells how many there are.
    searching: Arc<()>,
    refused: Witness<'a>,
}

/// Receives each denied request and the reason.
type Witness<'a> = &'a dyn Fn(&Request, &Fault);

impl fmt::Debug for Service<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Service").field("gate", &self.gate).finish_non_exhaustive()
    }
}

impl<'a> Service<'a> {
    /// A service of `files` under the policy of `context`. It asks `person` about requests that no rule allows or
    /// denies. Network and programs are unavailable until they are added.
    pub fn new(
        context: Context<'a>,
        files: &'a dyn ProjectFiles,
        person: &'a mut dyn Person,
    ) -> Self {
        Self {
            gate: PolicyCheck::new(&context, person),
            files,
            resources: Resources::default(),
            variables: &|_| None,
            programs: None,
            http: Http::new(Net::default()),
            secrets: Secrets::default(),
            limit: FILE_LIMIT,
            patience: SEARCH_LIMIT,
            searching: Arc::default(),
            refused: &|_, _| {},
        }
    }

    /// Adds rules about hosts, variables and programs, and the environment that the variables come from.
    #[must_use]
    pub fn with_resources(mut self, resources: Resources, variables: Variables<'a>) -> Self {
        self.http = Http::new(resources.net.clone());
        self.resources = resources;
        self.variables = variables;
        self
    }

    /// Adds a way to start programs.
    #[must_use]
    pub fn with_programs(mut self, programs: Programs) -> Self {
        self.programs = Some(programs);
        self
    }

    /// Adds a callback for each denied request. It gets the reason in the words that the tool gets.
    #[must_use]
    pub const fn with_witness(mut self, refused: &'a dyn Fn(&Request, &Fault)) -> Self {
        self.refused = refused;
        self
    }

    /// Sets the limit for the contents of files and replies, in bytes.
    #[must_use]
    pub const fn with_limit(mut self, bytes: u64) -> Self {
        self.limit = bytes;
        self
    }

    /// Sets the time limit of a search.
    #[must_use]
    pub const fn with_search_limit(mut self, limit: Duration) -> Self {
        self.patience = limit;
        self
    }

    /// The limit for the contents of files and replies, in bytes.
    #[must_use]
    pub const fn limit(&self) -> u64 {
        self.limit
    }

    /// Serves a request.
    ///
    /// # Errors
    /// The fault for the tool. The service remains usable.
    pub fn answer(
        &mut self,
        request: &Request,
        caller: &mut dyn Caller,
    ) -> Result<Box<RawValue>, Fault> {
        let answer = self.fulfil(request, caller);
        // Faults may quote text of others, such as a server's.
        answer.map_err(|fault| {
            let fault = Fault { message: self.secrets.scrub_text(fault.message), ..fault };
            if fault.code == Code::Denied {
                (self.refused)(request, &fault);
            }
            fault
        })
    }

    fn fulfil(
        &mut self,
        request: &Request,
        caller: &mut dyn Caller,
    ) -> Result<Box<RawValue>, Fault> {
        let given = Given { params: &request.params };
        self.gate.previews(&[]);
        if request.method.starts_with("fs.") {
            let moved = |error: io::Error| Fault::new(Code::Internal, error.to_string());
            self.files.stand().map_err(moved)?;
        }
        match request.method.as_str() {
            "fs.read" => raw(&self.read(&given.parse()?, caller)?),
            "fs.write" => raw(&self.write(given.parse()?, caller)?),
            "fs.edit" => raw(&self.edit(&given.parse()?, caller)?),
            "fs.exists" => raw(&self.exists(&given.parse()?, caller)?),
            "fs.list_dir" => raw(&self.list_dir(&given.parse()?, caller)?),
            "fs.metadata" => raw(&self.metadata(&given.parse()?, caller)?),
            "fs.delete" => raw(&self.delete(&given.parse()?, caller)?),
            "fs.rename" => raw(&self.rename(&given.parse()?, caller)?),
            "fs.grep" => raw(&self.grep(&given.parse()?, caller)?),
            "http.get" => raw(&self.http("GET", given.parse()?, caller)?),
            "http.post" => raw(&self.http("POST", given.parse()?, caller)?),
            "process.run" => raw(&self.run(&given.parse()?, caller)?),
            other => Err(Fault::new(Code::UnknownMethod, format!("no method `{other}`"))),
        }
    }
}

/// The parameters of a method, not parsed yet.
struct Given<'a> {
    params: &'a RawValue,
}

impl Given<'_> {
    fn parse<T: DeserializeOwned>(&self) -> Result<T, Fault> {
        let text = self.params.get();
        if !text.starts_with('{') {
            return Err(Fault::params("the parameters are an object"));
        }
        serde_json::from_str(text).map_err(|error| Fault::params(format!("parameters: {error}")))
    }
}

fn raw(value: &impl Serialize) -> Result<Box<RawValue>, Fault> {
    to_raw_value(value).map_err(|error| Fault::new(Code::Internal, error.to_string()))
}
