import fc from 'fast-check'
import tap from 'tap'
import { duplicateKey, MAX_DEPTH } from '../src/duplicate-key.ts'

const find = (text: string): string | null => duplicateKey(text, JSON.parse(text))

tap.test('no text that was made from a value has a key twice', async () => {
  fc.assert(
    fc.property(fc.jsonValue(), fc.constantFrom(undefined, 2), (value, indent) => {
      const text = JSON.stringify(value, null, indent)
      // JSON.parse puts __proto__ where `for in` does not see it; such bodies are refused before.
      return text.includes('__proto__') || find(text) === null
    })
  )
})

tap.test('a doubled key is found wherever it is', async () => {
  fc.assert(
    fc.property(fc.jsonValue(), fc.string(), fc.jsonValue(), (around, key, value) => {
      const name = JSON.stringify(key)
      const inner = JSON.stringify(value)
      const doubled = `{${name}:${inner},${name}:${inner}}`
      const text = `{"before":${JSON.stringify(around)},"at":[1,${doubled}]}`
      return text.includes('__proto__') || find(text) === key
    })
  )
})

tap.test('escapes do not hide a key, and strings are no keys', async tap => {
  tap.equal(find('{"a":1,"\\u0061":2}'), 'a')
  tap.equal(find('{"a\\"b":1,"a\\"b":2}'), 'a"b')
  tap.equal(find('{"a":"\\\\","b":"x:y","c":{"a":1},"d":[{"a":1},{"a":2}]}'), null)
})

tap.test('nesting is bounded', async tap => {
  const nested = (depth: number): string => '['.repeat(depth) + ']'.repeat(depth)
  tap.equal(find(nested(MAX_DEPTH)), null)
  tap.throws(() => find(nested(MAX_DEPTH + 2)), SyntaxError)
})
