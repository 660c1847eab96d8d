import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import type { GatewaySkill } from '@svc/contracts'
import fc from 'fast-check'
import t from 'tap'
import { assertRunnable, MAX_SKILL_BYTES, MAX_SKILLS, newRecord, type SkillRecord, SkillStore } from '#root'
import { CHILD_ARGUMENTS } from '../../../test/child-arguments.ts'

const SKILL: GatewaySkill = {
  id: 'w',
  namespace: 'openclaw',
  name: 'weather',
  version: '1.0.0',
  description: 'Shows it',
  contentHash: null,
  author: null,
  metadata: {},
  text: null
}
const ORIGIN = { source: 'http://gateway.test', trust: 'community', now: 1_000 } as const

const record = (slug: string, text: string, changes: Partial<GatewaySkill> = {}, origin: object = {}): SkillRecord =>
  newRecord(slug, { ...SKILL, ...changes }, text, { ...ORIGIN, ...origin })

const isRunnable = (each: SkillRecord): boolean => {
  try {
    assertRunnable(each)
    return true
  } catch {
    return false
  }
}

t.test('a skill waits for an approval of exactly its content', async t => {
  const store = new SkillStore(join(t.testdir({}), 'skills'))
  const first = await store.install(record('team/weather', '# One'), '# One')
  t.match(first, { approval: 'pending', trust: 'community', kind: 'document', decided_at: null })
  t.notOk(isRunnable(first))
  const approved = await store.decide(first.approval_id, 'approved', 2_000)
  t.match(approved, { approval: 'approved', decided_at: 2_000 })
  t.ok(isRunnable(await store.get('team/weather')))
  t.match(await store.install(record('team/weather', '# One'), '# One'), { approval: 'approved' }, 'the same content')
  const second = await store.install(record('team/weather', '# Two'), '# Two')
  t.match(second, { approval: 'pending' })
  t.equal(await store.text(second), '# Two')
  await t.rejects(store.decide(first.approval_id, 'approved', 3_000), { code: 'SKG_APPROVAL_UNKNOWN' })
  t.match(await store.decide(second.approval_id, 'denied', 3_000), { approval: 'denied' })
  t.match(await store.install(record('team/weather', '# Two'), '# Two'), { approval: 'denied' })
})

t.test('another kind, version, secret or source is other content', t => {
  const ids = [
    record('w', 'x'),
    record('w', 'x', { metadata: { kind: 'shell' } }),
    record('w', 'x', { version: '2.0.0' }),
    record('w', 'x', { metadata: { secrets: ['A_KEY'] } }),
    record('w', 'x', {}, { source: 'http://elsewhere.test' }),
    record('w', 'y')
  ].map(each => each.approval_id)
  t.equal(new Set(ids).size, ids.length)
  t.end()
})

t.test('only the last decision on the installed content makes a skill runnable', async t => {
  const command = fc.oneof(
    fc.record({ kind: fc.constant('install' as const), text: fc.constantFrom('a', 'b') }),
    fc.record({ kind: fc.constantFrom('approved' as const, 'denied' as const), text: fc.constantFrom('a', 'b') }),
    fc.record({ kind: fc.constant('trust' as const), text: fc.constantFrom('community', 'untrusted') }),
    fc.record({ kind: fc.constant('remove' as const), text: fc.constant('') })
  )
  const folder = t.testdir({})
  let runs = 0
  await fc.assert(
    fc.asyncProperty(fc.array(command, { maxLength: 8 }), async commands => {
      const store = new SkillStore(join(folder, String(runs++)))
      let model = null as { text: string; approval: string; trust: string } | null
      for (const { kind, text } of commands) {
        if (kind === 'install') {
          await store.install(record('s', text), text)
          if (model?.text !== text) model = { text, approval: 'pending', trust: 'community' }
        } else if (kind === 'trust') {
          const trusting = store.trust('s', text as 'community' | 'untrusted')
          if (model === null) await trusting.catch(() => undefined)
          else {
            await trusting
            model.trust = text
            if (text === 'untrusted' && model.approval === 'approved') model.approval = 'pending'
          }
        } else if (kind === 'remove') {
          await store.remove('s').catch(() => undefined)
          model = null
        } else {
          const isDecided = await store.decide(record('s', text).approval_id, kind, 1).then(
            () => true,
            () => false
          )
          if (isDecided !== (model?.text === text)) return false
          if (model !== null && isDecided) model.approval = kind
        }
        const found = await store.find('s')
        const expected = model?.approval === 'approved' && model.trust === 'community'
        if ((found !== null && isRunnable(found)) !== expected) return false
      }
      return true
    }),
    { numRuns: 25 }
  )
})

t.test('no name leaves the folder of the skills', async t => {
  const root = t.testdir({})
  const store = new SkillStore(join(root, 'skills'))
  for (const slug of [
    '..',
    '../x',
    'a/../../x',
    '/etc/x',
    'a\\b',
    'a\0b',
    '.hidden',
    'a//b',
    `${'x'.repeat(129)}`,
    'é'
  ]) {
    t.throws(() => record(slug, 'x'), { code: 'SKG_SKILL_INVALID' }, JSON.stringify(slug))
    await t.rejects(store.get(slug), { code: 'SKG_SKILL_INVALID' })
  }
  await fc.assert(
    fc.asyncProperty(
      fc.stringMatching(/^[A-Za-z0-9][A-Za-z0-9._-]{0,20}(\/[A-Za-z0-9][A-Za-z0-9._-]{0,20}){0,3}$/),
      async slug => {
        await store.install(record(slug, slug), slug)
        return (await store.text(await store.get(slug))) === slug
      }
    ),
    { numRuns: 20 }
  )
  t.same(readdirSync(root), ['skills'])
})

t.test('names that differ only in case are different skills', async t => {
  const store = new SkillStore(join(t.testdir({}), 'skills'))
  await store.install(record('Weather', 'A'), 'A')
  await store.install(record('weather', 'b'), 'b')
  t.equal(await store.text(await store.get('Weather')), 'A')
  t.equal(await store.text(await store.get('weather')), 'b')
  t.same(
    (await store.list()).map(each => each.slug),
    ['Weather', 'weather']
  )
})

t.test('skills beyond the limits are refused', async t => {
  t.throws(() => record('w', 'x'.repeat(MAX_SKILL_BYTES + 1)), { code: 'SKG_SKILL_TOO_LARGE' })
  t.throws(() => record('w', 'x', { metadata: { kind: 'virus' } }), { code: 'SKG_SKILL_INVALID' })
  for (const secrets of ['KEY', ['lower'], ['A=B'], [1], Array(17).fill('KEY')])
    t.throws(() => record('w', 'x', { metadata: { secrets } }), { code: 'SKG_SKILL_INVALID' })
  t.equal(record('w', 'x', { description: `a\u001b[31mb\n${'c'.repeat(5_000)}` }).description.length, 1_001)
  t.equal(record('w', 'x', { description: 'a\u001b[31mb\nc' }).description, 'a [31mb c')
  const folder = join(t.testdir({}), 'skills')
  for (let count = 0; count < MAX_SKILLS; count++) mkdirSync(join(folder, String(count)), { recursive: true })
  await t.rejects(new SkillStore(folder).install(record('w', 'x'), 'x'), { code: 'SKG_STORE_FULL' })
})

t.test('a text that was changed after the installation is not returned', async t => {
  const folder = join(t.testdir({}), 'skills')
  const store = new SkillStore(folder)
  const installed = await store.install(record('w', '# Text'), '# Text')
  const file = join(folder, readdirSync(folder)[0] as string, `${installed.sha256}.md`)
  writeFileSync(file, '# Other')
  await t.rejects(store.text(installed), { code: 'SKG_STORE_FAILED', message: /was changed after it was installed/ })
  rmSync(file)
  symlinkSync('/etc/hostname', file)
  await t.rejects(store.text(installed), { code: 'SKG_STORE_FAILED' })
  rmSync(file)
  await t.rejects(store.text(installed), { code: 'SKG_STORE_FAILED', message: /ENOENT/ })
})

t.test('damaged records count as not installed, and other skills stay', async t => {
  const folder = join(t.testdir({}), 'skills')
  const store = new SkillStore(folder)
  await store.install(record('good', 'x'), 'x')
  await store.install(record('bad', 'x'), 'x')
  const bad = readdirSync(folder).find(name => name.startsWith('bad')) as string
  const file = join(folder, bad, 'record.json')
  const valid = JSON.parse(readFileSync(file, 'utf8'))
  for (const change of [
    '{',
    'null',
    JSON.stringify({ ...valid, trust: 'trusted' }),
    JSON.stringify({ ...valid, approval: 1 })
  ]) {
    writeFileSync(file, change)
    t.same(
      (await store.list()).map(each => each.slug),
      ['good'],
      change
    )
    await t.rejects(store.get('bad'), { code: 'SKG_NOT_INSTALLED' })
  }
})

t.test('a folder that cannot be written is an error, and nothing is installed', async t => {
  const root = t.testdir({ skills: 'a file' })
  await t.rejects(new SkillStore(join(root, 'skills')).install(record('w', 'x'), 'x'), {
    code: 'SKG_STORE_FAILED',
    message: new RegExp(join(root, 'skills'))
  })
})

t.test('a kill during an installation leaves the earlier version or the new one', async t => {
  const folder = join(t.testdir({}), 'skills')
  const store = new SkillStore(folder)
  const first = await store.install(record('w', 'first'), 'first')
  await store.decide(first.approval_id, 'approved', 1)
  const file = fileURLToPath(new URL('store-child.ts', import.meta.url))
  const child = spawn(process.execPath, [...CHILD_ARGUMENTS, file, folder], { stdio: ['ignore', 'pipe', 'inherit'] })
  t.teardown(() => child.kill('SIGKILL'))
  let count = 0
  for await (const _ of createInterface(child.stdout)) if (++count === 20) break
  child.kill('SIGKILL')
  await once(child, 'exit')
  const found = await store.get('w')
  t.equal(found.approval, 'pending', 'another content is not approved')
  t.match(await store.text(found), /^text \d+$/)
  const next = await store.install(record('w', 'last'), 'last')
  t.equal(await store.text(next), 'last')
  t.equal(readdirSync(join(folder, readdirSync(folder)[0] as string)).length, 2, 'what the kill left is removed')
  t.notOk(existsSync(`${folder}.lock`))
})
