import t from 'tap'
import { brief } from './brief.ts'

t.test('operators follow the precedence table, and are left-associative', async t => {
  t.equal(brief('a + b * c - d'), '(- (+ a (* b c)) d)')
  t.equal(brief('a or b and c is d < e + f'), '(or a (and b (is c (< d (+ e f)))))')
  t.equal(brief('a |> f(b) |> g or h'), '(|> (|> a (call f b)) (or g h))')
  t.equal(brief('f() with { retries: 1 } and x'), '(and (with (call f) Object) x)')
})

t.test('not and minus take one operand', async t => {
  t.equal(brief('not a is b'), '(is (not a) b)')
  t.equal(brief('-a * !b.c'), '(* (- a) (not (. b c)))')
  t.equal(brief('-9223372036854775808'), '(- 9223372036854775808)')
})

t.test('symbol operators are parsed as word operators', async t => {
  t.equal(brief('a == b && c != d || e'), '(or (and (is a b) (isnt c d)) e)')
})

t.test('calls, members, indexes and question marks are left-associative', async t => {
  t.equal(brief('db.T.get(1)?.name[2].0'), '(. (at (. (? (call (. (. db T) get) 1)) name) 2) 0)')
  t.equal(brief('pair.0.1'), '(. (. pair 0) 1)')
})

t.test('a line break ends an expression, except before a dot or a pipe and after an operator', async t => {
  t.equal(brief('a\n(b)'), 'a ; b')
  t.equal(brief('a\n-b'), 'a ; (- b)')
  t.equal(brief('a +\n b'), '(+ a b)')
  t.equal(brief('a\n .b()\n |> c'), '(|> (call (. a b)) c)')
  t.equal(brief('(a\n + b)'), '(+ a b)')
})

t.test('braces are an object if they are empty or contain a key, otherwise a block', async t => {
  t.equal(brief('{}'), 'Object')
  t.equal(brief('{ a: 1\n b: 2 }'), 'Object')
  t.equal(brief('{ "a b": 1, or: 2, c }'), 'Object')
  t.equal(brief('{ a }'), '{a}')
})

t.test('a name before braces is a struct, except before a body', async t => {
  t.equal(brief('Point { x: 1 }'), 'Struct')
  t.equal(brief('if Ready { x }'), 'If')
  t.equal(brief('match Point { x => 1 }'), 'Match')
})

t.test('anonymous functions have three forms', async t => {
  t.equal(brief('fn(a, b) to int { a }'), '(fn a b -> {a})')
  t.equal(brief('a => a + 1'), '(fn a -> (+ a 1))')
  t.equal(brief('(a, b: int = 1) => { a }'), '(fn a b -> {a})')
})

t.test('an arrow after a guard begins the body of the arm', async t => {
  t.equal(brief('match x { a if ok => 1, b if (c) => 2 }'), 'Match')
})

t.test('parentheses are a unit, a group or a tuple', async t => {
  t.equal(brief('()'), 'Unit')
  t.equal(brief('(a)'), 'a')
  t.equal(brief('(a,)'), 'Tuple')
  t.equal(brief('(a, b)'), 'Tuple')
})

t.test('contextual keywords can be names', async t => {
  t.equal(brief('type.state + env.in.match'), '(+ (. type state) (. (. env in) match))')
  t.equal(brief('f(type=1, in=2)'), '(call f 1 2)')
})

t.test('names, members and elements can be assigned', async t => {
  t.equal(brief('a += 1; a.b = c; a[0] = d'), '(+= a 1) ; (= (. a b) c) ; (= (at a 0) d)')
})

t.test('a body may be one assignment', async t => {
  t.equal(brief('fn() a = 1'), '(fn  -> {(= a 1)})')
  t.equal(brief('f(x => a += x, 2)'), '(call f (fn x -> {(+= a x)}) 2)')
  t.equal(brief('for x in xs sum += x'), 'For')
})

t.test('a call with the name of an element and named arguments is an element', async t => {
  t.equal(brief('column(gap=1) { text("a")\n Card() }'), '<column gap>(call text "a"),(call Card)')
  t.equal(brief('Card() { x }'), '<Card>x')
  t.equal(brief('input(attr_type="text")'), '<input type>')
  t.equal(brief('Some(1)'), '(call Some 1)')
  t.equal(brief('plain(gap=1)'), '(call plain 1)')
})

t.test('markup may contain elements, strings and braces', async t => {
  t.equal(
    brief('<a on:click={x = 1} data-x=3 y>"t" {n + 1} <b/> <></> {for i in l { <c/> }}</a>'),
    '<a on:click data-x y>"t",(+ n 1),<b>,<></>,For'
  )
  t.equal(brief('a < b'), '(< a b)')
  t.equal(brief('for x in y <li>{x}</li>'), 'For')
  t.equal(brief('for x in f(a < b) { (c < d) }'), 'For')
})
