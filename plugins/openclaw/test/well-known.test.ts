import t from 'tap'
import { readWellKnown } from '#root'

t.test('addresses without TLS in a document that came with TLS are ignored', t => {
  const gateway = { httpUrl: 'http://elsewhere.test', wsUrl: 'ws://elsewhere.test' }
  t.same(readWellKnown(JSON.stringify({ gateway }), 'https://gateway.test/d'), {})
  t.same(readWellKnown(JSON.stringify({ gateway }), 'http://gateway.test/d'), gateway)
  const here = { httpUrl: 'http://127.0.0.1:1', wsUrl: 'ws://localhost:2' }
  t.same(readWellKnown(JSON.stringify({ gateway: here }), 'https://gateway.test/d'), here)
  const named = { httpUrl: 'http://127.elsewhere.test', wsUrl: 'ws://127.0.0.1.elsewhere.test' }
  t.same(readWellKnown(JSON.stringify({ gateway: named }), 'https://gateway.test/d'), {}, 'a name is not an address')
  t.end()
})

t.test('an invalid document is an error', t => {
  for (const text of ['', '[]', 'null', '"x"', '{']) t.throws(() => readWellKnown(text, 'http://gateway.test/d'))
  t.end()
})
