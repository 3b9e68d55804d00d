//! The shell's own commands, which begin with a backslash.

use crate::output::Format;

/// What `\?` prints.
pub const HELP: &str = r"\d              list the tables
\d TABLE        describe the columns of a table
\format         show the output format
\format FORMAT  set it: table, csv, tsv, json, ndjson or arrow
\timing         turn times on or off (also \timing on, \timing off)
\i FILE         run the statements of a file
\?              this help
\q              leave (also quit, exit, Ctrl-D)

Statements end with `;` and may take several lines. Tab completes keywords and table names.
Ctrl-C drops what is typed, or stops the statement that runs. A line that begins with a blank
is not kept in the history.
";

/// The commands, as completion offers them.
pub const NAMES: [&str; 7] = [r"\?", r"\d", r"\format", r"\help", r"\i", r"\q", r"\timing"];

/// A command.
#[derive(Debug, PartialEq, Eq)]
pub enum Command<'a> {
    /// Leave.
    Quit,
    /// Say what there is.
    Help,
    /// List the tables.
    Tables,
    /// Describe this table, spelled as in SQL.
    Describe(&'a str),
    /// Show or set the format.
    Format(Option<Format>),
    /// Toggle or set timing.
    Timing(Option<bool>),
    /// Run the statements of this file.
    Run(&'a str),
}

impl<'a> Command<'a> {
    /// The command in `line`; `None` if it is SQL.
    ///
    /// # Errors
    /// What is wrong with the command, and what would be right.
    pub fn parse(line: &'a str) -> Option<Result<Self, String>> {
        let line = line.trim();
        if matches!(line.trim_end_matches(';').trim_end(), "quit" | "exit") {
            return Some(Ok(Self::Quit));
        }
        if !line.starts_with('\\') {
            return None;
        }
        let line = line.trim_end_matches(';');
        let (name, argument) = line
            .split_once(char::is_whitespace)
            .map_or((line, ""), |(name, argument)| (name, argument.trim()));
        Some(Self::named(name, argument))
    }

    fn named(name: &str, argument: &'a str) -> Result<Self, String> {
        let alone = |command| {
            if argument.is_empty() {
                Ok(command)
            } else {
                Err(format!("{name} takes no argument"))
            }
        };
        match (name, argument) {
            (r"\q" | r"\quit", _) => alone(Self::Quit),
            (r"\?" | r"\h" | r"\help", _) => alone(Self::Help),
            (r"\d", "") => Ok(Self::Tables),
            (r"\d", table) => Ok(Self::Describe(table)),
            (r"\format", "") => Ok(Self::Format(None)),
            (r"\format", format) => Format::named(format)
                .map(|format| Self::Format(Some(format)))
                .ok_or_else(|| {
                    let names = Format::ALL.map(Format::name).join(", ");
                    format!("there is no format {format}; there are {names}")
                }),
            (r"\timing", "") => Ok(Self::Timing(None)),
            (r"\timing", "on") => Ok(Self::Timing(Some(true))),
            (r"\timing", "off") => Ok(Self::Timing(Some(false))),
            (r"\timing", _) => Err(r"\timing takes on, off or nothing".to_owned()),
            (r"\i", "") => Err(r"\i needs the name of a file".to_owned()),
            (r"\i", file) => Ok(Self::Run(file)),
            _ => Err(format!(r"there is no command {name}; \? lists them")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_told_from_sql() {
        assert_eq!(Command::parse("SELECT 1;"), None);
        assert_eq!(Command::parse(r" \q"), Some(Ok(Command::Quit)));
        assert_eq!(Command::parse("exit;"), Some(Ok(Command::Quit)));
        assert_eq!(Command::parse(r"\d"), Some(Ok(Command::Tables)));
        assert_eq!(
            Command::parse(r#"\d  a."b c";"#),
            Some(Ok(Command::Describe(r#"a."b c""#)))
        );
        assert_eq!(
            Command::parse(r"\format csv"),
            Some(Ok(Command::Format(Some(Format::Csv))))
        );
        assert_eq!(
            Command::parse(r"\timing off"),
            Some(Ok(Command::Timing(Some(false))))
        );
    }

    #[test]
    fn wrong_commands_say_what_is_right() {
        for (line, part) in [
            (r"\x", r"\?"),
            (r"\format xml", "ndjson"),
            (r"\timing maybe", "on, off"),
            (r"\q now", "no argument"),
            (r"\i", "file"),
        ] {
            let message = Command::parse(line).and_then(Result::err).unwrap_or_default();
            assert!(message.contains(part), "{line}: {message}");
        }
    }

    #[test]
    fn every_command_offered_exists() {
        for name in NAMES {
            let error = Command::parse(name).and_then(Result::err).unwrap_or_default();
            assert!(!error.contains("there is no command"), "{name}");
        }
    }
}
