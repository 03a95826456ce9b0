//! The form that explains a mask.

use std::str;
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::body::Bytes;
use axum::extract::{RawQuery, State};
use gobo_artifact::{Index, IndexClass, Matcher, Vocabulary};
use gobo_engine::{Engine, EngineError, OpenVocabulary, Request, VocabularyRef};
use gobo_explain::{Explanation, Question, Steps, explain, neighbourhood, steps, token_of};
use gobo_types::{
    Binding, CompileError, CompileLimits, Constraint, Dialect, IndexKey, SchemaOptions, SpecialText,
    Whitespace, error_chain, grouped,
};
use maud::{Markup, html};
use tokio::time::timeout_at;

use super::frame::{clipped, facts, frame};
use super::index::of_report;
use super::picture::picture;
use super::shared::{Answer, Shown, Trouble};

/// Most bytes of a constraint and of a text: both stand in the answer again.
const MAX_CONSTRAINT_BYTES: usize = 32 << 10;
const MAX_TEXT_BYTES: usize = 8 << 10;

/// Tokens of a text that are shown, and states of the picture.
const TOKENS_SHOWN: usize = 200;
const STATES_SHOWN: usize = 60;

/// Most time from the form to the answer; less than what the address gives a request as a whole.
const MAX_TIME: Duration = Duration::from_secs(8);

/// Most steps of reading a text by its rules: some tenths of a second.
const MAX_STEPS: u64 = 20_000_000;

/// On whose account the workers compile what is explained.
const TENANT: &str = "page";

/// Kinds of constraints, as the form and a person call them.
const KINDS: [(&str, &str); 8] = [
    ("regex", "Regular expression"),
    ("choice", "Choice, an item in each line"),
    ("schema", "JSON Schema"),
    ("json", "Any JSON value"),
    ("gbnf", "Grammar: GBNF"),
    ("ebnf", "Grammar: EBNF"),
    ("lark", "Grammar: Lark"),
    ("structural_tag", "Structural tag"),
];

/// What was filled in.
#[derive(Default)]
struct Form {
    vocabulary: String,
    kind: String,
    constraint: String,
    key: String,
    text: String,
    token: String,
}

impl Form {
    fn read(encoded: &[u8]) -> Result<Self, Trouble> {
        let mut form = Self { kind: "regex".to_owned(), ..Self::default() };
        for (name, value) in form_urlencoded::parse(encoded) {
            let field = match &*name {
                "vocabulary" => &mut form.vocabulary,
                "kind" => &mut form.kind,
                "constraint" => &mut form.constraint,
                "key" => &mut form.key,
                "text" => &mut form.text,
                "token" => &mut form.token,
                _ => return Err(Trouble::invalid("the form has a field that is not known")),
            };
            // What forms send as the end of a line.
            *field = value.replace("\r\n", "\n");
        }
        for (name, text, most) in [
            ("constraint", &form.constraint, MAX_CONSTRAINT_BYTES),
            ("text", &form.text, MAX_TEXT_BYTES),
            ("token", &form.token, MAX_TEXT_BYTES),
            ("vocabulary", &form.vocabulary, MAX_TEXT_BYTES),
            ("key", &form.key, MAX_TEXT_BYTES),
        ] {
            if text.len() > most {
                return Err(Trouble::invalid(format!(
                    "the {name} has {} bytes, and this page takes {most}; `gobo explain` has no such limit, and an index in the store is \
                     explained by its key",
                    text.len()
                )));
            }
        }
        Ok(form)
    }

    fn constraint(&self) -> Result<Constraint, Trouble> {
        let text = self.constraint.as_str();
        let grammar =
            |dialect: Dialect| Constraint::grammar(dialect, text, dialect.default_start(), None, Vec::new());
        Ok(match self.kind.as_str() {
            "regex" => Constraint::regex(text),
            "choice" => Constraint::choice(text.lines()),
            "schema" => Constraint::schema(text, SchemaOptions::default()),
            "json" => Constraint::json(Whitespace::default()),
            "gbnf" => grammar(Dialect::Gbnf),
            "ebnf" => grammar(Dialect::Ebnf),
            "lark" => grammar(Dialect::Lark),
            "structural_tag" => Constraint::tag(text, SpecialText::default(), SchemaOptions::of_tags()),
            _ => return Err(Trouble::invalid("the kind of the constraint is none of those of the form")),
        })
    }
}

/// An index and its vocabulary, found or compiled.
struct Target {
    index: Arc<Index>,
    vocabulary: Arc<Vocabulary>,
    binding: Binding,
}

/// What is said of a text.
struct Explained {
    key: IndexKey,
    explanation: Explanation,
    steps: Steps,
    picture: Markup,
    vocabulary: Arc<Vocabulary>,
}

/// The empty form, or with `?key=` and `?text=` what it says of an index in the store.
pub(super) async fn form(State(shown): State<Arc<Shown>>, RawQuery(query): RawQuery) -> Answer {
    let form = Form::read(query.unwrap_or_default().as_bytes())?;
    let names = names(&shown).await?;
    // Reading a page compiles nothing.
    let answer = if form.key.is_empty() {
        html! {}
    } else {
        answered(&shown, &form).await
    };
    Ok(frame("/explain", "Explain", &page(&form, &names, &answer)))
}

/// The form, sent.
pub(super) async fn posted(State(shown): State<Arc<Shown>>, body: Bytes) -> Answer {
    let form = Form::read(&body)?;
    drop(body);
    let names = names(&shown).await?;
    let answer = answered(&shown, &form).await;
    Ok(frame("/explain", "Explain", &page(&form, &names, &answer)))
}

async fn names(shown: &Shown) -> Result<Vec<String>, Trouble> {
    let mut names = shown.on_engine(|engine| Ok(engine.store().list_names()?)).await?;
    names.sort_unstable();
    Ok(names)
}

/// What there is to say, or why there is nothing.
async fn answered(shown: &Shown, form: &Form) -> Markup {
    let until = Instant::now() + MAX_TIME;
    let explained = timeout_at(until.into(), explained(shown, form, until)).await;
    match explained {
        Ok(Ok(explained)) => said(&explained),
        Ok(Err(Told::Verdict(error))) => verdict(&error),
        Ok(Err(Told::Trouble(trouble))) => html! { p role="alert" { (trouble.why) } },
        Err(_) => html! {
            p role="alert" { "That takes longer than " (MAX_TIME.as_secs()) " s. What was compiled until then is lost; `gobo explain` has as much time as it needs." }
        },
    }
}

/// Why there is no explanation.
enum Told {
    Verdict(CompileError),
    Trouble(Trouble),
}

impl<E: Into<Trouble>> From<E> for Told {
    fn from(error: E) -> Self {
        Self::Trouble(error.into())
    }
}

async fn explained(shown: &Shown, form: &Form, until: Instant) -> Result<Explained, Told> {
    let target =
        if form.key.is_empty() { compiled(shown, form, until).await? } else { found(shown, form).await? };
    // Whoever goes away leaves the work behind, and with it the place.
    let one = Arc::clone(&shown.explaining).acquire_owned().await;
    let one = one.map_err(|_| Trouble::unavailable("the daemon is stopping"))?;
    let (text, token) = (form.text.clone(), form.token.clone());
    let limits = CompileLimits { max_steps: MAX_STEPS, ..shown.engine()?.default_limits() };
    let explain = move |_: &Engine| {
        let _one = one;
        Ok(of_target(&target, text.as_bytes(), &token, limits))
    };
    let explained = shown.on_engine(explain).await?;
    Ok(explained.map_err(Trouble::invalid)?)
}

/// An index of the store, by its key.
async fn found(shown: &Shown, form: &Form) -> Result<Target, Told> {
    let key: IndexKey = form
        .key
        .trim()
        .parse()
        .map_err(|_| Trouble::invalid("that is no key of an index: 64 digits from 0 to f"))?;
    let (named, index) = shown
        .on_engine(move |engine| {
            let (_, index) = engine.index(&key)?;
            let named = named(engine, &index)?;
            Ok((named, index))
        })
        .await?;
    Ok(of(index, &named))
}

/// The vocabulary of an index, by a name that stands for it: a name says which tokens end a text.
fn named(engine: &Engine, index: &Index) -> Result<Arc<OpenVocabulary>, EngineError> {
    let digest = index.vocabulary_digest();
    for name in engine.store().list_names()? {
        if let Ok(Some(open)) = engine.open_vocabulary(&VocabularyRef::Name(name))
            && open.digest() == digest
        {
            return Ok(open);
        }
    }
    let wanted = VocabularyRef::Digest(digest);
    engine.open_vocabulary(&wanted)?.ok_or(EngineError::UnknownDigest { digest })
}

fn of(index: Index, open: &OpenVocabulary) -> Target {
    Target {
        index: Arc::new(index),
        vocabulary: Arc::clone(&open.vocabulary),
        // Without a name no token is known to end a text.
        binding: open.binding().cloned().unwrap_or_else(|| Binding::new(Vec::new(), open.vocabulary.len())),
    }
}

/// The index of the constraint, compiled by the workers if need be.
async fn compiled(shown: &Shown, form: &Form, until: Instant) -> Result<Target, Told> {
    if form.vocabulary.is_empty() {
        return Err(Trouble::invalid("choose a vocabulary").into());
    }
    let engine = shown.engine()?;
    let constraint = form.constraint()?;
    let opening = engine.vocabulary(&VocabularyRef::Name(form.vocabulary.clone()));
    let vocabulary = opening.await.map_err(|error| {
        let why = error_chain(&*error);
        Trouble { why, ..Trouble::invalid("") }
    })?;
    let request = Request {
        tenant: TENANT.into(),
        deadline: Some(until),
        ..Request::new(Arc::clone(&vocabulary), constraint)
    };
    let found = engine.submit(request).await.map_err(Told::Verdict)?;
    let index = shown.on_engine(move |engine| Ok(engine.index(&found.key)?.1)).await?;
    Ok(of(index, &vocabulary))
}

fn of_target(target: &Target, text: &[u8], token: &str, limits: CompileLimits) -> Result<Explained, String> {
    let Target { index, vocabulary, binding } = target;
    let token = token_of(vocabulary, Some(token).filter(|token| !token.is_empty()), None);
    let token = token.map_err(|error| error.to_string())?;
    let matcher = || Matcher::new(Arc::clone(index), Arc::clone(vocabulary), binding);
    let mut matcher_of_bytes = matcher().map_err(|error| error_chain(&error))?;
    let question = Question { before: &[], text, token, limits };
    let explanation = explain(&mut matcher_of_bytes, &question).map_err(|error| error_chain(&error))?;
    drop(matcher_of_bytes);
    let mut matcher = matcher().map_err(|error| error_chain(&error))?;
    let steps = steps(&mut matcher, text, TOKENS_SHOWN).map_err(|error| error_chain(&error))?;
    let present = present(&explanation);
    let graph = neighbourhood(index, present, STATES_SHOWN).map_err(|error| error_chain(&error))?;
    let (key, vocabulary) = (index.key(), Arc::clone(vocabulary));
    Ok(Explained { key, explanation, steps, picture: picture(&graph, present), vocabulary })
}

/// The state of the picture: of several configurations that of the first.
fn present(explanation: &Explanation) -> u32 {
    explanation.configurations.first().map_or(explanation.state, |first| first.state)
}

fn page(form: &Form, names: &[String], answer: &Markup) -> Markup {
    html! {
        p { "Why a mask is as it is: where a text stands under a constraint, what may come next, and why a token may not." }
        form method="post" action="/explain" {
            p {
                label for="vocabulary" { "Vocabulary" }
                select #vocabulary name="vocabulary" {
                    @for name in names { option value=(name) selected[*name == form.vocabulary] { (name) } }
                }
                label for="kind" { "Kind" }
                select #kind name="kind" {
                    @for (value, name) in KINDS { option value=(value) selected[value == form.kind] { (name) } }
                }
            }
            p {
                label for="constraint" { "Constraint" }
                // The first end of a line is not part of what stands in it.
                textarea #constraint name="constraint" rows="8" spellcheck="false" { "\n" (form.constraint) }
            }
            p {
                label for="key" { "Or the key of an index in the store" }
                input #key name="key" type="text" value=(form.key) maxlength="64" spellcheck="false" autocomplete="off";
            }
            p {
                label for="text" { "The text so far" }
                textarea #text name="text" rows="3" spellcheck="false" { "\n" (form.text) }
            }
            p {
                label for="token" { "A token that is to come next: its id, or its text" }
                input #token name="token" type="text" value=(form.token) spellcheck="false" autocomplete="off";
            }
            p { button type="submit" { "Explain" } }
        }
        (answer)
    }
}

fn verdict(error: &CompileError) -> Markup {
    let help = match error {
        CompileError::Refused(refusal) => refusal.help.as_str(),
        CompileError::OverBudget(over) => over.help.as_str(),
        _ => "",
    };
    html! {
        section aria-labelledby="verdict" {
            h2 #verdict { "No index" }
            p role="alert" { (clipped(&error.to_string(), 4096).0) }
            @if !help.is_empty() { p { (help) } }
        }
    }
}

fn said(explained: &Explained) -> Markup {
    let Explained { key, explanation, steps, picture, vocabulary } = explained;
    let class = match explanation.class {
        IndexClass::Regular => "one state at a time",
        _ => "states with a stack",
    };
    html! {
        section aria-labelledby="stands" {
            h2 #stands { "Where the text stands" }
            @if let Some(dead_end) = explanation.dead_end() { p role="alert" { (dead_end) } }
            @if let Some(token) = &explanation.token { p role="status" { (token) } }
            (facts(&[
                ("State", format!("{} of {} ({class})", explanation.state, grouped(explanation.states.into()))),
                ("Ways to read the text", match explanation.configuration_count {
                    u64::MAX => "more than can be counted".to_owned(),
                    count => grouped(count),
                }),
                ("The text may end here", if explanation.is_complete { "yes" } else { "no" }.to_owned()),
                ("Tokens that may come next", grouped(explanation.allowed.len() as u64)),
                ("Index", key.to_string()),
            ]))
            pre #explanation tabindex="0" role="region" aria-label="Explanation" { (explanation.to_string().trim_end()) }
        }
        section aria-labelledby="tokens" { h2 #tokens { "Token by token" } (tokens(steps, explanation, vocabulary)) }
        section aria-labelledby="automaton" {
            h2 #automaton { "The automaton here" }
            div.scroll tabindex="0" role="region" aria-label="Picture of the automaton" { (picture) }
            p { a href={ "/index/" (key) ".dot" } download { "All of it, for Graphviz" } " · " a href={ "/index/" (key) } { "The index" } }
        }
        section aria-labelledby="report" { h2 #report { "What is enforced" } (of_report(&explanation.report)) }
    }
}

fn tokens(steps: &Steps, explanation: &Explanation, vocabulary: &Vocabulary) -> Markup {
    let text = |bytes: &[u8]| format!("{:?}", String::from_utf8_lossy(bytes));
    html! {
        p { "The text in the longest tokens that the mask allows at each place; a model may cut it in another way." }
        div.scroll tabindex="0" role="region" aria-label="Tokens" {
            table {
                caption { "Tokens of the text" }
                thead { tr {
                    th scope="col" { "Byte" } th scope="col" { "Token" } th scope="col" { "Text" } th scope="col" { "Allowed in its place" }
                    th scope="col" { "The text could end before it" }
                } }
                tbody {
                    @for step in &steps.tokens {
                        tr {
                            td.number { (step.from) }
                            td.number { (step.id) }
                            td { code { (text(&step.bytes)) } }
                            td.number { (grouped(step.allowed as u64)) }
                            td { (if step.may_end { "yes" } else { "no" }) }
                        }
                    }
                    @if let Some((id, _)) = &steps.refused {
                        tr.refused {
                            td.number { (steps.taken) }
                            td.number { @if let Some(id) = id { (id) } @else { "–" } }
                            td { @if let Some(id) = id { code { (text(vocabulary.bytes(*id))) } } }
                            td { "refused" }
                            td {}
                        }
                    }
                }
            }
        }
        @if let Some((_, why)) = &steps.refused { p { (why) } }
        @if steps.refused.is_none() && steps.taken < explanation.text.len() {
            p { "… " (grouped((explanation.text.len() - steps.taken) as u64)) " more bytes" }
        }
    }
}
