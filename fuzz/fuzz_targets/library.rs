//! Runs the target `library` in libFuzzer.

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| {
    let product =
        std::env::var_os("JP_CONFINE_PRODUCT").expect("JP_CONFINE_PRODUCT names the product");
    jp_confine_fuzz::library::judge(product.as_ref(), input);
});
