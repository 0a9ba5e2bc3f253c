//! Implements `doctor`: prints the features of this machine, and for each missing one the loss and the remedy.

mod views;

use std::ffi::OsStr;
use std::fmt::Write as _;
use std::path::Path;

use rustix::io::Errno;
use serde::Serialize;

use crate::error::Failure;
use crate::host::context::Context;
use crate::host::machine::{self, Feature, LANDLOCK_GREW, Machine, Need};
use crate::output;
use crate::plan::filter;
use crate::sys::filter::{ListenerWanted, trial};

/// One finding.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Finding {
    feature: &'static str,
    there: bool,
    detail: String,
    lost: Vec<&'static str>,
    remedy: Option<&'static str>,
}

/// The data that `--json` prints.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Diagnosis {
    findings: Vec<Finding>,
    cooperative: bool,
    layered: bool,
    strict: bool,
}

/// Prints what is missing, and all findings. The exit status is 0 whatever is missing.
pub(crate) fn doctor(context: &Context, json: bool) -> Result<u8, Failure> {
    let diagnosis = diagnose(context);
    output::result(json, &diagnosis, words)?;
    Ok(0)
}

fn diagnose(context: &Context) -> Diagnosis {
    let known = context.machine();
    let refusal = if known.listener { listener_refused() } else { None };
    let machine = if refusal.is_some() { known.without_listener() } else { known };
    let mut findings: Vec<Finding> =
        Feature::ALL.into_iter().map(|feature| finding(feature, machine, refusal)).collect();
    let needs = Need::ALL.map(need);
    let cooperative = needs.iter().all(|need| need.there);
    findings.extend(needs);
    findings.push(views::finding(machine));
    let outer = outer_run(context);
    findings.push(namespaces(outer.is_some()));
    findings.push(surroundings("container", container()));
    findings.push(surroundings("outer_run", outer));
    let complete = cooperative && machine.missing().next().is_none();
    Diagnosis { cooperative, layered: complete, strict: complete, findings }
}

/// A feature that every run needs, found out by trying it.
fn need(need: Need) -> Finding {
    let refusal = need.attempt().err();
    let there = refusal.is_none();
    let detail = refusal.map_or_else(String::new, |error| format!("refused: {error}"));
    let (lost, remedy) =
        if there { (Vec::new(), None) } else { (vec![need.loss()], Some(need.remedy())) };
    Finding { feature: need.name(), there, detail, lost, remedy }
}

fn finding(feature: Feature, machine: Machine, refusal: Option<Errno>) -> Finding {
    let there = machine.has(feature);
    let detail = match (feature, there) {
        (Feature::Landlock, true) => format!("version {}", machine.landlock),
        (Feature::Listener, false) => match refusal {
            Some(Errno::BUSY) => "a run or container around this one has it".to_owned(),
            Some(error) => format!("refused: {error}"),
            None => String::new(),
        },
        (Feature::Ptrace, _) => {
            machine::yama().map_or_else(String::new, |scope| format!("yama {scope}"))
        }
        _ => String::new(),
    };
    let mut lost = Vec::new();
    if !there {
        lost.push(feature.loss());
    }
    if feature == Feature::Proc && !machine.own_descriptors {
        lost.push(machine::LOST_BY_HOLDING);
    }
    if feature == Feature::Landlock {
        let later = LANDLOCK_GREW.iter().filter(|(version, _)| *version > machine.landlock);
        // Without Landlock, all but the last of these are part of the loss named above.
        let gone = if there { 0 } else { LANDLOCK_GREW.len() - 1 };
        lost.extend(later.skip(gone).map(|(_, loss)| loss));
    }
    let remedy = match (there, lost.is_empty()) {
        (_, true) => None,
        (true, false) => Some("a newer Linux: 6.12 has everything that is used"),
        (false, false) => Some(feature.remedy()),
    };
    Finding { feature: feature.name(), there, detail, lost, remedy }
}

/// The error for a listener, found out by a child that tries to create one.
fn listener_refused() -> Option<Errno> {
    match trial(&filter::nothing(), ListenerWanted::Wanted, None) {
        Ok(0) => None,
        Ok(errno) => Some(Errno::from_raw_os_error(errno)),
        Err(error) => Some(Errno::from_io_error(&error).unwrap_or(Errno::INVAL)),
    }
}

/// User namespaces, which other tools need, but not jp-confine. Not tried inside a run: the library denies creating
/// them, and the denial would go on that run's record.
fn namespaces(inside: bool) -> Finding {
    let unshare = (libc::SYS_unshare, libc::CLONE_NEWUSER);
    let tried = || trial(&filter::nothing(), ListenerWanted::None, Some(unshare));
    let there = !inside && matches!(tried(), Ok(0));
    let detail = "not needed; inside a run no namespace can mount anything".to_owned();
    Finding { feature: "userns", there, detail, lost: Vec::new(), remedy: None }
}

fn surroundings(feature: &'static str, found: Option<String>) -> Finding {
    let there = found.is_some();
    Finding { feature, there, detail: found.unwrap_or_default(), lost: Vec::new(), remedy: None }
}

/// Signs that container runtimes leave.
fn container() -> Option<String> {
    let marks = [("/.dockerenv", "docker"), ("/run/.containerenv", "podman")];
    let marked = marks.into_iter().find(|(mark, _)| Path::new(mark).exists());
    let told = || {
        let groups = std::fs::read_to_string("/proc/1/cgroup").ok()?;
        let names = ["docker", "kubepods", "lxc", "libpod"];
        names.into_iter().find(|name| groups.contains(name))
    };
    marked.map(|(_, name)| name).or_else(told).map(str::to_owned)
}

fn outer_run(context: &Context) -> Option<String> {
    context.variable(OsStr::new("JP_CONFINE"))?;
    Some("what is run here is held to both policies".to_owned())
}

fn words(diagnosis: &Diagnosis) -> String {
    let incomplete = diagnosis.findings.iter().filter(|finding| !finding.lost.is_empty());
    let incomplete: Vec<&str> = incomplete.map(|finding| finding.feature).collect();
    let mut text = match (diagnosis.layered, incomplete.as_slice()) {
        (true, []) => "All layers work.\n".to_owned(),
        (true, some) => format!("All layers work, with less of: {}.\n", some.join(", ")),
        (false, some) => format!("Missing: {}.\n", some.join(", ")),
    };
    for finding in &diagnosis.findings {
        let there = if finding.there { "yes" } else { "no" };
        let comma = if finding.detail.is_empty() { "" } else { ", " };
        let _ = writeln!(text, "  {:<11} {there}{comma}{}", finding.feature, finding.detail);
        for lost in &finding.lost {
            let _ = writeln!(text, "    lost: {lost}");
        }
        if let Some(remedy) = finding.remedy {
            let _ = writeln!(text, "    remedy: {remedy}");
        }
    }
    let cooperative = if diagnosis.cooperative { "possible" } else { "refused" };
    let layered = match (diagnosis.cooperative, diagnosis.layered) {
        (false, _) => "refused",
        (true, false) => "weaker, as said above",
        (true, true) => "complete",
    };
    let strict = if diagnosis.strict { "possible" } else { "refused" };
    let _ = writeln!(
        text,
        "--enforce\n  cooperative  {cooperative}\n  layered      {layered}\n  strict       {strict}"
    );
    text
}
