import { chmodSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { derivedKey, openAuthSecrets } from '#auth'

const textOf = ({ all }: Awaited<ReturnType<typeof openAuthSecrets>>) => all.map(each => Buffer.from(each).toString())

t.test('processes that start together make one secret', async t => {
  const root = t.testdir({})
  const all = await Promise.all(Array.from({ length: 20 }, () => openAuthSecrets([], root, { mode: 'file' })))
  const [first = ''] = textOf(all[0] as (typeof all)[0])
  t.equal(first.length, 43)
  for (const each of all) t.same(textOf(each), [first])
  t.same(readdirSync(join(root, '.vox')), ['auth-secret'], 'no temporary file is left')
})

t.test('a file that others may read is closed, and one that is too short is refused', async t => {
  const root = t.testdir({})
  mkdirSync(join(root, '.vox'))
  const file = join(root, '.vox', 'auth-secret')
  writeFileSync(file, `${'s'.repeat(40)}\n`)
  chmodSync(file, 0o644)
  t.same(textOf(await openAuthSecrets([], root, { mode: 'file' })), ['s'.repeat(40)])
  t.equal(statSync(file).mode & 0o777, 0o600)
  writeFileSync(file, 'short')
  await t.rejects(openAuthSecrets([], root, { mode: 'file' }), {
    code: 'RUN_AUTH_UNAVAILABLE',
    message: /auth-secret: the secret is shorter than 32 characters/
  })
  t.equal(readFileSync(file, 'utf8'), 'short', 'it is not replaced')
})

t.test('a remote database requires the setting, since other machines share it', async t => {
  const root = t.testdir({})
  for (const mode of ['remote', 'replica'] as const)
    await t.rejects(openAuthSecrets([], root, { mode }), { code: 'RUN_AUTH_UNAVAILABLE', message: /auth\.secret/ })
  t.same(textOf(await openAuthSecrets(['a', 'b'], root, { mode: 'remote' })), ['a', 'b'])
  t.same(readdirSync(root), [])
})

t.test('keys that are derived for two purposes, or from two secrets, differ', t => {
  const [one, other] = [Buffer.from('one'), Buffer.from('other')]
  const keys = [derivedKey(one, 'a'), derivedKey(one, 'b'), derivedKey(other, 'a')].map(each => each.toString('hex'))
  t.equal(new Set(keys).size, 3)
  t.equal(derivedKey(one, 'a').toString('hex'), keys[0])
  t.end()
})
