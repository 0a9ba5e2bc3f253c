//! Speaks the protocol: answers the client's requests, in a thread of its own.

use std::borrow::Cow;
use std::sync::mpsc::Sender;
use std::thread::{Builder, JoinHandle};

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, ErrorData, Implementation, ListResourcesResult,
    ListToolsResult, PaginatedRequestParams, ProtocolVersion, ReadResourceRequestParams,
    ReadResourceResponse, ReadResourceResult, Resource, ResourceContents, ServerCapabilities,
    ServerConfig,
};
use rmcp::service::{RequestContext, ServerInitializeError};
use rmcp::transport::stdio;
use rmcp::{RoleServer, ServerHandler, ServiceExt as _};
use tokio::runtime;
use tokio::sync::mpsc::unbounded_channel;

use super::call::{Call, Said, WayBack};
use super::{client, tools};
use crate::error::Failure;

/// What an agent is told about all the tools.
const INSTRUCTIONS: &str = "The files and programs of the workspace, under the policy of jp-confine. Paths are \
    relative to the workspace. A denial names the rule, and what the user can do to allow it. `run` starts a program as \
    `jp-confine -- PROGRAM` does. The resource jp-confine://status says what the policy grants.";

/// The server.
pub(super) struct Server {
    /// Takes calls to the service.
    calls: Sender<Call>,
    /// The resources by name, each with its type and its text.
    resources: [(&'static str, &'static str, String); 2],
}

impl Server {
    pub(super) const fn new(
        calls: Sender<Call>,
        resources: [(&'static str, &'static str, String); 2],
    ) -> Self {
        Self { calls, resources }
    }

    /// Serves standard input and output until the input ends. Then no more calls come.
    pub(super) fn start(self) -> Result<JoinHandle<Result<(), String>>, Failure> {
        let not_started = |error| Failure::own(format!("the server was not started: {error}"));
        let runtime = runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(not_started)?;
        let serve = move || {
            let outcome = runtime.block_on(self.serve_to_the_end());
            // Its thread that reads standard input may wait for more.
            runtime.shutdown_background();
            outcome
        };
        Builder::new().name("mcp".into()).spawn(serve).map_err(not_started)
    }

    async fn serve_to_the_end(self) -> Result<(), String> {
        match self.serve(stdio()).await {
            Ok(running) => running.waiting().await.map(drop).map_err(|error| error.to_string()),
            Err(ServerInitializeError::ConnectionClosed(_)) => Ok(()),
            Err(error) => Err(error.to_string()),
        }
    }
}

fn uri(name: &str) -> String {
    format!("jp-confine://{name}")
}

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        let offered = ServerCapabilities::builder().enable_tools().enable_resources().build();
        ServerConfig::new(offered)
            .with_server_info(Implementation::new("jp-confine", env!("CARGO_PKG_VERSION")))
            .with_instructions(INSTRUCTIONS)
    }

    /// The revisions in which a server can ask the client something during a call (`docs/decisions/0086`).
    fn supported_protocol_versions(&self) -> Cow<'static, [ProtocolVersion]> {
        ProtocolVersion::known_up_to(&ProtocolVersion::V_2025_11_25).into()
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(tools::ALL.iter().map(tools::Tool::described).collect()))
    }

    async fn call_tool(
        &self,
        params: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let Some(tool) = tools::ALL.iter().find(|tool| tool.name == params.name) else {
            return Err(ErrorData::invalid_params(format!("no tool `{}`", params.name), None));
        };
        let internal = |error: &str| ErrorData::internal_error(error.to_owned(), None);
        let request = tool.request(&params.arguments.unwrap_or_default());
        let request = request.map_err(|error| internal(&error.to_string()))?;
        let (said, mut heard) = unbounded_channel();
        let way = WayBack::new(context.clone(), said);
        let over = || internal("the service has ended");
        self.calls.send(Call { request, way }).map_err(|_| over())?;
        loop {
            match heard.recv().await.ok_or_else(over)? {
                Said::Answer(answer) => return Ok(tool.result(answer).into()),
                Said::Question(question, answer) => {
                    let asked = client::elicit(&context, question);
                    if let Some(given) = context.ct.run_until_cancelled(asked).await {
                        let _ = answer.send(given);
                    }
                }
            }
        }
    }

    async fn list_resources(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        let described = |(name, kind, _): &(&str, &str, String)| {
            Resource::new(uri(name), *name).with_mime_type(*kind)
        };
        Ok(ListResourcesResult::with_all_items(self.resources.iter().map(described).collect()))
    }

    async fn read_resource(
        &self,
        params: ReadResourceRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let mut resources = self.resources.iter();
        let Some((_, kind, text)) = resources.find(|(name, ..)| uri(name) == params.uri) else {
            return Err(ErrorData::resource_not_found(format!("no {}", params.uri), None));
        };
        let contents = ResourceContents::text(text, params.uri).with_mime_type(*kind);
        Ok(ReadResourceResult::new(vec![contents]).into())
    }
}
