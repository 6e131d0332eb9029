use std::fs;

use bytes::Bytes;
use tempfile::TempDir;

use super::*;

const HOUR: u64 = 3600;

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970").as_secs()
}

fn claims() -> Claims {
    Claims { exp: now() + HOUR, nbf: None, aud: None, sub: None, jti: None, max_bitrate: None }
}

fn key() -> SigningKey {
    SigningKey::generate().expect("a key").0
}

struct Bench {
    _folder: TempDir,
    file: std::path::PathBuf,
    tokens: SignedTokens,
}

impl Bench {
    fn new(keys: &[&SigningKey], audience: Option<&str>) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("keys.json");
        write(&file, keys);
        let tokens = SignedTokens::from_file(&file, audience.map(str::to_owned)).expect("keys");
        Self { _folder: folder, file, tokens }
    }

    async fn ask(&self, token: &str) -> Result<Grant, Denial> {
        self.ask_for("", token).await
    }

    async fn ask_for(&self, broadcast: &str, token: &str) -> Result<Grant, Denial> {
        self.tokens.authorize(&request(broadcast, token)).await
    }
}

fn request(broadcast: &str, token: &str) -> AccessRequest {
    let token = Bytes::copy_from_slice(token.as_bytes());
    AccessRequest::new(([127, 0, 0, 1], 9).into(), token, None, broadcast.parse().expect("a name"))
}

fn write(file: &Path, keys: &[&SigningKey]) {
    let set = keys.iter().fold(None, |set: Option<String>, key| Some(key.add_to(set.as_deref()).expect("a set")));
    fs::write(file, set.expect("a key")).expect("it is written");
}

#[tokio::test]
async fn a_token_that_a_key_of_the_file_signed_admits_with_its_name_and_cap() {
    let p256 = rcgen::KeyPair::generate_for(&rcgen::PKCS_ECDSA_P256_SHA256).expect("a key").serialize_pem();
    let (first, second) = (key(), SigningKey::from_pem(&p256).expect("a key"));
    let bench = Bench::new(&[&first, &second], None);
    for key in [&first, &second] {
        let claims = Claims { sub: Some("ann".into()), max_bitrate: Some(2_000_000), ..claims() };
        let granted = bench.ask(&key.sign(&claims).expect("a token")).await.expect("a grant");
        assert_eq!(granted, Grant { name: Some("ann".into()), max_bitrate: Some(Bitrate::from_bits(2_000_000)) });
    }
    assert_eq!(bench.ask(&key().sign(&claims()).expect("a token")).await, Err(Denial::Key), "another key");
    for token in ["", "secret", "a.b.c", "eyJhbGciOiJub25lIn0.e30."] {
        assert_eq!(bench.ask(token).await, Err(Denial::Token), "{token}");
    }
    let token = first.sign(&claims()).expect("a token");
    let (head, signature) = token.rsplit_once('.').expect("three parts");
    let other = second.sign(&claims()).expect("a token");
    let other = other.split('.').nth(1).expect("three parts");
    let forged = format!("{}.{other}x.{signature}", head.split('.').next().expect("a header"));
    assert_eq!(bench.ask(&forged).await, Err(Denial::Key), "other claims under a signature");
}

#[tokio::test]
async fn times_and_audiences_are_checked_and_the_reason_is_named() {
    let key = key();
    let (anywhere, here) = (Bench::new(&[&key], None), Bench::new(&[&key], Some("cam1")));
    let aud = |name: &str| Some(Audience::One(name.into()));
    let several = Some(Audience::Several(vec!["cam2".into(), "cam1".into()]));
    let granted = Ok(Grant::default());
    let cases = [
        (&anywhere, claims(), granted.clone()),
        (&anywhere, Claims { exp: now() - HOUR, ..claims() }, Err(Denial::Expired)),
        (&anywhere, Claims { nbf: Some(now() + HOUR), ..claims() }, Err(Denial::Expired)),
        (&anywhere, Claims { exp: now() - 2, ..claims() }, granted.clone()),
        (&anywhere, Claims { aud: aud("cam1"), ..claims() }, Err(Denial::Audience)),
        (&here, Claims { aud: aud("cam1"), ..claims() }, granted.clone()),
        (&here, Claims { aud: several, ..claims() }, granted),
        (&here, Claims { aud: aud("cam2"), ..claims() }, Err(Denial::Audience)),
        (&here, claims(), Err(Denial::Audience)),
    ];
    for (bench, claims, answer) in cases {
        assert_eq!(bench.ask(&key.sign(&claims).expect("a token")).await, answer, "{claims:?}");
    }
    let token = key.sign(&Claims { aud: aud("cam1"), ..claims() }).expect("a token");
    for (broadcast, answer) in [("cam1", Ok(Grant::default())), ("cam2", Err(Denial::Audience))] {
        assert_eq!(anywhere.ask_for(broadcast, &token).await, answer, "{broadcast} of several");
        let bare = key.sign(&claims()).expect("a token");
        assert_eq!(anywhere.ask_for(broadcast, &bare).await, Err(Denial::Audience));
    }
}

#[tokio::test]
async fn a_token_with_a_number_admits_once() {
    let key = key();
    let bench = Bench::new(&[&key], None);
    let token = key.sign(&Claims { jti: Some("1".into()), ..claims() }).expect("a token");
    assert_eq!(bench.ask(&token).await, Ok(Grant::default()));
    assert_eq!(bench.ask(&token).await, Err(Denial::Used));
    let other = key.sign(&Claims { jti: Some("2".into()), ..claims() }).expect("a token");
    assert_eq!(bench.ask(&other).await, Ok(Grant::default()));
}

#[tokio::test]
async fn a_broadcast_that_is_not_there_uses_no_token_up() {
    let key = key();
    let bench = Bench::new(&[&key], None);
    let token = key.sign(&Claims { jti: Some("1".into()), ..claims() }).expect("a token");
    let nowhere = AccessRequest { is_there: false, ..request("", &token) };
    for _ in 0..2 {
        assert_eq!(bench.tokens.authorize(&nowhere).await, Ok(Grant::default()));
    }
    assert_eq!(bench.ask(&token).await, Ok(Grant::default()));
    assert_eq!(bench.tokens.authorize(&nowhere).await, Err(Denial::Used), "its receiver learns no names");
}

#[tokio::test(start_paused = true)]
async fn keys_are_replaced_while_the_broadcast_runs() {
    let (old, new) = (key(), key());
    let bench = Bench::new(&[&old], None);
    let [old_token, new_token] = [&old, &new].map(|key| key.sign(&claims()).expect("a token"));
    assert_eq!([bench.ask(&old_token).await, bench.ask(&new_token).await], [Ok(Grant::default()), Err(Denial::Key)]);
    write(&bench.file, &[&old, &new]);
    tokio::time::advance(std::time::Duration::from_secs(2)).await;
    assert_eq!(
        [bench.ask(&old_token).await, bench.ask(&new_token).await],
        [Ok(Grant::default()), Ok(Grant::default())]
    );
    fs::write(&bench.file, "broken").expect("it is written");
    tokio::time::advance(std::time::Duration::from_secs(2)).await;
    assert_eq!(bench.ask(&new_token).await, Ok(Grant::default()), "the keys of before stay");
    fs::write(&bench.file, new.add_to(None).expect("a set")).expect("it is written");
    tokio::time::advance(std::time::Duration::from_secs(2)).await;
    assert_eq!(bench.ask(&old_token).await, Err(Denial::Key));
}

#[test]
fn a_key_survives_its_file_and_is_named_by_its_thumbprint() {
    let (key, pem) = SigningKey::generate().expect("a key");
    let again = SigningKey::from_pem(&pem).expect("a key");
    let set = key.add_to(None).expect("a set");
    assert_eq!(again.add_to(Some(&set)).expect("a set"), set, "one key stands in a set once");
    assert!(!format!("{key:?}").contains("PRIVATE") && !set.contains("\"d\""));
    assert!(matches!(SigningKey::from_pem("no key"), Err(KeyError::NotAPrivateKey)));
    // The example of RFC 8037, appendix A.3.
    let members =
        serde_json::json!({"crv": "Ed25519", "kty": "OKP", "x": "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"});
    let hash = <sha2::Sha256 as sha2::Digest>::digest(members.to_string());
    let name = base64::Engine::encode(&base64::engine::general_purpose::URL_SAFE_NO_PAD, hash);
    assert_eq!(name, "kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k");
}
