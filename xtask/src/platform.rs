//! The pinned ONNX Runtime: for each platform its wheel on the Python package index, and the library inside.

use std::env::consts;

/// `models/src/runtime.rs` looks for the same version.
///
/// Later releases (1.29 to 1.31) write a telemetry database into the user's home; 1.24.4 does not, and gives
/// the same outputs bit for bit.
pub(crate) const RUNTIME_VERSION: &str = "1.24.4";

/// The environment variable that names the library's file and overrides the pinned one.
pub(crate) const RUNTIME_VARIABLE: &str = "ORT_DYLIB_PATH";

/// One platform's wheel. Those for CPython 3.11 are used everywhere, because the library does not depend on Python.
#[derive(Debug)]
pub(crate) struct Platform {
    os: &'static str,
    arch: &'static str,
    /// The platform tag by which pip finds the wheel.
    pub(crate) pip_tag: &'static str,
    pub(crate) wheel_sha256: &'static str,
    /// The size of the wheel in megabytes, for the message during the download.
    pub(crate) wheel_megabytes: u32,
    /// The library's path in the wheel.
    pub(crate) member: &'static str,
    pub(crate) library_sha256: &'static str,
}

const RUNTIME_PLATFORMS: [Platform; 4] = [
    Platform {
        os: "linux",
        arch: "x86_64",
        pip_tag: "manylinux_2_28_x86_64",
        wheel_sha256: "e54ad52e61d2d4618dcff8fa1480ac66b24ee2eab73331322db1049f11ccf330",
        wheel_megabytes: 17,
        member: "onnxruntime/capi/libonnxruntime.so.1.24.4",
        library_sha256: "2d518e11c7767f9fdc4413bdbeb45acf30db504ff76a82fc19d9238a3f9f6c24",
    },
    Platform {
        os: "linux",
        arch: "aarch64",
        pip_tag: "manylinux_2_28_aarch64",
        wheel_sha256: "046ff290045a387676941a02a8ae5c3ebec6b4f551ae228711968c4a69d8f6b7",
        wheel_megabytes: 15,
        member: "onnxruntime/capi/libonnxruntime.so.1.24.4",
        library_sha256: "f373ae5fd4d878ed17ebea26e5480bd3d0a15e3bd6bc94b878e6c1b73998d22a",
    },
    Platform {
        os: "macos",
        arch: "aarch64",
        pip_tag: "macosx_14_0_arm64",
        wheel_sha256: "0bdfce8e9a6497cec584aab407b71bf697dac5e1b7b7974adc50bf7533bdb3a2",
        wheel_megabytes: 17,
        member: "onnxruntime/capi/libonnxruntime.1.24.4.dylib",
        library_sha256: "f7a4418c1fbbb12705f26991c52cd9e4a90c54d4802c487d0facb20897790fe9",
    },
    Platform {
        os: "windows",
        arch: "x86_64",
        pip_tag: "win_amd64",
        wheel_sha256: "b43b63eb24a2bc8fc77a09be67587a570967a412cccb837b6245ccb546691153",
        wheel_megabytes: 13,
        member: "onnxruntime/capi/onnxruntime.dll",
        library_sha256: "ef720fc44a4ea48626bfe1ebd29642de20222d7f104a509ea305d9f3cb3b7850",
    },
];

impl Platform {
    /// Returns this machine's platform, if there is a wheel for it.
    pub(crate) fn host() -> Option<&'static Self> {
        // The wheels for Linux need glibc, and a program built for musl cannot load them.
        if cfg!(target_env = "musl") { None } else { Self::named(consts::OS, consts::ARCH) }
    }

    fn named(os: &str, arch: &str) -> Option<&'static Self> {
        RUNTIME_PLATFORMS.iter().find(|platform| platform.os == os && platform.arch == arch)
    }

    /// Returns the folder's name in the cache: `linux-x86_64`.
    pub(crate) fn name(&self) -> String {
        format!("{}-{}", self.os, self.arch)
    }

    /// Returns the requirements file with which pip accepts only this wheel.
    pub(crate) fn requirement(&self) -> String {
        format!("onnxruntime=={RUNTIME_VERSION} --hash=sha256:{}\n", self.wheel_sha256)
    }
}

/// Returns the name of the library's file: `libonnxruntime.so`.
pub(crate) fn library_name() -> String {
    format!("{}onnxruntime{}", consts::DLL_PREFIX, consts::DLL_SUFFIX)
}

/// Returns the hashes of all platforms.
#[cfg(test)]
pub(crate) fn library_hashes() -> impl Iterator<Item = &'static str> {
    RUNTIME_PLATFORMS.iter().map(|platform| platform.library_sha256)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_platform_has_its_own_wheel_and_library() {
        for (index, platform) in RUNTIME_PLATFORMS.iter().enumerate() {
            for hash in [platform.wheel_sha256, platform.library_sha256] {
                assert_eq!(hash.len(), 64, "{hash}");
                assert!(hash.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f')), "{hash}");
            }
            for other in &RUNTIME_PLATFORMS[..index] {
                assert_ne!(platform.name(), other.name());
                assert_ne!(platform.pip_tag, other.pip_tag);
                assert_ne!(platform.wheel_sha256, other.wheel_sha256);
                assert_ne!(platform.library_sha256, other.library_sha256);
            }
        }
    }

    #[test]
    fn tag_and_library_suit_the_platform() {
        for platform in &RUNTIME_PLATFORMS {
            let (tag, member) = match platform.os {
                "linux" => ("manylinux", format!("libonnxruntime.so.{RUNTIME_VERSION}")),
                "macos" => ("macosx", format!("libonnxruntime.{RUNTIME_VERSION}.dylib")),
                _ => ("win", "onnxruntime.dll".to_owned()),
            };
            assert!(platform.pip_tag.starts_with(tag), "{platform:?}");
            assert!(platform.member.ends_with(&member), "{platform:?}");
        }
    }

    #[test]
    fn platforms_without_a_wheel_are_unknown() {
        assert!(Platform::named("linux", "x86_64").is_some());
        assert!(Platform::named("macos", "x86_64").is_none());
        assert!(Platform::named("windows", "aarch64").is_none());
        assert!(Platform::named("freebsd", "x86_64").is_none());
    }

    #[test]
    fn the_requirement_pins_version_and_hash() {
        let platform = Platform::named("windows", "x86_64").expect("in the table");
        assert_eq!(
            platform.requirement(),
            "onnxruntime==1.24.4 --hash=sha256:b43b63eb24a2bc8fc77a09be67587a570967a412cccb837b6245ccb546691153\n"
        );
    }
}
