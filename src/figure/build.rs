//! Build script that compresses the embedded fonts.

#[path = "../packing.rs"]
mod packing;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    packing::bytes("fonts/ubuntu-light.ttf", epaint_default_fonts::UBUNTU_LIGHT)?;
    packing::bytes("fonts/hack-regular.ttf", epaint_default_fonts::HACK_REGULAR)
}
