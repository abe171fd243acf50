//! Developer commands of this repository.
fn main() -> anyhow::Result<()> {
    Ok(())
}
