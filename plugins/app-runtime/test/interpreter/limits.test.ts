import t from 'tap'
import { run } from '../run-program.ts'

const MEGABYTE = 2 ** 20

t.test('an endless loop is stopped, with its position', async t => {
  const { code, error } = run('fn main() {\n    let mut n = 0\n    while true {\n        n += 1\n    }\n}\n', {
    limits: { steps: 10_000 }
  })
  t.equal(code, 'RUN_STEP_LIMIT')
  t.match(error?.message, /^program\.vox:3:5: the program exceeded 10000 steps/)
})

t.test('a program that needs fewer steps than the limit runs', async t => {
  const text = 'fn main() {\n    let mut n = 0\n    while n < 100 { n += 1 }\n    print(n)\n}\n'
  t.same(run(text, { limits: { steps: 2000 } }).lines, ['100'])
  t.equal(run(text, { limits: { steps: 500 } }).code, 'RUN_STEP_LIMIT')
})

t.test('endless recursion is stopped, by the limit and by the stack of the interpreter', async t => {
  const text = 'fn f(n: int) to int {\n    1 + f(n + 1)\n}\nfn main() {\n    print(f(0))\n}\n'
  const { code, error } = run(text, { limits: { depth: 100 } })
  t.equal(code, 'RUN_STACK_LIMIT')
  t.equal(error?.data?.calls.length, 11)
  t.match(error?.data?.calls.at(-1), 'and 90 more')
  t.equal(run(text, { limits: { depth: 1e9, steps: 1e9 } }).code, 'RUN_STACK_LIMIT')
})

t.test('a program ends at its time limit', async t => {
  t.equal(run('fn main() {\n    loop { }\n}\n', { limits: { steps: 1e12, milliseconds: 5 } }).code, 'RUN_TIME_LIMIT')
})

const GREEDY: Readonly<Record<string, string>> = {
  'a doubling text': 'let mut s = "x"\nloop { s = s + s }',
  'a repeated text': 'let s = "x".repeat(1000000000)',
  'a doubling list': 'let mut s = [1]\nloop { s = s + s }',
  'a range': 'let s = range(1000000000)'
}

for (const [what, body] of Object.entries(GREEDY)) {
  t.test(`memory is limited: ${what}`, async t => {
    const { code, error } = run(`fn main() {\n${body}\n}\n`, { limits: { bytes: 512 * MEGABYTE } })
    t.equal(code, 'RUN_MEMORY_LIMIT')
    t.match(error?.message, /^program\.vox:\d+:\d+: /)
  })
}

t.test('an error has its position and call stack', async t => {
  const text =
    'fn a(n: int) to int {\n    10 / n\n}\n\nfn b(n: int) to int {\n    a(n) + 1\n}\n\nfn main() {\n    print("é", b(0))\n}\n'
  const { error } = run(text)
  t.equal(error?.message, 'program.vox:2:5: 10 divided by zero')
  t.same(error?.data?.calls, [
    'in a, called at program.vox:6:5',
    'in b, called at program.vox:10:16',
    'in main, called at program.vox:9:1'
  ])
})

t.test('a capability that was not granted is an error', async t => {
  const text = 'fn main() {\n    print(std.fs.read("/etc/hostname"))\n}\n'
  const { code, error } = run(text, { capabilities: ['env'] })
  t.equal(code, 'RUN_CAPABILITY_DENIED')
  t.match(error?.message, 'std.fs.read needs the capability fs')
  t.equal(run('fn main() {\n    print(std.env.get("HOME"))\n}\n', { capabilities: [] }).code, 'RUN_CAPABILITY_DENIED')
  t.equal(
    run('fn main() {\n    std.process.run("true", [])\n}\n', { capabilities: ['fs'] }).code,
    'RUN_CAPABILITY_DENIED'
  )
})

t.test('keys such as __proto__ are ordinary keys', async t => {
  const body = `
    let r = { __proto__: 1, constructor: 2 }
    print(r.__proto__, r.constructor)
    print(std.json.parse("{\\"__proto__\\": {\\"a\\": 1}}").unwrap().keys())
    print(std.json.stringify(r))
    print(std.json.parse("{}").unwrap().constructor)`
  const { lines, code } = run(`fn main() {${body}\n}\n`)
  t.same(lines, ['1 2', '[__proto__]', '{"__proto__":1,"constructor":2}'])
  t.equal(code, 'RUN_INDEX')
})
