//! Texts with secrets, and texts without.

use crate::text::Loggable;
use proptest::prelude::*;

fn shown(text: &str) -> String {
    Loggable(text).to_string()
}

/// Where a secret is not given away by what stands around it, it is this one.
const LONG: &str = "q7Zp2mXc9LtB4vRk8NwY3sHd";

/// Rows: texts in which a secret stands for `SECRET`.
const FORMS: &str = r#"
    redis://:SECRET@h:6379/0 refused
    amqp://ann:SECRET@h:5672/%2f?heartbeat=SECRET
    mongodb+srv://ann:SECRET@h/?authSource=SECRET
    redis://ann:p@SECRET@h/0
    redis://ann:p#SECRET@h/0
    redis://ann:p?SECRET@h/0
    redis://ann:p/SECRET@h/0
    redis://ann:p]x/SECRET@h/0
    redis://ann:p SECRET@h/0
    redis://ann:p%20SECRET%40h/0
    redis://SECRET%2Fa@h/0
    redis://a%3Fb@h/0?SECRET
    postgres://ann:ab'SECRET@h/x
    postgres://ann:ab"SECRET@h/x
    postgres://ann:ab<SECRET>@h/x
    [https://h/?a=SECRET](https://h/?b=SECRET)
    redis://:SECRET@[::1]:6379
    redis://[::1]:SECRET
    redis://ann:p]SECRET
    redis://ann:SECRET@[::1]:6379
    https://SECRET…
    https://ann:x1SECRET
    https://hooks.slack.com/services/T/B/SECRET
    hooks.slack.com:443/services/SECRET/SECRET
    https://discord.com/api/webhooks/123/SECRET
    https:\/\/discord.com\/api\/v10\/webhooks\/123\/SECRET
    http://127.0.0.1:8080/bot123456:SECRET/sendMessage
    /bot1:SECRET/getMe
    https://api.telegram.org/bot123456%3ASECRET/sendMessage
    GET /x?token=SECRET
    GET /x?a=SECRET&b=SECRET: no
    x?a=SECRET
    {"url": "https://h/?a=SECRET"}
    {\"url\": \"https://h/?a=SECRET\"}
    "{\\\"url\\\": \\\"https://h/?a=SECRET\\\"}"
    https:\\ann:SECRET@h
    https:\\nancy:SECRET@h
    https:/\ann:SECRET@h
    https://h/https%3A%2F%2Fann%3ASECRET%40h
    https:///ann:SECRET@h/x
    (//ann:SECRET@h/x)
    https:\/\/ann:SECRET@h\/x?sig=SECRET
    https:\u002f\u002fann:SECRET@h\u002fx\u003fq=SECRET
    https:\\u002f\\u002fann:SECRET@h\\u002fx\\u003fq=SECRET
    https:\u{2f}\u{2f}ann:SECRET@h\x2fx\x3fq=SECRET
    https:&#x2F;&#x2F;ann:SECRET@h&#47;x&#63;q=SECRET
    https:&amp;#x2F;&amp;#x2F;ann:SECRET@h
    redirect_uri=https%3A%2F%2Fh%2Fcb%3Fcode%3DSECRET
    redirect_uri=https%3a%2f%2fann%3aSECRET%40h
    redirect_uri=https%253A%252F%252Fann%253ASECRET%2540h
    https%3A%2F%2Fh%2F%23SECRET
    https://h/a#SECRET
    sqlserver://h:1433;user=sa;password=SECRET
    jdbc:sqlserver://h;user=sa;password=SECRET;encrypt=true
    Server=h;User Id=sa;Password=SECRET;
    host=h user=ann password=SECRET dbname=x
    host=h password='a SECRET' dbname=x
    password = "SECRET"
    "password":"SECRET"
    {\"password\":\"a\\\"SECRET\",\"b\":1}
    {"password":"a\"SECRET","b":1}
    %7B%22password%22%3A%22SECRET%22%7D
    &quot;password&quot;:&quot;SECRET&quot;
    Config { password: Some("SECRET"), port: 1 }
    {'api_key': 'SECRET'}
    "password" => "SECRET"
    user[password]=SECRET
    PASSWORD: SECRET
    api-key: SECRET
    X-Api-Key:SECRET
    client_secret=SECRET&grant_type=authorization_code
    grant_type=authorization_code&code=SECRET
    code=SECRET&state=a
    code=SECRET
    AccountName=a;AccountKey=SECRET==;EndpointSuffix=core.windows.net
    se=2026-01-01&sp=r&sig=SECRET
    GET /k X-Amz-Signature=SECRET</CanonicalRequest>
    https://b.s3.amazonaws.com/k?X-Amz-Credential=a&X-Amz-Signature=SECRET
    mysql://root:SECRET@tcp(h:3306)/db
    invalid token: Bearer SECRET
    Authorization: Basic SECRET==
    authorization=bearer SECRET
    Authorization=Bearer%20SECRET
    token=Bearer SECRET
    "authorization":"Bearer SECRET"
    Authorization: SECRET
    Incorrect API key provided: SECRET. You can find
    Bearer  SECRET
    Bearer: "SECRET"
    HTTPS%3A%2F%2FANN%3ASECRET%40h
    jdbc:postgresql://h/db?user=a&password=SECRET
    pass%77ord=SECRET
    password&#61;SECRET
    password\u003d\u0022SECRET\u0022
    aws_secret_access_key=SECRET
    Url { scheme: "https", cannot_be_a_base: false, username: "SECRET", password: Some("SECRET"), host: None, port: None, path: "/", query: Some("a=SECRET"), fragment: Some("SECRET") }
"#;

/// Rows as above, in which only a long secret is one.
const LONG_FORMS: &str = "
    Incorrect API key: sk-proj-SECRET
    no such key sk-SECRET.
    'sk_live_SECRET' is revoked
    (rk_live_SECRET)
    ghp_SECRET gho_SECRET ghs_SECRET
    git clone failed: github_pat_SECRET_SECRET
    slack said xoxb-123-SECRET
    AKIASECRET
    AIzaSECRET is not valid
    ya29.SECRET
    eyJSECRET.eyJSECRET.SECRET
    hf_SECRET
    Bearer SECRET
    PASSWORD: SECRET
";

/// Rows as above, in which a secret has letters and digits.
const MIXED_FORMS: &str = "
    https://h/v1/SECRET/x
    https:\\/\\/h\\/SECRET
    https%3A%2F%2Fh%2Fab-SECRET
    /x/SECRET: not found
    a/b/SECRET?c
";

fn rows(rows: &str) -> impl Iterator<Item = &str> {
    rows.lines().map(str::trim).filter(|row| !row.is_empty())
}

#[test]
fn no_secret_of_a_known_form_is_shown() {
    for form in rows(FORMS) {
        let shown = shown(form);
        assert!(!shown.contains("SECRET"), "{form}: {shown}");
    }
    let spaced = "https://h/?a=b\u{a0}SECRET c";
    assert_eq!(shown(spaced), "https://h/?… c");
    let forms = rows(LONG_FORMS).chain(rows(MIXED_FORMS));
    for form in forms.chain(rows(FORMS)) {
        let shown = shown(&form.replace("SECRET", LONG));
        assert!(!shown.contains(&LONG[..4]), "{form}: {shown}");
    }
}

#[test]
fn what_is_no_secret_stays() {
    for text in rows(
        r#"
        größer — a: b / c? d # e @ f
        HTTP 409 ABORTED: There were concurrent policy changes
        HTTP 404 NoSuchKey: The specified key does not exist.
        code=14 grpc code: 14, error code 1213, code: ABORTED, exit code: 0x80070005
        rpc error: code = Unavailable desc = transport is closing
        {"error":{"code":503,"message":"busy","status":"UNAVAILABLE"}}
        {"code":"ThrottlingException","message":"Rate exceeded"}
        Error { code: Some("40001"), kind: "EC2ThrottledException" }
        NoSuchKey: The specified key does not exist
        Access denied for user 'ann'@'h' (using password: YES)
        invalid token: expected a name, found `}`
        Basic auth is not allowed, Bearer tokens are
        the token is expired; the key was not found
        http://127.0.0.1:8080/v1/projects/my-project-123456789:setIamPolicy
        projects/p/serviceAccounts/a@b.iam.gserviceaccount.com
        projects/p/locations/l/operations/550e8400-e29b-41d4-a716-446655440000
        projects/example.com:p/secrets/s/versions/1
        //iam.googleapis.com/projects/p
        src/main.rs:12:5: no, C:\Users\ann\x, and/or, text/html; charset=utf-8
        at 2026-11-29T10:20:30Z (10/Oct/2026:13:55:36), 50% of 3/4? yes/no?
        redis://valkey:6379/0, [::1]:6379 and http://[::1]:8080/a, mail ann@example.com, user:ann@example.com
        type.googleapis.com/google.rpc.ErrorInfo
        GoogleCloudAiplatformV1PredictRequest
        sk-SK, xoxo, disk-1234567890123456, task_sk
        duplicate key value violates unique constraint "a_key": Key (id)=(5) already exists
        ERR syntax&semantics; 100% & \u003c, caf\xc3\xa9\t
    "#,
    ) {
        assert_eq!(shown(text), text);
    }
}

#[test]
fn only_the_secret_is_left_out() {
    for (text, expected) in [
        ("http://a/b", "http://a/b"),
        ("http://a:80/b?c=d", "http://a:80/b?…"),
        ("https://a#b?c", "https://a#…"),
        ("get (http://a/b?c=d): no", "get (http://a/b?…): no"),
        ("<http://a/?b> \"c://d?e\"?", "<http://a/?…> \"c://d?…\"?"),
        ("http://ann:pw@a/b", "http://…@a/b"),
        ("http://ann:p@w@a:1", "http://…@a:1"),
        ("redis://:pw@a", "redis://…@a"),
        ("redis://ann:p w@a/0 refused", "redis://…@a/0 refused"),
        ("redis://ann:p#w@a/0 refused", "redis://… refused"),
        ("http://a/http://ann:pw@b/?c", "http://a/http://…@b/?…"),
        ("a://a/?u=b://ann:pw@b/ c://c/?d", "a://a/?… c://c/?…"),
        ("redis://ann:password…", "redis://ann:…"),
        ("redis://ann:123456", "redis://ann:…"),
        ("https://token…", "https://…"),
        ("http://[::1]:8080/a", "http://[::1]:8080/a"),
        ("http://[::1]:p", "http://[::1]:…"),
        ("(at http://a:65535): b", "(at http://a:65535): b"),
        ("http://", "http://"),
        ("https:\\/\\/ann:pw@a\\/b\\u003fc", "https://…@a/b?…"),
        ("https://a/b%2Fc%20d", "https://a/b/c+d"),
        (
            "https://hooks.slack.com/services/T/B/x",
            "https://hooks.slack.com/…",
        ),
        (
            "https://api.telegram.org/bot1:ABC/getMe",
            "https://api.telegram.org/…/getMe",
        ),
        ("password=a;b c", "password=… c"),
        ("{\"token\":\"a b\",\"c\":1}", "{\"token\":…,\"c\":1}"),
        ("token: Some(\"a\"), b", "token: …), b"),
        ("Bearer abc1, no", "Bearer …, no"),
    ] {
        assert_eq!(shown(text), expected, "{text}");
        assert_eq!(shown(expected), expected, "{text}");
    }
}

#[test]
fn a_code_is_shown_if_it_is_made_of_words() {
    for (code, is_secret) in [
        ("ThrottlingException", false),
        ("EC2ThrottledException", false),
        ("insufficient_quota", false),
        ("550e8400-e29b-41d4-a716-446655440000", false),
        ("q7Zp-2mXc9_LtB4-vRk8", true),
        (LONG, true),
        ("q7zp2mxc9ltb4vrk8nwy3shd", true),
        ("Q7ZP2MXC9LTB4VRK8NWY3SHD", true),
    ] {
        assert_eq!(super::is_secret(code), is_secret, "{code}");
    }
}

proptest! {
    #[test]
    fn no_secret_is_shown_wherever_it_stands(
        secret in prop_oneof!["[A-Za-z0-9]{20,60}", "[a-z0-9]{20,60}", "[A-Za-z]{20,60}"],
        before in prop_oneof!["[a-z ,.]{0,30}", "[a-z ]{380,520}"],
        after in "\\PC{0,200}",
        form in any::<prop::sample::Index>(),
        most in 1..600_usize,
    ) {
        let forms = rows(LONG_FORMS).chain(rows(FORMS));
        let is_mixed = secret.contains(|c: char| c.is_ascii_digit())
            && secret.contains(|c: char| c.is_ascii_alphabetic());
        let mixed = rows(MIXED_FORMS).filter(|_| is_mixed);
        let forms: Vec<_> = forms.chain(mixed).collect();
        let form = form.get(&forms);
        let text = format!("{before} {} {after}", form.replace("SECRET", &secret));
        let shown = format!("{:.most$} {:?}", Loggable(&text), Loggable(&text));
        // The beginning of a secret would be too much, too.
        prop_assert!(!shown.contains(&secret[..6]), "{form}: {shown}");
    }

    #[test]
    fn any_text_is_shown_and_stays_short(
        parts in prop::collection::vec(
            prop_oneof![
                "[ -~é🙂…]{0,3}", "[/\\\\:@?#&=%;\"'<>{}\\[\\] …é]{1,3}",
                prop::sample::select(rows(FORMS).collect::<Vec<_>>()).prop_map(str::to_owned),
                "(key=|token: |Bearer |code=|\\\\u|&amp;|&#|%25|%2|//|SECRET|[A-Z][a-z]{4}[0-9]{20})",
            ],
            0..12,
        ),
        cut in 0..200_usize,
    ) {
        let text = parts.concat();
        let cut: String = text.chars().take(cut).collect();
        for text in [text, cut] {
            let shown = shown(&text);
            prop_assert!(shown.chars().count() <= 501, "{text:?}: {shown:?}");
        }
    }

    #[test]
    fn words_stay(text in "[a-z]{1,12}( [a-z]{1,12}){0,20}[.?!]") {
        prop_assume!(!text.contains("bearer") && !text.contains("basic"));
        prop_assert_eq!(shown(&text), text);
    }
}
