import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import { databaseStore, type InboxItem, kernelPort, type StubFinding } from '@svc/contracts'
import { openMemory } from '@svc/plugin-database/testing'
import { type Delta, definePlugin, type Logger, type Plugin } from '@svc/plugin-sdk'
import { testKernel } from '@svc/plugin-sdk/testing'
import t, { type Test } from 'tap'
import plugin from '#plugin'
import { BaselineRuns, Baselines, Checker, LastScan, runStubCheck, StoredState, Tables } from '#root'

const silent: Logger = { debug() {}, info() {}, warn() {}, error() {} }
const DEFAULTS = {
  exclude: [],
  disabled_rules: [],
  suppressions: 'stub-check.suppressions.json',
  require_rationale: false,
  safe_mode: false,
  max_file_kib: 1_024,
  file_timeout_ms: 60_000,
  cache: false,
  build_timings_budget_warn: false,
  build_timings_budget_fail: false,
  skip_cuda_feature_check: false,
  threads: 1
}
const STUB = '# TODO: finish this\nfunc f():\n\treturn 1\n'

interface Row {
  readonly place: string
  readonly standing?: string
  readonly finding: { readonly rule_id: string; readonly context?: string }
}

/** Server with the plugin and a database, and `svc stub-check` of another process in the same project. */
async function open(t: Test) {
  const store = await openMemory()
  let repositoryId = ''
  const database = definePlugin({
    name: 'database',
    requires: { kernel: kernelPort },
    provides: [databaseStore],
    activate(ctx, { kernel }) {
      repositoryId = kernel.repositoryId
      ctx.provide(databaseStore, store as never)
    }
  })
  const kernel = await testKernel([database, plugin] as Plugin[], { settings: { 'stub-check': { threads: 1 } } })
  const state = new StoredState(new Tables(store), repositoryId)
  const settings = () => DEFAULTS
  const projectRoot = kernel.root
  const checker = new Checker({ settings, projectRoot, log: silent, check: async () => null, stored: () => state })
  const last = new LastScan(state, new BaselineRuns(new Baselines(projectRoot, () => state), state), '1')
  const run = runStubCheck({
    ...{ checker, projectRoot, version: '1', user: 'ann' },
    minReviewConfidence: () => 0,
    safeMode: () => false,
    stored: () => state,
    scanned: (path, scan, use) => last.keep(path, scan, use)
  })
  t.teardown(async () => {
    await checker.close()
    await kernel.close()
    await store.close()
  })
  return {
    last,
    write: (name: string, text: string) => writeFileSync(join(projectRoot, name), text),
    remove: (name: string) => rmSync(join(projectRoot, name)),
    async check(input: object) {
      const [stdout, stderr] = [new PassThrough().resume(), new PassThrough().resume()]
      const io = { stdin: new PassThrough(), stdout, stderr, json: false, signal: new AbortController().signal }
      return await run(input as Record<string, unknown>, io)
    },
    scan: (input: object = {}) => kernel.callById('stub-check.scan', input),
    finding: (key: string) => kernel.callById('stub-check.finding', { key }),
    summary: () => kernel.callById('stub-check.summary', {}),
    feed: async (input: object = {}) => (await kernel.callById('stub-check.findings.feed', input)) as Delta<Row>,
    items: async () => ((await kernel.callById('stub-check.inbox', {})) as { items: InboxItem[] }).items
  }
}

t.test('findings that a baseline does not have are in the inbox until a scan does not find them', async t => {
  const { write, remove, check, scan, items, feed, summary } = await open(t)
  write('old.gd', STUB)
  t.equal(await check({ save_baseline: 'main' }), 0)
  t.same(await items(), [], 'the findings of the baseline are accepted')
  write('new.gd', STUB)
  await scan()
  const [item, ...others] = await items()
  t.same(others, [])
  t.match(item, {
    id: '.',
    kind: 'failure',
    title: '1 finding in . that the baseline main does not accept',
    body: /^ {4}new\.gd:1: /,
    link: '/ui/p/stub-check/findings',
    answers: [{ operation: 'stub-check.scan', input: { path: '.' } }]
  })
  t.match(await summary(), { errors: 2, total: 2, listed: 2, new_since_baseline: 1 })
  t.match((await feed()).upsert, [{ place: 'new.gd:1', standing: 'new' }, { place: 'old.gd:1' }])
  remove('new.gd')
  await scan(item?.answers[0]?.input)
  t.same(await items(), [])
  t.match(await summary(), { errors: 1, new_since_baseline: 0 })
})

t.test('a baseline that accepts the findings, or that is removed, clears the inbox', async t => {
  const { write, check, scan, items } = await open(t)
  t.equal(await check({ save_baseline: 'base.json' }), 0)
  write('new.gd', STUB)
  t.equal(await check({ baseline: 'base.json' }), 1)
  t.equal((await items()).length, 1, 'a run of another process is seen')
  t.equal(await check({ save_baseline: 'base.json' }), 0)
  t.same(await items(), [])
  write('newer.gd', STUB)
  await scan()
  t.equal((await items()).length, 1)
  write('base.json', 'no baseline')
  await scan()
  t.same(await items(), [])
})

t.test('only the severities of the baseline are compared', async t => {
  const { write, check, scan, items } = await open(t)
  t.equal(await check({ save_baseline: 'main', severity: 'error' }), 0)
  write('main.py', 'def g(x):\n    pass\n')
  await scan()
  t.same(await items(), [], 'a warning is no finding of this baseline')
  write('new.gd', STUB)
  await scan()
  t.match(await items(), [{ title: /^1 finding / }])
})

t.test('3,000 findings are listed up to a limit, new and severe ones first, and only changes are sent', async t => {
  const { last, feed, finding: show, summary } = await open(t)
  const finding = (at: number, severity: StubFinding['severity']): StubFinding => ({
    ...{ ruleId: 'stub/todo', ruleName: 'todo', severity, file: `src/f${at}.gd`, line: 1, column: 1 },
    ...{ message: '<b>todo</b>', context: `line ${at}` }
  })
  const findings = Array.from({ length: 3_000 }, (_, at) => finding(at, at === 2_999 ? 'critical' : 'warning'))
  const scan = {
    ...{ filesScanned: 3_000, notScanned: [], rulesApplied: 1, rustParseFailures: 0, suppressed: [] },
    ...{ expiredSuppressions: 0, notes: [] }
  }
  await last.keep('.', { ...scan, findings }, null)
  t.match(await summary(), { total: 3_000, listed: 1_000, warnings: 2_999, critical: 1 })
  const first = await feed()
  t.equal(first.upsert.length, 1_000)
  t.match(first.upsert[0], { place: 'src/f2999.gd:1', finding: { message: '<b>todo</b>' } })
  t.match(await show('0'), { found: { place: 'src/f2999.gd:1', severity: 'critical' } })
  t.same(await show('1000'), {})
  await last.keep('.', { ...scan, findings: findings.slice(0, 2) }, null)
  const next = await feed({ since: first.cursor })
  t.same([next.reset, next.upsert.length, next.remove.length], [false, 2, 998])
})
