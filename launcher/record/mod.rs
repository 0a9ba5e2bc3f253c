//! Records the denials and uses of a run, and reads them back.

pub(crate) mod command_line;
pub(crate) mod denial;
pub(crate) mod denials;
pub(crate) mod effort;
pub(crate) mod errno;
pub(crate) mod event;
pub(crate) mod generated_names;
pub(crate) mod lost_records;
pub(crate) mod service_refusals;
pub(crate) mod usage;
