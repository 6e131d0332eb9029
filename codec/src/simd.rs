//! Loops that are compiled twice, as the build says and for AVX2, which is taken where the processor has it. The compiler
//! makes the vector instructions; no number depends on which of the two runs (`cargo xtask bitexact`).
//!
//! Built with `--cfg disable_dispatch_avx2` in `RUSTFLAGS`, only the first is there.

/// Calls a function that is marked `#[inline(always)]`, so compiled. What that calls without being marked so is compiled as
/// the build says.
macro_rules! widest {
    ($call:expr) => {
        $crate::simd::run(
            #[inline(always)]
            || $call,
        )
    };
}
pub(crate) use widest;

/// What [`widest!`] makes of a call.
#[cfg(all(target_arch = "x86_64", not(disable_dispatch_avx2)))]
#[inline(always)]
pub(crate) fn run<R>(work: impl FnOnce() -> R) -> R {
    match fearless_simd::Level::new().as_avx2() {
        Some(avx2) => fearless_simd::Simd::vectorize(avx2, work),
        None => apart(work),
    }
}

/// What [`widest!`] makes of a call.
#[cfg(not(all(target_arch = "x86_64", not(disable_dispatch_avx2))))]
#[inline(always)]
pub(crate) fn run<R>(work: impl FnOnce() -> R) -> R {
    apart(work)
}

/// Loops become vector instructions where a function does little else.
#[inline(never)]
fn apart<R>(work: impl FnOnce() -> R) -> R {
    work()
}
