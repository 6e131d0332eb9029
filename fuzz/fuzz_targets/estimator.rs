//! libFuzzer's program for the target `estimator`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| nestcast_fuzz::estimator(data));
