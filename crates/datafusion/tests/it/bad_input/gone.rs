//! Files that are gone.

use super::subject::{File, Question, Subject};
use crate::session::{message, says};

#[tokio::test]
async fn a_file_that_is_gone_is_named_with_its_snapshot_and_table() {
    for subject in Subject::all().await {
        let files: [&File; 3] = [&subject.list, &subject.manifest, &subject.data];
        for file in files {
            for question in [Question::All, Question::Filtered] {
                let error = subject.read(Some((file, None)), question).await.unwrap_err();
                let text = message(&error);
                let snapshot = subject.snapshot.to_string();
                says(&text, &[file.name(), &snapshot, subject.name, "expired"]);
            }
        }
        let error = subject
            .read(Some((&subject.metadata, None)), Question::All)
            .await
            .unwrap_err();
        says(&message(&error), &[&subject.metadata.location, "does not exist"]);
    }
}
