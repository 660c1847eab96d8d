import { join } from 'node:path'
import { createClient } from '@libsql/client/sqlite3'
import fc from 'fast-check'
import t, { type Test } from 'tap'
import { memoryKeyring, openVault, type TestVault } from './open-vault.ts'

const CLI = { by: 'cli' }
const DAY_MS = 86_400_000

/** Opens vaults of one file and one clock. Each runs the retention with its first write, as a new process does. */
function openWorld(t: Test, retention = { days: 30, rows: 100_000 }) {
  const file = join(t.testdir(), 'vault.db')
  const keyring = memoryKeyring()
  const clock = { nowMs: 1_000 * DAY_MS }
  return {
    file,
    clock,
    open: (account = 'default-account', audited = true): TestVault =>
      openVault(t, file, { keyring, account, audited, retention, now: () => clock.nowMs })
  }
}

t.test('rows of the audit log are removed after some days, and rows of another account stay', async t => {
  const { clock, open } = openWorld(t)
  const vault = open()
  await open('other').set('B', 'v', CLI)
  await vault.set('A', 'first', CLI)
  clock.nowMs += 20 * DAY_MS
  await vault.set('A', 'second', CLI)
  clock.nowMs += 11 * DAY_MS
  await open('default-account', false).set('A', 'third', CLI)
  const details = (await vault.audit(10)).map(row => row.detail)
  t.same(details, ['version 2'], 'also if nothing is recorded any more')
  t.equal((await open('other').audit(10)).length, 1)
  t.match(await vault.get('A', 'dev', 'cli'), { value: 'third' })
  t.equal((await vault.versions('A')).length, 3, 'versions are no part of it')
})

t.test('a long log is shortened in batches, one with each write, and the newest rows stay', async t => {
  const { file, clock, open } = openWorld(t, { days: 30, rows: 100 })
  await open().set('A', 'v', CLI)
  const client = createClient({ url: `file:${file}` })
  t.teardown(() => client.close())
  await client.execute({
    sql:
      'WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1300) INSERT INTO clavis_audit_log ' +
      "(at_ms, account_id, secret_id, action, actor, outcome, detail) SELECT ?, 'default-account', 'A', 'read', 'cli', 'ok', i FROM n",
    args: [clock.nowMs]
  })
  const count = async (): Promise<number> =>
    Number((await client.execute('SELECT count(*) AS n FROM clavis_audit_log')).rows[0]?.n)
  t.equal(await count(), 1_301)
  const vault = open()
  const counts: number[] = []
  for (let round = 0; round < 4; round++) {
    await vault.get('A', 'dev', 'cli')
    counts.push(await count())
  }
  t.same(counts, [802, 303, 100, 101], 'each write adds a row, and the first three remove up to 500')
  const [newest, second] = await vault.audit(2)
  t.match(newest, { action: 'read', detail: '' })
  t.ok((newest?.id ?? 0) > (second?.id ?? 0))
  for (let read = 0; read < 110; read++) await vault.get('A', 'dev', 'cli')
  t.ok((await count()) <= 200, 'at most 100 rows more until the next run')
})

t.test('pages of the audit log do not overlap, and later rows do not move them', async t => {
  const { open } = openWorld(t)
  const vault = open()
  for (let version = 1; version <= 7; version++) await vault.set('A', `v${version}`, CLI)
  const first = await vault.audit(3)
  await vault.set('A', 'v8', CLI)
  await vault.set('B', 'v1', CLI)
  const second = await vault.audit(3, undefined, first.at(-1)?.id)
  const third = await vault.audit(3, 'A', second.at(-1)?.id)
  t.same(
    [...first, ...second, ...third].map(row => row.detail),
    [7, 6, 5, 4, 3, 2, 1].map(version => `version ${version}`)
  )
})

t.test('property: valid delegations stay, and ended ones are kept for some days and up to a number', async t => {
  const step = fc.oneof(
    fc.record({ do: fc.constant('grant' as const), hours: fc.integer({ min: 1, max: 2_000 }) }),
    fc.record({ do: fc.constant('revoke' as const), hours: fc.nat(20) }),
    fc.record({ do: fc.constant('wait' as const), hours: fc.integer({ min: 1, max: 900 }) })
  )
  let run = 0
  const { clock, open } = openWorld(t, { days: 30, rows: 3 })
  await open().set('A', 'v', CLI)
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 12 }), async steps => {
      const account = `account ${run++}`
      const vault = open(account, false)
      await vault.set('A', 'v', CLI)
      const model: { id: string; endsAtMs: number }[] = []
      for (const { do: action, hours } of steps) {
        if (action === 'wait') clock.nowMs += hours * 3_600_000
        else if (action === 'grant') {
          const request = { agent: 'a', scopes: ['read'] as const, ttlMs: hours * 3_600_000, by: 'cli' }
          const { delegation } = await vault.delegate('A', request)
          model.push({ id: delegation.id, endsAtMs: delegation.expiresAtMs })
        } else {
          const chosen = model[hours % Math.max(model.length, 1)]
          if (chosen !== undefined && (await vault.revoke(chosen.id, 'cli'))) chosen.endsAtMs = clock.nowMs
        }
      }
      // A write of another process runs the retention.
      await open(account, false).set('A', 'w', CLI)
      const ended = model.filter(each => each.endsAtMs <= clock.nowMs)
      const youngest = ended.filter(each => each.endsAtMs >= clock.nowMs - 30 * DAY_MS)
      const valid = model.filter(each => each.endsAtMs > clock.nowMs)
      const listed = (await vault.delegations()).map(each => each.id)
      for (const { id } of valid) if (!listed.includes(id)) throw new Error('a valid delegation was removed')
      const kept = listed.filter(id => !valid.some(each => each.id === id))
      if (kept.length !== Math.min(youngest.length, 3)) throw new Error(`${kept.length} ended delegations were kept`)
      const oldest = Math.min(...kept.map(id => youngest.find(each => each.id === id)?.endsAtMs ?? Number.NaN))
      const isRemoved = (id: string): boolean => !kept.includes(id)
      for (const { id, endsAtMs } of youngest)
        if (isRemoved(id) && endsAtMs > oldest) throw new Error('an older delegation was kept instead of a younger one')
    }),
    { numRuns: 25 }
  )
})
