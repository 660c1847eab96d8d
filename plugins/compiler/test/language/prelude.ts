/** Declarations that the programs of the corpus use. They have no finding. */
export const PRELUDE = `@table type Person { name: str }
@table type Task { title: str done: bool stars: int weight: float due: Option[str] owner: Option[Id[Person]] price: dec tags: List[str] }
type Shape = | Circle(r: float) | Rect(w: int, h: int) | Empty
type Point { x: int, y: int = 0 }
type Line { from: Point, to: Point }
type Box[T] { value: T }
type Tree[T] = | Leaf | Fork(left: Tree[T], value: T, right: Tree[T])
type Colour = | Red | Green | Blue
type Problem = | NotFound(id: int) | Conflict(title: str)
type Names = List[str]
actor Counter { state n: int = 0
    on add(by: int) to int { n += by
        n }
    on label() to str { "n" } }
agent Helper { version "1"
    seen: List[str] = []
    on ask(question: str) to str { question } }
activity charge(who: str, cents: int) to Result[str] { Ok(who + str(cents)) }
workflow order(who: str) to Result[str] { charge(who, 1) }
fn size(text: str) to int { len(text) }
fn half(n: float) to float { n / 2.0 }
fn maybe(n: int) to Option[int] { if n > 0 { Some(n) } else { None } }
fn risky(n: int) to Result[int] { if n > 0 { Ok(n) } else { Error("no") } }
fn same[T](x: T) to T { x }
fn both[A, B](a: A, b: B) to (A, B) { (a, b) }
fn head[T](xs: List[T]) to Option[T] { xs.first() }
fn apply[A, B](x: A, f: fn(A) to B) to B { f(x) }
fn times(n: int, by: int = 2) to int { n * by }
fn total(xs: List[int]) to int { let mut sum = 0
    for x in xs { sum += x }
    sum }
fn look(m: Map[str, int], key: str) to int { m.get(key).unwrap_or(0) }
@mutation fn save(title: str) to int { db.Task.insert({ title: title, done: false, stars: 0, weight: 1.5, due: None, owner: None, price: 1dec, tags: [] }) }
@query fn titles() to List[str] { db.Task.all().map(fn(t) t.title) }
component Card(title: str, stars: int = 0, on_pick: fn(int) to Unit = fn(n) { print(n) }) { view: <p title={title} on:click={on_pick(stars)}>"{title}"</p> }
fragment Badge(text: str) { <b>{text}</b> }
@island Chart { values: List[int] label?: str }
`
