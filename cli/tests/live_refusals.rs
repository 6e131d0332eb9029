//! What `nestcast send` and `nestcast receive` refuse before anybody connects.

use crate::harness::live::{certify, clip};
use crate::harness::{Bench, png, refusal};

#[test]
fn sources_that_cannot_be_sent_are_refused() {
    let bench = Bench::new();
    bench.write("broken.y4m", &clip(3)[..1500]);
    bench.write("narrow.y4m", b"YUV4MPEG2 W32 H24 F30:1 C411\n");
    bench.write("large.y4m", b"YUV4MPEG2 W16000 H16000 F30:1 C420\n");
    for (source, part) in [
        ("none.y4m", "none.y4m"),
        ("broken.y4m", "breaks off inside frame 1"),
        ("narrow.y4m", "411"),
        ("large.y4m", "raise --max-pixels"),
    ] {
        let arguments = ["send", source, "--listen", "127.0.0.1:0", "--json"];
        let output = bench.run(&arguments, &[]);
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.code() == Some(1) && error.contains(part) && error.lines().count() == 1, "{error}");
    }
    bench.write("one.png", &png::rgb(64, 48));
    bench.write("clip.y4m", &clip(3));
    for (arguments, part) in [
        (["send", "one.png", "--effort", "fast"], "--renditions, --effort, --matrix and --rewind are for videos"),
        (["send", "one.png", "--rewind", "1h"], "--renditions, --effort, --matrix and --rewind are for videos"),
        (["send", "one.png", "--renditions", "2"], "--renditions, --effort, --matrix and --rewind are for videos"),
        (["send", "clip.y4m", "--model", "photo"], "leave --model out"),
        (["send", "clip.y4m", "--rate", "5"], "leave it out"),
    ] {
        let line = refusal(&arguments, &bench.run(&arguments, &[]));
        assert!(line.contains(part), "{line}");
    }
    let arguments = ["send", "one.png", "--repeat"];
    assert!(refusal(&arguments, &bench.run(&arguments, &[])).contains("--repeat is for videos and folders"));
    let arguments = ["send", "-", "--listen", "127.0.0.1:0"];
    assert!(refusal(&arguments, &bench.run(&arguments, &[])).contains("empty"));
    for (option, part) in
        [(&["--repeat"][..], "nestcast cannot start standard input again"), (&["--rate", "5"], "leave it out")]
    {
        let arguments = [&arguments[..], option].concat();
        assert!(refusal(&arguments, &bench.run(&arguments, &clip(1))).contains(part), "{option:?}");
    }
}

#[test]
fn options_of_a_session_that_cannot_be_used_are_named_with_what_to_do() {
    let bench = Bench::new();
    bench.write("one.png", &png::rgb(64, 48));
    bench.write("words", b"neither a certificate nor a key");
    bench.write("cut.pem", b"-----BEGIN CERTIFICATE-----\nMIIB\n");
    bench.write("long", &[b'a'; 1025]);
    for (file, label) in [("pkcs8.key", "ENCRYPTED PRIVATE KEY"), ("old.key", "RSA PRIVATE KEY")] {
        let head = if file == "old.key" { "Proc-Type: 4,ENCRYPTED\nDEK-Info: AES-256-CBC,00\n\n" } else { "" };
        bench.write(file, format!("-----BEGIN {label}-----\n{head}MIIB\n-----END {label}-----\n").as_bytes());
    }
    certify(&bench, "one.pem", "one.key");
    certify(&bench, "other.pem", "other.key");
    let receive = ["receive", "127.0.0.1:9", "-o", "x", "--retry", "0", "--ca"];
    for (arguments, part) in [
        (
            &["send", "one.png", "--cert", "none", "--key", "none"][..],
            "so name a PEM file with the certificate: No such file",
        ),
        (&["send", "one.png", "--cert", "words", "--key", "none"], "no certificate is in it: name a PEM file"),
        (&["send", "one.png", "--cert", "cut.pem", "--key", "none"], ": write or get it again"),
        (
            &["send", "one.png", "--listen", "127.0.0.1:0", "--cert", "one.pem", "--key", "other.key"],
            "the certificate and the private key do not belong together: name with --key the private key",
        ),
        (
            &["send", "one.png", "--cert", "one.pem", "--key", "pkcs8.key"],
            "its private key is encrypted: write it without",
        ),
        (
            &["send", "one.png", "--cert", "one.pem", "--key", "old.key"],
            "its private key is encrypted: write it without",
        ),
        (&["send", "one.png", "--token-file", "long"], ": write a shorter one"),
        (&[&receive[..], &["none"]].concat(), "so name a PEM file with certificates: No such file"),
        (&[&receive[..], &["words"]].concat(), "no certificate is in it: name a PEM file"),
        (&[&receive[..], &["cut.pem"]].concat(), ": get it again"),
    ] {
        let line = refusal(arguments, &bench.run(arguments, &[]));
        assert!(line.contains(part), "{line}");
    }
    for (option, value, part) in [
        ("--listen", "127.0.0.1", "give an IP address and a port"),
        ("--listen", "127.0.0.1:70000", "give an IP address and a port"),
        ("--max-receivers", "0", "give a whole number, 1 or more"),
        ("--max-receivers-per-address", "-1", "give a whole number, 1 or more"),
    ] {
        let output = bench.run(&["send", "one.png", &format!("{option}={value}")], &[]);
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.code() == Some(2) && error.contains(part), "{error}");
    }
}

#[test]
fn a_certificate_that_is_an_authoritys_own_is_named() {
    use rcgen::{BasicConstraints, CertificateParams, IsCa, KeyPair};
    let bench = Bench::new();
    bench.write("one.png", &png::rgb(64, 48));
    let key = KeyPair::generate().expect("random numbers");
    let mut authority = CertificateParams::new(["localhost".to_owned()]).expect("a name");
    authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    bench.write("ca.pem", authority.self_signed(&key).expect("a certificate").pem().as_bytes());
    bench.write("ca.key", key.serialize_pem().as_bytes());
    let sender = crate::harness::live::Sender::start(&bench, &["one.png", "--cert", "ca.pem", "--key", "ca.key"]);
    let (_, port) = sender.address.rsplit_once(':').expect("a port");
    let arguments =
        ["receive", &format!("localhost:{port}"), "--ca", "ca.pem", "-o", "x", "--decoder", "linear", "--retry", "0"];
    let line = refusal(&arguments, &bench.run(&arguments, &[]));
    assert!(line.contains("its certificate is an authority's own: the sender needs one that it certifies"), "{line}");
}

#[test]
fn a_folder_of_pictures_of_several_sizes_is_refused_before_anybody_comes() {
    let bench = Bench::new();
    std::fs::create_dir(bench.path("slides")).expect("a folder");
    for (name, width, height) in [("a", 64, 48), ("b", 64, 48), ("c", 48, 64), ("d", 32, 24)] {
        bench.write(&format!("slides/{name}.png"), &png::rgb(width, height));
    }
    let arguments = ["send", "slides", "--listen", "127.0.0.1:0", "--json"];
    let line = refusal(&arguments, &bench.run(&arguments, &[]));
    assert!(
        line.contains("c.png is 48x64") && line.contains("a.png is 64x48") && line.contains("scale them"),
        "{line}"
    );
}

#[test]
fn a_video_without_frames_is_refused() {
    let bench = Bench::new();
    bench.write("empty.y4m", &clip(0));
    let arguments = ["send", "empty.y4m", "--listen", "127.0.0.1:0"];
    let output = bench.run(&arguments, &[]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.code() == Some(1) && said.contains("empty.y4m: it has no frames"), "{said}");
}

#[test]
fn a_receiver_says_what_is_wrong_before_it_connects() {
    let bench = Bench::new();
    std::fs::create_dir(bench.path("full")).expect("a folder");
    bench.write("full/precious.png", b"precious");
    let digits = "00".repeat(32);
    for (arguments, part) in [
        (&["127.0.0.1:9", "--fingerprint", &digits, "-o", "full"][..], "is not empty"),
        (&["127.0.0.1:9", "--fingerprint", &digits, "-o", "x", "--token-file", "none"], "none"),
        (&["127.0.0.1:9", "--fingerprint", &digits, "-o", "x.y4m", "--sound", "x.mp3"], "a name that ends in .wav"),
        (&["127.0.0.1:9", "--fingerprint", &digits, "-o", "x.y4m", "--sound", "none/x.wav"], "none does not exist"),
        (&["127.0.0.1:9", "--fingerprint", &digits, "-o", "x.3gp"], "name without .3gp"),
    ] {
        let arguments = [&["receive"][..], arguments, &["--decoder", "linear"]].concat();
        let line = refusal(&arguments, &bench.run(&arguments, &[]));
        assert!(line.contains(part), "{line}");
    }
}
