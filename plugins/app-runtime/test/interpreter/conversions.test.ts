import t from 'tap'
import { run } from '../run-program.ts'

t.test('values become those of the type that their place asks for', t => {
  const { lines, error } = run(`
type Reading { at: int  value: float  unit: Option[str] }
fn half(x: float) to float { x / 2 }
fn price(amount: dec) to dec { amount * 2dec }
fn main() {
    let n = 3
    let x: float = n
    print(type_of(x), type_of(half(1)), type_of([1, 2.5][0]), half(n))
    print(price(1.10), price(-2))
    let reading: Reading = { at: 1, value: n, unit: "C" }
    print(type_of(reading.value), reading.unit)
    let missing: Reading = { at: 1, value: 0 }
    print(missing.unit)
    print(if n > 2 { n } else { 0.5 })
}
`)
  t.equal(error, null)
  t.same(lines, ['float float float 1.5', '2.20 -4', 'float Some(C)', 'None', '3'])
  t.end()
})

t.test('a function returns a member of JSON, and fails if it is missing', t => {
  const source = `
fn kind(text: str) to str {
    match std.json.parse(text) {
        Ok(json) => json.get_str("kind")
        Error(message) => message
    }
}
fn kept(text: str) to Result[str] { std.json.parse(text)?.get_str("kind") }
fn main() {
    print(kind("{\\"kind\\":\\"note\\"}"), kept("{}").is_err())
    print(kind("{}"))
}
`
  const { lines, code } = run(source)
  t.same(lines, ['note true'])
  t.equal(code, 'RUN_PANIC')
  t.end()
})
