import t from 'tap'
import { Interpreter } from '#interpreter'
import { hostOf, LIMITS, programFrom, run } from '../run-program.ts'

/** Runs the test `case` of a source text. Returns its output. */
function testOutput(source: string): readonly string[] {
  const lines: string[] = []
  new Interpreter(programFrom(source), hostOf(lines)).test('case', [], LIMITS)
  return lines
}

t.test('a test makes its deferred calls at its end, the earliest first', async t => {
  const source = `
fn note(text: str) { print(text) }
@test fn case() {
    run_later("2h", note("second"))
    run_later("1h", note("first"))
    print("end of the test")
}
`
  t.same(testOutput(source), ['end of the test', 'first', 'second'])
})

t.test('a function that defers itself is called once by a test', async t => {
  const source = `
fn weekly(n: int) {
    print("week", n)
    run_later("7d", weekly(n + 1))
}
@test fn case() { run_later("7d", weekly(1)) }
`
  t.same(testOutput(source), ['week 1'])
})

t.test('a test makes the calls of deferred calls that are due by its end', async t => {
  const source = `
fn inner(text: str) { print(text) }
fn outer() {
    print("outer")
    run_later("0s", inner("at once"))
    run_later("1h", inner("in time"))
    run_later("30d", inner("too late"))
}
fn last() { print("last") }
@test fn case() {
    run_later("1d", last())
    run_later("1m", outer())
}
`
  t.same(testOutput(source), ['outer', 'last', 'at once', 'in time'])
})

t.test('main makes the calls that are due while it runs, and fails with those that nothing would keep', async t => {
  const source = `
fn note(text: str) { print(text) }
fn main() {
    run_later("1h", note("later"))
    run_later("0s", note("soon"))
}
`
  const { lines, code, error } = run(source, { limits: { milliseconds: 5_000 } })
  t.same(lines, ['soon'])
  t.equal(code, 'RUN_UNSUPPORTED')
  t.match(error?.message, /a call that is due at \d{4}-.* is lost, since the program has no table; serve it/)
})
