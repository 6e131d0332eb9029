//! How pictures look at equal bytes: SSIMULACRA2 and Butteraugli of nestcast and its rivals at a few rates.

use std::fmt::Write;

use anyhow::{Context, Result, ensure};
use nestcast_codec::Picture;
use nestcast_lab::metrics::{Perceptual, budget, psnr};
use nestcast_lab::plot::{Axis, Chart, Curve, shown};
use nestcast_lab::rate_distortion::rounded;
use serde::{Deserialize, Serialize};

use crate::ours::{Kind, Ours};
use crate::rivals::{self, Avif, Baseline, Jxl, Lossy, Rival, Sampling, SingleRate};
use crate::style;

/// Rates, in bits per pixel.
pub const RATES_BPP: [f64; 5] = [0.1, 0.2, 0.3, 0.5, 1.0];
/// The names of all codecs in tables, in their order.
const CODEC_IDS: [&str; 9] =
    ["linear", "deep", "ssim linear", "ssim deep", "jpeg-420", "webp-m6", "jxl-e7", "avif-420", "jpeg2000"];
/// The least SSIMULACRA2 in the plot.
const LEAST_SHOWN: f64 = -20.0;

/// One picture by one codec at one rate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// File name of the picture.
    pub image: String,
    /// A decoder of nestcast, with its model unless that is `photo`, or a rival.
    pub codec: String,
    /// The rate that bounds the file, in bits per pixel: one of [`RATES_BPP`].
    pub rate_bpp: f64,
    /// Bytes of the file.
    pub bytes: usize,
    /// RGB PSNR in dB.
    pub psnr_db: f64,
    /// SSIMULACRA2.
    pub ssimulacra2: f64,
    /// Butteraugli's 3-norm.
    pub butteraugli: f64,
}

/// The codecs; each gives its best within the bytes of a rate.
pub struct Codecs {
    /// The decoders by the model's name in tables, which is empty for the first.
    ours: Vec<(&'static str, Ours)>,
    rivals: Vec<Box<dyn Rival>>,
}

impl Codecs {
    /// Opens both shipped models.
    pub fn ours() -> Result<Self> {
        let ours = [("", "photo"), ("ssim ", "photo-ssim")];
        let ours = ours.into_iter().map(|(prefix, model)| Ok((prefix, Ours::of(model, 2)?))).collect::<Result<_>>()?;
        Ok(Self { ours, rivals: Vec::new() })
    }

    /// Takes one setting of each rival, or of those that are named. JPEG XL is left out where its programs are missing.
    ///
    /// # Errors
    /// If there is no rival of these names.
    pub fn rivals(only: &[String]) -> Result<Self> {
        let mut rivals: Vec<Box<dyn Rival>> = vec![
            Box::new(Baseline(Sampling::S420)),
            Box::new(Lossy { method: 6 }),
            Box::new(Avif(Sampling::S420)),
            Box::new(SingleRate),
        ];
        if let Some(jxl) = Jxl::find() {
            rivals.push(Box::new(jxl));
        }
        rivals.retain(|rival| only.is_empty() || only.iter().any(|name| name == rival.name()));
        ensure!(!rivals.is_empty(), "no rival of that name: {}", only.join(", "));
        Ok(Self { ours: Vec::new(), rivals })
    }

    /// Returns the names of its codecs in tables.
    pub fn names(&self) -> Vec<String> {
        let ours = self.ours.iter().flat_map(|(prefix, _)| Kind::ALL.map(|kind| format!("{prefix}{}", kind.name())));
        ours.chain(self.rivals.iter().map(|rival| rival.name().to_owned())).collect()
    }

    /// Returns the rows of one picture: every codec at every rate that it reaches.
    pub fn measure(&self, image: &str, picture: &Picture) -> Result<Vec<Row>> {
        let original = Perceptual::new(picture).with_context(|| format!("{image} is too small"))?;
        let row = |codec: String, rate_bpp: f64, bytes: usize, decoded: &Picture| {
            let scores = original.compare(decoded);
            Row {
                image: image.to_owned(),
                codec,
                rate_bpp,
                bytes,
                psnr_db: rounded(psnr(picture, decoded), 4),
                ssimulacra2: rounded(scores.ssimulacra2, 3),
                butteraugli: rounded(scores.butteraugli, 4),
            }
        };
        let mut rows = Vec::new();
        for (prefix, ours) in &self.ours {
            let stream = ours.encode(picture, usize::MAX)?;
            for kind in Kind::ALL {
                for rate in RATES_BPP {
                    let cut = stream.prefix(budget(rate, picture.size()));
                    rows.push(row(format!("{prefix}{}", kind.name()), rate, cut.len(), &ours.decode(&cut, kind)?));
                }
            }
        }
        for rival in &self.rivals {
            for rate in RATES_BPP {
                let fits = rivals::largest(rival.as_ref(), picture, budget(rate, picture.size()))?;
                let Some(bytes) = fits else { continue };
                rows.push(row(rival.name().to_owned(), rate, bytes.len(), &rival.decode(&bytes)?));
            }
        }
        Ok(rows)
    }
}

/// Returns new rows of one picture by the codecs `names` (none for a codec that reaches no rate), together with the
/// rows that the table has of the other codecs, in the order of `CODEC_IDS`.
pub fn renewed(kept: &[Row], image: &str, names: &[String], measured: Vec<Row>) -> Vec<Row> {
    let others = kept.iter().filter(|row| row.image == image && !names.contains(&row.codec)).cloned();
    let mut rows: Vec<Row> = others.chain(measured).collect();
    rows.sort_by_key(|row| CODEC_IDS.iter().position(|id| *id == row.codec));
    rows
}

/// A codec's mean SSIMULACRA2 and Butteraugli at a rate.
type Means = [f64; 2];

/// Means over all pictures by codec, in the order of rows, and rate; absent where a codec misses the rate on some
/// picture.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Table {
    codecs: Vec<(String, [Option<Means>; RATES_BPP.len()])>,
}

impl Table {
    /// Averages rows of [`Codecs::measure`].
    pub fn of(rows: &[Row]) -> Self {
        let (mut names, mut images): (Vec<&str>, Vec<&str>) = (Vec::new(), Vec::new());
        for row in rows {
            if !names.contains(&row.codec.as_str()) {
                names.push(&row.codec);
            }
            if !images.contains(&row.image.as_str()) {
                images.push(&row.image);
            }
        }
        let means = |name: &str, rate: f64| {
            let at: Vec<&Row> = rows.iter().filter(|row| row.codec == name && row.rate_bpp == rate).collect();
            let mean = |score: fn(&Row) -> f64| at.iter().map(|row| score(row)).sum::<f64>() / at.len() as f64;
            (at.len() == images.len()).then(|| [mean(|row| row.ssimulacra2), mean(|row| row.butteraugli)])
        };
        Self {
            codecs: names.into_iter().map(|name| (name.to_owned(), RATES_BPP.map(|rate| means(name, rate)))).collect(),
        }
    }

    /// Returns whether there is nothing to show.
    pub const fn is_empty(&self) -> bool {
        self.codecs.is_empty()
    }

    /// Returns the names of the columns after the codec's: both scores at each rate.
    pub fn heads() -> Vec<String> {
        RATES_BPP.map(|rate| format!("{rate} bpp")).to_vec()
    }

    /// Returns a line for each codec: its name, and both scores at each rate, empty where it does not reach the rate.
    pub fn lines(&self) -> Vec<(String, Vec<[String; 2]>)> {
        let cell = |means: &Option<Means>| {
            means.map_or_else(<[String; 2]>::default, |[ssimulacra2, butteraugli]| {
                [format!("{ssimulacra2:.1}"), format!("{butteraugli:.2}")]
            })
        };
        self.codecs.iter().map(|(name, rates)| (name.clone(), rates.iter().map(cell).collect())).collect()
    }

    /// Returns the table as Markdown.
    pub fn markdown(&self) -> String {
        let mut text = String::from(
            "# How pictures look at equal bytes\n\n\
             SSIMULACRA2 (100: equal, 70 high, 50 medium, 30 low quality) / Butteraugli (3-norm, 0: equal), means over the pictures;\n\
             each codec with the most bytes that fit into the rate.\n\n| codec |",
        );
        for head in Self::heads() {
            write!(text, " {head} |").expect("writing to a string cannot fail");
        }
        text += "\n|---|";
        text += &"---:|".repeat(RATES_BPP.len());
        for (name, cells) in self.lines() {
            let cells =
                cells.iter().map(|scores| if scores[0].is_empty() { String::new() } else { scores.join(" / ") });
            write!(text, "\n| {} | {} |", style::name(&name), cells.collect::<Vec<_>>().join(" | "))
                .expect("writing to a string cannot fail");
        }
        text + "\n"
    }

    /// Draws SSIMULACRA2 over the rate.
    pub fn chart(&self) -> Chart {
        let curve = |(name, rates): &(String, [Option<Means>; RATES_BPP.len()])| Curve {
            name: style::name(name),
            points: RATES_BPP.into_iter().zip(rates).filter_map(|(rate, means)| Some((rate, (*means)?[0]))).collect(),
            stroke: style::stroke(name),
            labels: Vec::new(),
        };
        let curves: Vec<Curve> = self.codecs.iter().map(curve).filter(|curve| !curve.points.is_empty()).collect();
        let x = Axis::linear("rate (bits per pixel)", (0.0, 1.1));
        let y = Axis::fitting("SSIMULACRA2", shown(&curves, x.range)).starting_at(LEAST_SHOWN);
        Chart { title: "Rate and SSIMULACRA2".to_owned(), x, y, marks: Vec::new(), curves }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rivals::tests::sample;

    #[test]
    fn every_codec_gives_its_best_within_the_bytes() {
        let picture = sample(200, 136);
        let codecs =
            Codecs { ours: Vec::new(), rivals: vec![Box::new(Baseline(Sampling::S420)), Box::new(SingleRate)] };
        let rows = codecs.measure("wave.png", &picture).expect("measures");
        assert!(rows.iter().all(|row| row.bytes <= budget(row.rate_bpp, picture.size())), "{rows:?}");
        let of =
            |name: &str| rows.iter().filter(|row| row.codec == name).map(|row| row.ssimulacra2).collect::<Vec<_>>();
        let (jpeg, jpeg2000) = (of("jpeg-420"), of("jpeg2000"));
        assert!(!jpeg.is_empty() && jpeg2000.len() > 1, "{rows:?}");
        assert!(jpeg2000.first() < jpeg2000.last(), "{rows:?}");
    }

    fn row(image: &str, codec: &str, rate_bpp: f64, ssimulacra2: f64) -> Row {
        let (image, codec) = (image.to_owned(), codec.to_owned());
        Row { image, codec, rate_bpp, bytes: 100, psnr_db: 30.0, ssimulacra2, butteraugli: 2.0 }
    }

    #[test]
    fn what_is_measured_anew_replaces_its_own_rows_alone() {
        let (old, new) = (row("a.png", "ssim deep", 0.1, 1.0), row("a.png", "ssim deep", 0.1, 2.0));
        let (jpeg, better) = (row("a.png", "jpeg-420", 0.1, 3.0), row("a.png", "jpeg-420", 0.1, 4.0));
        let avif = row("a.png", "avif-420", 0.1, 5.0);
        let kept = [old.clone(), jpeg.clone(), avif.clone(), row("b.png", "ssim deep", 0.1, 5.0)];
        let renewed = |image: &str, name: &str, measured| renewed(&kept, image, &[name.to_owned()], measured);
        assert_eq!(renewed("a.png", "ssim deep", vec![new.clone()]), [new, jpeg.clone(), avif.clone()]);
        assert_eq!(renewed("a.png", "jpeg-420", vec![better.clone()]), [old.clone(), better, avif.clone()]);
        let jxl = row("a.png", "jxl-e7", 0.1, 6.0);
        let all = [old.clone(), jpeg.clone(), jxl.clone(), avif.clone()];
        assert_eq!(renewed("a.png", "jxl-e7", vec![jxl]), all);
        // Nothing fits into any rate: the others' rows stay.
        assert_eq!(renewed("a.png", "ssim deep", Vec::new()), [jpeg, avif.clone()]);
        assert_eq!(renewed("a.png", "jpeg-420", Vec::new()), [old, avif]);
        assert!(renewed("c.png", "jpeg-420", Vec::new()).is_empty());
    }

    #[test]
    fn rivals_are_named_as_in_tables() {
        let all = Codecs::rivals(&[]).expect("rivals").names();
        assert!(all.iter().all(|name| CODEC_IDS.contains(&name.as_str()) && style::is_known(name)), "{all:?}");
        let one = Codecs::rivals(&["webp-m6".to_owned()]).expect("a rival").names();
        assert_eq!(one, ["webp-m6"]);
        assert!(Codecs::rivals(&["webp".to_owned()]).is_err());
    }

    #[test]
    fn a_rate_that_some_picture_misses_has_no_mean() {
        let rows = [
            row("a.png", "deep", 0.1, 20.0),
            row("b.png", "deep", 0.1, 40.0),
            row("a.png", "jpeg-420", 0.1, 10.0),
            row("a.png", "jpeg-420", 0.2, 50.0),
            row("b.png", "jpeg-420", 0.2, 60.0),
        ];
        let table = Table::of(&rows);
        let [(deep, ours), (jpeg, theirs)] = &table.lines()[..] else { panic!("two codecs") };
        assert_eq!((deep.as_str(), jpeg.as_str()), ("deep", "jpeg-420"));
        let cells = [&ours[0], &ours[1], &theirs[0], &theirs[1]].map(|cell| cell.each_ref().map(String::as_str));
        assert_eq!(cells, [["30.0", "2.00"], ["", ""], ["", ""], ["55.0", "2.00"]]);
        assert!(table.markdown().contains("| nestcast, deep | 30.0 / 2.00 |"), "{}", table.markdown());
        assert_eq!(table.chart().curves.len(), 2);
    }
}
