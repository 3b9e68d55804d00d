//! The bytes of a metadata file: JSON, plain or in gzip.

use std::borrow::Cow;
use std::io::Read;

use flate2::read::MultiGzDecoder;
use serde::de::DeserializeOwned;

use crate::error::{Error, Result};

/// How large a metadata file may be once inflated, in bytes, unless the caller says otherwise.
pub const MAX_METADATA_BYTES: u64 = 1 << 30;

const GZIP_MAGIC: [u8; 2] = [0x1f, 0x8b];

/// The JSON text in the bytes, which the name of the file does not tell; gzip is known by its first bytes and
/// inflated to `max_bytes` at most.
pub(crate) fn plain<'a>(bytes: &'a [u8], max_bytes: u64, what: &str) -> Result<Cow<'a, [u8]>> {
    if !bytes.starts_with(&GZIP_MAGIC) {
        return Ok(Cow::Borrowed(bytes));
    }
    let mut inflated = Vec::new();
    MultiGzDecoder::new(bytes)
        .take(max_bytes.saturating_add(1))
        .read_to_end(&mut inflated)
        .map_err(|e| Error::invalid(what, format!("the gzip stream cannot be inflated: {e}")))?;
    if u64::try_from(inflated.len()).is_ok_and(|len| len <= max_bytes) {
        Ok(Cow::Owned(inflated))
    } else {
        let reason = format!("the gzip stream inflates to more than {max_bytes} bytes");
        Err(Error::invalid(what, reason))
    }
}

/// Parses straight into the fields. Only when that fails, once more with a record of the path, to name the field.
pub(crate) fn parse<T: DeserializeOwned>(bytes: &[u8], what: &str) -> Result<T> {
    let error = match serde_json::from_slice(bytes) {
        Ok(fields) => return Ok(fields),
        Err(error) => error,
    };
    let mut deserializer = serde_json::Deserializer::from_slice(bytes);
    Err(
        match serde_path_to_error::deserialize::<_, T>(&mut deserializer) {
            Err(with_path) if with_path.path().iter().next().is_some() => {
                let field = format!("{what}, field `{}`", with_path.path());
                Error::invalid(field, with_path.inner().to_string())
            }
            _ => Error::invalid(what, error.to_string()),
        },
    )
}
