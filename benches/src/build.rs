use crate::table::Figure;
pub(crate) fn measure() -> std::io::Result<Vec<Figure>> {
    Ok(vec![])
}
