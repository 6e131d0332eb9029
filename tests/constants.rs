//! The tables of `spec/session.md` list every number of the code with its value, and no other number. The examples of
//! both specifications have the current versions.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use bytes::Bytes;
use nestcast_codec::{Header, Parsed, Size, VideoHeader};
use nestcast_proto::{Bitrate, BroadcastName, Control, DecoderKind, Hello, Message, VersionRange};

/// Crates whose numbers are visible to both ends, or to the path between them.
const CRATES: [&str; 6] = ["encode", "player", "proto", "sender", "receiver", "units"];
/// Numbers of other crates that are visible there too, each with its file.
const VISIBLE: [(&str, &str); 1] =
    [("codec::video::base_layer::MIN_RANDOM_ACCESS_BYTES", "codec/src/video/base_layer.rs")];
/// Constants that number kinds. They are in tables of their own, or belong to HTTP/3.
const KINDS: [&str; 8] = [
    "proto::wire::message",
    "proto::wire::sound::OPUS_CODEC",
    "proto::wire::start",
    "proto::wire::stream",
    "sender::h3::capsule",
    "sender::h3::peer",
    "sender::h3::request::HEADERS_FRAME",
    "sender::h3::settings",
];
/// Numbers on which only memory and speed depend, which only the machine of one end sees, or which another section
/// states.
const OTHERS: [&str; 32] = [
    "encode::pace::FRAMES_PER_SKIP",
    "encode::pace::WINDOW_TIME",
    "encode::video::NO_WEIGHT",
    "player::recording::SAMPLES_PER_SECOND",
    "proto::publish::writer::HEADS_BYTES",
    "proto::subscribe::subscriber::MAX_SPARES",
    "receiver::playback::REPORT_INTERVAL",
    "receiver::quic::MAX_READ_BYTES",
    "receiver::quic::ACCESS_DENIED",
    "receiver::quic::NO_APPLICATION_PROTOCOL",
    "receiver::race::MAX_LOOK_UPS",
    "receiver::retry::FIRST_REMINDER",
    "receiver::seek::NEAR_LIVE_TIME",
    "receiver::seek::STEP_TIME",
    "receiver::streams::MAX_WAITING_EVENTS",
    "receiver::token_file::LOOK_EVERY",
    "sender::figures::progress_line::LINE_INTERVAL",
    "sender::frames::fanout::KEPT_TIME",
    "sender::frames::fanout::MAX_KEPT_FRAMES",
    "sender::frames::fanout::MIN_KEPT_FRAMES",
    "sender::frames::live_source::MAX_SPENT_PICTURES",
    "sender::http::answer::MAX_FIELDS",
    "sender::http::answer::MAX_REQUEST_BYTES",
    "sender::http::server::IDLE_TIME",
    "sender::quic::browser::MAX_READ_BYTES",
    "sender::quic::connection::MAX_PIECES",
    "sender::quic::connection::MAX_READ_BYTES",
    "sender::quic::connection::PIECE_BYTES",
    "sender::quic::endpoint::CLOSE_WITHIN",
    "sender::quic::endpoint::MAX_FIRST_PACKETS",
    "sender::quic::endpoint::SOCKET_BUFFER_BYTES",
    "sender::rotation::LOOK_EVERY",
];

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Returns the number of a factor; durations in seconds.
fn factor(text: &str) -> Option<f64> {
    let inside = |name: &str| text.strip_prefix(name)?.strip_suffix(')')?.replace('_', "").parse::<f64>().ok();
    let seconds = inside("Duration::from_secs(");
    let milliseconds = inside("Duration::from_millis(").map(|count| count / 1e3);
    let bits = (text == "u128::BITS").then_some(128.0);
    seconds.or(milliseconds).or(bits).or_else(|| text.replace('_', "").parse().ok())
}

/// Returns the number of an expression: factors, or one number divided by another.
fn number(text: &str) -> Option<f64> {
    if let Some((above, below)) = text.split_once(" / ") {
        return Some(factor(above)? / factor(below)?);
    }
    text.split(" * ").map(factor).product()
}

/// Returns the numbers of one file of a crate, by their paths; a tuple has several. Leaves out texts and other types.
fn numbers_of(module: &str, source: &str) -> Vec<(String, Vec<f64>)> {
    let code = source.split("#[cfg(test)]\nmod tests").next().unwrap_or_default();
    let constant = |line: &str| {
        let (_, rest) =
            line.split_once("const ").filter(|(before, _)| before.is_empty() || before.starts_with("pub"))?;
        let (name, rest) = rest.split_once(": ")?;
        let (_, value) = rest.strip_suffix(';')?.split_once(" = ")?;
        let tuple = value.strip_prefix('(').and_then(|value| value.strip_suffix(')'));
        let values: Option<Vec<f64>> = tuple.unwrap_or(value).split(", ").map(number).collect();
        Some((format!("{module}::{name}"), values?))
    };
    code.lines().filter_map(constant).collect()
}

/// Returns the numbers of all files in a folder, whose module is `module`.
fn numbers_below(folder: &Path, module: &str) -> BTreeMap<String, Vec<f64>> {
    let mut found = BTreeMap::new();
    let entries = fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    for path in entries.map(|entry| entry.expect("an entry").path()) {
        let inner = format!("{module}::{}", path.file_stem().and_then(|name| name.to_str()).expect("a name"));
        if path.is_dir() {
            found.extend(numbers_below(&path, &inner));
        } else if !inner.ends_with("::tests") {
            found.extend(numbers_of(&inner, &read(&path)));
        }
    }
    found
}

/// Returns the numbers in a cell of a table; times in seconds.
fn stated(cell: &str) -> Vec<f64> {
    let words: Vec<&str> = cell.split([' ', ',']).filter(|word| !word.is_empty()).collect();
    let parse = |word: &str| match (word.split_once('^'), word.split_once('/')) {
        (Some((base, power)), _) => Some(base.parse::<f64>().ok()?.powi(power.parse().ok()?)),
        (None, Some((above, below))) => Some(above.parse::<f64>().ok()? / below.parse::<f64>().ok()?),
        (None, None) => word.parse().ok(),
    };
    let unit = |at: usize| if words.get(at + 1) == Some(&"ms") { 1e3 } else { 1.0 };
    words.iter().enumerate().filter_map(|(at, word)| Some(parse(word)? / unit(at))).collect()
}

/// Returns the constants that the tables name, each with the cell of its value.
fn tables(specification: &str) -> Vec<(String, String)> {
    let rows = specification.lines().filter(|line| line.starts_with("| ") && line.contains("::"));
    let constants = |row: &str| {
        let cells: Vec<&str> = row.trim_matches('|').split('|').map(str::trim).collect();
        let [_, value, constants] = cells[..] else { panic!("not three cells: {row}") };
        let names = constants.split(", ").map(|name| name.trim_matches('`').to_owned());
        names.map(|name| (name, value.to_owned())).collect::<Vec<_>>()
    };
    rows.flat_map(constants).collect()
}

#[test]
fn the_session_states_every_constant_as_the_code_has_it() {
    let root: PathBuf = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut code: BTreeMap<_, _> =
        CRATES.iter().flat_map(|name| numbers_below(&root.join(name).join("src"), name)).collect();
    for (name, file) in VISIBLE {
        let module = name.rsplit_once("::").expect("a path").0;
        let number = numbers_of(module, &read(&root.join(file))).into_iter().find(|(found, _)| found == name);
        code.extend([number.unwrap_or_else(|| panic!("{name} is not in {file}"))]);
    }
    for name in OTHERS {
        assert!(code.remove(name).is_some(), "{name} is not in the code");
    }
    let tables = tables(&read(&root.join("spec/session.md")));
    for (name, cell) in &tables {
        let values =
            code.get(name).unwrap_or_else(|| panic!("the session names {name}, which is no number of the code"));
        let stated = stated(cell);
        let has = |value: &f64| stated.iter().any(|number| (number - value).abs() <= 1e-9 * value.abs());
        assert!(values.iter().all(has), "{name} is {values:?}, and the session says {cell}");
    }
    let missing: Vec<_> = code
        .keys()
        .filter(|name| !tables.iter().any(|(stated, _)| stated == *name))
        .filter(|name| !KINDS.iter().any(|file| name.starts_with(file)))
        .collect();
    assert!(missing.is_empty(), "the session does not state {missing:?}");
    assert!(tables.len() > 100, "{} constants", tables.len());
}

fn size(width: u32, height: u32) -> Size {
    Size::new(width, height).expect("a valid size")
}

/// Returns the hexadecimal bytes at the beginning of a text.
fn hexadecimal(text: &str) -> Vec<u8> {
    let bytes = text.split_whitespace().map_while(|word| match word.len() {
        2 => u8::from_str_radix(word, 16).ok(),
        _ => None,
    });
    bytes.collect()
}

#[test]
fn the_examples_of_the_specifications_are_read() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let (session, bitstream) = (read(&root.join("spec/session.md")), read(&root.join("spec/bitstream.md")));
    let later = VersionRange::new(1, 2).expect("a range");
    for (before, versions, decoder) in [
        ("the linear decoder: `", VersionRange::SPOKEN, DecoderKind::Linear),
        ("say one byte more: `", later, DecoderKind::Other(2)),
    ] {
        let example = session.split_once(before).expect("an example").1;
        let mut control = Control::default();
        control.handle_bytes(&hexadecimal(example.split('`').next().unwrap_or_default()));
        let max_bitrate = Some(Bitrate::from_bits(1_000_000));
        let expected = Hello {
            versions,
            token: Bytes::new(),
            max_bitrate,
            decoder,
            broadcast: BroadcastName::default(),
            start: None,
        };
        assert_eq!(control.poll(), Ok(Some(Message::Hello(expected))));
    }
    let mut examples = bitstream.split("\n6e 73 74 0").skip(1).map(|rest| hexadecimal(&format!("6e 73 74 0{rest}")));
    let mut example = || examples.next().expect("an example");
    assert!(matches!(Header::parse(&example()), Ok(Parsed::Complete(header, 20)) if header.size == size(300, 200)));
    let (header, length) = VideoHeader::parse(&example()[..22]).expect("a header");
    assert_eq!((header.size, length), (size(48, 32), 22));
    let renditions = bitstream.split("of kind 3\n").nth(1).map(hexadecimal).expect("a line more");
    let (header, length) = VideoHeader::parse(&[&example()[..22], &renditions].concat()).expect("a header");
    assert_eq!((header.size, header.renditions.count(), length), (size(48, 32), 2, 29));
}

#[test]
fn constants_are_read_as_rust_writes_them() {
    let source = "pub(crate) const A: Duration = Duration::from_millis(1_500);\nconst B: f64 = 1.0 / 16.0;\n\
                  const C: u64 = 16 * 1024;\nconst D: (Duration, u32) = (Duration::from_secs(2), 512);\n\
                  const E: &str = \"text\";\n#[cfg(test)]\nmod tests {}\nconst F: u64 = 1;\n";
    let found: Vec<(String, Vec<f64>)> = numbers_of("it", source);
    let expected =
        [("it::A", vec![1.5]), ("it::B", vec![0.0625]), ("it::C", vec![16_384.0]), ("it::D", vec![2.0, 512.0])];
    assert_eq!(found, expected.map(|(name, values)| (name.to_owned(), values)));
    assert_eq!(stated("64, and as many as are due in 250 ms"), [64.0, 0.25]);
    assert_eq!([stated("2^24 bytes"), stated("1/16")], [vec![16_777_216.0], vec![0.0625]]);
}
