//! Faults of the machine: an output is absent, old or whole, and one line says what happened.
#![cfg(unix)]

use std::fs;
use std::io::{Read as _, Write as _};
use std::os::unix::fs::{FileTypeExt as _, PermissionsExt as _, symlink};
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::{Output, Stdio};

use crate::harness::faults::{CUT, ending_signals, is_root, send, skip};
use crate::harness::{Bench, NESTCAST, refusal};
use rustix::fs::{CWD, FileType, Mode, mknodat};
use rustix::process::{Pid, Signal, test_kill_process};

const LINEAR: [&str; 2] = ["--decoder", "linear"];

fn cut(output: &str) -> [&str; 6] {
    ["cut", "small.nst", "-o", output, "--bytes", "300"]
}

#[test]
fn a_signal_that_ends_the_process_leaves_no_unfinished_file() {
    let bench = Bench::new();
    bench.large_stream();
    bench.write("out", b"old");
    for signal in ending_signals() {
        // The process is stopped while it writes, so that the signal arrives then; a fast disk may finish first.
        let stopped = (0..100).find_map(|_| {
            let mut child = bench.start_to_write("");
            if bench.wait_for_unfinished(&mut child, 1) {
                send(&child, Signal::STOP);
                if !bench.temporary_files().is_empty() {
                    return Some(child);
                }
                send(&child, Signal::CONT);
            }
            child.wait().expect("a child");
            bench.write("out", b"old");
            None
        });
        let mut child = stopped.expect("a process is stopped while it writes");
        send(&child, signal);
        send(&child, Signal::CONT);
        let status = child.wait().expect("a child");
        assert_eq!(status.signal(), Some(signal.as_raw()), "{status}");
        assert_eq!(bench.temporary_files(), [""; 0].map(Path::new), "after {signal:?}");
        let length = bench.read("out").len();
        assert!(length == 3 || length == CUT, "{length} bytes");
        bench.write("out", b"old");
    }
}

#[test]
fn a_signal_ends_a_process_that_waits_for_its_input_and_leaves_no_unfinished_file() {
    let bench = Bench::new();
    for signal in ending_signals() {
        let mut child = bench
            .command(NESTCAST)
            .args(["encode", "-", "-o", "out.nst"])
            .stdin(Stdio::piped())
            .spawn()
            .expect("the binary starts");
        let mut input = child.stdin.take().expect("it is piped");
        let frame = [&b"YUV4MPEG2 W16 H16 F25:1\nFRAME\n"[..], &[90; 16 * 24]].concat();
        input.write_all(&frame).expect("it reads");
        assert!(bench.wait_for_unfinished(&mut child, 1), "it begins to write");
        send(&child, signal);
        let status = child.wait().expect("a child");
        assert_eq!(status.signal(), Some(signal.as_raw()), "{status}");
        assert!(bench.files().is_empty(), "after {signal:?}");
    }
}

#[test]
fn a_signal_ends_another_codecs_program_and_leaves_no_temporary_folder() {
    let bench = Bench::new();
    bench.stream("small.nst");
    fs::create_dir(bench.path("tmp")).expect("a folder");
    for signal in ending_signals() {
        let rival = "sh -c 'echo $$ > new && mv new pid && exec sleep 1000000' {in} {out} {q}";
        let mut command = bench.command(NESTCAST);
        command.args(["eval", "source.png", "--grid", "1:1:1", "--rival", rival]).args(LINEAR);
        command.env("TMPDIR", bench.path("tmp")).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let mut child = command.spawn().expect("the binary starts");
        while !bench.path("pid").exists() {
            assert!(child.try_wait().expect("a child").is_none(), "it runs the program");
        }
        let program = String::from_utf8(bench.read("pid")).expect("a number");
        fs::remove_file(bench.path("pid")).expect("it is there");
        send(&child, signal);
        let status = child.wait().expect("a child");
        assert_eq!(status.signal(), Some(signal.as_raw()), "{status}");
        let program = Pid::from_raw(program.trim().parse().expect("a number")).expect("a process");
        assert!(test_kill_process(program).is_err(), "after {signal:?}");
        assert_eq!(fs::read_dir(bench.path("tmp")).expect("a folder").count(), 0, "after {signal:?}");
    }
}

#[test]
fn a_signal_that_is_ignored_stays_so() {
    let bench = Bench::new();
    let whole = bench.large_stream();
    let signalled = (0..100).any(|_| {
        let mut child = bench.start_to_write("trap '' HUP INT TERM;");
        let writing = bench.wait_for_unfinished(&mut child, 1);
        if writing {
            for signal in [Signal::HUP, Signal::INT, Signal::TERM] {
                send(&child, signal);
            }
        }
        assert!(child.wait().expect("a child").success());
        assert!(bench.read("out") == whole);
        writing
    });
    assert!(signalled, "no process was seen while it wrote");
}

#[test]
fn a_killed_process_leaves_the_old_file_or_the_whole_new_one() {
    const KILLS: usize = 24;
    let bench = Bench::new();
    let whole = bench.large_stream();
    for kill in 0..KILLS {
        let old = (kill % 2 == 0).then_some(b"old");
        let _ = fs::remove_file(bench.path("out"));
        if let Some(old) = old {
            bench.write("out", old);
        }
        let mut child = bench.start_to_write("");
        bench.wait_for_unfinished(&mut child, CUT * kill / KILLS);
        let _ = child.kill();
        child.wait().expect("a child");
        match fs::read(bench.path("out")) {
            Ok(found) => assert!(old.is_some_and(|old| found == old) || found == whole, "{} bytes", found.len()),
            Err(_) => assert!(old.is_none(), "the old file is gone"),
        }
        for left in bench.temporary_files() {
            let name = left.file_name().expect("a name").to_string_lossy();
            assert!(name.starts_with(".nestcast-") && left.extension().is_none(), "{name}");
            fs::remove_file(&left).expect("it is there");
        }
    }
    assert!(bench.start_to_write("").wait().expect("a child").success());
    assert!(bench.read("out") == whole);
}

#[test]
fn a_file_is_on_the_disk_before_it_has_its_name() {
    let bench = Bench::new();
    bench.stream("small.nst");
    let output = bench.shell(r#"strace -f -o calls -e trace=fsync,/^rename "$0" "$@""#, &cut("out"));
    if !output.status.success() {
        return skip("the order of fsync and rename", "it takes `strace`");
    }
    let calls = String::from_utf8(bench.read("calls")).expect("text");
    let calls: Vec<&str> = calls.lines().filter(|line| line.contains("fsync") || line.contains("rename")).collect();
    let kinds: Vec<bool> = calls.iter().map(|line| line.contains("rename")).collect();
    // Sync of the file, rename, sync of its folder.
    assert_eq!(kinds, [false, true, false], "{calls:?}");
}

#[test]
fn a_file_that_would_be_too_large_is_refused() {
    let bench = Bench::new();
    bench.large_stream();
    bench.write("out", b"old");
    // Units of 512 bytes or 1 kB.
    let output = bench
        .shell(r#"ulimit -f 2000; exec "$0" "$@""#, &["cut", "large.nst", "-o", "out", "--bytes", &CUT.to_string()]);
    assert!(refusal(&[], &output).contains("out cannot be written"));
    assert_eq!(bench.read("out"), b"old");
    assert!(bench.temporary_files().is_empty());
}

#[test]
fn a_full_disk_keeps_the_old_file() {
    let bench = Bench::new();
    bench.large_stream();
    fs::create_dir(bench.path("full")).expect("a folder");
    let script = r#"mount -t tmpfs -o size=1m none full && echo old > full/out && "$0" "$@"; status=$?
        cat full/*; ls -A full; exit $status"#;
    let arguments = ["cut", "large.nst", "-o", "full/out", "--bytes", &CUT.to_string()];
    let Some(output) = bench.mounting(script, &arguments) else { return };
    let error = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{error}");
    assert!(error.contains("full/out cannot be written") && error.lines().count() == 1, "{error}");
    assert_eq!(String::from_utf8_lossy(&output.stdout), "old\nout\n");
}

#[test]
fn a_full_device_is_an_error() {
    if !Path::new("/dev/full").exists() {
        return skip("a full device", "there is no /dev/full");
    }
    let bench = Bench::new();
    bench.stream("small.nst");
    let line = refusal(&[], &bench.run(&cut("/dev/full"), &[]));
    assert!(line.contains("/dev/full cannot be written"), "{line}");
    for arguments in [&["inspect", "small.nst"][..], &["inspect", "small.nst", "--json"], &cut("-")] {
        let output = bench.shell(r#"exec "$0" "$@" > /dev/full"#, arguments);
        assert!(refusal(arguments, &output).contains("standard output cannot be written"));
    }
}

#[test]
fn a_folder_that_cannot_be_written_is_refused_before_any_work() {
    let bench = Bench::new();
    fs::create_dir(bench.path("ro")).expect("a folder");
    // The input is no stream, so a command that reads it first would complain about that.
    bench.write("bad.nst", b"no stream");
    let arguments = ["cut", "bad.nst", "-o", "ro/out", "--bytes", "300"];
    let output = if is_root() {
        bench.mounting(r#"mount --bind ro ro && mount -o remount,bind,ro ro && exec "$0" "$@""#, &arguments)
    } else {
        fs::set_permissions(bench.path("ro"), fs::Permissions::from_mode(0o555)).expect("a folder");
        Some(bench.run(&arguments, &[]))
    };
    let Some(output) = output else { return };
    assert!(refusal(&arguments, &output).contains("ro/out cannot be written"));

    bench.write("protected", b"old");
    fs::set_permissions(bench.path("protected"), fs::Permissions::from_mode(0o444)).expect("a file");
    let line = refusal(&[], &bench.run(&["cut", "bad.nst", "-o", "protected", "--bytes", "300"], &[]));
    assert!(line.contains("write-protected"), "{line}");
    assert_eq!(bench.read("protected"), b"old");
}

#[test]
fn links_are_followed_and_stay() {
    let bench = Bench::new();
    let stream = bench.stream("small.nst");
    fs::create_dir(bench.path("folder")).expect("a folder");
    for (link, target) in [("first", "second"), ("second", "folder/target"), ("third", "no-folder/target")] {
        symlink(target, bench.path(link)).expect("a link");
    }
    symlink("circle", bench.path("circle")).expect("a link");
    let linked = |name: &str| fs::read_link(bench.path(name)).is_ok();

    for _ in 0..2 {
        // The link dangles at first, then points to a file.
        bench.succeed(&cut("first"));
        assert!(linked("first") && linked("second"));
        assert_eq!(bench.read("folder/target"), &stream[..300]);
        bench.write("folder/target", b"old");
    }
    assert!(refusal(&[], &bench.run(&cut("third"), &[])).contains("no-folder does not exist"));
    assert!(refusal(&[], &bench.run(&cut("circle"), &[])).contains("circle cannot be written"));
    assert!(linked("third") && linked("circle"));
    bench.write("input.nst", &stream);
    symlink("input.nst", bench.path("again")).expect("a link");
    let line = refusal(&[], &bench.run(&["cut", "again", "-o", "input.nst", "--bytes", "300"], &[]));
    assert!(line.contains("is the input"), "{line}");
}

#[test]
fn pipes_and_devices_are_written_and_stay() {
    let bench = Bench::new();
    let stream = bench.stream("small.nst");
    let pipe = bench.path("pipe");
    mknodat(CWD, &pipe, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).expect("a pipe");
    let reader = std::thread::spawn({
        let pipe = pipe.clone();
        move || {
            let mut bytes = Vec::new();
            fs::File::open(pipe).and_then(|mut file| file.read_to_end(&mut bytes)).map(|_| bytes)
        }
    });
    bench.succeed(&cut("pipe"));
    assert_eq!(reader.join().expect("a thread").expect("readable"), &stream[..300]);
    assert!(fs::metadata(&pipe).expect("there").file_type().is_fifo());
    bench.succeed(&cut("/dev/null"));
    assert!(fs::metadata("/dev/null").expect("there").file_type().is_char_device());
    assert_eq!(bench.run(&cut("/dev/stdout"), &[]).stdout, &stream[..300]);
}

#[test]
fn a_pipe_by_name_is_measured() {
    let bench = Bench::new();
    bench.stream("small.nst");
    let script = r#"mkfifo pipe && cat source.png > pipe & while ! [ -p pipe ]; do :; done; exec "$0" "$@""#;
    let output = bench.shell(script, &[&["eval", "pipe", "--grid", "1:1:1"], &LINEAR[..]].concat());
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success() && text.starts_with("means over 1 picture,"), "{output:?}");
}

#[test]
fn a_closed_standard_output_loses_no_result() {
    let bench = Bench::new();
    let stream = bench.stream("small.nst");
    let csv = [&["eval", "source.png", "--csv", "-", "--grid", "1:1:1"], &LINEAR[..]].concat();
    for arguments in [&["inspect", "small.nst"][..], &["inspect", "small.nst", "--json"], &cut("-"), &csv] {
        let output = bench.shell(r#"exec "$0" "$@" >&-"#, arguments);
        assert!(refusal(arguments, &output).contains("standard output is closed"));
        // Discarded output is not closed.
        let output = bench.shell(r#"exec "$0" "$@" > /dev/null"#, arguments);
        assert!(output.status.success(), "{output:?}");
    }
    // The result goes to the file.
    let decode = [&["decode", "small.nst", "-o", "back.png"], &LINEAR[..]].concat();
    assert!(bench.shell(r#"exec "$0" "$@" >&- 2>&- <&-"#, &decode).status.success());
    assert!(bench.read("back.png").starts_with(b"\x89PNG"));
    // Nobody reads standard output, then nobody reads standard error.
    let (reader, writer) = std::io::pipe().expect("a pipe");
    drop(reader);
    // As other programs do, it ends without a word.
    let output = bench.command(NESTCAST).args(["inspect", "small.nst"]).stdout(writer).output().expect("it starts");
    assert_eq!((output.status.code(), output.stderr), (Some(1), Vec::new()));
    let output = bench.shell(r#"exec "$0" "$@" 2>&-"#, &["inspect", "absent.nst"]);
    assert_eq!((output.status.code(), output.stdout), (Some(1), Vec::new()));
    assert_eq!(bench.read("small.nst"), stream);
}

#[test]
fn no_home_and_no_cache_are_needed() {
    let bench = Bench::new();
    bench.write("file", b"no folder");
    let picture = crate::harness::png::rgb(64, 48);
    bench.write("source.png", &picture);
    let run = |arguments: &[&str], cache: Option<&str>| {
        let mut command = bench.command(NESTCAST);
        command.args(arguments).env_remove("HOME").env_remove("XDG_CACHE_HOME").stdin(Stdio::null());
        if let Some(cache) = cache {
            command.env("XDG_CACHE_HOME", bench.path(cache));
        }
        command.output().expect("it starts")
    };
    for cache in [None, Some("file"), Some("absent")] {
        let encoded = run(&["encode", "source.png", "-o", "home.nst", "--analysis", "linear"], cache);
        assert!(encoded.status.success(), "{encoded:?}");
        let decoded = run(&[&["decode", "home.nst", "-o", "home.png"], &LINEAR[..]].concat(), cache);
        assert!(decoded.status.success(), "{decoded:?}");
    }
    assert!(!bench.path("absent").exists());
}

/// Returns the library that tests with ONNX Runtime use, if there is one.
fn library() -> Option<Vec<u8>> {
    let named = std::env::var_os("ORT_DYLIB_PATH").and_then(|path| fs::read(path).ok());
    if named.is_none() {
        skip("ONNX Runtime's library", "ORT_DYLIB_PATH names none");
    }
    named
}

#[test]
fn a_library_that_was_cut_short_is_refused() {
    let Some(whole) = library() else { return };
    let bench = Bench::new();
    bench.stream("small.nst");
    let decode = ["decode", "small.nst", "-o", "out.png", "--decoder", "deep"];
    for length in [0, 100, whole.len() / 2, whole.len() - 1] {
        bench.write("library", &whole[..length]);
        let mut command = bench.command(NESTCAST);
        let output = command.args(decode).env("ORT_DYLIB_PATH", bench.path("library")).output().expect("it starts");
        let line = refusal(&decode, &output);
        assert!(line.contains("cut short") && line.contains("`--decoder linear`"), "{length} bytes: {line}");
        assert!(!bench.path("out.png").exists());
    }
}

#[test]
fn a_damaged_library_in_the_cache_is_refused_and_a_sound_one_is_hashed_once() {
    let Some(mut whole) = library() else { return };
    let bench = Bench::new();
    bench.stream("small.nst");
    let folder = bench.path("cache/nestcast/onnxruntime/1.24.4");
    fs::create_dir_all(&folder).expect("a folder");
    let name = format!("{}onnxruntime{}", std::env::consts::DLL_PREFIX, std::env::consts::DLL_SUFFIX);
    // As installed: no library is near the program.
    let program = bench.install("nestcast");
    let decode = || -> Output {
        let mut command = bench.command(&program);
        command.args(["decode", "small.nst", "-o", "deep.png", "--decoder", "deep"]).env_remove("ORT_DYLIB_PATH");
        command.env("XDG_CACHE_HOME", bench.path("cache")).output().expect("it starts")
    };
    let middle = whole.len() / 2;
    whole[middle] ^= 1;
    fs::write(folder.join(&name), &whole).expect("a file");
    assert!(refusal(&[], &decode()).contains("it is damaged"));
    whole[middle] ^= 1;
    fs::write(folder.join(&name), &whole).expect("a file");
    let output = decode();
    if String::from_utf8_lossy(&output.stderr).contains("it is damaged") {
        return skip("the pinned library", "ORT_DYLIB_PATH names another one");
    }
    assert!(output.status.success(), "{output:?}");
    let stamp = folder.join(format!("{name}.checked"));
    let time = |path: &Path| fs::metadata(path).and_then(|data| data.modified()).expect("a time");
    let checked = time(&stamp);
    assert!(decode().status.success());
    assert_eq!(time(&stamp), checked, "nothing is hashed again");
    fs::write(folder.join(&name), &whole[..middle]).expect("a file");
    assert!(refusal(&[], &decode()).contains("cut short"));
}
