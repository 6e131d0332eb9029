//! libFuzzer's program for the target `package`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| nestcast_fuzz::package(data));
