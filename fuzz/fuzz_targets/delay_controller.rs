//! libFuzzer's program for the target `delay_controller`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| nestcast_fuzz::delay_controller(data));
