//! Runs the target `image` in libFuzzer.

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| jp_confine_fuzz::image::judge(input));
