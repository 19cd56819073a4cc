//! Attributes above `#[retry]` that copy it to what they generate: their output is pasted here.

use backoff_core::retry;
use ui::ApiError;

// `#[server]` of leptos 0.8.
#[retry(max_attempts = 5)]
async fn load(id: u32) -> Result<u32, ApiError> {
    __server_load(id).await
}

#[doc(hidden)]
#[retry(max_attempts = 5)]
async fn __server_load(id: u32) -> Result<u32, ApiError> {
    Ok(id)
}

// `#[wasm_bindgen]` 0.2.
const _: () = {
    struct WasmRet<T>(T);

    #[retry(max_attempts = 5)]
    pub unsafe extern "C-unwind" fn __wasm_bindgen_generated_load(id: u32) -> WasmRet<u32> {
        const _: () = {};
        let ret = WasmRet(id);
        ret
    }
};

// `#[mockall::automock]` 0.15.
struct MockClient {
    get: __mock_client::__get::Expectation,
}

mod __mock_client {
    #[retry(max_attempts = 5)]
    pub mod __get {
        pub struct Expectation;

        impl Expectation {
            pub fn call(&self, id: u32) -> Result<u32, ui::ApiError> {
                Ok(id)
            }
        }
    }
    use backoff_core::retry;
}

impl MockClient {
    #[retry(max_attempts = 5)]
    async fn get(&self, id: u32) -> Result<u32, ApiError> {
        self.get.call(id)
    }

    #[retry(max_attempts = 5)]
    pub fn expect_get(&mut self) -> &mut __mock_client::__get::Expectation {
        &mut self.get
    }
}
