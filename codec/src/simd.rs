//! Loops that are compiled twice: as the build says, and for AVX2, which runs where the processor has it. The compiler
//! makes the vector instructions; no number depends on which of the two runs (`cargo xtask bitexact`).
//!
//! A build with `--cfg disable_dispatch_avx2` in `RUSTFLAGS` contains only the first.

/// Calls a function that is marked `#[inline(always)]` in both compilations. The functions that it calls without that
/// mark are compiled as the build says.
macro_rules! widest {
    ($call:expr) => {
        $crate::simd::run(
            #[inline(always)]
            || $call,
        )
    };
}
pub(crate) use widest;

/// The expansion of [`widest!`].
#[cfg(all(target_arch = "x86_64", not(disable_dispatch_avx2)))]
#[inline(always)]
pub(crate) fn run<R>(work: impl FnOnce() -> R) -> R {
    match fearless_simd::Level::new().as_avx2() {
        Some(avx2) => fearless_simd::Simd::vectorize(avx2, work),
        None => apart(work),
    }
}

/// The expansion of [`widest!`].
#[cfg(not(all(target_arch = "x86_64", not(disable_dispatch_avx2))))]
#[inline(always)]
pub(crate) fn run<R>(work: impl FnOnce() -> R) -> R {
    apart(work)
}

/// Keeps `work` in a function of its own: the compiler vectorises loops where a function does little else.
#[inline(never)]
fn apart<R>(work: impl FnOnce() -> R) -> R {
    work()
}

/// Calls a function that is marked `#[inline(always)]` as [`widest!`] does, with the instructions that it may use as
/// its value of this name: [`fearless_simd::Avx2`] or [`Portable`].
macro_rules! with_instructions {
    (|$instructions:ident| $call:expr) => {{
        #[cfg(all(target_arch = "x86_64", not(disable_dispatch_avx2)))]
        let result = match fearless_simd::Level::new().as_avx2() {
            Some($instructions) => fearless_simd::Simd::vectorize(
                $instructions,
                #[inline(always)]
                || $call,
            ),
            None => {
                let $instructions = $crate::simd::Portable;
                $call
            }
        };
        #[cfg(not(all(target_arch = "x86_64", not(disable_dispatch_avx2))))]
        let result = {
            let $instructions = $crate::simd::Portable;
            $call
        };
        result
    }};
}
pub(crate) use with_instructions;

/// The instructions of the build, without further ones.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Portable;
