//! Texts and whole numbers as JSON, which JavaScript parses once. Other numbers go in an array, so that the
//! player needs no code to print them.

use condyle_base::problem::Problem;

/// Writer of JSON.
#[derive(Default)]
pub(crate) struct Json(String);

impl Json {
    pub(crate) fn text(&mut self, text: &str) {
        self.0.push('"');
        for c in text.chars() {
            match c {
                '"' | '\\' => self.0.extend(['\\', c]),
                '\0'..='\x1f' => {
                    let digit = |n: u32| char::from_digit(n, 16).unwrap_or('0');
                    self.0.push_str("\\u00");
                    self.0.extend([digit(c as u32 / 16), digit(c as u32 % 16)]);
                }
                _ => self.0.push(c),
            }
        }
        self.0.push('"');
    }

    pub(crate) fn number(&mut self, number: impl ToString) {
        self.0.push_str(&number.to_string());
    }

    pub(crate) fn list<T>(
        &mut self,
        items: impl IntoIterator<Item = T>,
        mut write: impl FnMut(&mut Self, T),
    ) {
        self.0.push('[');
        for (at, item) in items.into_iter().enumerate() {
            if at > 0 {
                self.0.push(',');
            }
            write(self, item);
        }
        self.0.push(']');
    }

    pub(crate) fn key(&mut self, name: &str) {
        self.0.push(if self.0.is_empty() { '{' } else { ',' });
        self.text(name);
        self.0.push(':');
    }

    pub(crate) fn problems(&mut self, problems: &[Problem]) {
        self.key("problems");
        self.list(problems, |json, it| {
            json.list([it.severity.name(), &it.place, &it.what, &it.action], Self::text);
        });
        self.key("counts");
        self.list(problems, |json, it| json.number(it.count));
    }

    pub(crate) fn end(mut self) -> String {
        self.0.push('}');
        self.0
    }
}

/// Facts of an error about a file.
pub(crate) fn of_problems(problems: &[Problem]) -> String {
    let mut json = Json::default();
    json.problems(problems);
    json.end()
}

/// Facts of an error about a name.
pub(crate) fn of_names(names: &[String]) -> String {
    let mut json = Json::default();
    json.key("names");
    json.list(names, |json, name| json.text(name));
    json.end()
}
