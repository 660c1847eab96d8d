/**
 * Plainly wrong programs, by kind of mistake. Each follows the prelude and has one mistake. The comment at the end of
 * the wrong line names the severity (E or W) and the accepted codes; the prefix `typecheck.` is left out.
 */
export const WRONG: Readonly<Record<string, readonly string[]>> = {
  'missing return': [
    `@ensure(result > "a") fn f() to int { 1 } // E operands`,
    `fn f() to int {
    let x = 1 // E return_mismatch
}`,
    `fn f(b: bool) to int {
    if b { return 1 } // E return_mismatch
}`,
    `fn f(n: int) to str {
    while n > 0 { return "a" } // E return_mismatch
}`,
    `fn f(xs: List[int]) to int {
    for x in xs { if x > 1 { return x } } // E return_mismatch
}`,
    `fn f(b: bool) to int {
    match b {
        true => { return 1 }
        false => { print("no") } // E return_mismatch
    }
}`,
    `fn f() to int {
    let mut n = 0
    n += 1 // E return_mismatch
}`,
    `fn f() to int {
    loop { break } // E return_mismatch
}`,
    `fn f() to int { } // E return_mismatch`,
    `fn f(b: bool) to Result[int] {
    if b { return Error("no") } // E return_mismatch
}`,
    `@query fn f() to List[Task] {
    print("none") // E return_mismatch
}`,
    `http get "/f" to str {
    let x = "a" // E return_mismatch
}`,
    `actor A { on go() to int {
    print("go") // E return_mismatch
} }`
  ],

  'return paths': [
    `fn f(b: bool) to int {
    if b { return "a" } // E return_mismatch
    1
}`,
    `fn f(b: bool) to int {
    if b { 1 } else { "a" } // E return_mismatch|branch_mismatch
}`,
    `fn f(s: Shape) to float {
    match s {
        Circle(r) => r
        Rect(w, h) => "wide" // E return_mismatch|branch_mismatch
        Empty => 0.0
    }
}`,
    `fn f() to int {
    return // E return_mismatch
}`,
    `fn f() to int {
    let g = fn(n: int) to str { n } // E return_mismatch
    len(g(1))
}`,
    `fn f(n: int) to str {
    if n > 1 { return "a" } else if n > 2 { return n } // E return_mismatch
    "b"
}`,
    `fn g(n: int) { if n > 0 { "a" } else { "b" } }
fn f() to int {
    g(1) // E return_mismatch
}`,
    `activity a(n: int) to Result[int] {
    n + 1 // E return_mismatch
}`,
    `workflow w(n: int) to Result[int] {
    charge("a", n) // E return_mismatch
}`,
    `http get "/f" to int {
    "a" // E return_mismatch
}`
  ],

  generics: [
    `fn h(n) { if n is 0 { [n] } else { [] } }
fn f() to List[str] { h(3) } // E arg_mismatch|return_mismatch`,
    `fn h(n) { // W annotation_needed
    if n is 0 { n } else { n - 1 }
}
fn f() to str { h(3) }`,
    `fn k(f, g, x) { g(f(x)) }
fn f() to str { k(fn(n: int) str(n), fn(m: int) str(m), 1) } // E arg_mismatch`,
    `fn rec(n: int) { if n is 0 { [] } else { rec(n - 1).push(n) } }
fn f() to List[str] { rec(3) } // E return_mismatch`,
    `fn f(ps: List[Point]) to List[Point] { ps.sort() } // E arg_mismatch`,
    `fn f(ps: List[Point]) to List[Point] { ps.sort_by(fn(p) p) } // E arg_mismatch`,
    `fn bad[T](xs: List[T]) to List[T] { xs.sort() } // E arg_mismatch`,
    `fn each[T](xs: List[T], f: fn(T) to Unit) { for x in xs { f(x) } }
fn f() { each([1, 2], len) } // E arg_mismatch`,
    `fn f(xs: List[int]) to List[float] { xs } // E return_mismatch`,
    `fn f(g: fn(int) to int) to fn(float) to float { g } // E return_mismatch`,
    `fn f(a: Tree[int], b: Tree[str]) to bool { a is b } // E operands`,
    `fn f() to int { same("a") } // E return_mismatch`,
    `fn f() to str {
    let x = same(1)
    x // E return_mismatch
}`,
    `fn f() to Option[str] { head([1, 2]) } // E return_mismatch|arg_mismatch|element_mismatch`,
    `fn f() to int { apply(1, fn(n) str(n)) } // E return_mismatch|arg_mismatch`,
    `fn f() to int { apply("a", fn(n: int) n + 1) } // E arg_mismatch`,
    `fn f() to (int, int) { both(1, "a") } // E return_mismatch|arg_mismatch`,
    `fn f() to Box[int] { Box { value: "a" } } // E return_mismatch|arg_mismatch|db.type`,
    `fn f(b: Box[str]) to int { b.value } // E return_mismatch`,
    `fn f(b: Box[str]) to Box[int] { b } // E return_mismatch`,
    `fn f(t: Tree[int]) to str {
    match t {
        Leaf => ""
        Fork(_, v, _) => v // E return_mismatch|branch_mismatch
    }
}`,
    `fn f() to Tree[int] { Fork(Leaf, "a", Leaf) } // E arg_mismatch|return_mismatch`,
    `fn f() to Tree[int] { Fork(Fork(Leaf, 1, Leaf), 2, Fork(Leaf, "b", Leaf)) } // E arg_mismatch|return_mismatch`,
    `fn bad[T](x: T) to int { x } // E return_mismatch`,
    `fn bad[T](x: T) to T { 1 } // E return_mismatch`,
    `fn bad[T](x: T, y: T) to T { x + y } // E operands`,
    `fn bad[T](x: T) to int { x.size } // E unknown_field|unknown_method`,
    `fn bad[A, B](a: A, b: B) to A { b } // E return_mismatch`,
    `fn f(names: Names) to int { names.first().unwrap() } // E return_mismatch`
  ],

  'elements of lists and maps': [
    `fn f() to List[int] { [1, "a"] } // E element_mismatch|return_mismatch`,
    `fn f() {
    let xs = [1, "a"] // E element_mismatch
    print(xs)
}`,
    `fn f() to List[List[int]] { [[1], ["a"]] } // E element_mismatch|return_mismatch`,
    `fn f(xs: List[int]) to str { xs[0] } // E return_mismatch`,
    `fn f(xs: List[int]) to List[str] { xs } // E return_mismatch`,
    `fn f(xs: List[int]) to List[int] { xs.push("a") } // E arg_mismatch`,
    `fn f(xs: List[str]) to bool { xs.contains(1) } // E arg_mismatch`,
    `fn f(xs: List[int]) to List[int] { xs + ["a"] } // E operands|element_mismatch|return_mismatch`,
    `fn f(xs: List[int]) to str { xs.first().unwrap() } // E return_mismatch`,
    `fn f(xs: List[int]) to List[int] { xs.map(fn(x) str(x)) } // E return_mismatch|arg_mismatch`,
    `fn f(xs: List[int]) to List[int] { for x in xs { "a" } } // E return_mismatch|element_mismatch`,
    `fn f(xs: List[int]) {
    let mut ys = xs
    ys[0] = "a" // E assign_mismatch
    print(ys)
}`,
    `fn f() to Map[str, int] { { a: "b" } } // E element_mismatch|return_mismatch`,
    `fn f(m: Map[str, int]) to str { m.get("a").unwrap() } // E return_mismatch`,
    `fn f(m: Map[str, int]) to str { m["a"] } // E return_mismatch`,
    `fn f(m: Map[str, int]) to int { m[1] } // E operands|arg_mismatch`,
    `fn f(m: Map[str, int]) to int { m.get(1).unwrap_or(0) } // E arg_mismatch`,
    `fn f(m: Map[str, int]) to Map[str, str] { m } // E return_mismatch`,
    `fn f(m: Map[str, int]) to List[int] { m.keys() } // E return_mismatch`,
    `fn f() to int { total(["a"]) } // E arg_mismatch|element_mismatch`,
    `fn f() to int { look({ a: "b" }, "a") } // E arg_mismatch|element_mismatch`,
    `fn f(xs: List[Point]) to str { xs[0].x } // E return_mismatch`,
    `fn f(xs: List[int]) to int { xs["a"] } // E operands|arg_mismatch`,
    `fn f(pairs: List[(str, int)]) to str { pairs[0].1 } // E return_mismatch`
  ],

  operands: [
    `fn f() to int { 1 + true } // E operands`,
    `fn f(p: Point) { print(p + p) } // E operands`,
    `fn f() to int { "a" * 2 } // E operands`,
    `fn f() to int { "a" - "b" } // E operands`,
    `fn f() to bool { 1 and true } // E operands|condition`,
    `fn f() to bool { true or "a" } // E operands|condition`,
    `fn f() to bool { not 1 } // E operands|condition`,
    `fn f() to bool { not "a" } // E operands|condition`,
    `fn f() to bool { 1 < "a" } // E operands`,
    `fn f() to bool { true < false } // E operands`,
    `fn f(p: Point) to bool { p < p } // E operands`,
    `fn f() to bool { 1 is "a" } // E operands`,
    `fn f(o: Option[int]) to bool { o is 1 } // E operands`,
    `fn f(c: Colour, s: Shape) to bool { c isnt s } // E operands`,
    `fn f(xs: List[int]) to bool { xs is 1 } // E operands`,
    `fn f() { print(-true) } // E operands`,
    `fn f() { print(-"a") } // E operands`,
    `fn f(o: Option[int]) to int { o + 1 } // E operands`,
    `fn f(r: Result[int]) to int { r * 2 } // E operands`,
    `fn f(xs: List[int]) to List[int] { xs + 1 } // E operands`,
    `fn f() to dec { 1.5dec + 2.5 } // E operands`,
    `fn f(n: int) to dec { 1.5dec * n } // E operands`,
    `fn f() {
    let mut b = true
    b += 1 // E operands|assign_mismatch
    print(b)
}`,
    `fn f() {
    let mut n = 1
    n -= "a" // E operands|assign_mismatch
    print(n)
}`,
    `fn f(g: fn(int) to int) to int { g + 1 } // E operands`
  ],

  conditions: [
    `fn f(n: int) to int { if n { 1 } else { 2 } } // E condition`,
    `fn f(s: str) to int { if s { 1 } else { 2 } } // E condition`,
    `fn f(o: Option[int]) to int { if o { 1 } else { 2 } } // E condition`,
    `fn f(xs: List[int]) { while xs { print(1) } } // E condition`,
    `fn f(n: int) to int { match n { x if x => 1, _ => 2 } } // E condition`,
    `fn f() { if titles() { print(1) } } // E condition`,
    `fn f() { if risky(1) { print(1) } } // E condition`,
    `fn f() { if size { print(1) } } // E condition`,
    `fn f() { assert(1) } // E arg_mismatch|condition`,
    `fn f(xs: List[int]) to List[int] { xs.filter(fn(x) x + 1) } // E arg_mismatch|return_mismatch`,
    `@require(len(text)) fn f(text: str) to int { 1 } // E condition`
  ],

  arguments: [
    `fn f() to int { len(1) } // E arg_mismatch`,
    `fn f() { sleep(true) } // E arg_mismatch`,
    `fn f() to int { [fn(x: int) x][0]("a") } // E arg_mismatch`,
    `type Op { run: fn(int) to int }
fn f(o: Op) to int { o.run("a") } // E arg_mismatch`,
    `fn f() { print(same(std.json)) } // E undefined|arg_mismatch`,
    `fn f() to int { size(1) } // E arg_mismatch`,
    `fn f() to int { size([1]) } // E arg_mismatch`,
    `fn f() to int { size(text = 1) } // E arg_mismatch`,
    `fn f() to float { half("a") } // E arg_mismatch`,
    `fn f(n: float) to int { times(n) } // E arg_mismatch`,
    `fn f(o: Option[str]) to int { size(o) } // E arg_mismatch`,
    `fn f(r: Result[str]) to int { size(r) } // E arg_mismatch`,
    `fn f() to int { 1 |> size } // E arg_mismatch`,
    `fn f() to int { "a" |> times(2) } // E arg_mismatch`,
    `fn f() to str { "a".repeat("b") } // E arg_mismatch`,
    `fn f() to bool { "a".contains(1) } // E arg_mismatch`,
    `fn f() to List[str] { "a,b".split(1) } // E arg_mismatch`,
    `fn f() to str { "a".replace("a", 1) } // E arg_mismatch`,
    `fn f(n: int) to int { n.max("a") } // E arg_mismatch`,
    `fn f(o: Option[int]) to int { o.unwrap_or("a") } // E arg_mismatch`,
    `fn f(xs: List[int]) to Option[int] { xs.get("a") } // E arg_mismatch`,
    `fn f(xs: List[str]) to str { xs.join(1) } // E arg_mismatch`,
    `fn f(xs: List[int]) to List[int] { xs.map(1) } // E arg_mismatch`,
    `fn f(xs: List[int]) to List[int] { xs.map(size) } // E arg_mismatch`,
    `fn f() to Result[str] { std.fs.read(1) } // E arg_mismatch`,
    `fn f() to Result[Unit] { std.fs.write("a", 1) } // E arg_mismatch`,
    `fn f() to List[int] { range("a") } // E arg_mismatch`,
    `fn g(f: fn(int) to int) to int { f(1) }
fn f() to int { g(size) } // E arg_mismatch`,
    `fn g(f: fn(int) to int) to int { f("a") } // E arg_mismatch`,
    `fn f() to int { apply(1, fn(a, b) a + b) } // E arg_mismatch`,
    `fn f() to Shape { Circle("a") } // E arg_mismatch`,
    `fn f() to Shape { Rect(1, 2.5) } // E arg_mismatch`,
    `@query fn q(n: int) to int { n }
fn f() to int { q("a") } // E arg_mismatch`
  ],

  arity: [
    `fn f() to int { size() } // E arity`,
    `fn f() to int { size("a", "b") } // E arity`,
    `fn f() to int { times() } // E arity`,
    `fn f() to int { times(1, 2, 3) } // E arity`,
    `fn f() to int { times(1, many = 2) } // E arity`,
    `fn f() to int { times(1, n = 2) } // E arity`,
    `fn f() to int { times(by = 2) } // E arity`,
    `fn f() to int { times(1, by = 2, by = 3) } // E arity`,
    `fn f() to Shape { Circle() } // E arity`,
    `fn f() to Shape { Rect(1) } // E arity`,
    `fn f() to Shape { Rect(1, d = 2) } // E arity`,
    `fn f() to str { "a".repeat() } // E arity`,
    `fn f() to str { "a".trim(1) } // E arity`,
    `fn f(xs: List[int]) to List[int] { xs.push(1, 2) } // E arity`,
    `fn f() to Result[str] { std.fs.read() } // E arity`,
    `fn f() to int { len() } // E arity`,
    `fn f() to int {
    let g = fn(n: int) n + 1
    g(1, 2) // E arity
}`,
    `fn g(f: fn(int) to int) to int { f() } // E arity`,
    `fn f() to int { "a" |> size("b") } // E arity`
  ],

  'actors, agents, activities and workflows': [
    `fn f() to int { spawn(Counter).add("a") } // E arg_mismatch`,
    `fn f() to int { spawn(Counter).add() } // E arity`,
    `fn f() to int { spawn(Counter).add(1, 2) } // E arity`,
    `fn f() to str { spawn(Counter).add(1) } // E return_mismatch`,
    `fn f() to int { spawn(Counter).label() } // E return_mismatch`,
    `fn f() to int { spawn(Counter).subtract(1) } // E actor.unknown_handler`,
    `fn f() {
    let c = spawn(Counter)
    c.send add("a") // E arg_mismatch
}`,
    `fn f() to str { spawn(Helper).ask(1) } // E arg_mismatch`,
    `fn f() to int { spawn(Helper).ask("a") } // E return_mismatch`,
    `fn f() { print(spawn(size)) } // E actor.spawn_target`,
    `workflow w() to Result[str] { charge("a", "b") } // E arg_mismatch`,
    `workflow w() to Result[str] { charge("a") } // E arity`,
    `workflow w() to Result[int] { charge("a", 1) } // E return_mismatch`,
    `workflow w() to Result[str] { charge("a", 1) with { retries: "many" } } // W with.option_type`,
    `workflow w() to Result[str] { charge("a", 1) with { retry: 3 } } // W with.unknown_option`,
    `workflow w() to Result[str] { charge("a", 1) with 3 } // E with.not_record`,
    `workflow w() to Result[str] { order(1) } // E arg_mismatch`,
    `fn f() to Result[int] { order("a") with { detach: true } } // E return_mismatch`,
    `actor A { state n: int = "a" } // E let_mismatch|reactive.state`,
    `actor A { state n: int = 0
    on go() { n = "a" } } // E assign_mismatch`,
    `agent A { version "1"
    names: List[str] = [1] // E let_mismatch|element_mismatch|reactive.state
}`
  ],

  'names of arguments': [
    `fn f(act: any) to any { act(b=1, a=2) } // E arity`,
    `fn f(act: fn(int, int) to int) to int { act(b=1, a=2) } // E arity`,
    `fn f(act) { act(b=1, a=2) } // E arity`,
    `fn f(x: any) { let r = { act: x }
    r.act(a=1) // E arity
}`
  ],

  'properties of components': [
    `component C() { view: <Missing a={1}/> } // W undefined`,
    `component C() {
    state xs: List[int] = []
    view: <ul>{for x in xs { <li>{x.name}</li> }}</ul> // E unknown_field
}`,
    `component C() {
    derived n = 1
    effect depends_on(m): { print(n) } // E undefined
    view: <p/>
}`,
    `component C() { view: <Card title={1}/> } // E prop|arg_mismatch`,
    `component C() { view: <Card/> } // E prop|arity`,
    `component C() { view: <Card title="a" colour="red"/> } // E prop|arity`,
    `component C() { view: <Card title="a" stars="3"/> } // E prop|arg_mismatch`,
    `component C() { view: <Badge text={[1]}/> } // E prop|arg_mismatch`,
    `component C() { view: <Badge/> } // E prop|arity`,
    `component C() { view: <Chart values={["a"]}/> } // E prop|arg_mismatch|element_mismatch`,
    `component C() { view: <Chart/> } // E prop|arity`,
    `component C() { view: column() { Card(title=1) } } // E prop|arg_mismatch`,
    `component C() { view: column() { Card(title="a", name="b") } } // E prop|arity`,
    `component C() { view: <Card title="a" on_pick={fn(s: str) print(s)}/> } // E prop|arg_mismatch`,
    `component C() {
    state n: int = "a" // E reactive.state
    view: <p/>
}`,
    `component C() {
    derived n: int = "a" // E reactive.derived
    view: <p/>
}`,
    `component C() {
    state n: int = 0
    view: <button on:click={n = "a"}>"x"</button> // E assign_mismatch
}`,
    `component C() {
    state n = 0
    effect depends_on(n): { size(n) } // E arg_mismatch
    view: <p/>
}`
  ],

  'required members': [
    `fn f(xs: List[int]) to List[Point] { xs.map(fn(x) Point { y: x }) } // E missing_field`,
    `fn f() to Point { Point { } } // E missing_field`,
    `fn f() to Point { Point { y: 1 } } // E missing_field`,
    `fn f() to Point { { y: 1 } } // E missing_field|return_mismatch`,
    `fn f() to Line { Line { from: { x: 1 } } } // E missing_field`,
    `fn f() to Line { { from: { x: 1 }, to: { y: 2 } } } // E missing_field`,
    `fn f() to List[Point] { [{ x: 1 }, { y: 1 }] } // E missing_field`,
    `type Event = | Moved { x: int, y: int } | Stopped
fn f() to Event { Moved { x: 1 } } // E missing_field|arity`,
    `@table type Note { title: str body: str }
fn f() {
    db.Note.insert({ title: "a" }) // W missing_field
}`,
    `fn f() { db.Person.insert({ }) } // W missing_field`,
    `fn f() to Box[int] { Box { } } // E missing_field`
  ],

  members: [
    `fn f() { 1(2) } // E not_a_function`,
    `fn f() { print((x => x + 1)(2)(3)) } // E not_a_function`,
    `fn f(j: Json) { print(j.foo()) } // E unknown_method`,
    `type Rec { next: Option[Rec], n: int }
fn f(r: Rec) to int { match r.next { Some(x) => x.next.n, None => 1 } } // E unknown_field`,
    `fn f(p: Point) to int { p.z } // E unknown_field`,
    `fn f() to int { "a".length } // E unknown_field`,
    `fn f(t: Task) to str { t.titel } // E unknown_field`,
    `fn f() { for t in db.Task.all() { print(t.titel) } } // E unknown_field`,
    `fn f() { print(db.Task.all().map(fn(t) t.titel)) } // E unknown_field`,
    `fn f(o: Option[Point]) to int { o.x } // E unknown_field`,
    `fn f(r: Result[Point]) to int { r.x } // E unknown_field`,
    `fn f(xs: List[Point]) to int { xs.x } // E unknown_field`,
    `fn f(s: Shape) to float { s.r } // E unknown_field`,
    `fn f(p: (int, str)) { print(p.2) } // E unknown_field`,
    `fn f() to int {
    let r = { a: 1 }
    r.b // E unknown_field
}`,
    `fn f() { "a".lenn() } // E unknown_method`,
    `fn f(n: int) { n.upper() } // E unknown_method`,
    `fn f(xs: List[int]) { xs.size() } // E unknown_method`,
    `fn f(o: Option[int]) { o.value() } // E unknown_method`,
    `fn f(m: Map[str, int]) { m.values_of() } // E unknown_method`,
    `fn f(b: bool) { b.negate() } // E unknown_method`,
    `fn f(p: Point) { p.move(1) } // E unknown_method|unknown_field`,
    `fn f() to Point { Point { x: 1, z: 2 } } // E unknown_field`,
    `fn f() to Point { { x: 1, z: 2 } } // E unknown_field|return_mismatch`,
    `fn f() {
    let mut p = Point { x: 1 }
    p.z = 2 // E unknown_field
    print(p)
}`,
    `fn f() { print(std.fs.reed("a")) } // W unknown_std`,
    `fn f() { std.fss.read("a") } // W unknown_std`,
    `fn f() { print(std.hash("a")) } // W unknown_std`,
    `fn f(n: int) { n() } // E not_a_function`,
    `fn f(p: Point) { p.x() } // E not_a_function|unknown_method`
  ],

  patterns: [
    `fn f(p: Problem) to str { match p { NotFound(x) | Conflict(x) => "a" + x } } // E pattern_mismatch`,
    `fn f(o: Option[int]) to int { match o { Some(x) | None => 1 } } // E pattern_mismatch`,
    `fn f(p: (int, Option[str])) to int { match p { (a, Some(b)) | (b, None) => 1, } } // E pattern_mismatch`,
    `fn f(n: int) to int { match n { "a" => 1, _ => 2 } } // E pattern_mismatch`,
    `fn f(s: str) to int { match s { 1 => 1, _ => 2 } } // E pattern_mismatch`,
    `fn f(s: str) to int { match s { true => 1, _ => 2 } } // E pattern_mismatch`,
    `fn f(s: Shape) to int { match s { Red => 1, _ => 2 } } // E pattern_mismatch`,
    `fn f(s: Shape) to int { match s { Some(x) => 1, _ => 2 } } // E pattern_mismatch`,
    `fn f(o: Option[int]) to int { match o { Ok(x) => x, _ => 2 } } // E pattern_mismatch`,
    `fn f(n: int) to int { match n { Some(x) => x, _ => 2 } } // E pattern_mismatch`,
    `fn f(s: Shape) to float { match s { Circle(a, b) => a, _ => 2.0 } } // E pattern_mismatch|arity`,
    `fn f(s: Shape) to float { match s { Circle(Some(r)) => r, _ => 2.0 } } // E pattern_mismatch`,
    `fn f(p: (int, str)) to int { match p { (a, b, c) => a } } // E pattern_mismatch`,
    `fn f(n: int) to int { match n { (a, b) => a } } // E pattern_mismatch`,
    `fn f() to int {
    let (a, b) = 1 // E pattern_mismatch
    a + b
}`,
    `fn f() to int {
    let (a, b) = (1, 2, 3) // E pattern_mismatch
    a + b
}`,
    `fn f(xs: List[int]) { for (a, b) in xs { print(a, b) } } // E pattern_mismatch`,
    `fn f(o: Option[int]) to str { match o { Some(x) => x, None => "" } } // E return_mismatch|branch_mismatch`,
    `fn f(o: Option[str]) to int { match o { Some(1) => 1, _ => 2 } } // E pattern_mismatch`,
    `fn f(n: int) to int { match n { Nothing => 1, _ => 2 } } // E undefined|pattern_mismatch`
  ],

  exhaustiveness: [
    `fn f(c: Colour) to int { match c { Red => 1, Green => 2 } } // E E0301`,
    `fn f(b: bool) to int { match b { true => 1 } } // E E0301`,
    `fn f(s: Shape) to int { match s { Circle(_) => 1, Rect(0, _) => 2, Empty => 3 } } // E E0301`,
    `fn f(p: (bool, bool)) to int { match p { (true, _) => 1, (_, true) => 2 } } // E E0301`,
    `fn f(o: Option[int]) to int { match o { Some(x) => x } } // W E0301`,
    `fn f(o: Option[Colour]) to int { match o { Some(Red) => 1, None => 2 } } // W|E E0301`,
    `fn f(r: Result[int]) to int { match r { Ok(x) => x } } // W E0301`,
    `fn f(n: int) to int { match n { 1 => 1, 2 => 2 } } // W E0301`,
    `fn f(s: str) to int { match s { "a" => 1 } } // W E0301`,
    `fn f(c: Colour, n: int) to int { match c { Red if n > 1 => 1, Green => 2, Blue => 3 } } // E E0301`,
    `fn f(t: Tree[bool]) to int { match t { Leaf => 1, Fork(_, true, _) => 2 } } // E E0301`,
    `fn f(c: Colour) to int { match c { Red => 1, Green => 2, Blue => 3, _ => 4 } } // W match.divergent_wildcard`,
    `fn f(c: Colour) to int { match c { Red => 1, Red => 4, _ => 2 } } // W match.divergent_wildcard`,
    `fn f(o: Option[int]) to int { match o { Some(_) => 1, Some(2) => 2, None => 3 } } // W match.divergent_wildcard`
  ],

  iterables: [
    `fn f(n: int) { for x in n { print(x) } } // E iterable`,
    `fn f(b: bool) { for x in b { print(x) } } // E iterable`,
    `fn f(p: Point) { for x in p { print(x) } } // E iterable`,
    `fn f(o: Option[List[int]]) { for x in o { print(x) } } // E iterable`,
    `fn f(r: Result[List[int]]) { for x in r { print(x) } } // E iterable`,
    `fn f(s: Shape) { for x in s { print(x) } } // E iterable`,
    `fn f() { for x in size { print(x) } } // E iterable`,
    `fn f(n: int) { print(n[0]) } // E operands|iterable`,
    `fn f(p: Point) { print(p[0]) } // E operands|iterable`,
    `fn f(xs: List[int]) { for x, i in xs { print(i.trim(), x) } } // E unknown_method`,
    `fn f(s: str) { for c in s { print(c + 1, c * 2) } } // E operands`
  ],

  'the question mark': [
    `fn f() { 1? } // E try_misuse`,
    `fn f() to Result[int] { Ok("a"?) } // E try_misuse`,
    `fn f() to int { risky(1)? } // E try_misuse`,
    `fn f() to int { maybe(1)? } // E try_misuse`,
    `fn f() to Result[int] { Ok(maybe(1)?) } // E try_misuse`,
    `fn f() to Option[int] { Some(risky(1)?) } // E try_misuse`,
    `fn f() to Result[str] { Ok(risky(1)?) } // E return_mismatch|arg_mismatch`,
    `fn f() to Result[str] { risky(1)? } // E return_mismatch`,
    `fn f(p: Point) to Result[int] { Ok(p?.x) } // E try_misuse`,
    `fn g() to Result[int, Problem] { Error(NotFound(1)) }
fn f() to Result[int, Colour] { Ok(g()?) } // E try_misuse|return_mismatch`,
    `fn f(xs: List[int]) to Result[List[int]] { Ok(xs.map(fn(x) to int { risky(x)? })) } // E try_misuse`
  ],

  'the database': [
    `@query fn f() to Option[Task] { db.Task.get({ title: "a" }) } // E db.type`,
    `@query fn f() to List[Task] { db.Task.where({ title: [] }) } // E db.type`,
    `@query fn f() to List[Task] { db.Task.where({ stars: { in: 0 } }) } // E db.type`,
    `@query fn f(ns: List[str]) to List[Task] { db.Task.where({ stars: { in: ns } }) } // E db.type`,
    `@query fn f(ns: List[int]) to List[Task] { db.Task.filter({ stars: ns }) } // E db.type`,
    `@query fn f() to List[bool] { db.Task.all().select("title").map(fn(t) t.done) } // E unknown_field`,
    `@query fn f() { for t in db.Task.all().select("title") { print(t.stars) } } // E unknown_field`,
    `@query fn f(p: Person) to Option[Task] { db.Task.get(p._id) } // E db.type|arg_mismatch`,
    `@mutation fn f(t: Task) { db.Task.update(t._id, { owner: t._id }) } // E db.type`,
    `fn f(n: Id[Task]) to Id[Person] { n } // E return_mismatch`,
    `@query fn f() to str { let t = db.Task.get(1)
    t.title // E unknown_field
}`,
    `@query fn f() to List[Task] { db.Tasks.all() } // E db.unknown_table`,
    `@query fn f() to List[Task] { db.Task.filter({ titel: "a" }) } // E db.unknown_field`,
    `@query fn f() to List[Task] { db.Task.where({ titel: { eq: "a" } }) } // E db.unknown_field`,
    `@query fn f() to List[Task] { db.Task.filter({ done: "yes" }) } // E db.type`,
    `@query fn f() to List[Task] { db.Task.where({ stars: { gt: "a" } }) } // E db.type`,
    `@query fn f() to List[Task] { db.Task.where({ title: { in: ["a", 1] } }) } // E db.type|element_mismatch`,
    `@query fn f() to List[Task] { db.Task.where({ title: { contains: 1 } }) } // E db.type`,
    `@query fn f() to List[Task] { db.Task.where({ or: [{ done: true }, { stars: "a" }] }) } // E db.type`,
    `@query fn f() to List[Task] { db.Task.where({ title: { like: "a" } }) } // E db.unknown_operator`,
    `@query fn f() to List[Task] { db.Task.where({ due: { is_null: 1 } }) } // E db.type`,
    `@query fn f() to List[Task] { db.Task.all().order_by("titel") } // E db.unknown_field`,
    `@query fn f() to List[Task] { db.Task.all().limit("a") } // E arg_mismatch|db.type`,
    `@query fn f() to List[Task] { db.Task.all().select("title", "title") } // E db.duplicate_select`,
    `@query fn f() to Option[Task] { db.Task.get("a") } // E arg_mismatch|db.type`,
    `@mutation fn f() { db.Task.delete("a") } // E arg_mismatch|db.type`,
    `@mutation fn f() { db.Task.update(1, { stars: "a" }) } // E db.type`,
    `@mutation fn f() { db.Task.update(1, { colour: "a" }) } // E db.unknown_field`,
    `@mutation fn f() { db.Person.insert({ name: 1 }) } // E db.type`,
    `@mutation fn f(n: int) { db.Person.insert({ name: n }) } // E db.type`,
    `@mutation fn f() { db.Person.insert({ name: "a", age: 1 }) } // E db.unknown_field`,
    `@query fn f() to List[str] { db.Task.all() } // E return_mismatch`,
    `@query fn f() to List[Person] { db.Task.all() } // E return_mismatch`,
    `@query fn f() to str { db.Task.get(1).unwrap().title } // E unknown_field`,
    `@query fn f() to int { match db.Task.get(1) { Some(t) => t.title, None => 0 } } // E return_mismatch|branch_mismatch`,
    `@query fn f() to str { db.Task.count() } // E return_mismatch`,
    `@query fn f() to Option[Task] { db.Task.find({ title: "a" }) } // E db.find_semantics`,
    `@mutation fn f(d: float) { db.Task.update(1, { price: d }) } // E db.type`
  ],

  lambdas: [
    `fn f(xs: List[int]) to str { xs.fold(0, fn(acc, x) acc + x) } // E return_mismatch`,
    `fn f() to fn(str) to Shape { Circle } // E return_mismatch`,
    `fn f(fs: List[fn(int) to int]) to str { fs[0](1) } // E return_mismatch`,
    `fn f() to int {
    let g = fn(n: int) n + 1
    g("a") // E arg_mismatch
}`,
    `fn f() to str {
    let g = fn(n: int) n + 1
    g(1) // E return_mismatch
}`,
    `fn f() to fn(int) to int { fn(n) str(n) } // E return_mismatch`,
    `fn f() to fn(int) to int { fn(a, b) a } // E return_mismatch`,
    `fn f() to fn(int) to int { size } // E return_mismatch`,
    `fn f(xs: List[str]) to List[int] { xs.map(fn(x) x * 2) } // E operands`,
    `fn f(xs: List[str]) to List[int] { xs.map(fn(x) total(x)) } // E arg_mismatch`,
    `fn f(xs: List[Point]) to List[int] { xs.map(fn(p) p.z) } // E unknown_field`,
    `fn f(xs: List[int]) to bool { xs.any(fn(x) x) } // E arg_mismatch|condition`,
    `fn f() to int { (x => x.y)(Point { x: 1 }).z } // E unknown_field|not_a_function`,
    `fn f(o: Option[int]) to Option[str] { o.map(fn(x) x + 1) } // E return_mismatch|arg_mismatch`
  ],

  defaults: [
    `fn f(n: int = "a") to int { n } // E let_mismatch|arg_mismatch`,
    `fn f(xs: List[int] = ["a"]) to int { len(xs) } // E let_mismatch|arg_mismatch|element_mismatch`,
    `type P { n: int = "a" } // E let_mismatch|arg_mismatch`,
    `component C(n: int = "a") { view: <p>{str(n)}</p> } // E let_mismatch|arg_mismatch`,
    `@table type T { n: int = "a" } // E let_mismatch|arg_mismatch|db.type`,
    `const limit: int = "a" // E let_mismatch`,
    `let limit: str = 1 // E let_mismatch`
  ],

  variables: [
    `let a = b + 1 // E undefined
let b = 2`,
    `let a = g() // E undefined
fn g() to int { b }
let b = 2`,
    `fn f() {
    let mut s = "abc"
    s[0] = "d" // E assign_mismatch|operands|immutable_assign
    print(s)
}`,
    `fn f() {
    let mut t = (1, 2)
    t.0 = 3 // E assign_mismatch|operands|immutable_assign
    print(t)
}`,
    `fn f() {
    let mut n = 1
    n += 0.5 // E assign_mismatch
    print(n)
}`,
    `fn f() { let x: int = "a" } // E let_mismatch`,
    `fn f() { let x: List[str] = [1] } // E let_mismatch|element_mismatch`,
    `fn f() { let x: int = maybe(1) } // E let_mismatch`,
    `fn f() { let x: int = 1.5 } // E let_mismatch`,
    `fn f() { let x: Point = Rect(1, 2) } // E let_mismatch`,
    `fn f() {
    let x = 1
    x = 2 // E immutable_assign
}`,
    `fn f(n: int) {
    n += 1 // E immutable_assign
}`,
    `component C(given: str) {
    let kept = ""
    state text = ""
    view: <p>
        <input bind={text} aria-label="a"/>
        <input bind={given} aria-label="b"/> // E immutable_assign
    </p>
}`,
    `fn f() {
    let mut x = 1
    x = "a" // E assign_mismatch
}`,
    `fn f() {
    let mut x = { a: 1 }
    x = { a: "b" } // E assign_mismatch|arg_mismatch
}`,
    `fn f() {
    let mut x = (1, "a")
    x = (1, 2) // E assign_mismatch
}`,
    `fn f() {
    let mut x = Some(1)
    x = Some("a") // E assign_mismatch
}`,
    `fn f() {
    let mut x = []
    x = x.push(1)
    x = x.push("a") // E arg_mismatch|assign_mismatch
}`,
    `fn f() {
    let mut p = Point { x: 1 }
    p.x = "a" // E assign_mismatch
}`,
    `fn f() {
    let p = Point { x: 1 }
    p.x = 2 // E immutable_assign
}`,
    `const limit = 1
fn f() {
    limit = 2 // E immutable_assign
}`,
    `fn f() { print(undefined_name) } // W|E undefined`,
    `fn f() { unknown_function(1) } // W|E undefined`,
    `fn f(x: Pont) { print(x) } // W undefined_type`
  ],

  'Option and Result': [
    `fn f() to int { maybe(1) } // E return_mismatch`,
    `fn f() to int { risky(1) } // E return_mismatch`,
    `fn f() to Option[int] { 1 } // E return_mismatch`,
    `fn f() to Result[int] { 1 } // E return_mismatch`,
    `fn f() to Option[int] { Ok(1) } // E return_mismatch`,
    `fn f() to Result[int] { Some(1) } // E return_mismatch`,
    `fn f() to Result[int] { None } // E return_mismatch`,
    `fn f() to Option[int] { Some("a") } // E return_mismatch|arg_mismatch`,
    `fn f() to Result[int] { Ok("a") } // E return_mismatch|arg_mismatch`,
    `fn f() to Result[int] { Error(1) } // E return_mismatch|arg_mismatch`,
    `fn f() to Result[int, Problem] { Error("a") } // E return_mismatch|arg_mismatch`,
    `fn f() to Option[Option[int]] { Some(1) } // E return_mismatch|arg_mismatch`,
    `fn f(o: Option[int]) to Option[str] { o } // E return_mismatch`,
    `fn f(r: Result[int]) to Option[int] { r } // E return_mismatch`,
    `fn f(b: bool) to Option[int] { if b { Some(1) } else { 2 } } // E return_mismatch|branch_mismatch`,
    `fn f(o: Option[int]) to bool { o.is_ok() } // E unknown_method`,
    `fn f(r: Result[int]) to bool { r.is_some() } // E unknown_method`
  ],

  'numbers and text': [
    `fn f() to int { 1.5 } // E return_mismatch`,
    `fn f() to int { half(1.0) } // E return_mismatch`,
    `fn f() to str { 1 } // E return_mismatch`,
    `fn f() to int { "1" } // E return_mismatch`,
    `fn f(d: dec) to float { d } // E return_mismatch`,
    `fn f(n: float) to dec { n } // E return_mismatch`,
    `fn f(n: int) to dec { n } // E return_mismatch`,
    `fn f(d: dec) to str { d } // E return_mismatch`,
    `fn f() to bool { 1 } // E return_mismatch`,
    `fn f() to bool { "true" } // E return_mismatch`,
    `fn f() to char { "ab" } // E return_mismatch`,
    `fn f(s: str) to char { s } // E return_mismatch`,
    `fn f(a: int, b: float) to int { a + b } // E return_mismatch`,
    `fn f(xs: List[float]) to List[int] { xs } // E return_mismatch`,
    `fn f() to dec { 1.5 } // W lint.decimal_literal`,
    `fn f() to dec { 2 } // W lint.decimal_literal`,
    `fn f(n: int) to Id[Task] { str(n) } // E return_mismatch`,
    `fn f(u: Unit) to int { u } // E return_mismatch`
  ],

  branches: [
    `fn f(b: bool) {
    let x = if b { 1 } else { "a" } // E branch_mismatch
    print(x)
}`,
    `fn f(c: Colour) {
    let x = match c { Red => 1, Green => 2, Blue => "a" } // E branch_mismatch
    print(x)
}`,
    `fn f(b: bool) {
    let x = if b { Some(1) } else { Ok(1) } // E branch_mismatch
    print(x)
}`,
    `fn f(b: bool) {
    let x: int = if b { 1 } // E let_mismatch|branch_mismatch
    print(x)
}`,
    `fn f(b: bool) to List[int] { [if b { 1 } else { "a" }] } // E branch_mismatch|element_mismatch|return_mismatch`,
    `fn g(b: bool) { if b { return 1 } else { return "a" } } // E return_mismatch|branch_mismatch`
  ],

  'effects and purity': [
    `@query fn f() to int { db.Task.delete(1)
    1 } // @1 E lint.query_not_readonly`,
    `@query fn f() to int { save("a") } // E lint.query_not_readonly`,
    `fn g() { db.Person.insert({ name: "a" }) }
@query fn f() { g() } // E lint.query_not_readonly`,
    `fn g(n: int) { if n > 0 { g(n - 1) } else { db.Person.delete(1) } }
@query fn f() { g(3) } // E lint.query_not_readonly`,
    `actor Writer { on write() to int { db.Person.insert({ name: "a" }) } }
@query fn f() to int { spawn(Writer).write() } // E lint.query_not_readonly`,
    `actor Writer { on write() to int { db.Person.insert({ name: "a" }) } }
fn g() to int {
    let w = spawn(Writer)
    w.write()
}
@query fn f() to int { g() } // E lint.query_not_readonly`,
    `actor Writer { on write() { db.Person.delete(1) } }
@query fn f() {
    let w = spawn(Writer)
    w.send write()
} // @2 E lint.query_not_readonly`,
    `@query fn f() to Result[Unit] { std.fs.write("a", "b") } // E lint.query_not_readonly`,
    `fn g() to Result[Unit] { std.fs.remove("a") }
@query fn f() to Result[Unit] { g() } // E lint.query_not_readonly`,
    `@query fn f(xs: List[int]) { xs.map(fn(x) { db.Person.delete(x) }) } // E lint.query_not_readonly`,
    `activity put() to Result[int] { Ok(db.Person.insert({ name: "a" })) }
@query fn f() to Result[int] { put() } // E lint.query_not_readonly`,
    `@query fn f() { state_save("a", 1) } // E lint.query_not_readonly`,
    `@pure fn f() to int { std.time.now_ms() } // W vox/effect/pure-violation`,
    `@pure fn f() to Result[str] { std.fs.read("a") } // W vox/effect/pure-violation`,
    `fn g() to int { std.time.now_ms() }
@pure fn f() to int { g() } // W vox/effect/pure-violation`,
    `@pure fn f() to int { db.Task.count() } // W vox/effect/pure-violation`,
    `@pure fn f(n: int) { print(n) } // W lint.pure_shallow_violation`,
    `fn f() uses fs to Result[str] { std.http.get_text("a") } // W vox/effect/missing-net-decl`,
    `fn f() uses net to Result[str] { std.fs.read("a") } // W vox/effect/missing-fs-decl`,
    `fn g() to int { std.time.now_ms() }
fn f() uses net to int { g() } // W vox/effect/missing-time-decl`
  ],

  lints: [
    `fn f() {
    risky(1) // W lint.unused_result
    print(1)
}`,
    `fn f(xs: List[int]) {
    xs.push(1) // W lint.unused_result
    print(xs)
}`,
    `fn f() to int {
    return 1
    print(2) // W lint.unreachable
}`,
    `fn f(b: bool) to int {
    if b { return 1 } else { return 2 }
    print(2) // W lint.unreachable
}`,
    `fn f() to int {
    loop { print(1) }
    print(2) // W lint.unreachable
}`,
    `fn f() {
    panic("no")
    print(2) // W lint.unreachable
}`,
    `type Endless { next: Endless } // W lint.uninhabited_type`,
    `type Chain = | Link(next: Chain) // W lint.uninhabited_type`,
    `fn f(xs: List[int]) to List[int] {
    let mut ys = []
    for x in xs { ys = ys + [x] } // W lint.quadratic_push
    ys
}`,
    `@reactive fn f() to int { 1 } // W lint.decorator_without_effect`,
    `fn f(xs: List[int]) to List[int] {
    let mut ys = []
    for x in xs { ys = [x] + ys } // W lint.quadratic_push
    ys
}`,
    `type Page { items: List[int] }
fn f(xs: List[int]) to Page {
    let mut page = Page { items: [] }
    for x in xs { page.items = page.items.push(x) } // W lint.quadratic_push
    page
}`,
    `fn f(t: Task) to int { t.id } // W lint.row_id_alias`
  ]
}
