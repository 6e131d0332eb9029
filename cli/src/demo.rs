//! `nestcast demo`: reads the inputs, shows them, writes the files.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use nestcast_codec::Model as PictureModel;
use nestcast_lab::clip::Clip;
use nestcast_lab::demo::{
    Setup, Shown,
    broadcast::{self, Video},
    picture::{self, Coders, Photo},
};
use nestcast_media::output::Output;
use nestcast_media::{Input, Kind, is_standard};

use crate::args::{Analysis, Demo, PictureCoding, Transform};
use crate::live::Page;
use crate::transforms::{Model, usual_decoders};
use crate::{files, pictures};

pub(crate) fn run(options: &Demo) -> Result<()> {
    let folder = &options.output;
    ensure!(!is_standard(folder), "the demo writes several files: name a folder with -o");
    ensure!(!folder.exists() || folder.is_dir(), "{} is a file: name a folder with -o", folder.display());
    let model = Model::open(&options.common)?;
    let is_known = options.web.is_none() || model.package.id() == PictureModel::photo().id();
    ensure!(is_known, "the page of --web decodes with the model photo: leave out --model or --web");
    // Before the work, because the address may be taken.
    let page = options.web.map(Page::listen).transpose()?;
    let setup = Setup { package: &model.package, threads: options.common.threads(), note: files::note };
    let Some(path) = &options.source else {
        // Fails now instead of after the broadcast.
        let coders = coders(options, &model)?;
        show(options, &broadcast::run(&setup, &Video::builtin()?)?)?;
        files::print("\n")?;
        return show_picture(options, &setup, &Photo::builtin()?, coders, page);
    };
    // Opened once, because a pipe can be read only once.
    let (name, mut input, max_pixels) = (Input::short_name_of(path), Input::open(path)?, options.common.max_pixels);
    if input.kind()? == Kind::Y4m {
        let linear = !options.decoder.is_some_and(|asked| asked.contains(&Transform::Deep));
        let why = "deep decoders and --model are for pictures, and video has only linear: leave them out";
        ensure!(linear && options.common.model.is_none(), why);
        ensure!(options.web.is_none(), "--web cuts a picture: leave it out, or name a picture");
        let clip = Clip::read(input.into_reader(), max_pixels);
        let clip = clip.with_context(|| format!("{} is refused", Input::name_of(path)))?;
        return show(options, &broadcast::run(&setup, &Video::new(name, clip))?);
    }
    let photo = Photo::new(name, pictures::read(input, max_pixels)?)?;
    show_picture(options, &setup, &photo, coders(options, &model)?, page)
}

/// Shows a picture in files, and then in browsers if asked to.
fn show_picture(options: &Demo, setup: &Setup<'_>, photo: &Photo, coders: Coders, page: Option<Page>) -> Result<()> {
    let shown = picture::run(setup, photo, coders)?;
    show(options, &shown.show()?)?;
    page.map_or(Ok(()), |page| shown.slider().map(|files| page.serve(files)))
}

fn coders(options: &Demo, model: &Model) -> Result<Coders> {
    let kinds = options.decoder.unwrap_or_else(usual_decoders);
    let decoders: Result<_> = kinds.iter().map(|&kind| Ok((kind.name(), model.decoder(kind)?))).collect();
    // The last decoder is the best: both appear in the order linear, deep.
    let analysis = if kinds.ends_with(&[Transform::Deep]) { Analysis::Deep } else { Analysis::Linear };
    let coding = PictureCoding { analysis: Some(analysis), strength: None };
    Ok(Coders { decoders: decoders?, encoder: model.encoder(&coding)?.1 })
}

/// Writes the files of a demonstration, never over its source, and says where they are.
fn show(options: &Demo, shown: &Shown) -> Result<()> {
    let folder = &options.output;
    fs::create_dir_all(folder).with_context(|| format!("{} cannot be created", folder.display()))?;
    let source: Vec<&Path> = options.source.iter().map(AsRef::as_ref).collect();
    let mut text = shown.summary.clone() + "\n";
    for file in &shown.files {
        let path = folder.join(file.name);
        Output::new(&path, &source)?.write(&file.bytes)?;
        text += &format!("{:<13}  {}\n", file.what, path.display());
    }
    files::print(&text)
}
