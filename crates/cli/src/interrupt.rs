//! Ctrl-C: it ends the statement that runs, never the shell.

use std::io;
use std::process;
use std::thread;

use tokio::sync::watch;

/// What a second Ctrl-C does while the first is still being obeyed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Second {
    /// Nothing more: a shell stays.
    Ignore,
    /// Leave at once, for instance because writing to a stopped reader blocks.
    Exit,
}

/// Counts the Ctrl-C presses of this process.
pub struct Interrupts(watch::Receiver<u64>);

impl Interrupts {
    /// Takes over Ctrl-C from now on.
    ///
    /// The signal is waited for on a thread of its own: workers that are all busy computing look for events only now and
    /// then, which may take many seconds.
    ///
    /// # Errors
    /// The thread cannot be started.
    pub fn listen(second: Second) -> io::Result<Self> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_io()
            .build()?;
        let (count, receiver) = watch::channel(0);
        let listening = async move {
            while tokio::signal::ctrl_c().await.is_ok() {
                count.send_modify(|n| *n += 1);
                if second == Second::Exit && *count.borrow() > 1 {
                    process::exit(130);
                }
            }
        };
        thread::Builder::new()
            .name("interrupts".to_owned())
            .spawn(move || runtime.block_on(listening))?;
        Ok(Self(receiver))
    }

    /// How many there were.
    pub fn count(&self) -> u64 {
        *self.0.borrow()
    }

    /// Waits until there were more than `seen`.
    pub async fn after(&self, seen: u64) {
        let mut receiver = self.0.clone();
        if receiver.wait_for(|n| *n > seen).await.is_err() {
            // The listener could not install its handler: Ctrl-C keeps its default meaning.
            std::future::pending::<()>().await;
        }
    }
}
