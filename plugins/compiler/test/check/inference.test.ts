import t from 'tap'
import { check } from '#check'
import { parse } from '#syntax'
import { checkTypes } from '#types'

const findings = (source: string) => {
  const { module, diagnostics } = parse(source)
  return [...diagnostics, ...check(module, { suppressHookLints: false })].map(
    ({ code, span }) => `${code} of ${source.slice(span.start, span.end)}`
  )
}

t.test('functions without annotations get the types of their uses', t => {
  t.same(findings('fn twice(x) { (x, x) }\nfn f() to (int, int) { twice(1) }\nfn g() to (str, str) { twice("a") }'), [])
  t.same(findings('fn twice(x) { (x, x) }\nfn f() to (int, int) { twice("a") }'), [
    'typecheck.return_mismatch of twice("a")'
  ])
  t.same(findings('fn first(xs) { xs[0] + 1 }\nfn f() to int { first([1]) }'), ['typecheck.annotation_needed of xs'])
  t.same(
    findings(
      'fn even(n: int) { if n is 0 { true } else { odd(n - 1) } }\nfn odd(n: int) { if n is 0 { false } else { even(n - 1) } }\nfn f() to int { even(2) }'
    ),
    ['typecheck.return_mismatch of even(2)']
  )
  t.end()
})

t.test('a function without a declared result that returns a value or the failure of `?` needs an annotation', t => {
  const risky = 'fn risky(n: int) to Result[int] { Ok(n) }\n'
  const needed = ['typecheck.annotation_needed of risky(n)?']
  t.same(findings(`${risky}fn f(n: int) { let m = risky(n)?\n m + 1 }`), needed)
  t.same(findings(`${risky}fn f(n: int) { let g = fn() { risky(n)? }\n print(g()) }`), needed)
  t.same(findings(`${risky}fn f(n: int) { Ok(risky(n)? + 1) }\nfn g(n: int) { print(risky(n)?) }`), [])
  t.end()
})

t.test('a lambda gets the types of its place, or of its calls', t => {
  t.same(findings('fn f() to List[str] { [1, 2].map(fn(x) str(x + 1)) }'), [])
  t.same(findings('fn f() to List[int] { [1, 2].map(fn(x) str(x)) }'), ['typecheck.arg_mismatch of str(x)'])
  t.same(findings('fn f() to int { let g = fn(x) x + 1\n g(1) }'), [])
  t.same(findings('fn f() to int { let g = fn(x) x + 1\n g("a") }'), ['typecheck.arg_mismatch of x + 1'])
  t.end()
})

t.test('empty lists, maps and options get the types of what is put into them', t => {
  t.same(findings('fn f() to List[int] { let mut xs = []\n xs = xs.push(1)\n xs }'), [])
  t.same(findings('fn f() { let mut xs = []\n xs = xs.push(1)\n xs = xs.push("a")\n print(xs) }'), [
    'typecheck.arg_mismatch of "a"'
  ])
  t.same(findings('fn f() to int { let mut m = {}\n m["a"] = 1\n m["a"] }'), [])
  t.same(findings('fn f() to Option[str] { let mut best = None\n best = Some(1)\n best }'), [
    'typecheck.return_mismatch of best'
  ])
  t.end()
})

t.test('a function that a host may supply is a warning, and a value is an error', t => {
  const severities = (source: string, hostFunctions = true) =>
    check(parse(source).module, { suppressHookLints: false, hostFunctions }).map(({ severity }) => severity)
  t.same(severities('fn f() { helper() }'), ['warning'])
  t.same(severities('fn f() { helper() }', false), ['error'], 'pages have no host')
  t.same(severities('fn f() { print(helper) }'), ['error'])
  t.end()
})

t.test('conversions are noted at the values that change', t => {
  const conversions = (source: string) => {
    const { module } = parse(source)
    const types = checkTypes(module)
    const kinds: string[] = []
    JSON.stringify(module, (_key, node: { kind?: string; id?: number; start: number; end: number }) => {
      const found = typeof node?.id === 'number' && node.kind !== undefined ? types.conversionOf(node as never) : null
      if (found !== null) kinds.push(`${found.kind} of ${source.slice(node.start, node.end)}`)
      return node
    })
    return kinds
  }
  t.same(conversions('fn f(n: int) { let x: float = n\n print(x) }'), ['float of n'])
  t.same(conversions('fn f(b: bool) to float { if b { 1 } else { 2.5 } }'), ['float of 1'])
  t.same(conversions('fn f() { let xs = [1, 2.5]\n print(xs) }'), ['float of 1'])
  t.same(conversions('fn f() to dec { 1.50 }'), ['decimal of 1.50'])
  t.same(conversions('type P { x: Option[float] }\nfn f() to P { P { x: 1 } }'), ['some of 1'])
  t.same(conversions('type P { x: int }\nfn f() to P { { x: 1 } }'), ['record of { x: 1 }'])
  t.same(conversions('fn f(n: int) { let x: int = n\n print(x) }'), [])
  t.end()
})

t.test('numbers of literals take the types of the lists and of the other arguments next to them', t => {
  const right = [
    'fn f(xs: List[float]) to List[float] { let mut ys = xs\n ys += [3]\n ys + [4] + xs }',
    'fn f(xs: List[float]) to List[float] { [1, 2] + xs }',
    'fn f(xs: List[float]) to bool { xs is [1, 2] or (1.5, 2.5) is (1, 2) }',
    'type P { x: int, y: int = 0 }\nfn f(ps: List[P]) to List[P] { ps + [{ x: 1 }] }',
    'fn f(n: int, x: float) to float { std.math.max(1, 2.5) + std.math.min(n, 0.5) + std.math.max(-1, x) }',
    'fn top[T](a: T, b: T) to T { a }\nfn f() to float { top(1, 2.5) }',
    'fn f(xs: List[float]) to float { xs.fold(0, fn(sum, x) sum + x) }',
    'type S { w: float n: int name: str }\nfn f(ss: List[S]) to float { ss.fold(0, fn(sum, s) s.w * 2.0 + sum) }',
    'type S { w: float n: int name: str }\nfn f(ss: List[S]) to int { ss.fold(0, fn(sum, s) sum + s.n * len(s.name)) }',
    'fn f(xs: List[float]) to int { xs.fold(0, fn(count, x) count + 1) }',
    'fn f(ps: List[(int, float)]) to int { ps.fold(-1, fn(best, p) if p.0 > best { p.0 } else { best }) }'
  ]
  for (const source of right) t.same(findings(source), [], source)
  const price = 'type S { price: dec ok: bool }\n'
  for (const body of ['sum + s.price', 's.price * 2dec + sum', 'if s.ok { sum + s.price } else { sum }']) {
    t.same(findings(`${price}fn f(ss: List[S]) to dec { ss.fold(0, fn(sum, s) ${body}) }`), [
      'lint.decimal_literal of 0'
    ])
  }
  t.same(findings('fn f(xs: List[int]) to List[int] { xs + [1.5] }'), ['typecheck.operands of [1.5]'])
  t.same(findings('type S { name: str }\nfn f(ss: List[S]) to str { ss.fold(0, fn(all, s) all + s.name) }'), [
    'typecheck.arg_mismatch of 0'
  ])
  t.end()
})

t.test('forms, loaders and messages are compared with what takes them', t => {
  const form = '@form F { field n: int label("N")\n field s: str label("S")\n on_submit: save }\n'
  t.same(findings(`${form}@mutation fn save(n: int, s: str) to int { n + len(s) }`), [])
  t.same(findings(`${form}type All { n: int s: str }\n@mutation fn save(all: All) to int { all.n }`), [])
  t.same(findings(`${form}@mutation fn save(n: str) to str { n }`), ['typecheck.arg_mismatch of save'])
  t.same(findings(form), ['typecheck.undefined of save'])
  const page =
    'component Page(rows: List[int]) { view: <p>{len(rows)}</p> }\nroutes { "/" to Page with loader: load }\n'
  t.same(findings(`${page}@query fn load() to Result[List[int]] { Ok([1]) }`), [])
  t.same(findings(`${page}@query fn load() to List[str] { ["a"] }`), ['typecheck.prop of load'])
  t.same(findings(`${page}@mutation fn load() to List[int] { [1] }`), ['web.route.unknown_loader of load'])
  t.same(findings(page), ['web.route.unknown_loader of load'])
  const actor = 'actor A { on add(n: int, by: int = 1) to int { n + by } }\n'
  t.same(findings(`${actor}fn f() { let a = spawn(A)\n a.add(1)\n a.send add(1, 2) }`), [])
  t.same(findings(`${actor}fn f() { let a = spawn(A)\n a.send add(1) }`), ['typecheck.arity of a.send add(1)'])
  t.same(findings(`${actor}fn f() { let a = spawn(A)\n a ! add("x", 2) }`), ['typecheck.arg_mismatch of "x"'])
  t.end()
})

t.test('programs with many functions, and types with many parts, take linear time', t => {
  const cycle = Array.from({ length: 5_000 }, (_, i) => `fn f${i}(x) { f${(i + 1) % 5_000}(x) }`).join('\n')
  t.same(findings(cycle), [])
  const params = Array.from({ length: 60 }, (_, i) => `a${i}`)
  const shared = params.slice(1).map((name, i) => `let t${i} = [a${i}, (${name}, ${name})]\nprint(t${i})`)
  t.same(findings(`fn f(${params.join(', ')}) {\n${shared.join('\n')}\n a0 }\nfn g() { let x = f\n print(x) }`), [])
  const pairs = Array.from({ length: 60 }, (_, i) => `fn g${i + 1}(x) { g${i}((x, x)) }`)
  t.same(findings(`fn g0(x) { x }\n${pairs.join('\n')}`), [])
  const sums = Array.from({ length: 900 }, () => 'x').join(' + ')
  t.same(findings(`fn f(x: int) to int { ${sums} }`), [])
  t.end()
})
