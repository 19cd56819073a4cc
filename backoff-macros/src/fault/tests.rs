//! The messages about wrong attributes that `tests/ui` does not show. What the written code says is in `tests/editions`.

use super::*;

fn written(item: &str) -> String {
    derive("backoff_cloud", item.parse().unwrap()).to_string()
}

#[test]
fn each_message_says_what_to_write() {
    let rows = [
        (
            "enum E { #[fault(http_status = self.0)] A(u16) }",
            "write `status`;",
        ),
        (
            "#[fault(status)] struct E { a: A, code: u16 }",
            "write `#[fault(status)]` before the field that has it, or `status = 503` here",
        ),
        ("#[fault(status)] struct E;", "write `status = 503`"),
        (r#"#[fault(status = "503")] struct E;"#, "from 400 to 599"),
        ("#[fault(status = 1 +)] struct E;", "like `status = 503`"),
        ("#[fault()] struct E;", "needs a fact"),
        ("#[fault(transient, transient)] struct E;", "given twice"),
        ("#[fault(transient = true)] struct E;", "takes no value"),
        ("#[fault(forward)] struct E;", "needs a field with an error"),
        ("struct E(#[fault(transient)] A);", "a field can be marked"),
        ("union E { a: u8 }", "an enum or a struct"),
    ];
    for (item, part) in rows {
        let written = written(item);
        let (_, message) = written.split_once("compile_error !").expect(item);
        assert!(message.contains(part), "{item}: {message}");
    }
}
