//! The parameters of geometries and geographies as GeoArrow writes them: JSON with the coordinate reference system and,
//! for geographies, how edges run.

use drumlin_format::types::EdgeAlgorithm;
use serde_json::{Map, Value as Json};

/// The reference system where a type names none (§ Primitive Types).
const DEFAULT_CRS: &str = "OGC:CRS84";

/// The metadata of the extension type `geoarrow.wkb`; edges are planar where none are given.
///
/// Reference systems are `authority:code`, `srid:number`, or `projjson:property`, whose definition stands in a property of
/// the table and is not looked up: it stays as it is, without a kind.
pub fn parameters(crs: Option<&str>, edges: Option<EdgeAlgorithm>) -> String {
    let crs = crs.unwrap_or(DEFAULT_CRS);
    let (crs, kind) = match crs.split_once(':') {
        Some(("srid", number)) => (number, Some("srid")),
        Some(("projjson", _)) | None => (crs, None),
        Some(_) => (crs, Some("authority_code")),
    };
    let mut parameters = Map::new();
    parameters.insert("crs".to_string(), Json::from(crs));
    if let Some(kind) = kind {
        parameters.insert("crs_type".to_string(), Json::from(kind));
    }
    if let Some(edges) = edges {
        let name = match edges {
            EdgeAlgorithm::Spherical => "spherical",
            EdgeAlgorithm::Vincenty => "vincenty",
            EdgeAlgorithm::Thomas => "thomas",
            EdgeAlgorithm::Andoyer => "andoyer",
            EdgeAlgorithm::Karney => "karney",
        };
        parameters.insert("edges".to_string(), Json::from(name));
    }
    Json::Object(parameters).to_string()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

    use super::*;

    #[test]
    fn reference_systems_say_their_kind() {
        assert_eq!(
            parameters(None, None),
            r#"{"crs":"OGC:CRS84","crs_type":"authority_code"}"#
        );
        assert_eq!(
            parameters(Some("srid:3857"), None),
            r#"{"crs":"3857","crs_type":"srid"}"#
        );
        assert_eq!(
            parameters(Some("projjson:my.crs"), Some(EdgeAlgorithm::Karney)),
            r#"{"crs":"projjson:my.crs","edges":"karney"}"#
        );
    }
}
