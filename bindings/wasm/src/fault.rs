//! Errors, as JavaScript gets them.

use condyle_base::error::Error;
use condyle_base::problem::Problem;
use wasm_bindgen::prelude::*;

use crate::json;

#[wasm_bindgen]
extern "C" {
    /// Makes a `CondyleError`. `facts` is JSON with its path, problems and names.
    #[wasm_bindgen(js_name = condyleError)]
    fn condyle_error(code: &str, message: &str, facts: &str) -> JsValue;
}

/// An error with a stable word.
pub(crate) struct Fault {
    code: &'static str,
    text: String,
    facts: String,
}

impl Fault {
    pub(crate) fn new(code: &'static str, text: impl Into<String>) -> Self {
        Self { code, text: text.into(), facts: String::new() }
    }

    /// Element `index` of `what`, of which there are `count`, does not exist.
    pub(crate) fn missing(what: &str, index: impl ToString, count: usize) -> Self {
        let index = index.to_string();
        Self::new("index", format!("there is no {what} {index}: the model has {count}"))
    }

    /// The same error with its place in front.
    pub(crate) fn at(self, place: &str, index: usize) -> Self {
        Self { text: format!("{place} {index}: {}", self.text), ..self }
    }

    /// A file that cannot be used.
    pub(crate) fn file(name: &str, problems: &[Problem]) -> Self {
        let lines: String = problems.iter().map(|problem| format!("\n  {problem}")).collect();
        let text = format!("{name} cannot be used{lines}");
        Self { code: "file", text, facts: json::of_problems(problems) }
    }

    /// A file with several models, or without the requested one.
    pub(crate) fn choice(code: &'static str, text: String, names: &[String]) -> Self {
        Self { code, text, facts: json::of_names(names) }
    }
}

impl From<Error> for Fault {
    fn from(error: Error) -> Self {
        Self::new(error.code(), error.to_string())
    }
}

impl From<Fault> for JsValue {
    fn from(it: Fault) -> Self {
        condyle_error(it.code, &it.text, &it.facts)
    }
}

/// Error of the last call that failed.
#[derive(Default)]
pub(crate) struct Kept(Option<Fault>);

impl Kept {
    /// Keeps an error, and returns whether there is one.
    pub(crate) fn keep(&mut self, result: Result<(), Fault>) -> bool {
        match result {
            Ok(()) => false,
            Err(fault) => {
                self.0 = Some(fault);
                true
            }
        }
    }

    pub(crate) fn take(&mut self) -> JsValue {
        self.0.take().map_or(JsValue::UNDEFINED, JsValue::from)
    }
}
