//! A limit for a wait that there is not.

ui::refused! {
    #[retry(max_wait = "5s")]
}

fn main() {}
