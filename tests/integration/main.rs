//! Real programs and attack programs, run by the built `jp-confine`.
//!
//! `JP_CONFINE_TEST_BARE=1` runs what should be confined without confinement: every test of the
//! modules `attacks_*`, `policy_*`, `programs_*` and `runs_*` must then fail (`make control`).

mod attack;
mod layers;
mod layers_callers;
mod layers_document;
mod run;
mod scratch;
mod terminal;

mod answers;
mod attacks_busybox;
mod attacks_entry;
mod attacks_faults;
mod attacks_go;
mod attacks_image;
mod attacks_inside;
mod attacks_instruction;
mod attacks_library;
mod attacks_limits;
mod attacks_machines;
mod attacks_metadata;
mod attacks_open;
mod attacks_path;
mod attacks_process;
mod attacks_programs;
mod attacks_race;
mod attacks_state;
mod attacks_staying;
mod cli_advice;
mod cli_authorize;
mod cli_beyond;
mod cli_init;
mod cli_learn;
mod cli_manual;
mod cli_mounts;
mod cli_policy;
mod cli_prompts;
mod cli_report;
mod cli_status;
mod cli_vfs;
mod inventory;
mod layers_stress;
mod layers_stress_roles;
mod policy_capabilities;
mod policy_commands;
mod policy_environment;
mod policy_externals;
mod policy_nested;
mod policy_rules;
mod policy_tiers;
mod policy_truth;
mod policy_vfs;
mod programs_c;
mod programs_git;
mod programs_python;
mod programs_rust;
mod programs_shell;
mod programs_terminal;
mod runs_names;
mod runs_net;
mod runs_wide;
mod shim_binary;
mod truth_document;
mod truth_rows;
