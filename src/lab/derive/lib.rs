//! Derives descriptions of findings from their declarations, so that each kind and its keys are declared once.
//!
//! `#[derive(Columns)]` on a struct describes its keys with the doc comments of its fields. `#[derive(Kinds)]` on the enum of a lab's
//! findings describes each kind with the doc comment of its variant and the columns of its struct. `#[interval]` marks kinds with
//! intervals; `#[id]` marks the fields by which a later finding replaces an earlier one. Both derives use only names, doc comments and
//! serde's `flatten`, `skip` and `rename`, and so need no type parser.

use proc_macro::{Delimiter, Group, TokenStream, TokenTree};

/// A field of a struct or a variant of an enum.
#[derive(Default)]
struct Member {
    name: String,
    /// The doc comment on one line.
    doc: String,
    ty: String,
    flatten: bool,
    skip: bool,
    interval: bool,
    id: bool,
    rename: Option<String>,
}

impl Member {
    fn attribute(&mut self, group: &Group) {
        let text = group.stream().to_string();
        if text == "interval" {
            self.interval = true;
        } else if text == "id" {
            self.id = true;
        } else if text.starts_with("doc") {
            let line = group.stream().into_iter().last().map(|literal| unquoted(&literal.to_string()));
            let line = line.unwrap_or_default();
            self.doc = format!("{} {}", self.doc, line.trim()).trim().to_owned();
        } else if text.starts_with("serde") {
            let words: Vec<String> = words_of(group.stream());
            self.flatten |= words.iter().any(|w| w == "flatten");
            self.skip |= words.iter().any(|w| w == "skip");
            let renamed = words.iter().position(|w| w == "rename").and_then(|i| words.get(i + 2));
            self.rename = renamed.map(|name| unquoted(name)).or(self.rename.take());
        }
    }

    fn key(&self) -> String {
        self.rename.clone().unwrap_or_else(|| self.name.trim_start_matches("r#").to_owned())
    }
}

/// Words among the tokens, at any nesting depth.
fn words_of(tokens: TokenStream) -> Vec<String> {
    let words = |token| match token {
        TokenTree::Group(group) => words_of(group.stream()),
        other => vec![other.to_string()],
    };
    tokens.into_iter().flat_map(words).collect()
}

/// The text of a string literal. Only escapes of quotes and backslashes are handled, because doc comments contain no others.
fn unquoted(literal: &str) -> String {
    let inner = literal.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
    match inner {
        Some(inner) => inner.replace("\\\"", "\"").replace("\\'", "'").replace("\\\\", "\\"),
        None => literal.trim_start_matches('r').trim_matches('#').trim_matches('"').to_owned(),
    }
}

fn item(tokens: TokenStream) -> (String, Vec<Member>) {
    let (mut name, mut named) = (String::new(), false);
    for token in tokens {
        match token {
            TokenTree::Ident(ident) if named && name.is_empty() => name = ident.to_string(),
            TokenTree::Ident(ident) if matches!(ident.to_string().as_str(), "struct" | "enum") => named = true,
            TokenTree::Group(body) if named && body.delimiter() == Delimiter::Brace => {
                return (name, members(body.stream()));
            }
            _ => {}
        }
    }
    (name, Vec::new())
}

/// Parses the members of a body: attributes, visibility, name, and a type after a colon or in parentheses.
fn members(body: TokenStream) -> Vec<Member> {
    let mut all = Vec::new();
    let mut member = Member::default();
    let (mut depth, mut typed) = (0, false);
    for token in body {
        match token {
            TokenTree::Punct(p) if p.as_char() == ',' && depth == 0 => {
                all.push(std::mem::take(&mut member));
                typed = false;
            }
            TokenTree::Punct(p) if p.as_char() == ':' && !typed => typed = true,
            TokenTree::Group(g) if g.delimiter() == Delimiter::Bracket && !typed => member.attribute(&g),
            TokenTree::Group(g) if !typed && !member.name.is_empty() => member.ty = g.stream().to_string(),
            TokenTree::Ident(ident) if !typed && ident.to_string() != "pub" => member.name = ident.to_string(),
            other if typed => {
                if let TokenTree::Punct(p) = &other {
                    depth += i32::from(p.as_char() == '<') - i32::from(p.as_char() == '>');
                }
                member.ty.push_str(&other.to_string());
            }
            _ => {}
        }
    }
    if !member.name.is_empty() {
        all.push(member);
    }
    all
}

/// Converts `PromptScore` to `prompt_score`.
fn snake(name: &str) -> String {
    let mut text = String::new();
    for c in name.chars() {
        if c.is_uppercase() && !text.is_empty() {
            text.push('_');
        }
        text.extend(c.to_lowercase());
    }
    text
}

fn code(text: &str) -> TokenStream {
    text.parse().unwrap_or_else(|e| panic!("the derived code does not parse: {e}: {text}"))
}

/// Describes the keys of a struct with the doc comments of its fields.
#[proc_macro_derive(Columns, attributes(id))]
pub fn columns(tokens: TokenStream) -> TokenStream {
    let (name, members) = item(tokens);
    let column = |m: &Member| match m.flatten {
        true => format!("all.extend(<{} as ::lab::columns::Columns>::columns());", m.ty),
        false => {
            let (key, doc, id) = (m.key(), &m.doc, m.id);
            format!("all.push(::lab::columns::Column {{ key: {key:?}, doc: {doc:?}, id: {id} }});")
        }
    };
    let pushed: String = members.iter().filter(|m| !m.skip).map(column).collect();
    let equal = |m: &Member| match m.flatten {
        true => Some(format!(" && ::lab::columns::Columns::same(&self.{0}, &other.{0})", m.name)),
        false => m.id.then(|| format!(" && self.{0} == other.{0}", m.name)),
    };
    let same: String = members.iter().filter_map(equal).collect();
    code(&format!(
        "impl ::lab::columns::Columns for {name} {{
            fn columns() -> ::std::vec::Vec<::lab::columns::Column> {{
                let mut all = ::std::vec::Vec::new();
                {pushed}
                all
            }}

            fn same(&self, other: &Self) -> bool {{
                let _ = other;
                true{same}
            }}
        }}"
    ))
}

/// Describes the kinds of a lab's findings, states which of them have intervals, and parses a finding whose kind is known.
#[proc_macro_derive(Kinds, attributes(interval))]
pub fn kinds(tokens: TokenStream) -> TokenStream {
    let (name, members) = item(tokens);
    let list: String = members
        .iter()
        .map(|m| {
            let (kind, doc, ty) = (snake(&m.name), &m.doc, &m.ty);
            format!(
                "::lab::columns::KindInfo {{
                    name: {kind:?}, doc: {doc:?}, columns: <{ty} as ::lab::columns::Columns>::columns
                }},"
            )
        })
        .collect();
    let arms: String = members.iter().map(|m| format!("{name}::{}(_) => {},", m.name, m.interval)).collect();
    let read = |m: &Member| {
        let (kind, ty) = (snake(&m.name), &m.ty);
        format!("{kind:?} => <{ty} as ::serde::Deserialize>::deserialize(deserializer).map({name}::{}),", m.name)
    };
    let read: String = members.iter().map(read).collect();
    let count = members.len();
    code(&format!(
        "/// The kinds of finding that the lab has, with their columns.
        pub static KINDS: [::lab::columns::KindInfo; {count}] = [{list}];

        impl ::lab::FindingKind for {name} {{
            fn has_interval(&self) -> bool {{
                match self {{ {arms} }}
            }}
        }}

        impl {name} {{
            /// Parses a finding of this kind.
            ///
            /// # Errors
            /// If the lab does not have this kind, or the object is not a finding of it.
            pub fn read<'de, D: ::serde::Deserializer<'de>>(
                kind: &str,
                deserializer: D,
            ) -> ::std::result::Result<Self, D::Error> {{
                match kind {{
                    {read}
                    _ => Err(::serde::de::Error::custom(::std::format_args!(\"the lab has no kind `{{kind}}`\"))),
                }}
            }}
        }}"
    ))
}
