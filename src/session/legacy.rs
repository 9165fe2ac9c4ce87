//! Lines of the first session format, converted into today's. In that format, a slider's question, questions about models
//! and questions about data were separate commands and events.

use serde_json::{Map, Value, json};

/// The line in today's form; one that already has that form is returned unchanged.
pub(crate) fn modern(mut line: Map<String, Value>) -> Map<String, Value> {
    let tag = |line: &Map<String, Value>, key: &str| line.get(key).and_then(Value::as_str).map(str::to_owned);
    if let Some(command) = tag(&line, "command") {
        match command.as_str() {
            "point" => point(&mut line),
            "inspect" | "check" => model(&mut line, &command),
            "data" => data(&mut line),
            "cancel_data" => set(&mut line, json!({"command": "withdraw", "topic": "data"})),
            _ => {}
        }
    } else if let Some(event) = tag(&line, "event") {
        match event.as_str() {
            "point" => point_answer(&mut line),
            "inspected" => {
                let inspection = take(&mut line, "inspection");
                let model = inspection.get("model").cloned().unwrap_or_default();
                model_answer(&mut line, model, json!({"inspected": inspection}));
            }
            "checked" => {
                let (model, rows) = (take(&mut line, "model"), take(&mut line, "rows"));
                model_answer(&mut line, model, json!({"checked": rows}));
            }
            "model_failed" => {
                let (model, problem) = (take(&mut line, "model"), take(&mut line, "problem"));
                model_answer(&mut line, model, json!({"failed": problem}));
            }
            "data" => {
                let mut answer = take(&mut line, "answer");
                if let Some(answer) = answer.as_object_mut() {
                    answer.insert("about".into(), "data".into());
                }
                set(&mut line, json!({"event": "answer", "answer": answer}));
            }
            "data_progress" => set(&mut line, json!({"event": "answer_progress"})),
            _ => {}
        }
    }
    line
}

fn take(line: &mut Map<String, Value>, key: &str) -> Value {
    line.remove(key).unwrap_or_default()
}

fn set(line: &mut Map<String, Value>, new: Value) {
    if let Value::Object(new) = new {
        line.extend(new);
    }
}

fn point(line: &mut Map<String, Value>) {
    let generation = take(line, "generation");
    let ticket = take(line, "ticket");
    let mut question = std::mem::take(line);
    set(&mut question, json!({"lab": "interventions", "question": "point"}));
    question.remove("command");
    let question = json!({"about": "experiment", "generation": generation, "question": question});
    set(line, json!({"command": "ask", "ticket": ticket, "question": question}));
}

fn model(line: &mut Map<String, Value>, what: &str) {
    let question = json!({"about": "model", "model": take(line, "model"), "what": what});
    // Questions about models had no number; their answers are found by the model.
    set(line, json!({"command": "ask", "ticket": 0, "question": question}));
}

fn data(line: &mut Map<String, Value>) {
    let ticket = take(line, "ticket");
    let mut question = std::mem::take(line);
    question.remove("command");
    question.insert("about".into(), "data".into());
    set(line, json!({"command": "ask", "ticket": ticket, "question": question}));
}

fn point_answer(line: &mut Map<String, Value>) {
    let (generation, findings) = (take(line, "generation"), take(line, "findings"));
    let answer = json!({"about": "experiment", "generation": generation, "findings": findings});
    set(line, json!({"event": "answer", "answer": answer}));
}

fn model_answer(line: &mut Map<String, Value>, model: Value, answer: Value) {
    let answer = json!({"about": "model", "model": model, "answer": answer});
    set(line, json!({"event": "answer", "ticket": 0, "answer": answer}));
}

#[cfg(test)]
mod tests {
    use super::*;
    use engine::message::{Answer, Command, Event, ModelAnswer, ModelQuestion, Question, Topic};

    use labs::interventions;
    use serde::de::DeserializeOwned;

    fn read<T: DeserializeOwned>(old: Value) -> T {
        let Value::Object(old) = old else { panic!("a line is an object") };
        T::deserialize(Value::Object(modern(old))).unwrap()
    }

    #[test]
    fn questions_of_the_first_format_are_understood() {
        let point = json!({"command": "point", "generation": 1, "ticket": 3, "model": "m", "method": "pgd",
            "options": {}, "value": 0.112, "example": 4});
        let Command::Ask { ticket: 3, question: Question::Experiment { generation: 1, question } } =
            read(point)
        else {
            panic!("a point is a question to the experiment")
        };
        let labs::Question::Interventions(interventions::Question::Point(point)) = question else {
            panic!("a question to another lab")
        };
        assert_eq!((point.method.as_str(), point.value, point.example), ("pgd", 0.112, 4));
        let check: Command = read(json!({"command": "check", "model": "m"}));
        let question = Question::Model { model: "m".into(), what: ModelQuestion::Check };
        assert_eq!(check, Command::Ask { ticket: 0, question });
        let data = json!({"command": "data", "ticket": 2, "set": "facts", "question": "doctor",
            "task": {"name": "agreement"}, "seed": 0, "models": []});
        assert!(matches!(read(data), Command::Ask { ticket: 2, question: Question::Data(_) }));
        assert_eq!(
            read::<Command>(json!({"command": "cancel_data"})),
            Command::Withdraw { topic: Topic::Data }
        );
    }

    #[test]
    fn answers_of_the_first_format_are_understood() {
        let point = json!({"event": "point", "generation": 1, "ticket": 3, "findings": []});
        let answer = Answer::Experiment { generation: 1, findings: Vec::new() };
        assert_eq!(read::<Event>(point), Event::Answer { ticket: 3, answer });
        let checked = json!({"event": "checked", "model": "m", "rows": []});
        let answer = Answer::Model { model: "m".into(), answer: ModelAnswer::Checked(Vec::new()) };
        assert_eq!(read::<Event>(checked), Event::Answer { ticket: 0, answer });
        let failed = json!({"event": "model_failed", "model": "m", "problem": {"what": "a", "where": "b", "hint": "c"}});
        assert!(matches!(
            read(failed),
            Event::Answer { answer: Answer::Model { answer: ModelAnswer::Failed(_), .. }, .. }
        ));
        let stopped = json!({"event": "data", "ticket": 5, "answer": {"answer": "stopped"}});
        assert!(matches!(read(stopped), Event::Answer { ticket: 5, answer: Answer::Data(_) }));
    }
}
