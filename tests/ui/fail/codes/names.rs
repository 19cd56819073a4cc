//! gRPC codes as other crates name them, the constants of the crate `http`, and types of errors.

pub struct StatusCode(pub u16);

impl StatusCode {
    pub const TOO_MANY_REQUESTS: Self = StatusCode(429);
    pub const TEAPOT: Self = StatusCode(418);
}

ui::refused! {
    #[retry(on = [backoff_core::GrpcCode::DeadlineExceeded])]
    #[retry(on = [StatusCode::TOO_MANY_REQUESTS, 503])]
    #[retry(on = [self::StatusCode::TEAPOT])]
    #[retry(on = [Timeout, Connect])]
    #[retry(on = (Timeout, Connect))]
    #[retry(on = Timeout)]
    #[retry(on = [std::io::Error, 503])]
}
