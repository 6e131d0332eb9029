//! A Debian package: an `ar` archive of a format version, the package's description, and its files.

use std::{
    env::consts,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use crate::{
    cargo,
    failure::{Failure, Result},
    manual,
    staging::{WORKSPACE_VERSION, epoch, files, install, install_program, packages, succeed, tar},
};

/// The places of completions, by their names here.
const COMPLETION_PLACES: [(&str, &str); 3] = [
    ("nestcast.bash", "usr/share/bash-completion/completions/nestcast"),
    ("nestcast.fish", "usr/share/fish/vendor_completions.d/nestcast.fish"),
    ("_nestcast", "usr/share/zsh/vendor-completions/_nestcast"),
];
/// The version marks of the system library's functions in a program.
const GLIBC_MARK: &[u8] = b"GLIBC_2.";

/// Packages a program with its manual; returns the package's path.
pub(crate) fn package(program: &Path, pages: &Path) -> Result<PathBuf> {
    if consts::OS != "linux" {
        return Err(Failure::say("a Debian package is built on Linux"));
    }
    let packages = packages()?;
    let tree = packages.join("debian");
    manual::clear(&tree)?;
    let data = tree.join("data");
    lay_out(&data, program, pages)?;
    let control = control(&fs::read(program).map_err(Failure::at(program))?, size(&data)?)?;
    write(&tree.join("control/control"), control.as_bytes())?;
    let mut members = vec![("debian-binary".to_owned(), b"2.0\n".to_vec())];
    for part in ["control", "data"] {
        let archive = tree.join(format!("{part}.tar.gz"));
        tar(&tree.join(part), ".", &archive)?;
        members.push((format!("{part}.tar.gz"), fs::read(&archive).map_err(Failure::at(&archive))?));
    }
    let package = packages.join(format!("nestcast_{WORKSPACE_VERSION}_{}.deb", architecture()?));
    write(&package, &ar(&members, epoch()))?;
    Ok(package)
}

/// Puts every file where the package installs it.
fn lay_out(data: &Path, program: &Path, manual: &Path) -> Result<()> {
    install_program(program, &data.join("usr/bin/nestcast"))?;
    let pages = data.join("usr/share/man/man1");
    for page in files(&manual.join("man"))? {
        install(&manual.join("man").join(&page), &pages.join(&page))?;
        compress(&pages.join(&page))?;
    }
    for (name, place) in COMPLETION_PLACES {
        install(&manual.join("completions").join(name), &data.join(place))?;
    }
    let documents = data.join("usr/share/doc/nestcast");
    install(&cargo::root().join("CHANGELOG.md"), &documents.join("changelog"))?;
    compress(&documents.join("changelog"))?;
    let mit = cargo::root().join("LICENSE-MIT");
    let mit = fs::read_to_string(&mit).map_err(Failure::at(&mit))?;
    let copyright = format!(
        "nestcast is licensed under the Apache License, Version 2.0 (/usr/share/common-licenses/Apache-2.0), or the MIT \
         License, at your choice.\n\n{mit}"
    );
    write(&documents.join("copyright"), copyright.as_bytes())
}

fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    let folder = path.parent().unwrap_or(path);
    fs::create_dir_all(folder).map_err(Failure::at(folder))?;
    fs::write(path, bytes).map_err(Failure::at(path))
}

fn compress(path: &Path) -> Result<()> {
    succeed(Command::new("gzip").args(["-9n", "--force"]).arg(path))
}

/// Returns the bytes of all files of a folder.
fn size(folder: &Path) -> Result<u64> {
    let mut bytes = 0;
    for name in files(folder)? {
        let path = folder.join(name);
        let about = path.metadata().map_err(Failure::at(&path))?;
        bytes += if about.is_dir() { size(&path)? } else { about.len() };
    }
    Ok(bytes)
}

/// Returns Debian's name of this processor.
fn architecture() -> Result<&'static str> {
    match consts::ARCH {
        "x86_64" => Ok("amd64"),
        "aarch64" => Ok("arm64"),
        "riscv64" => Ok("riscv64"),
        other => {
            Err(Failure::say(format!("xtask does not know what Debian calls {other}: add it to xtask/src/debian.rs")))
        }
    }
}

/// Returns the package's description.
fn control(program: &[u8], bytes: u64) -> Result<String> {
    Ok(format!(
        "Package: nestcast
Version: {WORKSPACE_VERSION}
Architecture: {}
Maintainer: The nestcast maintainers <nestcast@example.invalid>
Installed-Size: {}
Depends: libc6 (>= 2.{}), libgcc-s1
Suggests: ffmpeg
Section: video
Priority: optional
Description: Adaptive streaming codec and broadcaster
 nestcast encodes a picture or video once. Every prefix of the stream decodes,
 so a sender can cut each frame to the bandwidth of each receiver.
 .
 Decoding with networks needs ONNX Runtime, which this package does not contain.
",
        architecture()?,
        bytes.div_ceil(1024),
        newest_glibc(program),
    ))
}

/// Returns the second number of the newest glibc whose functions a program needs.
fn newest_glibc(program: &[u8]) -> u32 {
    let marks = program.windows(GLIBC_MARK.len()).enumerate().filter(|(_, window)| *window == GLIBC_MARK);
    let number = |(at, _): (usize, _)| {
        let digits = program[at + GLIBC_MARK.len()..].iter().take(3).take_while(|byte| byte.is_ascii_digit());
        digits.fold(0, |number, digit| number * 10 + u32::from(digit - b'0'))
    };
    marks.map(number).max().unwrap_or(0)
}

/// Makes an archive in the format of `ar`, from files with short names.
fn ar(members: &[(String, Vec<u8>)], time: u64) -> Vec<u8> {
    let mut archive = b"!<arch>\n".to_vec();
    for (name, bytes) in members {
        archive.extend(format!("{name:<16}{time:<12}{:<6}{:<6}{:<8}{:<10}`\n", 0, 0, "100644", bytes.len()).bytes());
        archive.extend(bytes);
        if bytes.len() % 2 == 1 {
            archive.push(b'\n');
        }
    }
    archive
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_of_an_archive_begin_at_even_offsets() {
        let archive = ar(&[("a".to_owned(), b"odd".to_vec()), ("b".to_owned(), b"even".to_vec())], 7);
        assert_eq!(archive.len(), 8 + 60 + 4 + 60 + 4);
        assert_eq!(&archive[8..68], b"a               7           0     0     100644  3         `\n");
        assert_eq!(&archive[68..74], b"odd\nb ");
    }

    #[test]
    fn the_newest_glibc_is_found_by_its_number() {
        assert_eq!(newest_glibc(b"\0GLIBC_2.4\0GLIBC_2.34\0GLIBC_2.2.5\0GLIBC_PRIVATE\0GLIBC_2."), 34);
        assert_eq!(newest_glibc(b"static"), 0);
    }
}
