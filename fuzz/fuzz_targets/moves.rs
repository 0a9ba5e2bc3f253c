//! Runs the target `moves` in libFuzzer.

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| jp_confine_fuzz::moves::judge(input));
