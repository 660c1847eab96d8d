import t from 'tap'
import { difference, runBoth } from './run-both.ts'

const AT = 'fn at(n: int) to int { print("at", n)\n n }\n'

/** Programs that end in both back ends, with the same output. */
const RIGHT: Readonly<Record<string, string>> = {
  'parameters without a type have those of the values in loops, in functions of methods, in members and in items':
    'type R { v: dec\n t: (int, dec) }\nfn total(xs) { let mut t = 0\n for x in xs { t = t + x }\n t }\n' +
    'fn sum(xs) { let mut t = 0dec\n for x in xs { t = t + x }\n t }\nfn big(xs) { xs.filter(fn(x) x > xs[0]).map(fn(x) (x, str(x))).first() }\n' +
    'fn top(xs) { xs.fold(xs[0], fn(a, x) if x > a { x } else { a }) }\nfn last(xs) { xs.sort_by(fn(x) x).last() }\n' +
    'fn pairs(xs) { for (k, v) in xs { print(k, v is 9dec) } }\nfn cmp(a, b) { a.v > b.v and a.t.1 is 1dec }\nfn mixed(xs) { xs.fold(0, fn(a, x) a + 1 + x) }\n' +
    'fn main() { print(total([9007199254740991, 1, 1]), sum([1.5dec, 2dec]), big([9dec, 10dec]), top([9dec, 10dec]), last([10dec, 9dec]), mixed([1.5, 2.5]))\n' +
    'pairs([("a", 9.0dec)])\n print(cmp(R { v: 10dec, t: (1, 1.0dec) }, R { v: 9dec, t: (1, 2dec) })) }',
  'arguments are evaluated as they are written, also with names':
    `${AT}fn pair(a: int, b: int, c: int = 7) to str { str(a) + "," + str(b) + "," + str(c) }\n` +
    'fn main() { print(pair(b=at(2), a=at(1)))\n print(pair(1, c=at(4), b=at(3))) }',
  'an index of a compound assignment that is no name is evaluated once, also before another index':
    `${AT}type P { n: int }\nfn main() { let mut grid = [[P { n: 1 }], [P { n: 2 }, P { n: 3 }]]\n` +
    'let mut i = 0\n grid[i + 1][at(1)].n += at(5)\n grid[at(0)][i].n = 9\n print(grid)\n' +
    'let mut counts: Map[str, int] = { a: 1 }\n counts["a"] += 2\n print(counts) }',
  'an index is read before a value that changes its variable':
    'fn main() { let mut i = 0\n let mut xs = [1, 2]\n let next = fn() { i = i + 1\n i }\n xs[i] = next()\n print(xs, i) }',
  'alternatives of a pattern bind a variable in different places':
    'type S = | Left(n: int, word: str) | Right(word: str, n: int) | Empty\n' +
    'fn show(s: S) to str { match s { Left(n, w) | Right(w, n) => w + str(n)\n Empty => "-" } }\n' +
    'fn main() { print(show(Left(1, "a")), show(Right("b", 2)), show(Empty)) }',
  'a record that is no literal becomes a struct with its defaults':
    'type P { x: int\n y: int = 3 }\nfn sum(p: P) to int { p.x + p.y }\n' +
    'fn main() { let r = { x: 1, z: 2 }\n print(sum(r), sum({ x: 4 })) }',
  'records in lists, options, maps, tuples and results become structs with their defaults':
    'type P { x: int\n y: int = 3 }\nfn all(ps: List[P]) to int { ps.fold(0, fn(t, p) t + p.y) }\n' +
    'fn some(p: Option[P]) to int { match p { Some(q) => q.y\n None => 0 } }\nfn named(ps: Map[str, P]) to int { ps.get("a").unwrap().y }\n' +
    'fn second(pair: (int, P)) to int { pair.1.y }\nfn success(p: Result[P]) to int { p.unwrap().y }\n' +
    'fn deep(ps: List[Option[(P, int)]]) to int { ps[0].unwrap().0.y }\nfn result() to List[P] { let rs = [{ x: 1 }]\n rs }\n' +
    'fn main() { let r = { x: 1, more: 5 }\n let rs = [r]\n let o = Some(r)\n let m = {}.set("a", r)\n let pair = (1, r)\n let ok = Ok(r)\n' +
    'let d = [Some((r, 1)), None]\n let own: List[P] = rs\n print(all(rs), some(o), named(m), second(pair), success(ok), deep(d), result(), own) }',
  'a record in a record becomes a struct with its defaults':
    'type P { x: int\n y: int = 3 }\ntype Q { p: P\n f: float = 1.5 }\nfn main() { let r = { p: { x: 1 } }\n let q: Q = r\n print(q, q.p.y) }',
  'branches and elements that are records become the struct that others are':
    'type P { x: float\n y: int = 3 }\nfn either(b: bool) { let r = { x: 1 }\n if b { return r }\n P { x: 3.0 } }\n' +
    'fn main() { let c = [1].len() is 1\n let r = { x: 1 }\n let p = P { x: 2.0, y: 4 }\n let a = if c { r } else { p }\n' +
    'let b = match c { true => r\n false => p }\n let d = [p, r]\n let e = if c { [r] } else { [p] }\n let f = if c { { x: 1 } } else { p }\n' +
    'print(a.y, b.y, d[1].y, e[0].y, f.y, either(true).y, either(false).y) }',
  'lists without elements in a branch have the elements of the other':
    'fn main() { print(if false { [] + [] } else { [(0, 0)] }, if false { [] } else { [(1, Some(2))] }, [[], [(3, 4)]])\n' +
    'print([(1, 2), (3, 4)], [1, "a"], [Some(1), None], match 1 { 1 => [None] + [], _ => [Some(1)] }) }',
  'a struct of a generic type, and matches on a generic type':
    'type Tree[T] = | Leaf | Node(left: Tree[T], value: T, right: Tree[T])\n' +
    'fn size[T](tree: Tree[T]) to int { match tree { Leaf => 0\n Node(a, _, b) => size(a) + 1 + size(b) } }\n' +
    'fn main() { let tree = Node(Node(Leaf, (1, "a"), Leaf), (2, "b"), Leaf)\n print(size(tree), tree) }',
  'calls with names only are no elements, also if their names are those of tags':
    'type B = | Box(h: int, w: int)\nfn label(to: str, n: int = 2) to str { to.repeat(n) }\nfn Shout(text: str) to str { text + "!" }\n' +
    'fn main() { print(Box(w=1, h=2), label(to="a"), label(n=1, to="b"), Shout(text="c"))\n let b = Box(h=3, w=4)\n match b { Box(h, w) => print(h - w) } }',
  'the other value of unwrap_or is a condition':
    'fn main() { let xs = [true]\n let ys = xs.filter(fn(x) not x)\n print(ys.first().unwrap_or(xs[0] and ys.is_empty()), xs.get(2).unwrap_or(xs[0] or xs[0])) }',
  'an operand that does not count is not evaluated':
    `${AT}fn main() { let on = [1].len() is 2\n print(on and [at(1)].at(0).is_ok(), (not on) or [at(2)].at(0).is_ok())\n` +
    'print((not on) and [at(3)].at(0).is_ok()) }',
  'the condition of a loop is evaluated before each round':
    'fn main() { let xs = [1, 2, 3]\n let mut i = 0\n while xs.at(i).is_ok() { i += 1 }\n print(i) }',
  'numbers are parsed from the same texts':
    'fn main() { let texts = ["", " 12 ", "+3", "-0", "1.", ".5", "-2.50", "1e3", "1e999", "0x1", "12a", "9007199254740993", "9223372036854775808"]\n' +
    'for text in texts { print(text, text.parse_int(), text.parse_float(), text.parse_dec()) }\n' +
    'print("4".parse_int().unwrap_or(0) + 1, "0.10".parse_dec().unwrap_or(0dec) + 0.2dec) }',
  'functions that every program has are values':
    'fn main() { print([1, 2].map(str).join("-"), ["3", "x"].map(int), [Some(1)].map(str)) }',
  'constructors are values':
    'type S = | Word(text: str) | Empty\nfn main() { print(["a", "b"].map(Word), [1].map(Some), [1].map(Ok)) }',
  'decimals are compared by value': 'fn main() { print(1.50dec is 1.5dec, 0dec isnt 0.00dec, 2dec > 1.99dec) }',
  'decimals in other values are compared by value':
    'type D { d: dec\n n: List[D] }\ntype S = | Price(p: dec) | Free\n' +
    'fn main() { print([1dec] is [1.0dec], [1dec] isnt [1.1dec], [2dec, 10dec].contains(10.00dec), Some(1dec) is Some(1.0dec))\n' +
    'print((1, 1dec) is (1, 1.0dec), { a: 1dec } is { a: 1.0dec }, Price(1dec) is Price(1.0dec), [(1, 2dec)].contains((1, 2.0dec)))\n' +
    'let m: Map[str, dec] = { a: 1dec }\n let n: Map[str, dec] = { a: 1.0dec }\n let r: Result[dec] = Ok(100dec)\n print(m is n, r is Ok(100.0dec), r is Ok(2dec))\n' +
    'print(D { d: 1dec, n: [D { d: 2dec, n: [] }] } is D { d: 1.0dec, n: [D { d: 2.0dec, n: [] }] }, [2dec, 10dec, 1.5dec].sort())\n' +
    'print(match 0.1000000000000000055511151231257827dec { 0.1dec => "equal", _ => "other" }, match (1, 1.0dec) { (1, 1dec) => "a", _ => "b" }) }',
  'values whose type is a parameter are compared by value':
    'fn equal[T](a: T, b: T) to bool { a is b }\nfn has[T](xs: List[T], x: T) to bool { xs.contains(x) }\n' +
    'fn count[T](xs: List[T], x: T) to int { xs.filter(fn(each) equal(each, x)).len() }\n' +
    'type Pair[A, B] { left: A\n right: B }\nfn same[A, B](a: Pair[A, B], b: Pair[A, B]) to bool { a is b }\n' +
    'fn main() { print(equal(1.0dec, 1dec), equal([1.0dec], [1dec]), equal("1.0", "1"), has([1.0dec], 1dec), count([1.0dec, 1dec, 2dec], 1dec))\n' +
    'print(same(Pair { left: 1.0dec, right: 1 }, Pair { left: 1dec, right: 1 }), [1.0dec].map(fn(d) equal(d, 1dec))) }',
  'values whose type is inferred where a function is called are compared and calculated by value':
    'fn biggest(a, b) { if a > b { a } else { b } }\nfn sorted(xs) { xs.sort() }\nfn area(w, h) { let area = w * h\n area }\n' +
    'fn half(n) { n / 2 }\nfn main() { print(biggest(10dec, 9dec), biggest("10", "9"), sorted([10dec, 9dec]), area(2.5dec, 2dec), area(1.5, 2))\n' +
    'print(half(7), half(7.0), biggest(area(1dec, 10dec), area(3dec, 3dec))) }',
  'the text of values whose type is a parameter shows their tags':
    'fn show[T](x: T) to str { str(x) }\nfn all[T](xs: List[T]) to str { xs.map(show).join("|") }\nfn both[T](x: T) to str { show((x, x)) }\n' +
    'fn even[T](x: T, n: int) to str { if n is 0 { str(x) } else { odd(x, n - 1) } }\n' +
    'fn odd[T](x: T, n: int) to str { if n is 0 { "odd " + x } else { even(x, n - 1) } }\n' +
    'fn main() { print(all([(1, 2)]), all(["a"]), show(Some(1)), show([Ok(1)]), both(1), both("a"), even((1, 2), 3), even(2, 2)) }',
  'decimals are divided and rounded to the same digits':
    'fn main() { print(1dec / 3dec, 2dec / 3dec, 10dec / 4dec, 1.00dec / 0.5dec, -1dec / 8dec, 0.5dec / 10000000000000000000000000000dec)\n' +
    'print(7.5dec % 2dec, -7.5dec % 2dec, 2.345dec.round(2), 2.355dec.round(2), 2dec.round(2), -0.5dec.round(0), 1dec / 3dec * 3dec)\n' +
    'print(int(1.9dec), int(-1.9dec), bool(0.0dec), bool(1dec), float(0.1dec), (1dec / 7dec).to_float(), dec(0.1), dec("1.50")) }',
  'ints have 64 bits':
    'fn main() { let big = 9007199254740993\n let most = 9223372036854775807\n let mut n = 9007199254740990\n' +
    'n += 1\n n += 1\n n += 1\n print(n, big, most, big + 1, big - 2, big * 2, big / 2, big % 10, -big, most - most)\n' +
    'print(big > 1.5, big is 9007199254740993, big is 1.5, big.abs(), (-big).abs(), big.max(1), big.min(1), std.math.max(1, big), big.to_float())\n' +
    'print(int("9007199254740993"), int("-9223372036854775808"), int(9007199254740993.0), 9007199254740994.0.to_int(), big * 1.5, [big, 1].sort())\n' +
    'let ratio: float = big\n let list = [big, 2]\n print("abc".slice(1, big), [1, 2].slice(1, big), "abc".slice(-big, 1))\n print(ratio, [n].contains(9007199254740993), match big { 9007199254740993 => "a", _ => "b" }, str(big) + big)\n' +
    'print(list.fold(0, fn(t, x) t + x), (n - big) / 3, -7 / 2, 9007199254740991 / 2, std.json.stringify([big])) }',
  'conversions of texts and values':
    'fn main() { print(int("1.5"), int(" 12 "), int("+7"), int("0x10"), int(true), int(2.9), float("0x10"), float(" 1.5e3 "), float("."), float(true))\n' +
    'print(bool(Some(0)), bool(None), bool("0"), bool(0), bool([0]), bool(0.0), dec("x"), dec(true), dec(1.5)) }',
  'the smaller and the greater of ordered values':
    'fn main() { print(std.math.min("b", "a"), std.math.max(1.5dec, 1.25dec), std.math.max(2, 3)) }',
  'of equal decimals, the first one is the smaller and the greater':
    'fn main() { print(std.math.max(0.0dec, 0dec), std.math.min(1dec, 1.00dec), std.math.max(1.5dec, 2dec), std.math.min(1.5dec, 2dec)) }',
  'a replacement with the signs of a pattern of JavaScript':
    'fn main() { let to = "$&$1"\n print("a-b".replace("-", to), "a-b".replace("-", "$$")) }',
  'a text is split at a separator, or into characters':
    'fn main() { let none = ""\n print("a😀b".split(""), "a😀b".split(none), "a-b".split("-"), "".split(none)) }',
  'a function with a default takes one element of a list, not its position':
    'fn sub(a: int, b: int = 10) to int { a - b }\nfn big(a: int, least: int = 2) to bool { a > least }\n' +
    'fn main() { let xs = [1, 2, 3]\n print(xs.map(sub), xs.filter(big), xs.any(big), xs.all(big), xs.find(big))\n' +
    'print(xs.map(fn(x, y = 5) x + y), xs.flat_map(fn(x, y = 6) [x, y])) }',
  'an omitted option is None':
    'type C { a: Option[int]\n b: Option[str] }\nfn main() { let none = C { a: None, b: None }\n' +
    'print(C {} is none, none is C {}, C { a: Some(1) } is none, [Some(1), None] is [Some(1)], [C {}].contains(none)) }',
  'an omitted option is printed and sent as None':
    'type C { a: Option[int]\n b: int }\ntype D { c: C\n n: Option[str]\n k: int = 4\n m: Option[C] }\n' +
    'fn main() { print(C { b: 1 }, str(C { b: 2 }), std.json.stringify(C { b: 1 }), [C { b: 1 }, C { b: 2, a: Some(1) }])\n' +
    'let c = C { b: 1 }\n print(match c.a { Some(n) => n, None => 0 }, c.a.is_none())\n' +
    'let mut d = D { c: { b: 2 } }\n print(d)\n d.c.a = Some(3)\n print(d, d.n.unwrap_or("x"))\n' +
    'let r = { b: 5 }\n let s: C = r\n let list: List[C] = [r]\n let pair: (C, int) = (r, 1)\n print(s, list, pair) }',
  'options of options, also of values whose type is a parameter':
    'fn wrap[T](x: T) to Option[T] { Some(x) }\nfn first[T](xs: List[T]) to Option[T] { xs.first() }\n' +
    'fn get(o: Option[Option[int]]) to Option[int] { let v = o?\n v }\nfn main() { let m: Map[str, Option[int]] = {}\n' +
    ' let n = m.set("a", None).set("b", Some(1))\n' +
    ' print(n.get("a").is_some(), n.get("c").is_some(), n.get("a"), n.get("b"), n.get("c"))\n' +
    ' for key in ["a", "b", "c"] { print(match n.get(key) { Some(Some(i)) => str(i), Some(None) => "none", None => "absent" }) }\n' +
    ' let xs = [None, Some(2)]\n' +
    ' print(xs.first(), xs.last(), xs.get(0).unwrap(), xs.get(5), xs.get(0).unwrap_or(Some(7)), xs.get(9).unwrap_or(Some(7)), xs.find(fn(x) x.is_none()), [Some(1)].find(fn(x) x.is_none()))\n' +
    ' let none: Option[int] = None\n' +
    ' print(wrap(none), wrap(wrap(none)), wrap(1), wrap(Some(2)), first(xs), wrap(none) is Some(None), wrap(none) is None, wrap(wrap(none)) is wrap(None), first([1]), first(["a"]))\n' +
    ' print(get(Some(None)), get(Some(Some(3))), get(None), Some(none).map(fn(x) x.is_none()), Some(1).map(fn(x) wrap(none)), [none].map(Some), Some(Some(none)).unwrap().unwrap())\n' +
    ' print(std.json.stringify([wrap(none)]), bool(wrap(none)), [wrap(none)].contains(None), [wrap(none)].contains(Some(None)))\n' +
    ' let mut total = 0\n for each in [wrap(none), wrap(Some(2)), None] { match each { Some(v) => { total += v.unwrap_or(10) }\n' +
    '  None => { total += 100 } } }\n print(total)\n}',
  'conditions that hold':
    '@require(n > 0, "n is positive")\n@ensure(result > n)\nfn next(n: int) to int { n + 1 }\n@ensure(result.1.is_none())\n' +
    'fn pair(n: int) to (int, Option[str]) { if n > 5 { return (n, None) }\n (0, None) }\n@invariant(n < 100)\nfn say(n: int) { print("say", n) }\n' +
    '@require(not (a is b), "different")\nfn differ[T](a: T, b: T) to bool { true }\n' +
    'fn main() { print(next(1), pair(6), pair(1), differ(1dec, 2dec))\n say(3) }',
  'a call with names is an element only if its name is no constructor or function':
    'fn main() { print(area(Box(h=1, w=2)), Box(w=3, h=2), [Box(h=1, w=2), Dot], Half(n=3), panel(x=4)) }\n' +
    'fn Half(n: int) to int { n / 2 }\nfn panel(x: int) to int { x + 1 }\ntype Shape =\n| Box(h: int, w: int)\n| Dot\n' +
    'fn area(s: Shape) to int { match s { Box(h, w) => h * w\n Dot => 0 } }',
  'a map with a key more is another one':
    'fn main() { let m: Map[str, Option[int]] = { a: None }\n print(m is m.set("b", None), m is m.set("a", None)) }',
  'variables of a pattern change':
    'fn main() { let mut (a, (b, c)) = (1, (2, 3))\n a += 5\n b = a * c\n print(a, b, c) }',
  'a key that is a name of JavaScript is no key of a map':
    'fn count(words: List[str]) to Map[str, int] { let mut found: Map[str, int] = {}\n' +
    'for word in words { found[word] = found.get(word).unwrap_or(0) + 1 }\n found }\n' +
    'fn main() { let m = count(["a", "constructor", "a", "__proto__"])\n print(m.get("a"), m.get("toString").is_none())\n' +
    'print(m.get("constructor"), m.keys().len()) }',
  'a half is rounded away from zero': 'fn main() { print((-0.5).round(), (2.5).round(), (-2.4).round()) }',
  'an optional value is an operand of and or or':
    'fn main() { let xs = [true]\n print((xs.get(3).unwrap_or(false) or xs[0]) and xs.get(0).unwrap_or(false)) }',
  'values of any type with the right type':
    'type P { name: str\n tags: List[str]\n at: Option[int] }\ntype S = | Circle(r: float) | Empty\n' +
    'fn text(x: any) to str { x }\nfn whole(x: any) to int { x }\nfn point(x: any) to P { x }\nfn shape(x: any) to S { x }\n' +
    'fn many(x: any) to Map[str, List[(int, bool)]] { x }\n' +
    'fn main() { print(text("a"), whole(3), point(P { name: "n", tags: ["t"], at: None }))\n' +
    'print(shape(Circle(1.5)), shape(Empty), many({ a: [(1, true)] })) }',
  'values of any type become the type: with defaults, missing options, and decimals':
    'type P { x: int\n y: int = 3\n z: Option[int] }\ntype D { price: dec }\nfn point(v: any) to P { v }\n' +
    'fn price(v: any) to D { v }\nfn main() { print(point({ x: 1 }), price({ price: "1.50" }), price({ price: 3 })) }',
  '`?` of the result of a function that does not fail':
    'fn half(n: int) to Option[int] { if n % 2 is 0 { Some(n / 2) } else { None } }\n' +
    'fn quarter(n: int) to Option[int] { let h = half(n)?\n half(h) }\nfn main() { print(quarter(8), quarter(6), quarter(3)) }'
}

/** Programs that fail in both back ends, after the same output. */
const FAILING: Readonly<Record<string, string>> = {
  'a value of another type where any value was given':
    'fn whole(x: any) to int { x }\nfn main() { print("before")\n print(whole("a")) }',
  'an element of another type in a list': 'fn words(x: any) to List[str] { x }\nfn main() { print(words(["a", 1])) }',
  'a field of another type in a struct':
    'type P { at: Option[int] }\nfn point(x: any) to P { x }\nfn main() { print(point({ at: "soon" })) }',
  'a member that a type does not declare':
    'type P { x: int }\nfn point(x: any) to P { x }\nfn main() { print(point({ x: 1 }))\n print(point({ x: 1, more: 2 })) }',
  'a member that a type in a list does not declare':
    'type P { x: int }\nfn points(x: any) to List[P] { x }\nfn main() { print(points(std.json.value([{ x: 1, more: 2 }]))) }',
  'a part of another type in a recursive type':
    'type Tree = | Leaf | Node(left: Tree, value: int)\nfn tree(x: any) to Tree { x }\n' +
    'fn main() { print(tree({ left: { left: 1, value: 2 }, value: 3 })) }',
  'an operand of another type': 'fn add(x: any) to int { let n: int = x\n n + 1 }\nfn main() { print(add(1.5)) }',
  'a division by zero': 'fn main() { print("before")\n let n = 0\n print(1 / n) }',
  'an int beyond 64 bits': 'fn main() { let n = 9223372036854775807\n print(n - 1)\n print(n + 1) }',
  'a product beyond 64 bits in a loop': 'fn main() { let mut n = 3\n while true { n *= n\n print(n) } }',
  'the opposite of the smallest int': 'fn main() { let n = -9223372036854775807 - 1\n print(n)\n print(-n) }',
  'a float that is no int': 'fn main() { print((100000000000000000000.0).to_int()) }',
  'a remainder of zero': 'fn main() { let d = 0.0dec\n print(1dec + d)\n print(1dec % d) }',
  'a decimal divided by zero': 'fn main() { let d = 0dec\n print(1dec / d) }',
  'a decimal with too many places': 'fn main() { print(1.5dec.round(1))\n print(1.5dec.round(29)) }',
  'a value that is not there': 'fn main() { let none: Option[int] = None\n print(none.unwrap()) }',
  'an Error that is unwrapped': 'fn fails() to Result[int] { Error("e") }\nfn main() { print(fails().unwrap()) }',
  'a value without an arm': 'fn main() { let n = [1].len()\n match n { 2 => print("two") } }',
  'a condition before a call':
    '@require(n > 0, "n is positive")\nfn next(n: int) to int { n + 1 }\nfn main() { print(next(1))\n print(next(0)) }',
  'a condition of a result, also of an early one':
    '@ensure(result is 3)\nfn three(n: int) to int { if n > 5 { return 4 }\n 3 }\nfn main() { print(three(1))\n print(three(6)) }',
  'a condition before and after a call':
    '@invariant(n < 100)\nfn say(n: int) { print("say", n) }\nfn main() { say(99)\n say(100) }',
  'a condition that compares values of a parameter type':
    '@require(not (a is b), "different")\nfn differ[T](a: T, b: T) to bool { true }\nfn main() { print(differ(1, 2))\n print(differ(1dec, 1.0dec)) }',
  'a missing element': 'fn main() { let xs = [1]\n print(xs[2]) }',
  'an assertion': 'fn main() { print("before")\n assert(1 > 2, 3) }',
  'a panic with a value': 'fn main() { panic((1, "a")) }'
}

t.test('a function that calls itself with larger types is refused in pages, since each needs a copy of it', async t => {
  const source =
    'fn grow[T](x: T, n: int) to str { if n > 0 { grow((x, x), n - 1) } else { str(x) } }\nfn main() { grow(1, 2) }'
  t.throws(() => runBoth(source), { message: /web\.not_in_browser: `grow` with types that grow/ })
})

for (const [name, source] of Object.entries(RIGHT)) {
  t.test(`pages run as the server: ${name}`, t => {
    const both = runBoth(source)
    t.equal(difference(both), null)
    t.notOk(both.emitted.failed, both.emitted.reason ?? '')
    t.end()
  })
}

for (const [name, source] of Object.entries(FAILING)) {
  t.test(`pages fail as the server: ${name}`, t => {
    const both = runBoth(source)
    t.equal(difference(both), null)
    t.ok(both.emitted.failed)
    t.end()
  })
}
