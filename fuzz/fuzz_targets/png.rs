//! libFuzzer's program for the target `png`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| nestcast_fuzz::png(data));
