//! Options of stores: Iceberg's property names, and where they go in `object_store`.

use std::collections::BTreeMap;
use std::sync::Arc;

use object_store::ObjectStore;
use object_store::StaticCredentialProvider;
use object_store::aws::{AmazonS3Builder, AmazonS3ConfigKey};
use object_store::azure::{AzureConfigKey, MicrosoftAzureBuilder};
use object_store::gcp::{GcpCredential, GoogleCloudStorageBuilder, GoogleConfigKey};
use object_store::local::LocalFileSystem;
use object_store::memory::InMemory;

use super::location::{Location, Scheme};
use crate::error::{Error, Result};

/// Options of stores by name: Iceberg's (`s3.endpoint`, `gcs.oauth2.token`, `adls.sas-token.<account>`) or those of
/// the `object_store` crate (`aws_endpoint`, `google_service_account`, `azure_storage_account_key`).
pub type StoreOptions = BTreeMap<String, String>;

/// Iceberg's names for the options of S3.
const S3_OPTIONS: &[(&str, AmazonS3ConfigKey)] = &[
    ("s3.endpoint", AmazonS3ConfigKey::Endpoint),
    ("s3.access-key-id", AmazonS3ConfigKey::AccessKeyId),
    ("s3.secret-access-key", AmazonS3ConfigKey::SecretAccessKey),
    ("s3.session-token", AmazonS3ConfigKey::Token),
    ("s3.region", AmazonS3ConfigKey::Region),
    ("client.region", AmazonS3ConfigKey::Region),
];

/// Iceberg's name for the option of Google Cloud Storage that holds an access token.
const GCS_TOKEN: &str = "gcs.oauth2.token";

/// Iceberg's names for shared access signatures of Azure start so; the account follows.
const AZURE_SAS_TOKEN: &str = "adls.sas-token.";

/// Iceberg's name for the option of S3 that puts the bucket into the path instead of the host.
const S3_PATH_STYLE: &str = "s3.path-style-access";

/// Refuses options that no store takes: a misspelt one would be ignored and the store reached with what the
/// environment says.
pub fn check_options(options: &StoreOptions) -> Result<()> {
    for name in options.keys() {
        let iceberg = S3_OPTIONS.iter().any(|(known, _)| known == name)
            || [S3_PATH_STYLE, GCS_TOKEN].contains(&name.as_str())
            || name.starts_with(AZURE_SAS_TOKEN);
        let object_store = name.parse::<AmazonS3ConfigKey>().is_ok()
            || name.parse::<GoogleConfigKey>().is_ok()
            || name.parse::<AzureConfigKey>().is_ok();
        if !iceberg && !object_store {
            let known: Vec<&str> = S3_OPTIONS.iter().map(|(known, _)| *known).collect();
            return Err(Error::Unsupported(format!(
                "the store option `{name}`; known are {}, {S3_PATH_STYLE}, {GCS_TOKEN}, {AZURE_SAS_TOKEN}<account> and \
                 the names of the object_store crate, such as aws_endpoint",
                known.join(", ")
            )));
        }
    }
    Ok(())
}

/// Builds the store of a location. What the options leave out comes from the environment, as the `object_store`
/// crate reads it (`AWS_…`, `GOOGLE_…`, `AZURE_…`).
pub fn build(location: &Location, options: &StoreOptions) -> Result<Arc<dyn ObjectStore>> {
    let named = || format!("{}://{}", location.scheme.as_str(), location.authority);
    let built = match location.scheme {
        Scheme::File => Ok(Arc::new(LocalFileSystem::new()) as Arc<dyn ObjectStore>),
        Scheme::Memory => Ok(Arc::new(InMemory::new()) as Arc<dyn ObjectStore>),
        Scheme::S3 => s3(location, options).map(|s| Arc::new(s) as _),
        Scheme::Gcs => gcs(location, options).map(|s| Arc::new(s) as _),
        Scheme::Azure => azure(location, options).map(|s| Arc::new(s) as _),
    };
    built.map_err(|source| Error::store(&named(), source))
}

fn s3(location: &Location, options: &StoreOptions) -> object_store::Result<object_store::aws::AmazonS3> {
    let mut builder = AmazonS3Builder::from_env().with_bucket_name(&location.authority);
    for (name, value) in options {
        if let Some((_, key)) = S3_OPTIONS.iter().find(|(n, _)| n == name) {
            builder = builder.with_config(*key, value);
        } else if name == S3_PATH_STYLE {
            builder = builder.with_virtual_hosted_style_request(!is_true(value));
        } else if let Ok(key) = name.parse::<AmazonS3ConfigKey>() {
            builder = builder.with_config(key, value);
        }
    }
    let plain_http = |name: &str| options.get(name).is_some_and(|e| e.starts_with("http://"));
    if plain_http("s3.endpoint") || plain_http("aws_endpoint") {
        builder = builder.with_allow_http(true);
    }
    builder.build()
}

fn gcs(
    location: &Location,
    options: &StoreOptions,
) -> object_store::Result<object_store::gcp::GoogleCloudStorage> {
    let mut builder = GoogleCloudStorageBuilder::from_env().with_bucket_name(&location.authority);
    for (name, value) in options {
        if name == GCS_TOKEN {
            let bearer = value.clone();
            builder =
                builder.with_credentials(Arc::new(StaticCredentialProvider::new(GcpCredential { bearer })));
        } else if let Ok(key) = name.parse::<GoogleConfigKey>() {
            builder = builder.with_config(key, value);
        }
    }
    builder.build()
}

fn azure(
    location: &Location,
    options: &StoreOptions,
) -> object_store::Result<object_store::azure::MicrosoftAzure> {
    // `container@account.dfs.core.windows.net`, or the container alone and the account from the options.
    let (container, account) = match location.authority.split_once('@') {
        Some((container, host)) => (container, host.split('.').next()),
        None => (location.authority.as_str(), None),
    };
    let mut builder = MicrosoftAzureBuilder::from_env().with_container_name(container);
    if let Some(account) = account {
        builder = builder.with_account(account);
    }
    for (name, value) in options {
        let sas = name.strip_prefix(AZURE_SAS_TOKEN);
        if sas.is_some_and(|of| account.is_none_or(|a| of == a || of.starts_with(&format!("{a}.")))) {
            builder = builder.with_config(AzureConfigKey::SasKey, value);
        } else if let Ok(key) = name.parse::<AzureConfigKey>() {
            builder = builder.with_config(key, value);
        }
    }
    builder.build()
}

fn is_true(value: &str) -> bool {
    value.eq_ignore_ascii_case("true")
}
