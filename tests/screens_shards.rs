//! The screen of a grid that other processes compute.

use probity::base::Problem;
use probity::session::parts::watch::{Pace, Running, Share, View};
use probity::tui::action::Action;
use probity::tui::state::{Followed, ReplayState, Start};

use crate::common::{Harness, start};
use crate::screens::{SIZES, shows};

/// A grid of 48 cells. Four shards have computed 22 of them; one shard has ended and another is silent.
fn half() -> View {
    let share =
        |shard: &str, pace, done, failed, left| Share { shard: shard.into(), pace, cells: 12, done, failed, left };
    let running = |cell: &str, shard: &str, stage: &str, share| Running {
        cell: cell.into(),
        shard: shard.into(),
        stage: stage.into(),
        share,
    };
    View {
        grid: "3f2a90c17b4e".into(),
        cells: 48,
        done: 22,
        running: vec![
            running("cell 9 (models bert-mini, layer 2, seed 0)", "2/4", "linear oracle", 0.42),
            running("cell 31 (models gpt2-mini, layer 1, seed 1)", "3/4", "sweep", 0.07),
        ],
        failed: vec![
            (
                "cell 5 (models bert-mini, layer 1, seed 1)".into(),
                "the weights are cut short: 12 of 4,190,208 bytes are missing (bert-mini/model.safetensors): fetch the model again".into(),
            ),
            ("cell 17 (models bert-mini, layer 4, seed 1)".into(), "out of memory".into()),
        ],
        silent: vec![
            "shard 4/4 in cell 40 (models gpt2-mini, layer 3, seed 1): nothing since 2026-03-01T10:15:00Z; if its process 4711 is gone, \
             compute the shard again"
                .into(),
        ],
        lost: Vec::new(),
        clocks: Vec::new(),
        waiting: 22,
        left: Some(1260.0),
        shards: vec![
            share("1/4", Pace::Ended, 10, 2, None),
            share("2/4", Pace::Running, 5, 0, Some(1260.0)),
            share("3/4", Pace::Running, 3, 0, Some(940.0)),
            share("4/4", Pace::Silent, 4, 0, None),
        ],
        map: "####x###>##.#...x#.#.#..####.#>.##......#.#..#.#".into(),
    }
}

fn following(columns: u16, rows: u16, view: View) -> Harness {
    let dir = "/scratch/ada/grid".into();
    let followed = Followed { host: None, dir, view, problem: None, submitting: false };
    let replay = ReplayState { live: true, ..ReplayState::new("grid".into(), 0.0, 1.0) };
    Harness::of(Start { size: (columns, rows), followed: Some(followed), replay: Some(replay), ..start() })
}

#[test]
fn shards_running() {
    for (c, r) in SIZES {
        shows(&format!("shards_running_{c}x{r}"), &following(c, r, half()).screen());
    }
}

#[test]
fn shards_empty() {
    for (c, r) in SIZES {
        let map = ".".repeat(48);
        let view = View { grid: "3f2a90c17b4e".into(), cells: 48, waiting: 48, map, ..View::default() };
        shows(&format!("shards_empty_{c}x{r}"), &following(c, r, view).screen());
    }
}

#[test]
fn shards_failed() {
    for (c, r) in SIZES {
        let mut h = following(c, r, half());
        h.keys("tab tab j");
        shows(&format!("shards_failed_{c}x{r}"), &h.screen());
        h.keys("r");
        shows(&format!("shards_asking_{c}x{r}"), &h.screen());
    }
}

#[test]
fn shards_error() {
    for (c, r) in SIZES {
        let mut h = following(c, r, half());
        let problem = Problem {
            what: "login: client_loop: send disconnect: Broken pipe (`ssh login` must work by itself)".into(),
            r#where: "ssh://login".into(),
            hint: "Probity is reconnecting".into(),
        };
        h.act(Action::Followed(Err(problem)));
        shows(&format!("shards_error_{c}x{r}"), &h.screen());
    }
}
