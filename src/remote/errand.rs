//! Requests to another machine that need no engine: list, stop, fetch.

use std::path::{Path, PathBuf};

use super::RemoteError;
use super::address::Address;
use super::client::{disorder, reply};
use super::message::{Hello, Message, Status, Want};
use super::near::Channel;
use super::transfer::Incoming;
use session::name;

fn errand(address: &Address, want: Want, name: &str) -> Result<Channel, RemoteError> {
    let version = env!("CARGO_PKG_VERSION").into();
    Channel::open(address, true, &Hello { version, want, name: name.into(), ..Hello::default() })
}

/// Lists the engines and sessions on the other machine.
pub fn list(address: &Address) -> Result<Vec<Status>, RemoteError> {
    match reply(address, &mut errand(address, Want::List, "")?)? {
        Message::List(all) => Ok(all),
        _ => Err(disorder(address)),
    }
}

/// Ends a remote engine: its run is cancelled and its session is kept. Returns once it has ended.
pub fn stop(address: &Address, name: &str) -> Result<(), RemoteError> {
    match reply(address, &mut errand(address, Want::Stop, name)?)? {
        Message::Bye => Ok(()),
        _ => Err(disorder(address)),
    }
}

/// Copies a session into `folder` under a free name and returns the file. An incomplete copy is removed.
pub fn fetch(address: &Address, session: &str, folder: &Path) -> Result<PathBuf, RemoteError> {
    let io = |source| RemoteError::Io { place: folder.display().to_string(), source };
    let mut channel = errand(address, Want::Fetch, session)?;
    let mut message = reply(address, &mut channel)?;
    std::fs::create_dir_all(folder).map_err(io)?;
    // A session may have any size; if the far end never stops sending, the full disk stops the copy.
    let mut transfer = Incoming::new(&folder.join("fetched"), u64::MAX).map_err(io)?;
    let mut file = loop {
        match message {
            Message::Piece(piece) => transfer.take(&piece).map_err(io)?,
            Message::Whole(sum) => break transfer.close(&sum).map_err(io)?,
            _ => return Err(disorder(address)),
        }
        message = reply(address, &mut channel)?;
    };
    for k in 1..1000 {
        let named = if k == 1 { session.to_owned() } else { format!("{session}-{k}") };
        match file.persist_noclobber(name::file(folder, &named)) {
            Ok(_) => return Ok(name::file(folder, &named)),
            Err(e) if e.error.kind() == std::io::ErrorKind::AlreadyExists => file = e.file,
            Err(e) => return Err(io(e.error)),
        }
    }
    Err(io(std::io::ErrorKind::AlreadyExists.into()))
}
