#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use serde_json::json;

use super::*;

#[test]
fn orders_read_back_from_json() {
    let json = json!({"order-id": 1, "fields": [
        {"transform": "identity", "source-id": 2, "direction": "asc", "null-order": "nulls-first"},
        {"transform": "bucket[4]", "source-id": 3, "direction": "desc", "null-order": "nulls-last"},
        {"transform": "zorder", "source-ids": [1, 2], "direction": "desc", "null-order": "nulls-last"},
    ]});
    let order = SortOrder::from_json(&json, "x").unwrap();
    assert_eq!(order.to_json(), json);
    assert_eq!(order.missing_source(|id| id != 3), Some(3));
    assert!(SortOrder::unsorted().is_unsorted() && !order.is_unsorted());
}

#[test]
fn errors_name_the_field() {
    let json = json!({"order-id": 1, "fields": [
        {"transform": "identity", "source-id": 2, "direction": "up", "null-order": "nulls-first"},
    ]});
    let error = SortOrder::from_json(&json, "sort-orders[0]")
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("sort-orders[0].fields[0]") && error.contains("`up`"),
        "{error}"
    );
}
