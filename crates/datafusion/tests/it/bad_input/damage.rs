//! Ways to damage a file, and reading many damaged files under watch.

use std::collections::BTreeMap;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, LazyLock, Mutex, mpsc};
use std::time::Duration;

use bytes::Bytes;
use datafusion::error::DataFusionError;
use futures::FutureExt;

use super::subject::{File, Question, Subject};

/// One change of a file's bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Damage {
    /// One bit is flipped.
    Flip { at: usize, bit: u32 },
    /// Bytes are overwritten.
    Overwrite { at: usize, with: Vec<u8> },
    /// Only so many bytes are left.
    Cut(usize),
    /// Something else is there.
    Foreign(&'static str, Bytes),
}

impl Damage {
    pub fn apply(&self, bytes: &Bytes) -> Bytes {
        let mut bytes = bytes.to_vec();
        match self {
            Self::Flip { at, bit } => bytes[*at] ^= 1 << bit,
            Self::Overwrite { at, with } => {
                for (place, byte) in bytes.iter_mut().skip(*at).zip(with) {
                    *place = *byte;
                }
            }
            Self::Cut(length) => bytes.truncate(*length),
            Self::Foreign(_, other) => return other.clone(),
        }
        bytes.into()
    }

    /// Whether no reader can take it for the file that was written.
    pub fn is_plain(&self) -> bool {
        matches!(self, Self::Cut(_) | Self::Foreign(..))
    }
}

/// The same numbers on every run (SplitMix64).
#[derive(Debug)]
pub struct Numbers(pub u64);

impl Numbers {
    pub fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut x = self.0;
        x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((x ^ (x >> 31)) % u64::try_from(end).unwrap()).unwrap()
    }
}

/// Damages of a file: `changes` of its bytes and `cuts` of its length, at random; and foreign files in its place.
pub fn damages(of: &File, subject: &Subject, changes: usize, cuts: usize) -> Vec<Damage> {
    let length = of.bytes.len();
    let mut numbers = Numbers(subject.snapshot.unsigned_abs());
    let mut all = Vec::new();
    for n in 0..changes {
        let at = numbers.below(length);
        all.push(match n % 3 {
            0 | 1 => Damage::Flip {
                at,
                bit: u32::try_from(numbers.below(8)).unwrap(),
            },
            _ => Damage::Overwrite {
                at,
                with: (0..=numbers.below(4))
                    .map(|_| [0, 0x7f, 0x80, 0xff, b'9', b'"'][numbers.below(6)])
                    .collect(),
            },
        });
    }
    all.extend([0, 1, 4, length - 1].map(Damage::Cut));
    all.extend((0..cuts).map(|_| Damage::Cut(numbers.below(length))));
    for (name, other) in [
        ("the metadata", &subject.metadata),
        ("a manifest list", &subject.list),
        ("a manifest", &subject.manifest),
        ("a data file", &subject.data),
    ] {
        if other.location != of.location {
            all.push(Damage::Foreign(name, other.bytes.clone()));
        }
    }
    all.push(Damage::Foreign(
        "a page",
        "<html><body>404 Not Found</body></html>".into(),
    ));
    all.push(Damage::Foreign("zeros", vec![0; length].into()));
    all
}

/// What became of a damaged file.
#[derive(Debug)]
pub enum Answer {
    Rows(Vec<Vec<String>>),
    Error(DataFusionError),
    /// Of the query itself.
    Panic,
}

/// What became of a damaged file, and all panics on the way, caught ones too, with their places.
#[derive(Debug)]
pub struct Outcome {
    pub answer: Answer,
    pub panics: Vec<String>,
}

/// One damaged file to be read.
#[derive(Debug, Clone)]
pub struct Case {
    pub subject: Arc<Subject>,
    pub file: File,
    pub damage: Damage,
    pub question: Question,
}

/// How long an answer may take. None takes a second; machines may be busy.
const LIMIT: Duration = Duration::from_secs(60);

/// How many are read at once.
const AT_ONCE: usize = 4;

/// Panics of threads that are watched, by the prefix of their name.
static PANICS: LazyLock<Mutex<BTreeMap<String, Vec<String>>>> = LazyLock::new(|| {
    let default = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        let thread = std::thread::current();
        match thread.name().filter(|name| name.starts_with("damaged ")) {
            Some(name) => {
                let mut panics = PANICS.lock().unwrap();
                panics.entry(name.to_owned()).or_default().push(info.to_string());
            }
            None => default(info),
        }
    }));
    Mutex::default()
});

/// Reads all of them. Panics are caught wherever they happen, also in tasks whose fate nobody looks at; whatever hangs
/// fails the test at once. `kind` is a name that no other test uses.
pub fn read_all(kind: &str, cases: Vec<Case>) -> Vec<(Case, Outcome)> {
    let threads = format!("damaged {kind}");
    drop(PANICS.lock().unwrap().remove(&threads));
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .thread_name(threads.clone())
        .enable_all()
        .build()
        .unwrap();
    let taken = || PANICS.lock().unwrap().remove(&threads).unwrap_or_default();
    let mut all = Vec::new();
    for chunk in cases.chunks(AT_ONCE) {
        let outcomes = read(&runtime, chunk);
        let panics = taken();
        if panics.is_empty() {
            let outcomes = outcomes.into_iter().map(|answer| Outcome {
                answer,
                panics: vec![],
            });
            all.extend(chunk.iter().cloned().zip(outcomes));
            continue;
        }
        // Which of them was it?
        for case in chunk {
            let answer = read(&runtime, std::slice::from_ref(case)).remove(0);
            let outcome = Outcome {
                answer,
                panics: taken(),
            };
            all.push((case.clone(), outcome));
        }
    }
    runtime.shutdown_background();
    all
}

fn read(runtime: &tokio::runtime::Runtime, cases: &[Case]) -> Vec<Answer> {
    let (sender, receiver) = mpsc::channel();
    for (number, case) in cases.iter().cloned().enumerate() {
        let sender = sender.clone();
        runtime.spawn(async move {
            let bytes = case.damage.apply(&case.file.bytes);
            let read = case.subject.read(Some((&case.file, Some(bytes))), case.question);
            let outcome = match AssertUnwindSafe(read).catch_unwind().await {
                Ok(Ok(rows)) => Answer::Rows(rows),
                Ok(Err(error)) => Answer::Error(error),
                Err(_) => Answer::Panic,
            };
            sender.send((number, outcome)).unwrap();
        });
    }
    let mut outcomes: Vec<Option<Answer>> = cases.iter().map(|_| None).collect();
    for _ in cases {
        let Ok((number, outcome)) = receiver.recv_timeout(LIMIT) else {
            let hanging = cases.iter().zip(&outcomes).filter(|(_, o)| o.is_none());
            let hanging: Vec<_> = hanging
                .map(|(c, _)| (c.subject.name, c.file.name(), &c.damage))
                .collect();
            panic!("no answer: {hanging:?}");
        };
        outcomes[number] = Some(outcome);
    }
    outcomes.into_iter().flatten().collect()
}
