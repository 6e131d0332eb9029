//! The frozen vectors: the codec still makes exactly these bytes, and reads them as it did.

use nestcast_tests::reference::Reference;
use nestcast_tests::vectors::{self, read};

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
