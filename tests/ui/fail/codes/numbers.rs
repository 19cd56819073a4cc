//! Codes that are no failures or are no range; a class of statuses, as other tools name it.

ui::refused! {
    #[retry(on = [200, 302, 14, 600])]
    #[retry(on = [504..=500])]
    #[retry(on = [500..505])]
    #[retry(on = 5xx)]
    #[retry(on = [429, 5xx])]
    #[retry(also_on = [4xx, 5XX])]
}
