import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import t from 'tap'
import { identify, normalisedName, systemUser } from '#root'
import { content, open } from './kit.ts'

const NONE = { approvers: [], approver_tokens: {}, allow_tool_approvals: false }
const caller = (surface: string, id = 'local', role = 'owner') => ({ surface, principal: { id, role, scopes: ['*'] } })

t.test('forms of one name are one person', async t => {
  for (const name of ['Ann Example', ' ann  example', 'ANN EXAMPLE', 'Ａｎｎ\u00a0Example', 'ann\texample'])
    t.equal(normalisedName(name), 'ann example')
  t.equal(normalisedName('Straße'), normalisedName('STRASSE'))
  t.equal(normalisedName('ΟΔΥΣΣΕΥΣ'), normalisedName('Οδυσσευς'))
  t.equal(normalisedName('Ame\u0301lie'), normalisedName('Am\u00e9lie'))
  for (const name of ['', ' ', 'a\u200bnn', 'a\u0000', 'agent:x', 'Agent:x', 'b\u043eb', 'x'.repeat(101), 'ann\u202e'])
    t.throws(() => normalisedName(name), { code: 'PUB_APPROVER_INVALID' }, JSON.stringify(name))
})

t.test('a normalised name stays as it is', async t => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme', maxLength: 60 }), name => {
      let once: string
      try {
        once = normalisedName(name)
      } catch (error) {
        return (error as { code?: string }).code === 'PUB_APPROVER_INVALID'
      }
      return normalisedName(once) === once && normalisedName(` ${name.toUpperCase()} `) === once
    }),
    { numRuns: 500 }
  )
  t.pass()
})

t.test('people name themselves only on this machine; elsewhere the caller is the owner of the server', async t => {
  const own = normalisedName(systemUser())
  t.strictSame(identify({ approver: 'Ann' }, caller('cli'), NONE), { name: 'ann', role: 'human' })
  t.strictSame(identify({}, caller('cli'), NONE), { name: own, role: 'human' })
  t.strictSame(identify({ approver: 'Ann' }, caller('internal', 'plugin:scholarly'), NONE), {
    name: 'ann',
    role: 'human'
  })
  for (const [surface, id] of [
    ['http', 'local'],
    ['http', 'bearer'],
    ['rpc', 'local'],
    ['console', 'console:abc']
  ] as const) {
    t.strictSame(identify({}, caller(surface, id), NONE), { name: own, role: 'human' }, `${surface} ${id}`)
    t.throws(() => identify({ approver: 'Ann' }, caller(surface, id), NONE), { code: 'PUB_APPROVAL_REFUSED' })
  }
  t.strictSame(identify({}, caller('http', 'carol', 'user'), NONE), { name: 'carol', role: 'human' })
  t.throws(() => identify({}, caller('http', 'anonymous', 'anonymous'), NONE), { code: 'PUB_APPROVAL_REFUSED' })
})

t.test('a name with a token needs it everywhere', async t => {
  const settings = { ...NONE, approver_tokens: { 'Ann Example': 'a-token-of-ann-1234' } }
  for (const surface of ['cli', 'http', 'rpc', 'console']) {
    const ask = (token?: string) => identify({ approver: 'ann example', token }, caller(surface), settings)
    t.strictSame(ask('a-token-of-ann-1234'), { name: 'ann example', role: 'human' }, surface)
    t.throws(() => ask(), { code: 'PUB_TOKEN_REFUSED' }, surface)
    t.throws(() => ask('a-token-of-ann-1235'), { code: 'PUB_TOKEN_REFUSED' }, surface)
  }
})

t.test('two approvers with one token, and one approver with two, are refused', async t => {
  const token = 'a-token-of-ann-1234'
  for (const approver_tokens of [
    { Ann: token, Bob: token },
    { Ann: token, ' ANN ': 'another-token-of-ann' }
  ])
    t.throws(
      () => identify({ approver: 'Ann', token }, caller('http'), { ...NONE, approver_tokens }),
      { code: 'PUB_TOKEN_REFUSED', message: /ann: this approver has two tokens/ },
      JSON.stringify(Object.keys(approver_tokens))
    )
})

t.test('only configured approvers may approve', async t => {
  const settings = { ...NONE, approvers: ['Ann', 'Bob'] }
  t.strictSame(identify({ approver: 'BOB' }, caller('cli'), settings).name, 'bob')
  t.throws(() => identify({ approver: 'Carol' }, caller('cli'), settings), { code: 'PUB_APPROVER_UNKNOWN' })
})

t.test('tools of models approve only if the configuration lets them, and then as agents', async t => {
  for (const [surface, id] of [
    ['mcp', 'local'],
    ['http', 'agent:1'],
    ['a2a', 'peer'],
    ['internal', 'plugin:assistant'],
    ['internal', 'plugin:mcp-gateway']
  ] as const) {
    t.throws(() => identify({ approver: 'Ann' }, caller(surface, id), NONE), { code: 'PUB_APPROVAL_REFUSED' }, id)
    const allowed = identify({ approver: 'Ann' }, caller(surface, id), { ...NONE, allow_tool_approvals: true })
    t.strictSame(allowed, { name: `agent:${id.replace('agent:', '')}`, role: 'agent' })
  }
})

t.test('tokens are in no answer, log or table', async t => {
  const token = 'the-token-of-ann-7391'
  const { kernel, records } = await open(t, { approver_tokens: { ann: token } })
  const { content_sha3_256: digest } = await records.prepare(content())
  const request = { publication_id: 'study-1', digest, approver: 'ann' }
  const wrong = await kernel.callById('publication.approve', { ...request, approver_token: 'x' }).then(
    () => new Error('it was approved'),
    (error: Error & { code?: string }) => error
  )
  const right = await kernel.callById('publication.approve', { ...request, approver_token: token })
  const shown = await kernel.callById('publication.show', { publication_id: 'study-1' })
  t.match(wrong, { code: 'PUB_TOKEN_REFUSED' })
  t.notMatch(JSON.stringify([wrong, wrong.message, right, shown, kernel.log]), token)
  const files = readdirSync(kernel.root).filter(name => name.startsWith('store.db'))
  t.ok(files.length > 0)
  for (const name of files) t.notOk(readFileSync(join(kernel.root, name)).includes(token), name)
})
