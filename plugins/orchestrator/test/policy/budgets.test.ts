import type { CostRecord } from '@svc/contracts'
import fc from 'fast-check'
import t from 'tap'
import { BudgetLedger, type BudgetSettings } from '#policy'

const settings: BudgetSettings = { agent_max_tokens: 1_000, agent_max_cost_usd: 10 }
const ledger = (over: Partial<BudgetSettings> = {}): BudgetLedger =>
  new BudgetLedger(
    () => ({ ...settings, ...over }),
    () => 1_000
  )
const cost = (tokens: number, usd: number, more: Partial<CostRecord> = {}): CostRecord => ({
  agent_id: 1,
  provider: 'local',
  model: 'small',
  input_tokens: tokens,
  output_tokens: 0,
  cost_usd: usd,
  ...more
})

t.test('returns the most severe signal that applies', async t => {
  const signal = (tokens: number, usd: number): string => {
    const budgets = ledger()
    return budgets.record(cost(tokens, usd)).signal
  }
  t.equal(signal(1_000, 10), 'CostExceeded')
  t.equal(signal(1_000, 0), 'Critical')
  t.equal(signal(800, 0), 'HighLoad')
  t.equal(signal(0, 9), 'HighLoad')
  t.equal(signal(799, 8.9), 'Normal')
})

t.test('halts an agent that repeats its output and spends money', async t => {
  const budgets = ledger()
  budgets.record(cost(1, 0.51))
  t.equal(budgets.toolCalled(1, 'same'), 'Normal')
  t.equal(budgets.toolCalled(1, 'same'), 'Normal')
  t.equal(budgets.outputRepeats(1), 2, 'two equal outputs are counted')
  t.equal(budgets.toolCalled(1, 'same'), 'HaltAgent')
  t.equal(budgets.toolCalled(1, 'another'), 'Normal')
  const cheap = ledger()
  for (let i = 0; i < 5; i++)
    t.equal(cheap.toolCalled(1, 'same'), 'Normal', 'an agent below the spending limit is not halted')
})

t.test('compares outputs by their last 512 bytes', async t => {
  const budgets = ledger()
  for (const head of ['a', 'b', 'c']) budgets.toolCalled(1, head + 'é'.repeat(512))
  t.equal(budgets.outputRepeats(1), 3)
  for (let i = 0; i < 5; i++) budgets.toolCalled(1, String(i))
  budgets.toolCalled(1, `a${'é'.repeat(512)}`)
  t.equal(budgets.outputRepeats(1), 1, 'only the last five count')
})

t.test('suspects a loop after 25 calls without a completed task', async t => {
  const budgets = ledger()
  const signals = Array.from({ length: 25 }, (_, i) => budgets.toolCalled(1, String(i)))
  t.equal(signals.indexOf('DoomLoopSuspect'), 24)
  budgets.completed(1)
  t.equal(budgets.toolCalled(1, 'x'), 'Normal')
})

t.test('rejects a task that exceeds a budget', async t => {
  const budgets = ledger({ tenant_max_cost_usd: 3 })
  t.equal(budgets.admit(1, undefined, 1_000), 'Normal')
  t.throws(() => budgets.admit(1, undefined, 1_001), {
    code: 'ORC_BUDGET_EXCEEDED',
    message: /^Budget exceeded: .*1001/
  })
  budgets.record(cost(10, 2, { tenant_id: 'acme' }))
  t.equal(budgets.admit(1, 'acme', 1), 'Normal', 'spending exactly at the loop limit is allowed')
  budgets.record(cost(10, 1, { tenant_id: 'acme' }))
  t.throws(() => budgets.admit(2, 'acme', 1), { code: 'ORC_BUDGET_EXCEEDED', message: /tenant acme/ })
  t.throws(() => budgets.admit(1, undefined, 1), { code: 'ORC_DOOM_LOOP', message: /^Doom loop detected: A-01/ })
  t.strictSame(budgets.completed(1), ['agent:1'])
  t.strictSame(budgets.completed(1), [], 'a second completion changes no record')
  t.equal(budgets.admit(1, undefined, 1), 'Normal')
  budgets.set(1, { max_cost_usd: 3 })
  t.throws(() => budgets.admit(1, undefined, 1), { code: 'ORC_BUDGET_EXCEEDED', message: /3\.00 USD of 3\.00 USD/ })
  t.throws(() => ledger({ agent_max_cost_usd: 0 }).admit(1, undefined, 1), { code: 'ORC_BUDGET_EXCEEDED' })
})

t.test('adds up sessions and tenants, and drops the oldest sessions', async t => {
  const budgets = ledger()
  const { keys } = budgets.record(cost(5, 1, { session_id: 's', tenant_id: 'acme' }))
  t.strictSame(keys, ['agent:1', 'tenant:acme', 'session:s'])
  t.strictSame(budgets.session('s'), { tokens: 5, cost: 1 })
  t.strictSame(budgets.tenant('nobody'), { tokens: 0, cost: 0 })
  const changed: string[] = []
  for (let i = 0; i < 1_000; i++) changed.push(...budgets.record(cost(0, 0, { session_id: `n${i}` })).keys)
  t.ok(changed.includes('session:s'), 'the key of a dropped session is reported, so that its record is deleted')
  t.equal(budgets.serialise('session:s'), null)
})

t.test('stores the last 1,000 costs, newest last', async t => {
  const budgets = ledger()
  for (let i = 0; i < 1_100; i++) budgets.record(cost(i, 0, { agent_id: i % 2 }))
  t.equal(budgets.costs().length, 1_000)
  t.match(budgets.costs({ agent_id: 1, limit: 1 }), [{ input_tokens: 1_099, timestamp_ms: 1_000 }])
  t.strictSame(budgets.costs({ limit: 0 }), [])
  t.strictSame(
    budgets.all().map(each => each.agent_id),
    [0, 1]
  )
})

t.test('sums equal the recorded costs, also after a restore', async () => {
  const record = fc.record({
    agent_id: fc.nat(3),
    tenant_id: fc.constantFrom('a', 'b:c'),
    tokens: fc.nat(100),
    usd: fc.nat(100)
  })
  fc.assert(
    fc.property(fc.array(record), records => {
      const budgets = ledger()
      const keys = new Set<string>()
      for (const { agent_id, tenant_id, tokens, usd } of records)
        for (const key of budgets.record(cost(tokens, usd, { agent_id, tenant_id })).keys) keys.add(key)
      const other = ledger()
      for (const key of keys) other.restore(key, budgets.serialise(key) ?? '')
      for (const agent of new Set(records.map(each => each.agent_id))) {
        const own = records.filter(each => each.agent_id === agent)
        const spent = own.reduce((sum, each) => sum + each.tokens, 0)
        if (budgets.of(agent).tokens_used !== spent) return false
        if (JSON.stringify(other.of(agent)) !== JSON.stringify(budgets.of(agent))) return false
      }
      return other.tenant('b:c').cost === budgets.tenant('b:c').cost
    })
  )
})
