//! Computes from its code how much stack the preload library needs. No call of a program may run out of the smallest
//! stack that a thread may have, even in rare cases.

#![cfg(target_arch = "x86_64")]

use std::collections::{BTreeMap, BTreeSet};

use crate::shim_binary::inspect;

/// glibc leaves 11,900 bytes of the 16 KiB of `PTHREAD_STACK_MIN` to a thread's first function. The stack that libc
/// itself needs for the call is not counted, because it is used after the judging.
const LIMIT: u64 = 11_776;

/// A function: the size of its frame, and the functions that it calls.
#[derive(Default)]
struct Function {
    frame: u64,
    calls: Vec<u64>,
    /// Functions that it jumps to once its frame is gone.
    jumps: Vec<u64>,
}

/// Start addresses of functions. `readelf --debug-dump=frames` prints those with unwind tables, and what lies behind
/// them. Naked functions have names in the code.
fn starts(frames: &str, code: &str) -> BTreeSet<u64> {
    let range = |line: &str| {
        let (from, to) = line.split_once(" pc=")?.1.split_once("..")?;
        Some([address(from)?, address(to)?])
    };
    let named = |line: &str| line.strip_suffix(">:")?.split_once(" <").and_then(|it| address(it.0));
    let ranges = frames.lines().filter_map(range).flatten();
    ranges.chain(code.lines().filter_map(named)).collect()
}

fn address(text: &str) -> Option<u64> {
    u64::from_str_radix(text.trim(), 16).ok()
}

/// The functions of a library, by start address.
fn functions(starts: &BTreeSet<u64>, code: &str) -> BTreeMap<u64, Function> {
    let mut functions: BTreeMap<u64, Function> = BTreeMap::new();
    for line in code.lines() {
        let Some((place, instruction)) = line.split_once(":\t") else { continue };
        let Some(place) = address(place) else { continue };
        let Some(&start) = starts.range(..=place).next_back() else { continue };
        let function = functions.entry(start).or_default();
        let (operation, operands) = instruction.split_once(' ').unwrap_or((instruction, ""));
        let operands = operands.trim();
        let target = operands.split_whitespace().next().and_then(address);
        match (operation, target) {
            ("push", _) => function.frame += 8,
            ("sub", _) => {
                let size = operands.strip_prefix("$0x").and_then(|it| it.strip_suffix(",%rsp"));
                function.frame += size.and_then(address).unwrap_or(0);
            }
            ("call", Some(target)) => function.calls.push(target),
            (jump, Some(target)) if jump.starts_with('j') && target != start => {
                function.jumps.push(target);
            }
            _ => {}
        }
    }
    functions
}

/// The greatest depth of the stack from each function. A cycle counts once.
fn depth(functions: &BTreeMap<u64, Function>, at: u64, known: &mut BTreeMap<u64, u64>) -> u64 {
    if let Some(&depth) = known.get(&at) {
        return depth;
    }
    let Some(function) = functions.get(&at) else { return 0 };
    known.insert(at, 0);
    let mut deepest = function.frame;
    for &call in &function.calls {
        deepest = deepest.max(function.frame + 8 + depth(functions, call, known));
    }
    for &jump in &function.jumps {
        deepest = deepest.max(depth(functions, jump, known));
    }
    known.insert(at, deepest);
    deepest
}

#[test]
fn the_smallest_stack_suffices() {
    let (Some(frames), Some(code)) =
        (inspect("readelf", "-W --debug-dump=frames"), inspect("objdump", "-d --no-show-raw-insn"))
    else {
        return;
    };
    let functions = functions(&starts(&frames, &code), &code);
    let mut known = BTreeMap::new();
    let depths = functions.keys().map(|&at| (depth(&functions, at, &mut known), at));
    let (deepest, at) = depths.max().expect("functions");
    assert!(functions.len() > 300 && deepest > 8192, "{} functions, {deepest}", functions.len());
    assert!(deepest <= LIMIT, "what begins at {at:#x} needs {deepest} bytes");
}
