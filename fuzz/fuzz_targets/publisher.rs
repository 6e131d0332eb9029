//! libFuzzer's program for the target `publisher`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| nestcast_fuzz::publisher(data));
