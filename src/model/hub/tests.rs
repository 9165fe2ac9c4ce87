//! The cache without a network: cached files are found, and errors name missing ones.

use std::collections::HashMap;
use std::fs;

use super::*;

fn settings(pairs: &[(&str, &str)]) -> Settings {
    let map: HashMap<&str, &str> = pairs.iter().copied().collect();
    Settings::from(|name| map.get(name).map(|v| v.to_string()))
}

#[test]
fn environment_variables_match_hugging_face_clients() {
    let s = settings(&[("HF_HOME", "/h"), ("HF_HUB_OFFLINE", "true"), ("HF_TOKEN", "t")]);
    assert_eq!((s.cache.as_path(), s.offline), (Path::new("/h/hub"), true));
    assert_eq!(s.token.as_deref(), Some("t"));
    let s = settings(&[("HF_HOME", "/h"), ("HF_HUB_CACHE", "/c"), ("HF_HUB_OFFLINE", "0"), ("HF_ENDPOINT", "")]);
    assert_eq!((s.cache.as_path(), s.offline, s.endpoint), (Path::new("/c"), false, None));
    assert_eq!(settings(&[("HUGGINGFACE_HUB_CACHE", "/o")]).cache, Path::new("/o"));
    assert_eq!(settings(&[("XDG_CACHE_HOME", "/x")]).cache, Path::new("/x/huggingface/hub"));
    assert!(settings(&[("TRANSFORMERS_OFFLINE", "YES")]).offline);
    let dir = tempfile::tempdir().unwrap();
    let home = dir.path().to_str().unwrap();
    fs::write(dir.path().join("token"), "secret\n").unwrap();
    assert_eq!(settings(&[("HF_HOME", home)]).token.as_deref(), Some("secret"));
    assert_eq!(settings(&[("HF_HOME", home), ("HF_HUB_DISABLE_IMPLICIT_TOKEN", "1")]).token, None);
}

#[test]
fn offline_uses_cache_or_names_missing_file() {
    let dir = tempfile::tempdir().unwrap();
    let s = Settings {
        cache: dir.path().to_owned(),
        offline: true,
        endpoint: None,
        token: None,
        patience: Timeouts::default(),
    };
    let why = || resolve("org/m", "main", &s, &mut |_| Ok(())).unwrap_err().to_string();
    assert!(why().contains("HF_HUB_OFFLINE") && why().contains("refs/main"), "{}", why());
    let root = dir.path().join("models--org--m");
    let snapshot = root.join("snapshots/abc123");
    fs::create_dir_all(&snapshot).unwrap();
    fs::create_dir_all(root.join("refs")).unwrap();
    fs::write(root.join("refs/main"), "abc123\n").unwrap();
    assert!(why().contains("snapshots/abc123/config.json"), "{}", why());
    fs::write(snapshot.join("config.json"), "{}").unwrap();
    assert!(why().contains("snapshots/abc123/model.safetensors"), "{}", why());
    fs::write(snapshot.join(INDEX), r#"{"weight_map": {"a": "p-1.safetensors", "b": "p-2.safetensors"}}"#).unwrap();
    fs::write(snapshot.join("p-1.safetensors"), "").unwrap();
    assert!(why().contains("p-2.safetensors"), "{}", why());
    fs::write(snapshot.join("p-2.safetensors"), "").unwrap();
    assert_eq!(resolve("org/m", "main", &s, &mut |_| Ok(())).unwrap(), snapshot);
    assert_eq!(
        resolve("org/m", "abc123", &s, &mut |_| Ok(())).unwrap(),
        snapshot,
        "a commit is accepted as a revision"
    );
}

#[test]
fn malicious_reference_cannot_leave_the_cache() {
    let dir = tempfile::tempdir().unwrap();
    let s = Settings {
        cache: dir.path().to_owned(),
        offline: true,
        endpoint: None,
        token: None,
        patience: Timeouts::default(),
    };
    let root = dir.path().join("models--m");
    fs::create_dir_all(root.join("snapshots")).unwrap();
    fs::create_dir_all(root.join("refs")).unwrap();
    fs::create_dir_all(dir.path().join("outside")).unwrap();
    fs::write(dir.path().join("outside/config.json"), "{}").unwrap();
    fs::write(dir.path().join("outside/model.safetensors"), "").unwrap();
    fs::write(root.join("refs/main"), "../../outside").unwrap();
    assert!(resolve("m", "main", &s, &mut |_| Ok(())).is_err());
    assert!(resolve("m", "../../outside", &s, &mut |_| Ok(())).is_err());
    assert!(resolve("../m", "main", &s, &mut |_| Ok(())).is_err());
}
