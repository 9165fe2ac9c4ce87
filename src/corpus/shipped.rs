//! Embedded files of the shipped facts.

use base::packed;
use base::packed::Packed;

/// `relations.toml`.
pub(crate) fn list() -> Packed {
    packed!("facts/relations.toml")
}

/// Pairs each relation's name with its embedded file.
macro_rules! files {
    ($($name:literal),* $(,)?) => { vec![$(($name, packed!("facts/", $name, ".jsonl"))),*] };
}

/// Returns the files of all relations. To add a relation, add its file, its entry in `relations.toml` and its name here.
#[rustfmt::skip]
pub(crate) fn files() -> Vec<(&'static str, Packed)> {
    files![
        "animal_class", "animal_family", "animal_young", "birth_country", "book_author", "book_language", "capital",
        "city_country", "city_river", "company_country", "company_industry", "composition_composer", "currency",
        "demonym", "dish_country", "element_symbol", "field", "food_ingredient", "god_domain", "god_mythology",
        "island_country", "landmark_city", "landmark_country", "language_family", "native_language", "nobel_prize",
        "official_language", "painting_painter", "product_maker", "profession", "unit_quantity", "world_region",
        "composition_kind", "element_period", "island_sea", "language_country", "painting_city", "product_kind",
        "unit_instrument",
    ]
}
