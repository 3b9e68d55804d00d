//! The parameters of geometries and geographies as GeoArrow writes them: JSON with the coordinate reference system and,
//! for geographies, how edges run.

use drumlin_format::types::{EdgeAlgorithm, PrimitiveType};
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

/// The type that such parameters say; `None` for a reference system that is spelled out, which Iceberg types only name.
pub fn from_parameters(parameters: &str) -> Option<PrimitiveType> {
    let parameters = serde_json::from_str::<Json>(parameters).unwrap_or_default();
    let text = |key: &str| parameters.get(key).and_then(Json::as_str);
    if parameters
        .get("crs")
        .is_some_and(|crs| !crs.is_string() && !crs.is_null())
    {
        return None;
    }
    let crs = text("crs").map(|crs| match text("crs_type") {
        Some("srid") => format!("srid:{crs}"),
        None if !crs.contains(':') => format!("projjson:{crs}"),
        _ => crs.to_string(),
    });
    let crs = crs.filter(|crs| crs != DEFAULT_CRS);
    let algorithm = match text("edges") {
        Some("spherical") => EdgeAlgorithm::Spherical,
        Some("vincenty") => EdgeAlgorithm::Vincenty,
        Some("thomas") => EdgeAlgorithm::Thomas,
        Some("andoyer") => EdgeAlgorithm::Andoyer,
        Some("karney") => EdgeAlgorithm::Karney,
        _ => return Some(PrimitiveType::Geometry { crs }),
    };
    let algorithm = (algorithm != EdgeAlgorithm::Spherical).then_some(algorithm);
    Some(PrimitiveType::Geography { crs, algorithm })
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
