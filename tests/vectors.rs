//! The frozen vectors: the codec still encodes pictures to exactly these bytes, and decodes pictures and videos as
//! before.

use bytes::Bytes;
use nestcast_codec::VideoFile;
use nestcast_tests::clips::{CLIPS, FIRST_CAPTURED, NEVER};
use nestcast_tests::reference::{Reference, StoredVideo};
use nestcast_tests::vectors::{self, read};
use nestcast_tests::video_vectors::{self, Row};

#[test]
fn encoding_gives_the_frozen_bytes() {
    let model = vectors::model();
    for vector in read() {
        let name = vector.recipe.name;
        let stream = vector.recipe.encode(&model);
        let first = stream.iter().zip(&vector.stream).position(|(now, frozen)| now != frozen);
        assert!(
            stream == vector.stream,
            "{name}: encoding gives {} bytes, frozen are {}; the first that differs is {:?}",
            stream.len(),
            vector.stream.len(),
            first.unwrap_or(stream.len().min(vector.stream.len())),
        );
    }
}

#[test]
fn decoding_gives_the_frozen_digests() {
    let (tables, model) = (vectors::tables(), vectors::model());
    for vector in read() {
        let name = vector.recipe.name;
        let reference = Reference::decode(&tables, &vector.stream);
        let reference = reference.unwrap_or_else(|fault| panic!("{name}: {fault:?}")).expect("a whole header");
        assert!(vector.rows.len() > 1, "{name}: the manifest has {} cuts", vector.rows.len());
        for frozen in &vector.rows {
            let now = vectors::row(&vector.stream, &reference, &model, frozen.cut);
            assert_eq!(now.levels, frozen.levels, "{name}, first {} bytes: Levels", frozen.cut);
            assert_eq!(now.samples, frozen.samples, "{name}, first {} bytes: linear samples", frozen.cut);
        }
    }
}

#[test]
fn the_manifest_tells_of_the_files() {
    let (manifest, model) = (vectors::manifest(), vectors::model());
    let lines = manifest.lines().skip(1);
    let names: Vec<&str> = vectors::RECIPES.iter().map(|recipe| recipe.name).collect();
    for line in lines {
        let name = line.split('\t').next().expect("a first column");
        assert!(names.contains(&name), "{name}: in the manifest, but no vector");
    }
    for vector in read() {
        let head = vectors::head(&vector.recipe, &model, &vector.stream);
        let lines = manifest.lines().filter(|line| line.starts_with(&format!("{}\t", vector.recipe.name)));
        for line in lines {
            assert!(line.starts_with(&format!("{head}\t")), "{head:?} is not what the manifest says: {line:?}");
        }
    }
}

/// Encoders of video are free: only the decoding of their frames is frozen.
#[test]
fn videos_decode_to_the_frozen_digests() {
    let tables = vectors::tables();
    for clip in &CLIPS {
        let stored = video_vectors::read(clip);
        let rows = video_vectors::rows(clip);
        assert!(rows.len() > 2 * clip.frames as usize, "{}: the manifest has {} rows", clip.name, rows.len());
        for run in video_vectors::RUNS {
            let frozen: Vec<&Row> = rows.iter().filter(|row| row.run == run).collect();
            let counts: Vec<usize> = frozen.iter().map(|row| row.bytes).collect();
            let now = video_vectors::decode(&tables, &stored, run, &counts);
            for (now, frozen) in now.iter().zip(frozen) {
                assert_eq!(now, frozen, "{}, {run}, frame {}", clip.name, frozen.frame);
            }
        }
    }
}

#[test]
fn stored_videos_are_read_as_the_reference_reads_them() {
    for clip in &CLIPS {
        let stored = video_vectors::read(clip);
        let reference = StoredVideo::read(&stored).expect("a valid video");
        let mut file = VideoFile::new(Bytes::from(stored)).expect("a valid video");
        let header = *file.header();
        assert_eq!((header.size.width(), header.size.height()), (reference.width, reference.height));
        assert_eq!((header.bits, reference.bits), (clip.bits, clip.bits));
        assert_eq!(header.models.map(|model| model.0), reference.models);
        assert_eq!(
            (header.renditions.count(), reference.renditions.len()),
            (clip.renditions, if clip.renditions > 1 { clip.renditions } else { 0 })
        );
        assert!(reference.renditions.iter().zip(header.renditions.rates()).all(|(a, b)| *a as u64 == b.bits()));
        for (number, frame) in reference.frames.iter().enumerate() {
            assert_eq!(file.next_frame().expect("a record").as_deref(), Some(&frame[..]), "frame {number}");
            let expected = clip.is_timed.then(|| FIRST_CAPTURED + number as u64 * 33_333);
            assert_eq!((file.captured(), reference.times[number]), (expected, expected), "frame {number}");
        }
        assert_eq!(file.next_frame(), Ok(None));
        let key = if clip.begins_anew { clip.cut } else { clip.joins };
        let cut = if key == NEVER { 0 } else { key.into() };
        assert_eq!(reference.frames.len(), clip.frames as usize * clip.renditions);
        assert_eq!(file.seek(u64::from(clip.frames)), Ok(cut), "{}: the last key frame", clip.name);
    }
}
