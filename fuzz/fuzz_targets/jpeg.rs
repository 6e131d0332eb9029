//! libFuzzer's program for the target `jpeg`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| nestcast_fuzz::jpeg(data));
