//! Where the shell's history is kept. Without it the shell works all the same.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

/// The history file, its folder created: `$XDG_STATE_HOME/drumlin/history`, or below `~/.local/state`. `None` if there
/// is no such place or it cannot be written.
pub fn file() -> Option<PathBuf> {
    let path = path_in(env::var_os("XDG_STATE_HOME"), env::var_os("HOME"))?;
    fs::create_dir_all(path.parent()?).ok()?;
    Some(path)
}

fn path_in(state: Option<std::ffi::OsString>, home: Option<std::ffi::OsString>) -> Option<PathBuf> {
    // The XDG specification: a relative path is invalid and ignored.
    let absolute = |path: std::ffi::OsString| Some(PathBuf::from(path)).filter(|p| p.is_absolute());
    let state = state
        .and_then(absolute)
        .or_else(|| home.and_then(absolute).map(|home| home.join(".local/state")))?;
    Some(state.join(Path::new("drumlin/history")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn state_home_comes_before_home() {
        let path =
            |state: Option<&str>, home: Option<&str>| path_in(state.map(Into::into), home.map(Into::into));
        assert_eq!(path(Some("/s"), Some("/h")), Some("/s/drumlin/history".into()));
        assert_eq!(
            path(Some("relative"), Some("/h")),
            Some("/h/.local/state/drumlin/history".into())
        );
        assert_eq!(path(None, None), None);
        assert_eq!(path(Some(""), Some("")), None);
    }
}
