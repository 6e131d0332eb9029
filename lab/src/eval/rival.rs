//! Other codecs, measured by their own programs: a command that encodes a picture at a quality, and one that decodes.

use std::fmt::Write as _;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::str::FromStr;
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Error, Result, bail, ensure};
use nestcast_codec::{Channels, Picture};
use nestcast_media::output::{Program, Scratch};
use nestcast_media::picture;
use serde::Serialize;

use super::grid::Grid;
use super::pictures::{self, Look, MeanCurve, average};
use crate::bd::Point;
use crate::bd::standard::{Interpolation, Measured, delta_rate};
use crate::metrics::{self, MsSsim, ms_ssim_db};
use crate::rate_distortion::{Row, rounded};

/// What separates the command that encodes from the one that decodes.
const COMMAND_SEPARATOR: &str = "=>";
const INPUT_WORD: &str = "{in}";
const OUTPUT_WORD: &str = "{out}";
const QUALITY_WORD: &str = "{q}";
/// How long a command may run for a picture.
const MAX_TIME: Duration = Duration::from_mins(10);
/// The bytes that are kept of what a command says at its end.
const MAX_SAID: usize = 1 << 16;

/// The commands of a codec; in text `cjxl {in} {out} -q {q} => djxl {in} {out}`.
///
/// `{in}` and `{out}` are files: a PNG and the coded one, and for the second command the coded one and a PNG. A word such
/// as `{out}.jp2` gives the coded file that ending. Without a second command, the coded file is a PNG, JPEG or WebP. No
/// shell reads the commands; quotes keep the spaces of a word.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rival {
    /// The program's name, which tables show.
    name: String,
    encode: Vec<String>,
    decode: Vec<String>,
    /// What follows `{out}` in the command that encodes.
    ending: String,
}

/// Means over all pictures at one quality.
#[derive(Debug, Serialize)]
pub struct Mean {
    rival: String,
    quality: f64,
    pictures: usize,
    bpp: f64,
    psnr_db: Option<f64>,
    ms_ssim: Option<f64>,
    ssimulacra2: Option<f64>,
    butteraugli: Option<f64>,
    encode_ms: f64,
    decode_ms: f64,
}

/// Delta rates of one decoder against a rival, in percent; why there is none is said in its place.
#[derive(Debug, Serialize)]
pub struct Comparison {
    rival: String,
    decoder: String,
    metric: &'static str,
    cubic_percent: Option<f64>,
    akima_percent: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    refused: Option<String>,
}

impl FromStr for Rival {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let (encode, decode) = text.split_once(COMMAND_SEPARATOR).unwrap_or((text, ""));
        let [encode, decode] = [words(encode)?, words(decode)?];
        let program = encode.first().context("give a command, as in 'cjxl {in} {out} -q {q} => djxl {in} {out}'")?;
        let name = Path::new(program).file_stem().map(|name| name.to_string_lossy().into_owned());
        for (command, placeholders) in
            [(&encode, &[INPUT_WORD, OUTPUT_WORD, QUALITY_WORD][..]), (&decode, &[INPUT_WORD, OUTPUT_WORD])]
        {
            for placeholder in placeholders.iter().filter(|_| !command.is_empty()) {
                let has = command.iter().any(|word| word.contains(placeholder));
                ensure!(has, "the command `{}` has no {placeholder}", command.join(" "));
            }
        }
        let ending = encode.iter().find_map(|word| Some(word.split_once(OUTPUT_WORD)?.1.to_owned()));
        Ok(Self { name: name.unwrap_or_default(), encode, decode, ending: ending.unwrap_or_default() })
    }
}

impl Rival {
    /// Encodes and decodes a picture at every quality.
    ///
    /// # Errors
    /// If a command fails or runs for more than ten minutes, or its picture has another size.
    pub fn measure(&self, image: &str, original: &Picture, qualities: Grid, look: Option<&Look>) -> Result<Vec<Row>> {
        let folder = Scratch::new().context("no temporary folder can be made")?;
        let source = folder.path().join("original.png");
        std::fs::write(&source, picture::encode_png(original)?).context("the temporary folder is not writable")?;
        let point = |quality| {
            let (row, decoded) = self.point(image, original, (&source, folder.path()), quality)?;
            let look = look.filter(|_| decoded.channels() == original.channels());
            let [ssimulacra2, butteraugli] = look.map_or([None; 2], |look| look(&decoded).map(Some));
            Ok(Row { ssimulacra2, butteraugli, ..row })
        };
        qualities.rates().map(point).collect()
    }

    /// The figures of one quality, and the decoded picture.
    fn point(
        &self,
        image: &str,
        original: &Picture,
        (source, folder): (&Path, &Path),
        quality: f64,
    ) -> Result<(Row, Picture)> {
        let coded = folder.join("coded");
        let written = PathBuf::from(format!("{}{}", coded.display(), self.ending));
        let begun = Instant::now();
        self.run(&self.encode, [source, &coded], Some(quality))?;
        let encode_ms = begun.elapsed().as_secs_f64() * 1e3;
        let missing = || format!("{} wrote no file {}", self.name, written.display());
        let bytes = std::fs::metadata(&written).with_context(missing)?.len();
        let begun = Instant::now();
        let shown = if self.decode.is_empty() {
            written.clone()
        } else {
            let shown = folder.join("decoded.png");
            self.run(&self.decode, [&written, &shown], None)?;
            shown
        };
        let file = std::fs::read(&shown).with_context(|| format!("{} wrote no picture", self.name))?;
        let decoded = picture::decode(&file, nestcast_codec::DEFAULT_MAX_PIXELS).with_context(|| {
            format!(
                "what {} wrote is no PNG, JPEG or WebP: add `{COMMAND_SEPARATOR}` and a command that decodes it",
                self.name
            )
        })?;
        let decode_ms = begun.elapsed().as_secs_f64() * 1e3;
        let decoded = decoded.picture;
        let (given, size) = (decoded.size(), original.size());
        let [is, was] = [given, size].map(|size| format!("{}x{}", size.width(), size.height()));
        ensure!(given == size, "{} made a picture of {is} pixels from one of {was}", self.name);
        // A codec without grey pictures gives three equal channels, and some turn equal channels into grey.
        let [original, decoded] = if original.channels() == decoded.channels() {
            [original.clone(), decoded]
        } else {
            [rgb(original)?, rgb(&decoded)?]
        };
        for file in [written, shown] {
            // The next quality must not find it.
            let _ = std::fs::remove_file(file);
        }
        let bytes = usize::try_from(bytes)?;
        let row = Row {
            image: image.to_owned(),
            decoder: self.name.clone(),
            bytes,
            bpp: rounded(metrics::bpp(bytes, size), 6),
            psnr_db: rounded(metrics::psnr(&original, &decoded), 4),
            ms_ssim: MsSsim::new(&original).map(|reference| rounded(reference.compare(&decoded), 6)),
            encode_ms: Some(rounded(encode_ms, 2)),
            decode_ms: Some(rounded(decode_ms, 2)),
            ..Row::default()
        };
        Ok((row, decoded))
    }

    fn run(&self, command: &[String], [source, target]: [&Path; 2], quality: Option<f64>) -> Result<()> {
        let [source, target] = [source, target].map(|path| path.display().to_string());
        let quality = quality.map(|quality| quality.to_string()).unwrap_or_default();
        let fill = |word: &String| {
            word.replace(INPUT_WORD, &source).replace(OUTPUT_WORD, &target).replace(QUALITY_WORD, &quality)
        };
        let words: Vec<String> = command.iter().map(fill).collect();
        let Some((program, arguments)) = words.split_first() else { bail!("{} has no command", self.name) };
        let (succeeded, said) = run(program, arguments, MAX_TIME)?;
        let last = said.lines().rfind(|line| !line.trim().is_empty()).unwrap_or("it did not say why");
        ensure!(succeeded, "`{}` failed: {last}", words.join(" "));
        Ok(())
    }
}

/// Runs a program for a limited time. Returns whether it succeeded, and the end of what it said.
fn run(program: &str, arguments: &[String], limit: Duration) -> Result<(bool, String)> {
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    let end = Instant::now() + limit;
    let missing = || format!("{program} cannot be started: install it, or give its path");
    let child = Program::start(&mut command).with_context(missing)?;
    let (errors, (tell, said)) = (child.take_errors(), mpsc::sync_channel(1));
    // Its own thread: a program may say nothing, and never end.
    thread::spawn(move || tell.send(errors.map(last_bytes)));
    let endless = || {
        let seconds = limit.as_secs();
        format!("`{program} {}` runs for more than {seconds} s and was ended: try it alone", arguments.join(" "))
    };
    let said = said.recv_timeout(limit).ok().with_context(endless)?.transpose()?.unwrap_or_default();
    let status = child.wait_until(end)?.with_context(endless)?;
    Ok((status.success(), String::from_utf8_lossy(&said).into_owned()))
}

/// Reads to the end, and returns the last bytes.
fn last_bytes(mut input: impl Read) -> io::Result<Vec<u8>> {
    let (mut last, mut buffer) = (Vec::new(), [0; 4096]);
    loop {
        match input.read(&mut buffer) {
            Ok(0) => return Ok(last),
            Ok(count) => last.extend_from_slice(&buffer[..count]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
        last.drain(..last.len().saturating_sub(MAX_SAID));
    }
}

/// Rivals, and the qualities at which they are measured.
#[derive(Debug)]
pub struct Rivals {
    all: Vec<Rival>,
    qualities: Grid,
}

/// What `eval` prints of pictures and rivals.
#[derive(Debug, Serialize)]
pub struct Summary<'a> {
    means: &'a [pictures::Mean],
    rivals: Vec<Mean>,
    bd_rate: Vec<Comparison>,
}

impl Rivals {
    /// Takes rivals, perhaps none. Two of the same program get numbers.
    #[must_use]
    pub fn new(mut all: Vec<Rival>, qualities: Grid) -> Self {
        let names: Vec<String> = all.iter().map(|rival| rival.name.clone()).collect();
        for (index, rival) in all.iter_mut().enumerate() {
            let before = names[..index].iter().filter(|name| **name == rival.name).count();
            if before > 0 {
                let _ = write!(rival.name, " {}", before + 1);
            }
        }
        Self { all, qualities }
    }

    /// Returns whether there is none.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Measures a picture with every rival; `look` is that of [`Bench::look`](pictures::Bench::look).
    ///
    /// # Errors
    /// As [`Rival::measure`].
    pub fn measure(&self, image: &str, original: &Picture, look: Option<&Look>) -> Result<Vec<Row>> {
        let each = self.all.iter().map(|rival| rival.measure(image, original, self.qualities, look));
        Ok(each.collect::<Result<Vec<_>>>()?.concat())
    }

    /// Summarises the rows of all pictures next to the means of nestcast.
    #[must_use]
    pub fn summary<'a>(&self, means: &'a [pictures::Mean], rows: &[Row]) -> Summary<'a> {
        let rivals = self.means(rows);
        let bd_rate = compare(&pictures::curves(means), &rivals);
        Summary { means, rivals, bd_rate }
    }

    /// Returns means over the pictures for each rival and quality. Each picture's rows must have the order of
    /// [`Rivals::measure`].
    fn means(&self, rows: &[Row]) -> Vec<Mean> {
        let mean = |rival: &Rival, quality: f64, rows: &[&Row]| {
            let over = |value: fn(&Row) -> Option<f64>| average(rows.iter().filter_map(|row| value(row)));
            Mean {
                rival: rival.name.clone(),
                quality,
                pictures: rows.len(),
                bpp: over(|row| Some(row.bpp)).unwrap_or(f64::NAN),
                psnr_db: over(|row| Some(row.psnr_db).filter(|db| db.is_finite())),
                ms_ssim: over(|row| row.ms_ssim),
                ssimulacra2: over(|row| row.ssimulacra2),
                butteraugli: over(|row| row.butteraugli),
                encode_ms: over(|row| row.encode_ms).unwrap_or(f64::NAN),
                decode_ms: over(|row| row.decode_ms).unwrap_or(f64::NAN),
            }
        };
        let points = self.all.iter().flat_map(|rival| self.qualities.rates().map(move |quality| (rival, quality)));
        let points: Vec<_> = points.collect();
        let of = |point: usize| rows.iter().skip(point).step_by(points.len()).collect::<Vec<_>>();
        points.iter().enumerate().map(|(index, &(rival, quality))| mean(rival, quality, &of(index))).collect()
    }
}

impl Summary<'_> {
    /// Formats the rivals' means and the comparisons as lines of text.
    #[must_use]
    pub fn table(&self) -> String {
        table(&self.rivals, &self.bd_rate)
    }
}

/// Compares every curve of nestcast with every rival, by PSNR and by MS-SSIM in dB.
fn compare(curves: &[MeanCurve], rivals: &[Mean]) -> Vec<Comparison> {
    let mut names: Vec<&str> = rivals.iter().map(|mean| &*mean.rival).collect();
    names.dedup();
    let curve = |name: &str| {
        let of = rivals.iter().filter(|mean| mean.rival == name);
        (name.to_owned(), of.map(|mean| (mean.bpp, mean.psnr_db, mean.ms_ssim)).collect())
    };
    let anchors: Vec<MeanCurve> = names.into_iter().map(curve).collect();
    let pairs = anchors.iter().flat_map(|anchor| curves.iter().map(move |test| (anchor, test)));
    pairs.flat_map(|(anchor, test)| [false, true].map(|similarity| comparison(anchor, test, similarity))).collect()
}

fn comparison(anchor: &MeanCurve, test: &MeanCurve, similarity: bool) -> Comparison {
    let points = |curve: &MeanCurve| -> Vec<Point> {
        let quality = |&(bpp, psnr, ms_ssim): &(f64, Option<f64>, Option<f64>)| {
            let quality = if similarity { ms_ssim.map(ms_ssim_db) } else { psnr };
            quality.map(|quality| Point { bpp, quality })
        };
        curve.1.iter().filter_map(quality).collect()
    };
    let [anchor_points, test_points] = [points(anchor), points(test)];
    let percent = |interpolation| {
        let anchor = Measured { name: &anchor.0, points: &anchor_points };
        let test = Measured { name: &test.0, points: &test_points };
        delta_rate(anchor, test, interpolation).map(|delta| rounded(delta.percent, 2))
    };
    let [cubic, akima] = [Interpolation::Cubic, Interpolation::Akima].map(percent);
    let refused = cubic.as_ref().err().or(akima.as_ref().err()).map(ToString::to_string);
    Comparison {
        rival: anchor.0.clone(),
        decoder: test.0.clone(),
        metric: if similarity { "ms_ssim" } else { "psnr" },
        cubic_percent: cubic.ok(),
        akima_percent: akima.ok(),
        refused,
    }
}

fn table(means: &[Mean], comparisons: &[Comparison]) -> String {
    let mut text =
        format!("\n{:<12} quality    bpp         dB  MS-SSIM  SSIMULACRA2  Butteraugli     encode  decode\n", "rival");
    let figure =
        |value: Option<f64>, digits: usize| value.map_or_else(|| "-".to_owned(), |value| format!("{value:.digits$}"));
    for mean in means {
        let (db, similarity) = (figure(mean.psnr_db, 2), figure(mean.ms_ssim, 4));
        let (ssimulacra2, butteraugli) = (figure(mean.ssimulacra2, 1), figure(mean.butteraugli, 2));
        let Mean { rival, quality, bpp, encode_ms, decode_ms, .. } = mean;
        let _ = writeln!(
            text,
            "{rival:<12} {quality:>7} {bpp:>6.3}  {db:>9}  {similarity:>7}  {ssimulacra2:>11}  {butteraugli:>11}  {encode_ms:>6.0} ms  {decode_ms:>3.0} ms"
        );
    }
    text.push_str("\nBD-rate (cubic of VCEG-M33, Akima); negative where nestcast needs fewer bits\n");
    for Comparison { rival, decoder, metric, cubic_percent, akima_percent, refused } in comparisons {
        let metric = if *metric == "psnr" { "PSNR" } else { "MS-SSIM" };
        let percent = |value: &Option<f64>| value.map_or_else(|| "-".to_owned(), |value| format!("{value:+.1} %"));
        let _ = write!(
            text,
            "{decoder} against {rival} by {metric}: {}, {}",
            percent(cubic_percent),
            percent(akima_percent)
        );
        text.push_str(&refused.as_ref().map(|why| format!(" ({why})\n")).unwrap_or_else(|| "\n".to_owned()));
    }
    text
}

/// Returns a grey picture as RGB, or a copy.
fn rgb(picture: &Picture) -> Result<Picture> {
    let samples = match picture.channels() {
        Channels::Grey => picture.samples().iter().flat_map(|&sample| [sample; 3]).collect(),
        Channels::Rgb => picture.samples().to_vec(),
    };
    Ok(Picture::new(picture.size(), Channels::Rgb, samples)?)
}

/// Splits a command into words at spaces outside quotes.
fn words(command: &str) -> Result<Vec<String>> {
    let (mut words, mut word, mut quote) = (Vec::new(), None::<String>, None);
    for letter in command.chars() {
        match (letter, quote) {
            (letter, Some(open)) if letter == open => quote = None,
            ('\'' | '"', None) => {
                quote = Some(letter);
                word.get_or_insert_default();
            }
            (letter, None) if letter.is_whitespace() => words.extend(word.take()),
            (letter, _) => word.get_or_insert_default().push(letter),
        }
    }
    ensure!(quote.is_none(), "`{command}` has a quote without an end");
    words.extend(word);
    Ok(words)
}

#[cfg(test)]
mod tests {
    use nestcast_codec::Size;

    use super::*;

    fn rival(text: &str) -> Rival {
        text.parse().unwrap_or_else(|error| panic!("{text}: {error}"))
    }

    fn photo(width: u32, height: u32, channels: Channels) -> Picture {
        let size = Size::new(width, height).expect("a size");
        let count = size.pixels() * channels.count();
        let samples = (0..count).map(|at| (at * 7 % 251).to_le_bytes()[0]).collect();
        Picture::new(size, channels, samples).expect("a picture")
    }

    #[test]
    fn a_command_has_words_placeholders_and_perhaps_a_decoder() {
        let jxl = rival("/opt/bin/cjxl {in} '{out}.jxl' -q {q} => djxl {in} {out}");
        assert_eq!((&*jxl.name, &*jxl.ending), ("cjxl", ".jxl"));
        assert_eq!(jxl.encode[2..], ["{out}.jxl", "-q", "{q}"]);
        assert_eq!(words("a 'b c'\"d\" ''").expect("words"), ["a", "b cd", ""]);
        for (wrong, why) in [
            ("", "give a command"),
            ("cjxl {out} -q {q}", "has no {in}"),
            ("cjxl {in} {out}", "has no {q}"),
            ("cjxl {in} {out} {q} => djxl {in}", "has no {out}"),
            ("cjxl '{in} {out} {q}", "a quote without an end"),
        ] {
            let error = wrong.parse::<Rival>().expect_err(wrong).to_string();
            assert!(error.contains(why), "{wrong}: {error}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn programs_are_run_for_grey_and_odd_pictures() {
        // It copies the original, and adds bytes by quality.
        let copy = rival("sh -c 'cp \"$1\" \"$2\" && head -c $((100 - $3)) /dev/zero >> \"$2\"' - {in} {out}.png {q}");
        let grid: Grid = "20:80:20".parse().expect("a grid");
        for picture in [photo(33, 17, Channels::Grey), photo(1, 1, Channels::Rgb), photo(200, 177, Channels::Rgb)] {
            let rows = copy.measure("a", &picture, grid, None).expect("figures");
            assert_eq!(rows.len(), 4);
            assert!(rows.iter().all(|row| row.psnr_db.is_infinite() && row.decoder == "sh"), "{rows:?}");
            assert_eq!(rows[0].bytes - rows[3].bytes, 60);
            assert_eq!(rows[0].ms_ssim.is_some(), picture.size().width() > 176);
        }
        let means = Rivals::new(vec![copy.clone(), copy], grid).means(&[]);
        assert_eq!(means[..4].iter().map(|mean| &*mean.rival).collect::<Vec<_>>(), ["sh"; 4]);
        assert_eq!(means[4].rival, "sh 2");
        assert_eq!(means[..4].iter().map(|mean| mean.quality).collect::<Vec<_>>(), [20.0, 40.0, 60.0, 80.0]);
    }

    #[cfg(unix)]
    #[test]
    fn what_goes_wrong_names_the_program() {
        let grid: Grid = "50:50:1".parse().expect("a grid");
        let picture = photo(8, 8, Channels::Rgb);
        for (command, words) in [
            ("no-such-coder {in} {out} {q}", "no-such-coder cannot be started"),
            ("sh -c 'echo too bad >&2; exit 3' {in} {out} {q}", "too bad"),
            ("true {in} {out} {q}", "true wrote no file"),
            ("sh -c 'echo no picture > \"$1\"' - {out} {in} {q}", "add `=>` and a command"),
            ("cp {in} {out} --suffix={q} => false {in} {out}", "failed"),
        ] {
            let error = rival(command).measure("a", &picture, grid, None).expect_err("it fails");
            assert!(format!("{error:#}").contains(words), "{command}: {error:#}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_program_that_does_not_end_is_ended_and_named() {
        let word = |text: &str| text.to_owned();
        // The first says nothing; the second closes what it could say something to, and goes on.
        for script in ["exec sleep 1000000", "exec 2>&-; exec sleep 1000000"] {
            let error = run("sh", &[word("-c"), word(script)], Duration::from_millis(20)).expect_err("it has no end");
            let text = error.to_string();
            assert!(text.starts_with(&format!("`sh -c {script}` runs for more than")), "{text}");
        }
        let loud = word("yes too long | head -c 1000000 >&2; echo the end >&2");
        let (succeeded, said) = run("sh", &[word("-c"), loud], MAX_TIME).expect("it ends");
        assert!(succeeded && said.len() == MAX_SAID && said.ends_with("the end\n"));
    }

    #[test]
    fn comparisons_say_why_there_is_no_number() {
        let mean = |quality: f64, bpp: f64, db: f64| Mean {
            rival: "other".to_owned(),
            quality,
            pictures: 1,
            bpp,
            psnr_db: Some(db),
            ms_ssim: None,
            ssimulacra2: None,
            butteraugli: None,
            encode_ms: 1.0,
            decode_ms: 1.0,
        };
        let rivals = [mean(10.0, 0.2, 28.0), mean(20.0, 0.4, 31.0), mean(30.0, 0.8, 34.0), mean(40.0, 1.6, 37.0)];
        let curve = rivals.iter().map(|mean| (0.9 * mean.bpp, mean.psnr_db, None)).collect();
        let compared = compare(&[("linear".to_owned(), curve)], &rivals);
        assert_eq!(compared[0].cubic_percent, Some(-10.0));
        assert_eq!(compared[0].akima_percent, Some(-10.0));
        assert!(compared[1].refused.as_ref().is_some_and(|why| why.contains("has 0 points")), "{compared:?}");
        let text = table(&rivals, &compared);
        assert!(text.contains("linear against other by PSNR: -10.0 %, -10.0 %\n"), "{text}");
        assert!(text.contains("by MS-SSIM: -, - (other has 0 points"), "{text}");
    }
}
