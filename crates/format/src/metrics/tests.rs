#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use proptest::prelude::*;

use super::*;
use crate::value::Value;

#[test]
fn modes_read_and_print() {
    for (text, mode) in [
        ("none", MetricsMode::None),
        ("COUNTS", MetricsMode::Counts),
        ("truncate(16)", MetricsMode::DEFAULT),
        ("Truncate( 3 )", MetricsMode::Truncate(3)),
        ("full", MetricsMode::Full),
    ] {
        assert_eq!(text.parse::<MetricsMode>().unwrap(), mode);
        assert_eq!(mode.to_string().parse::<MetricsMode>().unwrap(), mode);
    }
    for text in [
        "",
        "truncate",
        "truncate(0)",
        "truncate(-1)",
        "truncate(x)",
        "all",
    ] {
        let error = text.parse::<MetricsMode>().unwrap_err().to_string();
        assert!(error.contains(&format!("`{text}`")), "{error}");
    }
}

fn text(s: &str) -> Value {
    Value::String(s.into())
}

#[test]
fn strings_are_cut_by_characters() {
    for (value, length, lower, upper) in [
        ("abcdef", 3, "abc", Some("abd")),
        ("abc", 3, "abc", Some("abc")),
        ("", 3, "", Some("")),
        ("äöüß", 2, "äö", Some("ä÷")),
        ("a\u{10FFFF}b", 2, "a\u{10FFFF}", Some("b")),
        ("\u{10FFFF}\u{10FFFF}\u{10FFFF}", 2, "\u{10FFFF}\u{10FFFF}", None),
        ("a\u{D7FF}b", 2, "a\u{D7FF}", Some("a\u{E000}")),
        (
            "\u{10FFFF}\u{10FFFF}",
            2,
            "\u{10FFFF}\u{10FFFF}",
            Some("\u{10FFFF}\u{10FFFF}"),
        ),
        ("𝄞𝄢𝄪", 2, "𝄞𝄢", Some("𝄞𝄣")),
    ] {
        assert_eq!(truncate_lower(text(value), length), text(lower));
        assert_eq!(truncate_upper(text(value), length), upper.map(text), "{value}");
    }
}

#[test]
fn bytes_are_cut_by_bytes() {
    let bytes = |b: &[u8]| Value::Bytes(b.to_vec());
    assert_eq!(truncate_lower(bytes(&[1, 2, 3]), 2), bytes(&[1, 2]));
    assert_eq!(truncate_upper(bytes(&[1, 2, 3]), 2), Some(bytes(&[1, 3])));
    assert_eq!(truncate_upper(bytes(&[1, 0xff, 3]), 2), Some(bytes(&[2])));
    assert_eq!(truncate_upper(bytes(&[0xff, 0xff, 3]), 2), None);
    assert_eq!(
        truncate_upper(bytes(&[0xff, 0xff]), 2),
        Some(bytes(&[0xff, 0xff]))
    );
    assert_eq!(truncate_upper(Value::Long(5), 2), Some(Value::Long(5)));
}

proptest! {
    #[test]
    fn cut_bounds_stay_bounds(value in any::<String>(), length in 1usize..20) {
        let value = text(&value);
        prop_assert!(truncate_lower(value.clone(), length).compare(&value).unwrap().is_le());
        if let Some(upper) = truncate_upper(value.clone(), length) {
            prop_assert!(upper.compare(&value).unwrap().is_ge());
        }
    }
}
