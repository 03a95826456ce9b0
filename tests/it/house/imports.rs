//! Which module of a crate uses which other one, and where they do so in a circle.
//!
//! Paths are read from `use` declarations and from expressions. A name that a module re-exports leads to the module that
//! defines it, and a re-export alone is no use: a facade may show what stands below it. Circles are the strongly connected
//! components (of more than one module) of the graph of each folder, found by its transitive closure (Warshall 1962).

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use super::source::Source;

/// The path of a module from the root of its crate.
type Module = Vec<String>;

/// A path in the code: segments, and whether it is re-exported.
struct Mention {
    path: Vec<String>,
    is_reexport: bool,
}

/// A module that is a file: the paths in it, and the names of the items that it defines.
struct File {
    mentions: Vec<Mention>,
    items: BTreeSet<String>,
}

/// The modules of one crate that are files.
pub(super) struct Crate(BTreeMap<Module, File>);

/// Most re-exports of one name that are followed.
const MAX_REEXPORTS: usize = 4;

impl Crate {
    pub(super) fn new(sources: &[Source]) -> Self {
        let root = sources.iter().map(|source| source.path.components().count()).min().unwrap_or(0) - 1;
        let module = |path: &Path| {
            let folders = path.parent().unwrap().components().skip(root);
            let mut module: Module =
                folders.map(|part| part.as_os_str().to_str().unwrap().to_owned()).collect();
            let stem = path.file_stem().unwrap().to_str().unwrap();
            if !["lib", "main", "mod"].contains(&stem) {
                module.push(stem.to_owned());
            }
            module
        };
        let file = |source: &Source| {
            let words = words(&source.code);
            (module(&source.path), File { mentions: mentions(&words), items: items(&words) })
        };
        Self(sources.iter().map(file).collect())
    }

    /// The circles among the modules of each folder: the module of the folder, and the names of those in the circle.
    /// The file of the folder's own module is called `mod`.
    pub(super) fn circles(&self) -> Vec<(Module, BTreeSet<String>)> {
        let mut graphs: BTreeMap<Module, BTreeSet<(String, String)>> = BTreeMap::new();
        for (from, file) in &self.0 {
            for mention in file.mentions.iter().filter(|mention| !mention.is_reexport) {
                let Some(to) = self.resolve(from, &mention.path, 0) else { continue };
                let common = from.iter().zip(&to).take_while(|(one, two)| one == two).count();
                let node = |module: &Module| module.get(common).map_or("mod", String::as_str).to_owned();
                if node(from) != node(&to) {
                    graphs.entry(from[..common].to_vec()).or_default().insert((node(from), node(&to)));
                }
            }
        }
        let mut circles = Vec::new();
        for (folder, edges) in graphs {
            circles.extend(components(&edges).into_iter().map(|circle| (folder.clone(), circle)));
        }
        circles
    }

    fn is_module(&self, module: &[String]) -> bool {
        self.0.contains_key(module)
    }

    /// The module that a path leads to from another one; `None` if it leads out of the crate.
    fn resolve(&self, from: &Module, path: &[String], depth: usize) -> Option<Module> {
        let mut at = from.clone();
        let mut rest = path;
        match rest.first()?.as_str() {
            "crate" => {
                at.clear();
                rest = &rest[1..];
            }
            "self" => rest = &rest[1..],
            "super" => {}
            child => {
                if !self.is_module(&[at.as_slice(), &[child.to_owned()]].concat()) {
                    return None;
                }
            }
        }
        while rest.first().is_some_and(|segment| segment == "super") {
            at.pop()?;
            rest = &rest[1..];
        }
        while let Some(segment) = rest.first() {
            let child = [at.as_slice(), std::slice::from_ref(segment)].concat();
            if !self.is_module(&child) {
                break;
            }
            at = child;
            rest = &rest[1..];
        }
        let Some(name) = rest.first() else { return Some(at) };
        Some(self.reexported(&at, name, depth).unwrap_or(at))
    }

    /// The module from which another one re-exports a name.
    fn reexported(&self, module: &Module, name: &str, depth: usize) -> Option<Module> {
        let file = &self.0[module];
        if depth == MAX_REEXPORTS || file.items.contains(name) {
            return None;
        }
        file.mentions.iter().filter(|mention| mention.is_reexport).find_map(|mention| {
            let (last, before) = mention.path.split_last()?;
            if last == name {
                return self.resolve(module, &mention.path, depth + 1);
            }
            let target = self.resolve(module, before, depth + 1).filter(|_| last == "*")?;
            let has = self.0[&target].items.contains(name);
            if has { Some(target) } else { self.reexported(&target, name, depth + 1) }
        })
    }
}

/// The names of the items that a file defines.
fn items(words: &[&str]) -> BTreeSet<String> {
    const ITEMS: [&str; 7] = ["fn", "struct", "enum", "trait", "type", "const", "static"];
    let defined = words.windows(2).filter(|pair| ITEMS.contains(&pair[0])).map(|pair| pair[1]);
    let macros = words.windows(3).filter(|three| three[..2] == ["macro_rules", "!"]).map(|three| three[2]);
    defined.chain(macros).map(str::to_owned).collect()
}

/// Names, `::`, and other characters one by one.
fn words(code: &str) -> Vec<&str> {
    let mut words = Vec::new();
    let mut rest = code.trim_start();
    while let Some(first) = rest.chars().next() {
        let length = if first.is_alphanumeric() || first == '_' {
            rest.find(|char: char| !char.is_alphanumeric() && char != '_').unwrap_or(rest.len())
        } else if rest.starts_with("::") {
            2
        } else {
            first.len_utf8()
        };
        words.push(&rest[..length]);
        rest = rest[length..].trim_start();
    }
    words
}

/// All paths in a file.
fn mentions(words: &[&str]) -> Vec<Mention> {
    let mut found = Vec::new();
    let mut at = 0;
    while at < words.len() {
        if words[at] == "use" && words.get(at + 1) != Some(&"<") {
            let is_reexport = at > 0 && (words[at - 1] == "pub" || words[at - 1] == ")");
            at += 1;
            let mut paths = Vec::new();
            at = tree(words, at, &[], &mut paths);
            found.extend(paths.into_iter().map(|path| Mention { path, is_reexport }));
            continue;
        }
        let is_name = |word: &str| word.starts_with(|char: char| char.is_alphabetic() || char == '_');
        let begins =
            is_name(words[at]) && words.get(at + 1) == Some(&"::") && (at == 0 || words[at - 1] != "::");
        if begins {
            let mut path = vec![words[at].to_owned()];
            while words.get(at + 1) == Some(&"::") && words.get(at + 2).is_some_and(|word| is_name(word)) {
                at += 2;
                path.push(words[at].to_owned());
            }
            found.push(Mention { path, is_reexport: false });
        }
        at += 1;
    }
    found
}

/// Reads one tree of a `use` declaration, and returns the place after it.
fn tree(words: &[&str], mut at: usize, before: &[String], paths: &mut Vec<Vec<String>>) -> usize {
    let mut path = before.to_vec();
    while at < words.len() {
        match words[at] {
            "::" => at += 1,
            "{" => {
                at += 1;
                while at < words.len() && words[at] != "}" {
                    at = tree(words, at, &path, paths);
                    at += usize::from(words.get(at) != Some(&"}"));
                }
                return at + 1;
            }
            "as" => at += 2,
            "," | "}" | ";" => break,
            word => {
                path.push(word.to_owned());
                at += 1;
            }
        }
    }
    if path.len() > 1 && path.last().is_some_and(|last| last == "self") {
        path.pop();
    }
    paths.push(path);
    at
}

/// The strongly connected components of more than one node.
fn components(edges: &BTreeSet<(String, String)>) -> BTreeSet<BTreeSet<String>> {
    let nodes: Vec<&String> =
        edges.iter().flat_map(|(from, to)| [from, to]).collect::<BTreeSet<_>>().into_iter().collect();
    let mut reaches = vec![vec![false; nodes.len()]; nodes.len()];
    for (from, to) in edges {
        let number = |name| nodes.binary_search(&name).unwrap();
        reaches[number(from)][number(to)] = true;
    }
    for through in 0..nodes.len() {
        for from in 0..nodes.len() {
            for to in 0..nodes.len() {
                reaches[from][to] |= reaches[from][through] && reaches[through][to];
            }
        }
    }
    let component = |one: usize| {
        let others = (0..nodes.len()).filter(|&two| one == two || reaches[one][two] && reaches[two][one]);
        others.map(|two| nodes[two].clone()).collect::<BTreeSet<_>>()
    };
    (0..nodes.len()).map(component).filter(|component| component.len() > 1).collect()
}
