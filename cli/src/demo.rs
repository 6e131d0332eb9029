//! `nestcast demo`: reads what is named, shows it, writes the files.

use std::fs::{self, File};
use std::path::Path;

use anyhow::{Context, Result, ensure};
use nestcast_lab::clip::Clip;
use nestcast_lab::demo::{
    Setup, Shown,
    broadcast::{self, Video},
    picture::{self, Coders, Photo},
};
use nestcast_media::Kind;

use crate::args::{Decoders, Demo};
use crate::files;
use crate::pictures;
use crate::transforms::Model;

pub(crate) fn run(options: &Demo) -> Result<()> {
    let folder = &options.output;
    ensure!(!files::is_standard(folder), "the demo writes several files: name a folder with -o");
    ensure!(!folder.exists() || folder.is_dir(), "{} is a file: name a folder with -o", folder.display());
    let model = Model::open(&options.common)?;
    let setup = Setup { package: model.package(), threads: options.common.threads(), note: files::note };
    match &options.source {
        Some(path) if !files::is_standard(path) && files::kind(path)? == Kind::Y4m => {
            let deep = options.decoder.is_some_and(|asked| asked != Decoders::Linear);
            let of_picture = deep || options.common.model.is_some();
            ensure!(
                !of_picture,
                "deep decoders and --model are for pictures: video has no other than linear, leave them out"
            );
            show(options, &broadcast::run(&setup, &video(path, options.common.max_pixels)?)?)
        }
        Some(path) => {
            let photo = Photo::new(name(path), pictures::read(path, options.common.max_pixels)?)?;
            show(options, &picture::run(&setup, &photo, coders(options, &model)?)?)
        }
        None => {
            // Fails now rather than after the broadcast.
            let coders = coders(options, &model)?;
            show(options, &broadcast::run(&setup, &Video::builtin()?)?)?;
            files::print("\n")?;
            show(options, &picture::run(&setup, &Photo::builtin()?, coders)?)
        }
    }
}

fn video(path: &Path, max_pixels: u64) -> Result<Video> {
    let input = File::open(path).with_context(|| format!("{} cannot be read", path.display()))?;
    let clip = Clip::read(input, max_pixels).with_context(|| format!("{} is refused", path.display()))?;
    Ok(Video::new(name(path), clip))
}

fn coders(options: &Demo, model: &Model) -> Result<Coders> {
    let kinds = options.decoder.unwrap_or(Decoders::Both).list();
    let decoders: Result<_> = kinds.iter().map(|&kind| Ok((kind.name(), model.decoder(kind)?))).collect();
    // The last is the best: both are shown in the order linear, deep.
    Ok(Coders { decoders: decoders?, encoder: model.encoder(kinds[kinds.len() - 1])? })
}

fn name(path: &Path) -> String {
    path.file_name().map_or_else(|| files::name(path), |name| name.to_string_lossy().into_owned())
}

/// Writes what came of a demonstration, never over its source, and says where it is.
fn show(options: &Demo, shown: &Shown) -> Result<()> {
    let folder = &options.output;
    fs::create_dir_all(folder).with_context(|| format!("{} cannot be created", folder.display()))?;
    let source: Vec<&Path> = options.source.iter().map(AsRef::as_ref).collect();
    let mut text = shown.summary.clone() + "\n";
    for file in &shown.files {
        let path = folder.join(file.name);
        files::output(&path, &source)?.write(&file.bytes)?;
        text += &format!("{:<13}  {}\n", file.what, path.display());
    }
    files::print(&text)
}
