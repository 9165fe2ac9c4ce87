//! `probity --remote`: the terminal program on a remote engine, which it controls or only watches.

use std::time::{Duration, SystemTime};

use super::error::CliError;
use super::remote::{connect, report_end};
use super::tui::{TuiArgs, look, notice, open, record, spec};
use engine::message::Command;
use labs::Spec;
use remote::message::{Hello, Want};
use remote::{Address, Past};
use session::format::Item;
use session::name;
use session::record::{Record as _, Recorder};
use tui::run::Source;
use tui::state::{ReplayState, Seat};

/// Connects and then opens the screen; while connecting, ssh may ask for a password.
///
/// # Errors
/// [`CliError::Usage`] for an unusable spec, [`CliError::Failed`] if there is no engine or the terminal fails.
pub(super) fn live(args: &TuiArgs, address: &Address) -> Result<(), CliError> {
    let first = spec(args, false)?;
    let files = args.far.files(args.spec.as_slice())?;
    let hello = Hello { asked: true, ..args.far.hello(&args.device, &args.dtype, args.memory_limit) };
    let hello = match &args.attach {
        Some(name) => Hello { want: Want::Attach, name: name.clone(), ..hello },
        None => {
            let default = || name::default_name(first.common().subject(), SystemTime::now());
            let name = args.session.clone().unwrap_or_else(default);
            Hello { name, models: first.models().to_vec(), ..hello }
        }
    };
    let (mut far, past) = connect(address, hello, &files)?;
    let (name, farewell) = (far.name().to_owned(), far.farewell());
    let spec = last_spec(&past).unwrap_or(first);
    let mut notices = Vec::new();
    let mut start = look(&args.look, &mut notices)?;
    start.far = Some(Seat { host: address.host().to_owned(), name: name.clone(), wait: far.wait() });
    let source = match far.take_steps() {
        None => {
            let recorder = record(args, Some(&name), &spec, &mut notices)?;
            let recorder = recorder.and_then(|recorder| taken_down(recorder, &past, &mut notices));
            start.recording = recorder.as_ref().map(Recorder::name);
            let recorder = recorder.map(|r| Box::new(r) as Box<dyn tui::recording::Recorder>);
            Source::Live(Box::new(far), recorder)
        }
        Some(steps) => {
            let age = past.last().map_or(0.0, |entry| entry.t);
            start.replay = Some(ReplayState { live: true, ..ReplayState::new(name.clone(), age, 1.0) });
            Source::Seen(Box::new(far), steps)
        }
    };
    start.spec = spec;
    start.age = past.last().map_or(Duration::ZERO, |e| Duration::try_from_secs_f64(e.t).unwrap_or_default());
    start.past = past;
    let done = open(source, start, notices, !args.look.no_mouse);
    report_end(address, &name, &farewell);
    done
}

fn last_spec(past: &Past) -> Option<Spec> {
    past.iter().rev().find_map(|entry| match &entry.item {
        Item::Command(Command::Run { spec, .. }) => Some((**spec).clone()),
        _ => None,
    })
}

/// Records the measurements that were made before this program attached.
fn taken_down(mut recorder: Recorder, past: &Past, notices: &mut Vec<engine::message::Notice>) -> Option<Recorder> {
    for entry in past {
        let noted = match &entry.item {
            Item::Command(command) => recorder.command(entry.t, command),
            Item::Event(event) => recorder.event(entry.t, event),
            Item::Note(_) | Item::View(_) => Ok(()),
        };
        if let Err(error) = noted {
            notices.push(notice(error.to_string(), "session", "this session is not recorded on this machine"));
            return None;
        }
    }
    Some(recorder)
}
