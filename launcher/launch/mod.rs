//! Starts a program from a plan, and accompanies it to its end.

pub(crate) mod executable_check;
pub(crate) mod front;
pub(crate) mod host_process;
pub(crate) mod job_control;
pub(crate) mod leftovers;
pub(crate) mod outcome;
pub(crate) mod outer_run;
pub(crate) mod preload_library;
pub(crate) mod run_resources;
pub(crate) mod spawn;
pub(crate) mod start;
pub(crate) mod supervise;
pub(crate) mod terminal_modes;
