import type { GateCode } from '@svc/contracts'
import t from 'tap'
import { checkGate } from '#root'
import { content, open } from './kit.ts'

const APPROVALS = {
  none: [],
  one: ['ann'],
  'the same twice': ['ann', 'ann'],
  two: ['ann', 'bob'],
  'two agents': ['agent:x', 'agent:y'],
  'a person and an agent': ['ann', 'agent:x'],
  'two of former content': ['ann', 'bob']
} as const

t.test(
  'nothing leaves unless two people approved this content, it is armed and nothing requests a dry run',
  async t => {
    const worlds = new Map<string, Awaited<ReturnType<typeof open>>>()
    let opened = 0
    for (const dryRunCall of [true, false])
      for (const dryRunSetting of [true, false])
        for (const armed of [true, false])
          for (const approvals of Object.keys(APPROVALS) as (keyof typeof APPROVALS)[]) {
            const { records } = await worldOf({ armed, dry_run: dryRunSetting })
            const id = `p-${dryRunCall}-${approvals.replaceAll(' ', '_')}`
            const former = await records.prepare(content({ publication_id: id }))
            for (const name of APPROVALS[approvals])
              await records.approve(id, former.content_sha3_256, {
                name,
                role: name.startsWith('agent:') ? 'agent' : 'human'
              })
            if (approvals.startsWith('two of')) await records.prepare(content({ publication_id: id, title: 'Other' }))
            const { content_sha3_256: digest } = await records.get(id)
            const result = await records.gate({ publicationId: id, digest, dryRun: dryRunCall })
            const isDual = approvals === 'two' || approvals === 'a person and an agent'
            const codes: GateCode[] = []
            if (dryRunCall || dryRunSetting) codes.push('dry_run')
            if (!isDual) codes.push('missing_dual_approval')
            if (!armed) codes.push('publish_not_armed')
            const name = JSON.stringify({ dryRunCall, dryRunSetting, armed, approvals })
            t.strictSame([...result.codes], codes, name)
            t.equal(result.open, codes.length === 0, name)
            if (result.open) opened += 1
            const old = await records.gate({ publicationId: id, digest: former.content_sha3_256, dryRun: false })
            if (approvals.startsWith('two of')) t.notOk(old.open, 'the former content cannot be sent either')
          }
    t.equal(opened, 2, 'only the two cells with two approvers, one of them a person')

    async function worldOf(settings: { armed: boolean; dry_run: boolean }) {
      const key = JSON.stringify(settings)
      const known = worlds.get(key)
      if (known !== undefined) return known
      const world = await open(t, settings)
      worlds.set(key, world)
      return world
    }
  }
)

t.test('the gate is closed by default, for an unknown publication, and without a database', async t => {
  const { records } = await open(t)
  const { content_sha3_256: digest } = await records.prepare(content())
  for (const name of ['ann', 'bob']) await records.approve('study-1', digest, { name, role: 'human' })
  t.strictSame((await records.gate({ publicationId: 'study-1', digest, dryRun: false })).codes, [
    'dry_run',
    'publish_not_armed'
  ])
  const unknown = await records.gate({ publicationId: 'unknown', digest, dryRun: false })
  t.ok(unknown.codes.includes('missing_dual_approval'))

  const without = await open(t, { armed: true, dry_run: false }, null)
  const closed = await without.records.gate({ publicationId: 'study-1', digest, dryRun: false })
  t.strictSame(closed, { open: false, codes: ['missing_db'], approvers: [] })
  await t.rejects(async () => without.records.prepare(content()), { code: 'PUB_DATABASE_MISSING' })
  await t.rejects(without.kernel.callById('publication.list', {}), { code: 'PUB_DATABASE_MISSING' })
  t.strictSame(await without.kernel.callById('publication.inbox', {}), { items: [] })
})

t.test('a gate that is armed in the environment of the server stays closed for a dry run', async t => {
  const approvals = ['ann', 'bob'].map(approver => ({
    ...{ publication_id: 'p', content_sha3_256: 'd', approver, approver_role: 'human', approved_at_ms: 1 }
  }))
  t.ok(checkGate({ dryRun: false }, { armed: true, dryRun: false, approvals }).open)
  t.notOk(checkGate({ dryRun: true }, { armed: true, dryRun: false, approvals }).open)
  t.strictSame(checkGate({ dryRun: true }, { armed: false, dryRun: true, approvals: null }).codes, [
    'dry_run',
    'missing_db',
    'publish_not_armed'
  ])
})
