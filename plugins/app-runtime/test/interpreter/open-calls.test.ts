import t from 'tap'
import { run } from '../run-program.ts'

/** Returns the output of `main`, with the code and the message of its failure. */
function outcome(declarations: string, body: string): string[] {
  const { lines, code, error } = run(`${declarations}\nfn main() {\n${body}\n}\n`)
  return code === null ? [...lines] : [...lines, `${code} ${error?.message.replace(/^\S+ /, '')}`]
}

const WRONG = 'RUN_TYPE n: expected int, found str a'

t.test('a function that is called as a value of any type checks its arguments', async t => {
  t.same(outcome('', 'let f: any = fn(n: int) n + 1\nprint(f(1))\nprint(f("a"))'), ['2', WRONG])
  t.same(outcome('fn add(n: int, by: int = 2) to int { n + by }', 'let f: any = add\nprint(f(1))\nprint(f("a"))'), [
    '3',
    WRONG
  ])
  t.same(outcome('', 'let r: any = { f: fn(n: int) n + 1 }\nprint(r.f(1))\nprint(r.f("a"))'), ['2', WRONG])
  t.same(outcome('', 'let xs: any = [1, "a"]\nprint(xs.slice(0, 1).map(fn(n: int) n))\nxs.map(fn(n: int) n)'), [
    '[1]',
    WRONG
  ])
  t.same(outcome('type V = | Box(n: int)', 'let f: any = Box\nprint(f(1))\nprint(f("a"))'), ['Box(1)', WRONG])
  t.same(
    outcome('type P { n: int m: int = 2 }\nfn f(p: P) to int { p.n + p.m }', 'let g: any = f\nprint(g({ n: 1 }))'),
    ['3']
  )
})

t.test(
  'a handler that is called through a value of any type, or by the name in a variable, checks its arguments',
  async t => {
    const actor = 'actor A { on add(n: int) to int { print(n + 1)\n n } }\n'
    const call = `${actor}fn call(a: any, value: any) { a.add(value) }`
    t.same(outcome(call, 'let a = spawn(A)\ncall(a, 1)\ncall(a, "a")'), ['2', WRONG])
    const send = `${actor}fn send(event: str, value: any) { let a = spawn(A)\n a.send(event, value) }`
    t.same(outcome(send, 'send("add", 1)'), ['2'])
    t.same(outcome(send, 'send("add", "a")'), [WRONG])
  }
)
