//! Paths into a variant: `$`, then `.name`, `['name']`, `["name"]` or `[0]`, as in Spark.

use datafusion::common::{Result, plan_err};

use super::encoding::Value;
use super::values::Variant;

/// A step into a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// The field of this name of an object.
    Field(String),
    /// The element at this place of an array.
    Element(usize),
}

/// Reads a path.
///
/// # Errors
/// It is none.
pub fn parse(path: &str) -> Result<Vec<Step>> {
    let invalid = || {
        plan_err!(
            "`{path}` is no path into a variant: it starts with `$`, and goes on with `.name`, `['name']` or `[0]`"
        )
    };
    let Some(mut rest) = path.strip_prefix('$') else {
        return invalid();
    };
    let mut steps = Vec::new();
    while !rest.is_empty() {
        let step = if let Some(name) = rest.strip_prefix('.') {
            let end = name.find(['.', '[']).unwrap_or(name.len());
            let (name, after) = name.split_at(end);
            (!name.is_empty()).then(|| (Step::Field(name.to_string()), after))
        } else if let Some(quoted) = ['\'', '"']
            .into_iter()
            .find_map(|quote| Some((quote, rest.strip_prefix('[')?.strip_prefix(quote)?)))
        {
            let (quote, name) = quoted;
            let found = name.split_once(quote);
            found.and_then(|(name, after)| Some((Step::Field(name.to_string()), after.strip_prefix(']')?)))
        } else {
            let index = rest.strip_prefix('[').and_then(|r| r.split_once(']'));
            index.and_then(|(index, after)| {
                let digits = !index.is_empty() && index.bytes().all(|b| b.is_ascii_digit());
                let place = digits.then(|| index.parse().ok()).flatten()?;
                Some((Step::Element(place), after))
            })
        };
        let Some((step, after)) = step else {
            return invalid();
        };
        steps.push(step);
        rest = after;
    }
    Ok(steps)
}

/// What is at the end of the path; `None` if it leads nowhere.
///
/// # Errors
/// The variant is damaged.
pub fn follow<'a>(variant: Variant<'a>, path: &[Step]) -> Result<Option<Variant<'a>>> {
    let Variant { metadata, mut value } = variant;
    for step in path {
        let next = match (step, value) {
            (Step::Field(name), Value::Object(object)) => object.field(name, &metadata)?,
            (Step::Element(place), Value::Array(array)) => array.element(*place)?,
            _ => None,
        };
        match next {
            Some(next) => value = next,
            None => return Ok(None),
        }
    }
    Ok(Some(Variant { metadata, value }))
}
