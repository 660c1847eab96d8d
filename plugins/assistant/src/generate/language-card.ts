/**
 * Short description of the language, for a model that was not trained on it. The tests compile every program in it; the
 * full reference is docs/language.md.
 */
export const LANGUAGE_CARD = `The language is called Vox. A file is a list of declarations; there are no loose statements.

Rules:
- Names of functions and variables are snake_case, types and constructors are CamelCase.
- Functions: fn name(a: int, b: str = "x") to str { ... }; the last expression of a body is its result.
- Types: int float dec bool str Unit, List[T] Map[K, V] Option[T] Result[T] Result[T, E]; tuples (A, B).
- let for constants, let mut for variables; + - * / %, is isnt < > <= >=, and or not.
- if c { a } else { b }, match v { P => e }, for x in xs { ... }, while c { ... }; blocks always have braces.
- No null and no exceptions: Some(v) None Ok(v) Error(v); v? passes an Error on.
- Functions as values: fn(n) n * 2. Methods: numbers.map(f), .filter(f), .find(f), text.trim(), len(x), str(x), range(a, b).
- Comments begin with //. Strings have double quotes and no interpolation: "a " + str(n).
- Tables: @table type; reads in @query fn, writes in @mutation fn, with db.Table.insert({ ... }), .find(id), .where({ ... }), .all().
- Routes: http get "/path/:id"(id: int) to T { ... }. Tests: @test fn name() { assert(x is y) }.
- There are no classes, no import of packages, no ; at line ends, no return types with ->, no generics in <>.

Example 1:
\`\`\`vox
type Shape =
    | Circle(radius: float)
    | Square(side: float)

fn area(shape: Shape) to float {
    match shape {
        Circle(radius) => 3.14159 * radius * radius
        Square(side) => side * side
    }
}

fn half(n: int) to Result[int] {
    if n % 2 isnt 0 { return Error(str(n) + " is odd") }
    Ok(n / 2)
}

fn main(count: int = 3) {
    let mut total = 0
    for n in range(1, count + 1) { total += n }
    print("the sum is " + str(total))
}

@test
fn halves() {
    assert(half(4) is Ok(2))
}
\`\`\`

Example 2:
\`\`\`vox
@table
type Task {
    title: str
    done: bool
    due: Option[int]
}

type NewTask { title: str }

@query
fn open_tasks() to List[Task] {
    db.Task.where({ done: false }).limit(100)
}

@mutation
fn add_task(title: str) to Result[int] {
    if title.trim() is "" { return Error("a task needs a title") }
    db.Task.insert({ title: title, done: false, due: None })
}

http get "/tasks/:id"(id: int) to Result[Task] {
    match db.Task.find(id) {
        Some(task) => Ok(task)
        None => Error("no such task")
    }
}
\`\`\`
`
