//! A limit for a wait that there is not.

ui::refused! {
    #[retry(max_queue_time = "5s")]
}

fn main() {}
