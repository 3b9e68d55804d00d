//! Files that are damaged, gone or absurd: the right rows or an error that names the file; no panic, no hang.

mod absurd;
mod damage;
mod damaged;
mod deletes;
mod gone;
mod subject;
