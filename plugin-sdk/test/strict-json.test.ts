import { MAX_JSON_DEPTH, parseStrictJson, readStrictJson, StrictJsonError } from '@svc/plugin-sdk'
import fc from 'fast-check'
import t from 'tap'

/** Returns the reason for which a text is rejected, with the key if there is one; null if it is accepted. */
function refusal(read: () => unknown): string | null {
  try {
    read()
    return null
  } catch (error) {
    if (!(error instanceof StrictJsonError)) throw error
    return error.key === undefined ? error.reason : `${error.reason} ${error.key}`
  }
}
const ofText = (text: string, maxDepth?: number): string | null => refusal(() => parseStrictJson(text, maxDepth))
const nested = (depth: number): string => '['.repeat(depth) + ']'.repeat(depth)

t.test('for any JSON value: the result equals that of JSON.parse', async () => {
  fc.assert(
    fc.property(fc.jsonValue(), fc.constantFrom(undefined, 2), (value, indent) => {
      const text = JSON.stringify(value, null, indent)
      if (text.includes('__proto__')) return ofText(text) !== 'duplicate'
      return JSON.stringify(parseStrictJson(text)) === JSON.stringify(JSON.parse(text))
    })
  )
})

t.test('a duplicate key is found at any depth', async () => {
  fc.assert(
    fc.property(fc.jsonValue(), fc.string(), fc.jsonValue(), (around, key, value) => {
      const name = JSON.stringify(key)
      const inner = JSON.stringify(value)
      const text = `{"before":${JSON.stringify(around)},"at":[1,{${name}:${inner},${name}:${inner}}]}`
      return text.includes('__proto__') || ofText(text) === `duplicate ${key}`
    })
  )
})

t.test('escapes do not hide a duplicate key, and strings are not keys', async t => {
  t.equal(ofText('{"a":1,"\\u0061":2}'), 'duplicate a')
  t.equal(ofText('{"a\\"b":1,"a\\"b":2}'), 'duplicate a"b')
  t.equal(ofText('{"a":"\\\\","b":"x:y","c":{"a":1},"d":[{"a":1},{"a":2}]}'), null)
})

t.test('keys that change a prototype are rejected', async t => {
  t.equal(ofText('{"a":[{"__proto__":{}}]}'), 'forbidden __proto__')
  t.equal(ofText('{"\\u005f_proto__":1}'), 'forbidden __proto__')
  t.equal(ofText('{"constructor":{"prototype":{"x":1}}}'), 'forbidden constructor.prototype')
  t.equal(ofText('{"constructor":"a builder","prototype":1}'), null, 'separately, these names are ordinary keys')
  t.equal(({} as { x?: unknown }).x, undefined)
})

t.test('nesting is limited, even if it would overflow the stack', async t => {
  t.equal(ofText(nested(MAX_JSON_DEPTH)), null)
  t.equal(ofText(nested(MAX_JSON_DEPTH + 1)), 'depth')
  t.equal(ofText('{"a":{"b":{}}}', 3), null)
  t.equal(ofText('{"a":{"b":{}}}', 2), 'depth')
  t.match(ofText(nested(200_000)), /depth|syntax/)
})

t.test('bytes must be UTF-8 without a byte order mark', async t => {
  const ofBytes = (bytes: Uint8Array): string | null => refusal(() => readStrictJson(bytes))
  t.equal(readStrictJson(new Uint8Array()), undefined)
  t.strictSame(readStrictJson(Buffer.from('{"ü":["€"]}')), { ü: ['€'] })
  t.equal(ofBytes(Buffer.from([0x22, 0xff, 0x22])), 'utf8')
  t.equal(ofBytes(Buffer.from([0x22, 0xed, 0xa0, 0x80, 0x22])), 'utf8')
  t.equal(ofBytes(Buffer.from('\uFEFF{}')), 'syntax')
  t.equal(ofBytes(Buffer.from('{"a":1,"a":2}')), 'duplicate a')
  t.throws(() => parseStrictJson('{'), { name: 'StrictJsonError', reason: 'syntax' })
  t.ok(new StrictJsonError('syntax', 'no') instanceof SyntaxError)
})
