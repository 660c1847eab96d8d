import fc from 'fast-check'
import t from 'tap'
import { defaultIdempotencyKey, fnv1a64 } from '#root'

t.test('fnv1a64 returns the 64-bit FNV-1a hash', async t => {
  // Test vectors of the authors of the hash.
  t.equal(fnv1a64(''), 'cbf29ce484222325')
  t.equal(fnv1a64('a'), 'af63dc4c8601ec8c')
  t.equal(fnv1a64('foobar'), '85944171f73967e8')
  const slow = (text: string): string => {
    let hash = 0xcbf29ce484222325n
    for (const byte of Buffer.from(text, 'utf8')) hash = BigInt.asUintN(64, (hash ^ BigInt(byte)) * 0x100000001b3n)
    return hash.toString(16).padStart(16, '0')
  }
  fc.assert(fc.property(fc.string({ unit: 'binary', maxLength: 200 }), text => fnv1a64(text) === slow(text)))
})

t.test('defaultIdempotencyKey is derived from sender, receiver, type and payload', async t => {
  t.equal(defaultIdempotencyKey(1, 2, 'foo', 'bar'), 'mcp-a2a-1-2-85944171f73967e8')
})
