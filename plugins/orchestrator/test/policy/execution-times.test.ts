import { databaseStore, type PrimaryDatabase } from '@svc/contracts'
import database from '@svc/plugin-database'
import { definePlugin, type Plugin, ref } from '@svc/plugin-sdk'
import { testKernel } from '@svc/plugin-sdk/testing'
import fc from 'fast-check'
import t, { type Test } from 'tap'
import '../../../database/test/built-worker.ts'
import { costHistory, costRow, ExecutionTimeLedger, type ExecutionTimeSettings, p90Index } from '#policy'

const DAY = 86_400_000
const settings: ExecutionTimeSettings = {
  exec_time_budget_enabled: true,
  exec_time_safety_multiplier: 2,
  exec_time_timeout_rate_alert: 0.2,
  exec_time_default_budget_ms: 30_000,
  exec_time_history_window_days: 30
}

async function openStore(t: Test): Promise<PrimaryDatabase> {
  let store: { readonly current: PrimaryDatabase } | undefined
  const probe = definePlugin({
    name: 'probe',
    requires: { store: ref(databaseStore) },
    activate(_ctx, deps) {
      store = deps.store
    }
  })
  const kernel = await testKernel([database as Plugin, probe as Plugin])
  t.teardown(() => kernel.close())
  if (store === undefined) throw new Error('the probe has no database')
  return store.current
}

function ledger(store: PrimaryDatabase | null, over: Partial<ExecutionTimeSettings> = {}) {
  const clock = { now: 100 * DAY }
  const times = new ExecutionTimeLedger({
    settings: () => ({ ...settings, ...over }),
    now: () => clock.now,
    repositoryId: 'here',
    database: () => store
  })
  return { times, clock }
}

for (const where of ['memory', 'database'] as const) {
  t.test(`computes a profile in ${where} from the successful calls of the window`, async t => {
    const { times, clock } = ledger(where === 'database' ? await openStore(t) : null)
    t.equal(await times.query('git'), null)
    t.strictSame(await times.budgetFor('git'), { milliseconds: 30_000, signal: 'ToolLatencyUnknown' })
    await times.record({ tool_key: 'git', duration_ms: 9_999, outcome: 'success' })
    clock.now += 31 * DAY
    await times.record({ tool_key: 'git', duration_ms: 60_000, outcome: 'timeout', timeout_budget_ms: 60_000 })
    for (let i = 1; i <= 10; i++) await times.record({ tool_key: 'git', duration_ms: i * 10, outcome: 'success' })
    await times.record({ tool_key: 'git', duration_ms: 7, outcome: 'success', repository_id: 'elsewhere' })
    t.match(await times.query('git'), {
      tool_key: 'git',
      sample_count: 10,
      avg_ms: 55,
      p90_ms: 90,
      max_ms: 100,
      timeout_rate: 1 / 11,
      recommended_budget_ms: 180,
      signal: 'Normal'
    })
    t.match(await times.query('git', { window_days: 60 }), { sample_count: 11, max_ms: 9_999 })
    t.match(await times.query('git', { repository_id: 'elsewhere' }), { sample_count: 1 })
    t.strictSame(await times.budgetFor('git'), { milliseconds: 180, signal: 'Normal' })
    for (let i = 0; i < 3; i++) await times.record({ tool_key: 'git', duration_ms: 1, outcome: 'timeout' })
    t.match(await times.budgetFor('git'), { signal: 'ToolLatencyHigh' }, 'new calls count immediately')
  })

  t.test(`a tool in ${where} that never succeeded gets the default budget`, async t => {
    const { times } = ledger(where === 'database' ? await openStore(t) : null)
    await times.record({ tool_key: 'slow', duration_ms: 5, outcome: 'error' })
    t.match(await times.query('slow'), { sample_count: 0, recommended_budget_ms: 30_000, signal: 'ToolLatencyUnknown' })
  })
}

t.test('every tool gets the default budget if profiles are disabled', async t => {
  const { times } = ledger(null, { exec_time_budget_enabled: false })
  await times.record({ tool_key: 'git', duration_ms: 10, outcome: 'success' })
  t.strictSame(await times.budgetFor('git'), { milliseconds: 30_000, signal: 'Normal' })
})

t.test('at least nine tenths of the values do not exceed the 90th percentile', async () => {
  fc.assert(
    fc.property(fc.array(fc.nat(), { minLength: 1 }), values => {
      const sorted = [...values].sort((a, b) => a - b)
      const p90 = sorted[p90Index(sorted.length)] ?? -1
      const within = sorted.filter(value => value <= p90).length
      const below = sorted.filter(value => value < p90).length
      return 10 * within >= 9 * sorted.length && 10 * below < 9 * sorted.length
    })
  )
})

t.test('stores costs as rows, and reads them back unchanged', async t => {
  const store = await openStore(t)
  const cost = { agent_id: 3, provider: 'local', model: 'small', input_tokens: 5, output_tokens: 6, cost_usd: 0.25 }
  for (const more of [{}, { session_id: 's', tenant_id: 'acme' }, { agent_id: 4 }]) {
    const { table, values } = costRow({ ...cost, ...more }, 1_700_000_000_123)
    const columns = Object.keys(values)
    await store.execute(
      `INSERT INTO ${table} (${columns.join()}) VALUES (${columns.map(() => '?').join()})`,
      Object.values(values)
    )
  }
  t.strictSame(await costHistory(store, { agent_id: 3 }), [
    { ...cost, timestamp_ms: 1_700_000_000_123 },
    { ...cost, session_id: 's', tenant_id: 'acme', timestamp_ms: 1_700_000_000_123 }
  ])
  t.match(await costHistory(store, { limit: 1 }), [{ agent_id: 4 }], 'the limit selects the newest costs')
  t.strictSame(await costHistory(store, { limit: 0 }), [])
})
