//! Ctrl-C: it ends the statement that runs, never the shell.

use std::process;

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
    /// Takes over Ctrl-C from now on. Must run inside the runtime.
    pub fn listen(second: Second) -> Self {
        let (count, receiver) = watch::channel(0);
        tokio::spawn(async move {
            while tokio::signal::ctrl_c().await.is_ok() {
                count.send_modify(|n| *n += 1);
                if second == Second::Exit && *count.borrow() > 1 {
                    process::exit(130);
                }
            }
        });
        Self(receiver)
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
