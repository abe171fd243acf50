//! From fetched data to rendered Secret.
pub mod engine;

#[cfg(test)]
mod tests;
