#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use proptest::prelude::*;

use super::*;

fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<u8> = text
        .bytes()
        .map(|b| (b as char).to_digit(16).unwrap().try_into().unwrap())
        .collect();
    digits.chunks(2).map(|d| d[0] << 4 | d[1]).collect()
}

fn vector(positions: impl IntoIterator<Item = u64>) -> DeletionVector {
    let mut vector = DeletionVector::new();
    for position in positions {
        vector.insert(position).unwrap();
    }
    vector
}

/// Blobs that the Java implementation writes.
const GOLDENS: [(&[u64], &str); 5] = [
    (&[], "0000000cd1d339640000000000000000bf18480c"),
    (
        &[0],
        "00000022d1d339640100000000000000000000003a3000000100000000000000100000000000f7a6b4b5",
    ),
    (
        &[0, 1],
        "00000024d1d339640100000000000000000000003a30000001000000000001001000000000000100e2be924e",
    ),
    (
        &[1, 3, 5, 7, 9],
        "0000002ad1d339640100000000000000000000003a30000001000000000004001000000001000300050007000900b3fb20be",
    ),
    (
        &[100, 101, 0x8000_0063, 0x8000_0064],
        "00000030d1d339640100000000000000000000003a300000020000000000010000800100180000001c000000640065006300640015eb1c7c",
    ),
];

#[test]
fn goldens_are_read_and_written() {
    for (positions, golden) in GOLDENS {
        let blob = hex(golden);
        let read = DeletionVector::from_blob(&blob).unwrap();
        assert_eq!(read.iter().collect::<Vec<_>>(), positions);
        assert_eq!(vector(positions.iter().copied()).to_blob().unwrap(), blob);
    }
}

#[test]
fn runs_arrays_and_bitmaps_of_several_keys_read_back() {
    let key = 1u64 << 32;
    let positions = (5..70_000)
        .chain((key..key + 200_000).step_by(3))
        .chain([3 * key + 1, MAX_POSITION]);
    let vector = vector(positions.clone());
    let blob = vector.to_blob().unwrap();
    let read = DeletionVector::from_blob(&blob).unwrap();
    assert_eq!(read, vector);
    assert!(read.iter().eq(positions.clone()));
    assert_eq!(read.len(), positions.count() as u64);
    assert_eq!(read.max(), Some(MAX_POSITION));
    assert_eq!(read.count_in(0, 10), 5);
    assert_eq!(read.iter_from(69_999).next(), Some(69_999));
    assert_eq!(read.iter_from(70_000).next(), Some(key));
    assert!(read.contains(5) && !read.contains(4));
    assert!(blob.len() < 60_000);
}

#[test]
fn empty_bitmaps_and_gaps_are_read() {
    let bitmap = hex("3a30000001000000000000001000000000000000");
    let empty = hex("3a30000000000000");
    let mut content = hex("d1d339640300000000000000");
    for (key, bitmap) in [(0u32, &empty), (2, &bitmap[..18].to_vec()), (7, &empty)] {
        content.extend(key.to_le_bytes());
        content.extend(bitmap);
    }
    let mut blob = (content.len() as u32).to_be_bytes().to_vec();
    blob.extend(&content);
    blob.extend(crc32fast::hash(&content).to_be_bytes());
    let read = DeletionVector::from_blob(&blob).unwrap();
    assert_eq!(read.iter().collect::<Vec<_>>(), [2 << 32]);
}

#[test]
fn positions_beyond_63_bits_are_refused() {
    assert!(DeletionVector::new().insert(1 << 63).is_err());
    let blob = vector([MAX_POSITION]).to_blob().unwrap();
    let mut content = blob[4..blob.len() - 4].to_vec();
    content[12 + 3] = 0x80;
    let mut wrong = blob[..4].to_vec();
    wrong.extend(&content);
    wrong.extend(crc32fast::hash(&content).to_be_bytes());
    let error = DeletionVector::from_blob(&wrong).unwrap_err().to_string();
    assert!(error.contains("63 bits"), "{error}");
}

#[test]
fn every_changed_byte_and_every_cut_is_noticed() {
    let blob = vector([1, 2, 3, 500, 70_000, 1 << 33]).to_blob().unwrap();
    for at in 0..blob.len() {
        assert!(DeletionVector::from_blob(&blob[..at]).is_err());
        let mut wrong = blob.clone();
        wrong[at] ^= 0x10;
        assert!(DeletionVector::from_blob(&wrong).is_err(), "byte {at}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn any_positions_read_back(positions in prop::collection::btree_set(0..=MAX_POSITION, 0..50), run in 0u64..100_000) {
        let vector = vector(positions.into_iter().chain(0..run));
        prop_assert_eq!(DeletionVector::from_blob(&vector.to_blob().unwrap()).unwrap(), vector);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    /// The checksum keeps most damage away from the bitmaps; here it is made right again.
    #[test]
    fn damaged_bitmaps_never_panic(at in any::<prop::sample::Index>(), byte: u8, cut in 0usize..40, extra in prop::collection::vec(any::<u8>(), 0..4)) {
        let blob = vector((5..9000).chain([70_000, 70_005, 1 << 33])).to_blob().unwrap();
        let mut content = blob[4..blob.len() - 4].to_vec();
        let at = at.index(content.len());
        content[at] = byte;
        content.truncate(content.len() - cut.saturating_sub(20));
        content.extend(extra);
        let mut damaged = (content.len() as u32).to_be_bytes().to_vec();
        damaged.extend(&content);
        damaged.extend(crc32fast::hash(&content).to_be_bytes());
        if let Ok(read) = DeletionVector::from_blob(&damaged) {
            prop_assert!(read.max().is_none_or(|max| max <= MAX_POSITION));
            prop_assert_eq!(read.iter().count() as u64, read.len());
        }
    }
}
