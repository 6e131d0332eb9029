//! The report: an HTML page in the results' folder, whose plots and pictures it links.

use maud::{Markup, html};
use nestcast_lab::page::{Image, Row, figure, head, heads, linked_chart, page, table};

use crate::{
    decoders::{self, Shown},
    perceptual,
    population::{INTERVALS_MS, Outcome},
    report::{Report, cell},
    scaling,
    series::Quality,
    style, timing,
    video::{
        is_ours, layers, perceptual as video_look,
        report::{self as video, ANCHOR_IDS, Cost, Planes, frame_plot, percent, rate_plot},
    },
};

/// The width of the longest bar, and its ratio; larger ratios are cut.
const BAR_REM: f64 = 14.0;
const BAR_RATIO: f64 = 3.0;

/// The content of the page. What was not measured is left out.
#[derive(Debug)]
pub struct Page {
    /// Rate and distortion.
    pub report: Report,
    /// Perceptual scores at equal bytes.
    pub look: perceptual::Table,
    /// The population benchmark.
    pub outcomes: Vec<Outcome>,
    /// Video.
    pub video: video::Report,
    /// How video looks.
    pub video_look: Vec<video_look::Row>,
    /// Video for receivers of unequal rates.
    pub layers: Vec<layers::Row>,
    /// Contact sheets: names of the JPEG files in `sheets`.
    pub sheets: Vec<String>,
    /// One stream by both decoders: names of the JPEG files in `decoders`.
    pub decoders: Vec<String>,
    /// Times of one run of the benchmarks.
    pub timings: Vec<timing::Row>,
    /// Time and memory by size.
    pub scaling: Vec<scaling::Row>,
}

impl Page {
    /// Returns the page.
    pub fn html(&self) -> String {
        let parts = [
            ("rate", "Rate and distortion", self.rate()),
            ("look", "How pictures look", self.look()),
            ("decoders", "One stream, two decoders", self.decoders()),
            ("population", "One stream for everybody", self.population()),
            ("video", "Video", self.video()),
            ("low", "The low end", self.low_end()),
            ("time", "Time", self.time()),
            ("size", "From 0.1 to 33 megapixels", self.size()),
        ];
        let parts = || parts.iter().filter_map(|(id, heading, body)| Some((id, heading, body.as_ref()?)));
        let body = html! {
            p {
                "A picture is encoded once into one ordered stream of bytes, and any prefix of it is a picture. What that costs \
                 and compares it with codecs that encode anew for every rate. Every byte of a file or prefix counts. Drawn by "
                code { "cargo xtask report" } " from the tables in " code { "benches/results" } "."
            }
            nav { @for (id, heading, _) in parts() { a href={ "#" (id) } { (heading) } } }
            @for (id, heading, body) in parts() { h2 id=(id) { (heading) } (body) }
        };
        page("Measurements", &body)
    }

    fn rate(&self) -> Option<Markup> {
        (!self.report.rivals.is_empty()).then(|| html! {
            p {
                "Means over " (self.report.pictures) " pictures of Kodak: PSNR over the samples of all three channels, MS-SSIM over \
                 the channels. nestcast is one stream a picture, cut at each point. Curves without dots, but for nestcast's, are \
                 published means over the same pictures."
            }
            (linked_chart("kodak/psnr.svg", "PSNR over bits per pixel"))
            (linked_chart("kodak/ms-ssim.svg", "MS-SSIM over bits per pixel"))
            h3 { "BD-rate" }
            p {
                "Bytes that nestcast needs compared with the codec of the row at equal quality, on average over the qualities that \
                 nestcast has from 0.1 to 1.5 bpp; negative: fewer. Columns are nestcast's decoders, of the model " code { "photo" }
                " or, where ssim is said, " code { "photo-ssim" } ". A star marks curves that share little."
            }
            (self.rates("at equal PSNR, against", Quality::Psnr))
            (self.rates("at equal MS-SSIM, against", Quality::MsSsim))
        })
    }

    /// Shows BD-rates at equal quality.
    fn rates(&self, against: &str, quality: Quality) -> Markup {
        let columns = self.report.columns().iter().map(|column| style::name(&column.name));
        let short = columns.map(|column| column.trim_start_matches("nestcast, ").to_owned());
        let names = heads([against.to_owned()].into_iter().chain(short));
        // A codec that was measured here does not appear again with somebody else's figures.
        let deltas = self.report.deltas(quality);
        let listed = deltas.iter().filter(|(name, _)| !name.starts_with("local/") || style::is_known(name));
        let rows = listed.map(|(name, cells)| {
            let percents = cells.iter().map(|delta| cell(*delta));
            let percents = percents.map(|text| if text.is_empty() { text } else { text + " %" });
            Row::plain([style::name(name)].into_iter().chain(percents))
        });
        table(&names, rows)
    }

    fn look(&self) -> Option<Markup> {
        let scores = |score: usize, name: &str| {
            let rows = self.look.lines().into_iter().map(|(codec, cells)| {
                let cells = cells.into_iter().map(|scores| scores[score].clone());
                let ours = style::name(&codec).starts_with("nestcast");
                Row { ours, ..Row::plain([style::name(&codec)].into_iter().chain(cells)) }
            });
            table(&heads([name.to_owned()].into_iter().chain(perceptual::Table::heads())), rows)
        };
        (!self.look.is_empty()).then(|| html! {
            p {
                "Two metrics that follow what people say of pictures, means over Kodak, every codec with the most bytes that fit \
                 into the rate: SSIMULACRA2 (100: equal, 70 high, 50 medium, 30 low quality) and Butteraugli (3-norm, 0: equal)."
            }
            (linked_chart("kodak/ssimulacra2.svg", "SSIMULACRA2 over bits per pixel"))
            (scores(0, "SSIMULACRA2 at"))
            (scores(1, "Butteraugli at"))
        })
    }

    fn decoders(&self) -> Option<Markup> {
        let pictures = || self.decoders.iter().filter_map(|file| file.strip_suffix("-original.jpg"));
        (!self.decoders.is_empty()).then(|| html! {
            p {
                "Prefixes of one stream of the model " code { (decoders::MODEL_NAME) } " by its networks (deep) and without (linear), four \
                 rivals encoded anew for at most as many bytes, and the original: the middle of each picture, pixel by pixel."
            }
            @for picture in pictures() { (self.switch(picture)) }
        })
    }

    /// Shows a picture at every rate, by the chosen version.
    fn switch(&self, picture: &str) -> Markup {
        let id = |shown: Shown| format!("{picture}-{}", shown.name());
        let there = |file: &str| self.decoders.iter().any(|name| name == file);
        let of = |shown: Shown, rate| format!("{}.jpg", shown.file(picture, rate));
        let versions =
            Shown::ALL.into_iter().filter(|shown| decoders::RATES_BPP.iter().any(|rate| there(&of(*shown, *rate))));
        let versions: Vec<Shown> = versions.collect();
        html! {
            div.switch {
                @for (place, shown) in versions.iter().copied().enumerate() {
                    input type="radio" name=(picture) id=(id(shown)) checked[place == 0]; label for=(id(shown)) { (shown.name()) }
                }
                div { @for rate in decoders::RATES_BPP { figure {
                    @for shown in versions.iter().copied() {
                        @let file = of(shown, rate);
                        @let alt = match shown {
                            Shown::Original => "original".to_owned(),
                            _ if there(&file) => format!("{} at {rate} bpp", shown.name()),
                            _ => "no file is this small".to_owned(),
                        };
                        img alt=(alt) src=(format!("decoders/{file}"));
                    }
                    figcaption { (picture.replace('_', " ")) ", at most " (rate) " bpp" }
                } } }
            }
        }
    }

    fn population(&self) -> Option<Markup> {
        (!self.outcomes.is_empty()).then(|| html! {
            p {
                "Receivers have the bandwidths of public traces: mobile links of Norwegian commuters, broadband lines measured by \
                 the FCC, and links of a video service (Oboe), a third each. A picture is sent once an interval, so a receiver's \
                 budget is its bandwidth times the interval. nestcast's stream is cut to every budget. A ladder's receivers take the \
                 largest file that fits; its files are the best choice for each picture and population, found by an exact search over \
                 all qualities with the receivers known. A receiver for whom no file is small enough is counted as seeing the \
                 picture's mean colour. No file is of a smaller picture than the original."
            }
            @for interval in INTERVALS_MS {
                (linked_chart(&format!("population/expected-{interval}ms.svg"), "expected quality over what is stored"))
                (self.served(interval))
            }
        })
    }

    /// Shows the result of every way to serve all receivers at one interval.
    fn served(&self, interval_ms: f64) -> Markup {
        let names = ["", "encodes", "stored", "without a picture", "expected error as PSNR", "expected PSNR"];
        let rows = self.outcomes.iter().filter(|outcome| outcome.interval_ms == interval_ms).map(|outcome| {
            let name = style::name(&outcome.codec);
            let ours = name.starts_with("nestcast");
            let cells = [
                name,
                outcome.encodes.to_string(),
                format!("{:.1} kB", outcome.stored_bytes / 1e3),
                format!("{:.1} %", outcome.unserved * 100.0),
                format!("{:.2} dB", outcome.expected_db),
                format!("{:.2} dB", outcome.mean_db),
            ];
            Row { ours, ..Row::plain(cells) }
        });
        table(&heads(names), rows)
    }

    fn video(&self) -> Option<Markup> {
        let clips = self.video.clips();
        (!clips.is_empty()).then(|| html! {
            p {
                "Schemes with one frame of latency at five rates, each twice the one before, on " (clips.len()) " clips in planar \
                 YCbCr 4:2:0. PSNR is that of luma, from the ninth frame on; all bytes count from the first on. nestcast codes once \
                 for all rates, a rival anew for each. BD-rates in %, at the rate that a receiver's link must have: negative where the row needs less than the column."
            }
            (self.video_rates())
            p {
                "Means over clips and rates. Least PSNR and jump, the largest difference between neighbouring frames, are of each run; \
                 used is the share of the receivers' rates; the largest frame is that of all runs, in the times of a frame that it takes on the link."
            }
            (self.video_quality())
            @if !self.video_look.is_empty() { (self.video_look()) }
            (self.video_population())
            @if !self.layers.is_empty() { (self.video_layers()) }
            @for clip in clips {
                h3 { (clip) }
                (linked_chart(&format!("video/{}", rate_plot(clip)), "PSNR over rate"))
                (linked_chart(&format!("video/{}", frame_plot(clip)), "PSNR of every frame"))
            }
        })
    }

    fn video_rates(&self) -> Markup {
        let names = heads(["BD-rate in %, against".to_owned()].into_iter().chain(ANCHOR_IDS.map(style::name)));
        table(&names, self.video_rows(|summary| summary.rates.map(percent).to_vec()))
    }

    fn video_quality(&self) -> Markup {
        let names = ["", "PSNR", "least PSNR", "jump", "used", "largest frame"];
        let cells = |summary: &video::Summary| {
            let decibels = [summary.luma_db, summary.least_db, summary.jump_db].map(|db| format!("{db:.2} dB"));
            let others = [format!("{:.0} %", 100.0 * summary.used), format!("{:.1}", summary.largest_frame)];
            decibels.into_iter().chain(others).collect()
        };
        table(&heads(names), self.video_rows(cells))
    }

    fn video_look(&self) -> Markup {
        let rows = video_look::lines(&self.video_look).into_iter().map(|(scheme, cells)| {
            let ours = is_ours(&scheme);
            Row { ours, ..Row::plain([style::name(&scheme)].into_iter().chain(cells)) }
        });
        html! {
            p {
                "The same by metrics that follow what people say of video: VMAF, 0 to 100, and XPSNR of luma. BD-rates in % are against \
                 x264 zerolatency with its own tuning for the eye, by the link and by the bytes used; a number in parentheses says on how \
                 many clips two curves share a range, if not on all."
            }
            (table(&heads([""].into_iter().chain(video_look::HEADS)), rows))
        }
    }

    /// Returns a row for each scheme: its name, and the cells of its summary.
    fn video_rows(&self, cells: impl Fn(&video::Summary) -> Vec<String>) -> Vec<Row> {
        let row = |summary: video::Summary| {
            let ours = is_ours(&summary.scheme);
            Row { ours, ..Row::plain([style::name(&summary.scheme)].into_iter().chain(cells(&summary))) }
        };
        self.video.summaries(Planes::Luma, Cost::Link).into_iter().map(row).collect()
    }

    fn video_population(&self) -> Markup {
        let rows = self.video.population().into_iter().map(|(scheme, encodes, db, unserved)| {
            let ours = is_ours(&scheme);
            let way = if ours { style::name(&scheme) } else { "ladder of x264 zerolatency".to_owned() };
            let cells = [way, encodes.to_string(), format!("{db:.2} dB"), format!("{:.1} %", 100.0 * unserved)];
            Row { ours, ..Row::plain(cells) }
        });
        html! {
            p {
                "The population: receivers with the bandwidths of the traces, scaled so that the one in the middle has the middle rate \
                 of the clip; a ladder's renditions are the best choice with the receivers known."
            }
            (table(&heads(["", "encodes", "mean PSNR of luma", "without a picture"]), rows))
        }
    }

    fn video_layers(&self) -> Markup {
        let clips = layers::report::clips(&self.layers);
        let rows = layers::report::summaries(&self.layers, &clips).into_iter().map(|summary| {
            let ours = is_ours(&summary.scheme);
            let cells = [style::name(&summary.scheme)].into_iter().chain(layers::report::cells(&summary));
            Row { ours, ..Row::plain(cells) }
        });
        html! {
            p {
                "Receivers of unequal rates, a factor of sixteen apart, on " (clips.len()) " clips: each gets the best stream that fits its \
                 link, by its mean rate, or because every frame arrives within 1.5 frame times. Receivers for whom the lowest stream is \
                 too late count with its quality. Bytes and processor time are over those of one stream of nestcast."
            }
            (table(&heads(layers::report::heads()), rows))
        }
    }

    fn low_end(&self) -> Option<Markup> {
        let sheet = |file: &String| {
            let name = file.trim_end_matches(".jpg").replace('_', " ");
            let alt = format!("{name} by nestcast and its rivals at equal bytes");
            let whole = format!("sheets/{file}");
            html! { a href=(whole) { (figure("sheet", Image::File(&whole), &alt, None, &html! { (name) ", full size" })) } }
        };
        (!self.sheets.is_empty()).then(|| html! {
            p {
                "Each row has one budget. The rivals encode for it anew, with the highest quality that fits; nestcast's pictures are \
                 prefixes of one stream. Above all the first 0.5 % of the stream, where the whole frame is there."
            }
            @for file in &self.sheets { (sheet(file)) }
        })
    }

    fn time(&self) -> Option<Markup> {
        let first = self.timings.first()?;
        let stages = self.timings.iter().map(|row| {
            let what = format!("{}: {}", row.group, row.name.replace('/', ", "));
            Row::plain([what, format!("{:.2} ms", row.median_ms)])
        });
        let names = [head("", "", ""), head("nestcast", "", ""), head("rival", "", ""), head("ratio", "", "bars")];
        Some(html! {
            p {
                (first.picture) " near 1 bpp, medians of one run of " code { "cargo bench" } ", " (first.machine) ". nestcast uses two \
                 threads, the rivals, which know no more, one. Machines are shared: read the ratios."
            }
            (table(&names, timing::ratios(&self.timings).iter().map(ratio)))
            h3 { "Every stage and rival" }
            (table(&heads(["", "median"]), stages))
        })
    }

    fn size(&self) -> Option<Markup> {
        let first = self.scaling.first()?;
        let names = ["", "pixels", "megapixels", "time", "time a megapixel", "peak memory", "memory a pixel"];
        Some(html! {
            p {
                "A photo laid out like mirrored tiles, streams of 1 bpp, " (first.threads) " threads, " (first.machine) ". Every figure \
                 comes from a process of its own, whose peak resident set is counted whole: the picture, the program and, for the \
                 deep transforms, ONNX Runtime."
            }
            (linked_chart("scaling-time.svg", "time over megapixels"))
            (linked_chart("scaling-memory.svg", "peak memory over megapixels"))
            (table(&heads(names), self.scaling.iter().map(grown)))
        })
    }
}

/// Compares one of nestcast's times with a rival's, with a bar of their ratio.
fn ratio(ratio: &timing::Ratio) -> Row {
    let times = ratio.ours_ms / ratio.rival_ms;
    let width = times.min(BAR_RATIO) / BAR_RATIO * BAR_REM;
    let pair = format!("{} / {}", ratio.ours, ratio.rival).replace("code/", "code, ");
    let mut row = Row::plain([pair, format!("{:.1} ms", ratio.ours_ms), format!("{:.1} ms", ratio.rival_ms)]);
    row.cells.push(html! {
        span.bar.over[times > 1.0] style={ "width:" (format!("{width:.2}rem")) } {} " " (format!("{times:.2}"))
    });
    row
}

/// Shows time and memory of one operation on one size.
fn grown(row: &scaling::Row) -> Row {
    let memory =
        |scale: f64, unit: &str| row.peak_mib.map_or_else(String::new, |mib| format!("{:.0} {unit}", mib * scale));
    Row::plain([
        style::name(&row.operation),
        format!("{} x {}", row.width, row.height),
        format!("{:.1}", row.megapixels),
        format!("{:.1} ms", row.ms),
        format!("{:.1} ms", row.ms / row.megapixels),
        memory(1.0, "MiB"),
        memory(1.048_576 / row.megapixels, "B"),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_not_measured_is_left_out() {
        let report = Report { ours: Vec::new(), rivals: Vec::new(), anchors: Vec::new(), pictures: 0 };
        let row = timing::Row {
            machine: "m".to_owned(),
            picture: "a<b".to_owned(),
            group: "stage".to_owned(),
            name: "deep".to_owned(),
            median_ms: 1.0,
        };
        let (outcomes, sheets, scaling) = (Vec::new(), vec!["a_photo.jpg".to_owned()], Vec::new());
        let decoders = ["original", "deep-0.1", "linear-0.1", "AVIF-0.1", "JPEG-XL-0.1", "WebP-0.3"];
        let decoders = decoders.map(|shown| format!("b-{shown}.jpg")).to_vec();
        let video = video::Report::default();
        let html = Page {
            report,
            look: perceptual::Table::default(),
            video,
            video_look: Vec::new(),
            layers: Vec::new(),
            outcomes,
            sheets,
            decoders,
            timings: vec![row],
            scaling,
        }
        .html();
        assert!(html.contains("src=\"sheets/a_photo.jpg\"") && html.contains("a photo"));
        assert!(
            html.contains("alt=\"deep at 0.1 bpp\" src=\"decoders/b-deep-0.1.jpg\"")
                && html.matches("type=\"radio\"").count() == 6
                && html.matches("alt=\"original\" src=\"decoders/b-original.jpg\"").count() == 3
        );
        assert_eq!(html.matches("no file is this small").count(), 2 * 5, "{html}");
        assert!(!html.contains("JPEG-0.1"), "nothing was drawn by JPEG: {html}");
        assert!(html.contains("a&lt;b") && html.contains("1.00 ms"));
        assert!(!html.contains("megapixels") && !html.contains("BD-rate"), "{html}");
    }
}
