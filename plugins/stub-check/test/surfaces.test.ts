import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { PassThrough } from 'node:stream'
import { type RewardEvent, rewardEvents, stubScanner } from '@svc/contracts'
import { openMemory } from '@svc/plugin-database/testing'
import { type CommandHandler, definePlugin, type Logger, type Plugin, ref } from '@svc/plugin-sdk'
import { testKernel } from '@svc/plugin-sdk/testing'
import t, { type Test } from 'tap'
import plugin from '#plugin'
import { buildTimings, Checker, runStubCheck, ScanPool, StoredState, scalingAudit, secretGuard, Tables } from '#root'
import { openWorld as openConsole } from '../../dashboard/test/world.ts'

const silent: Logger = { debug() {}, info() {}, warn() {}, error() {} }
const DEFAULTS = {
  exclude: [],
  disabled_rules: [],
  suppressions: 'stub-check.suppressions.json',
  require_rationale: false,
  safe_mode: false,
  max_file_kib: 1_024,
  file_timeout_ms: 60_000,
  cache: true,
  build_timings_budget_warn: false,
  build_timings_budget_fail: false,
  skip_cuda_feature_check: false,
  threads: 1
}

const FILES = {
  'lib.rs': 'pub fn f() -> u8 { todo!() }\n',
  'main.py': 'def g(x):\n    pass\n',
  node_modules: { 'c.rs': 'fn f() { todo!() }\n' }
}

interface Files {
  readonly [name: string]: string | Files
}

/** Writes files below a temporary folder, which belongs to no git repository. */
function folderOf(t: Test, files: Files): string {
  const root = mkdtempSync(join(tmpdir(), 'svc-stub-check-'))
  t.teardown(() => rmSync(root, { recursive: true, force: true }))
  const write = (folder: string, tree: Files): void => {
    for (const [name, content] of Object.entries(tree)) {
      const path = join(folder, name)
      mkdirSync(dirname(path), { recursive: true })
      if (typeof content === 'string') writeFileSync(path, content)
      else write(path, content)
    }
  }
  write(root, files)
  return root
}

async function open(t: Test, files: Files = FILES, over: object = {}) {
  const projectRoot = folderOf(t, files)
  const store = await openMemory()
  const tables = new Tables(store)
  const state = new StoredState(tables, 'repository')
  const settings = () => ({ ...DEFAULTS, ...over })
  const checker = new Checker({ settings, projectRoot, log: silent, check: async () => null, stored: () => state })
  t.teardown(async () => {
    await checker.close()
    await store.close()
  })
  const scans: string[] = []
  const stubCheck = runStubCheck({
    checker,
    projectRoot,
    version: '1',
    user: 'ann',
    safeMode: () => settings().safe_mode,
    minReviewConfidence: () => 80,
    stored: () => state,
    scanned: async path => void scans.push(path)
  })
  const ci = { checker, settings, projectRoot, version: '1', managedSecrets: () => ['SHOP_KEY'] }
  const run = async (handler: CommandHandler, input: object = {}, json = false) => {
    const [stdout, stderr] = [new PassThrough(), new PassThrough()]
    const io = { stdin: new PassThrough(), stdout, stderr, json, signal: new AbortController().signal }
    const code = await handler(input as Record<string, unknown>, io)
    return { code, out: String(stdout.read() ?? ''), err: String(stderr.read() ?? '') }
  }
  return {
    projectRoot,
    tables,
    state,
    checker,
    scans,
    ci,
    run,
    check: (input: object = {}, json = false) => run(stubCheck, input, json)
  }
}

t.test('svc stub-check prints findings and fails by its mode', async t => {
  const { check, scans } = await open(t)
  t.match(await check(), {
    code: 1,
    out: /lib\.rs:1:20: error: todo!\(\)[\s\S]*main\.py:1:1: warning[\s\S]*scanned 2 files/
  })
  t.equal((await check({ mode: 'audit' })).code, 0)
  t.equal((await check({ mode: 'enforce-warn' })).code, 0)
  t.equal((await check({ path: 'main.py', mode: 'enforce-strict' })).code, 1)
  t.equal((await check({ path: 'main.py' })).code, 0)
  const { out } = await check({ severity: 'error', rules: 'stub,arch' }, true)
  t.match(JSON.parse(out), { schema_version: 1, files_scanned: 2, findings: [{ rule_id: 'stub/todo', line: 1 }] })
  t.match(await check({ langs: 'py' }), { out: /scanned 1 files/ })
  t.match(await check({ exclude: ['*.rs'] }), { out: /scanned 1 files/ })
  t.equal(scans.length, 8)
})

t.test('svc stub-check refuses options that have no effect, and names what is wrong', async t => {
  const { check } = await open(t)
  const refused: readonly (readonly [object, number, RegExp])[] = [
    [{ gate: 'ratchet' }, 2, /--gate-budget-path/],
    [{ fix_pipeline_apply: true }, 2, /--fix-pipeline/],
    [{ rules: 'stub/none' }, 2, /"stub\/none" is not a rule/],
    [{ langs: 'cobol' }, 2, /cobol/],
    [{ path: 'none' }, 1, /none cannot be read/],
    [{ baseline: 'none.json' }, 1, /none\.json cannot be read/],
    [{ baseline: 'none' }, 1, /no baseline is called none/],
    [{ ingest_findings: 'lib.rs' }, 1, /lib\.rs:/],
    [{ ingest_findings: 'x.json', rules: 'stub' }, 2, /--ingest-findings/]
  ]
  for (const [input, code, message] of refused)
    t.match(await check(input), { code, err: message }, JSON.stringify(input))
})

t.test('a baseline in a file or in the database fails only for new findings', async t => {
  const { check, projectRoot } = await open(t)
  for (const name of ['base.json', 'main']) {
    t.equal((await check({ save_baseline: name })).code, 0)
    t.equal((await check({ baseline: name })).code, 0)
    writeFileSync(join(projectRoot, 'setup.rs'), 'pub fn n() -> u8 { unimplemented!() }\n')
    t.match(await check({ baseline: name }), { code: 1, err: /1 findings that \S+ does not have:\n {2}setup\.rs:1/ })
    rmSync(join(projectRoot, 'setup.rs'))
  }
  writeFileSync(join(projectRoot, 'lib.rs'), 'pub fn f() -> u8 { 3 }\n')
  t.match(await check({ baseline: 'main' }), { code: 0, err: /1 findings of main are gone/ })
})

t.test('a budget, imported suppressions, tasks and fixes', async t => {
  const { check, projectRoot, tables } = await open(t, {
    ...FILES,
    'budget.json': '[{"rule_id": "stub/todo", "count": 0}]',
    'toestub.toml': '[[suppress]]\npath = "lib.rs"\nrule = "stub"\nreason = "generated"\n',
    'app.py': 'import logging\nlogger = logging.getLogger()\nlogger.warn("x")\n'
  })
  const gate = { gate: 'ratchet', gate_budget_path: 'budget.json' }
  t.match(await check(gate), { code: 1, err: /stub\/todo: 1 findings, the budget is 0/ })
  t.match(await check({ task_list: true }), { out: /^- \[ \] lib\.rs, line 1: todo!/ })
  t.match(await tables.rows('SELECT user_id, run_scope, total_findings FROM toestub_task_queue'), [
    { user_id: 'ann', run_scope: 'repository:.', total_findings: 3 }
  ])
  t.match(await check({ ...gate, import_suppressions: 'toestub.toml' }), {
    code: 0,
    out: /1 of 1 suppressions[\s\S]*1 suppressed/
  })
  t.match(await check({ import_suppressions: 'toestub.toml' }), { out: /0 of 1 suppressions/ })
  t.match(await check({ fix_pipeline: true }), { err: /- logger\.warn\("x"\)\n\+ logger\.warning\("x"\)/ })
  t.match(readFileSync(join(projectRoot, 'app.py'), 'utf8'), /\.warn\(/)
  t.match(await check({ fix_pipeline: true, fix_pipeline_apply: true }), { err: /wrote 1 files/ })
  t.match(readFileSync(join(projectRoot, 'app.py'), 'utf8'), /\.warning\(/)
})

t.test('safe mode writes no fixes', async t => {
  const { check } = await open(t, FILES, { safe_mode: true })
  t.match(await check({ fix_pipeline: true, fix_pipeline_apply: true }), { code: 1, err: /safe mode/ })
  t.equal((await check({ fix_pipeline: true, mode: 'audit' })).code, 0)
})

t.test('findings of an earlier run are reported without a scan', async t => {
  const { check, projectRoot, scans } = await open(t)
  writeFileSync(join(projectRoot, 'old.json'), (await check({}, true)).out)
  const before = scans.length
  t.match(await check({ ingest_findings: 'old.json' }), {
    code: 1,
    out: /lib\.rs:1:20: error[\s\S]*those of old\.json/
  })
  t.equal(scans.length, before)
})

t.test('ingested findings below the minimum confidence are counted, but not reported', async t => {
  const finding = { rule_id: 'review/naming', severity: 'error', file: 'a.ts', line: 1, message: 'misleading name' }
  const doubtful = { ...finding, line: 2, confidence: 79.5 }
  const certain = { ...finding, line: 3, confidence: 80 }
  const files = {
    'review.json': JSON.stringify([finding, doubtful, certain]),
    'doubtful.json': JSON.stringify([doubtful]),
    'wrong.json': JSON.stringify([{ ...finding, confidence: 101 }])
  }
  const { check } = await open(t, files)
  const { code, out } = await check({ ingest_findings: 'review.json' })
  t.equal(code, 1)
  t.match(out, /a\.ts:1:1[\s\S]*a\.ts:3:1[\s\S]*1 with a confidence below 80/)
  t.notMatch(out, /a\.ts:2:1/)
  t.match(await check({ ingest_findings: 'doubtful.json' }), { code: 0 })
  t.match(await check({ ingest_findings: 'wrong.json' }), { code: 1, err: /findings\[0\]\.confidence/ })
})

t.test('unchanged files are not scanned again, changed ones are', async t => {
  const { check, projectRoot, tables } = await open(t)
  const first = await check({ mode: 'audit' }, true)
  t.equal((await tables.rows('SELECT path FROM toestub_file_cache')).length, 2)
  await tables.write([
    { sql: `UPDATE toestub_file_cache SET result_json = replace(result_json, 'todo!() panics', 'kept')` }
  ])
  t.match((await check({ mode: 'audit' }, true)).out, /kept/, 'the kept result is used')
  writeFileSync(join(projectRoot, 'lib.rs'), `${FILES['lib.rs']}\n`)
  t.strictSame(JSON.parse((await check({ mode: 'audit' }, true)).out), JSON.parse(first.out))
  t.equal((await tables.rows('SELECT path FROM toestub_file_cache')).length, 2, 'old results are removed')
})

t.test('copies, modules without importers and unreadable files are found over all files', async t => {
  const block = Array.from(
    { length: 20 },
    (_, at) => `  const value${at} = compute(${at}, 'a long enough line ${at}')`
  ).join('\n')
  const { check } = await open(
    t,
    {
      'main.ts': "import { a } from './a.ts'\nimport { compute } from './compute.ts'\nconsole.log(a, compute)\n",
      'a.ts': `import { compute } from './compute.ts'\nexport function a() {\n${block}\n}\n`,
      'b.ts': `import { compute } from './compute.ts'\nexport function b() {\n${block}\n}\n`,
      'compute.ts': 'export const compute = (x: number, text: string) => x + text.length\n',
      'large.ts': 'x'.repeat(2_000)
    },
    { max_file_kib: 1 }
  )
  const { out } = await check({ mode: 'audit' })
  t.match(out, /b\.ts:1:1: warning: no scanned file imports b \[arch\/unwired\]|large\.ts/)
  t.match(out, /not scanned: large\.ts: over the size limit/)
})

t.test('svc ci scaling-audit writes reports, and fails for more broken Rust files than the limit', async t => {
  const files = { 'lib.rs': 'pub fn broken( {\n', 'main.py': 'import time\ndef f():\n    time.sleep(3)\n' }
  const reports = async (max_rust_parse_failures?: string) => {
    const { ci, run, projectRoot } = await open(
      t,
      files,
      max_rust_parse_failures === undefined ? {} : { max_rust_parse_failures }
    )
    const done = await run(scalingAudit(ci), { action: 'emit-reports' })
    t.match(JSON.parse(readFileSync(join(projectRoot, '.vox/reports/scaling-audit.json'), 'utf8')), {
      rust_parse_failures: 1,
      findings: [{ rule_id: 'scaling/sleep' }]
    })
    return done
  }
  t.equal((await reports()).code, 0, 'no limit')
  t.match(await reports('0'), { code: 1, err: /1 Rust files cannot be parsed; the limit is 0/ })
  t.equal((await reports('1')).code, 0)
  t.equal((await reports('-1')).code, 0, 'an invalid limit is none')
})

t.test('svc ci secret-env-guard finds secrets that leave their place, in all or in changed files', async t => {
  const leak = [
    'export const key = process.env.SHOP_KEY',
    'export const token = process.env.API_TOKEN',
    'console.log(`key: $' + '{apiKey}`)',
    'const body = JSON.stringify({ user, password })',
    'messages.push({ role: "user", content: clientSecret })'
  ]
  const fine = [
    'export const limit = process.env.MAX_TOKENS',
    'console.log("the password is missing")',
    'log.warn("token refused", { hasToken: token !== undefined })',
    'const size = JSON.stringify(tokenCount)'
  ]
  const { ci, run, projectRoot } = await open(t, { 'leak.ts': leak.join('\n'), 'fine.ts': fine.join('\n') })
  const { code, out } = await run(secretGuard(ci), { all: true }, true)
  t.equal(code, 1)
  t.strictSame(
    (JSON.parse(out) as { findings: { file: string; line: number; rule_name: string }[] }).findings.map(
      ({ file, line, rule_name }) => `${file}:${line} ${rule_name}`
    ),
    [
      'leak.ts:1 direct-env-read',
      'leak.ts:2 direct-env-read',
      'leak.ts:3 log-secret-material',
      'leak.ts:4 serialize-secret-material',
      'leak.ts:5 model-context-secret-material'
    ]
  )
  t.match(await run(secretGuard(ci)), { code: 1, err: /git diff HEAD failed/ }, 'a folder without git')
  const git = (...words: string[]) =>
    execFileSync('git', ['-c', 'user.name=a', '-c', 'user.email=a@b.c', ...words], {
      cwd: projectRoot,
      stdio: 'ignore'
    })
  git('init', '-q')
  git('add', '.')
  git('commit', '-qm', 'a')
  t.match(await run(secretGuard(ci)), { code: 0, out: 'OK\n' }, 'no changed file')
  writeFileSync(join(projectRoot, 'leak.ts'), `${leak.join('\n')}\n`)
  t.match(await run(secretGuard(ci)), { code: 1, out: /leak\.ts:1:20/ })
  const option = { ...ci, settings: () => ({ ...ci.settings(), secret_guard_git_ref: '--output=x' }) }
  t.match(await run(secretGuard(option)), { code: 2, err: /not a git range/ })
})

t.test('svc ci build-timings measures lanes and compares them with their budgets', async t => {
  const folder = {
    docs: {
      ci: {
        'build-timings': {
          'lanes.json': '{"lanes": {"fast": "node -e 0", "cuda": "exit 3"}}',
          'budgets.json': '{"lanes": {"fast": 0, "gone": 5, "cuda": 1}}'
        }
      }
    },
    'times.json': '{"lanes": {"fast": 7, "other": 3}}'
  }
  const timings = async (over: object, input: object = {}) => {
    const { ci, run } = await open(t, folder, over)
    return await run(buildTimings(ci), input)
  }
  t.match(await timings({}), { code: 1, err: /the lane cuda failed/ })
  t.match(await timings({ skip_cuda_feature_check: true }), { code: 0, out: /^fast: \d+ ms\n$/ })
  const warned = await timings(
    { build_timings_budget_warn: true, skip_cuda_feature_check: true },
    { timings: 'times.json' }
  )
  t.match(warned, {
    code: 0,
    err: 'fast: 7 ms, over its budget of 0 ms\ngone: not measured; its budget is 5 ms\nother: 3 ms, and no budget\n'
  })
  t.equal((await timings({ build_timings_budget_fail: true }, { timings: 'times.json' })).code, 1)
  t.match(await timings({}, { timings: 'none.json' }), { code: 1, err: /none\.json/ })
})

t.test('a scan survives files that need too long, links and folders that look like files', async t => {
  const root = folderOf(t, { 'deep.ts': `export const a = ${'('.repeat(200_000)}`, 'fine.rs': FILES['lib.rs'] })
  mkdirSync(join(root, 'folder.ts'))
  symlinkSync('/etc/passwd', join(root, 'link.ts'))
  const pool = new ScanPool(() => ({ threads: 1, maxBytes: 1_048_576, fileMs: 60_000 }))
  t.teardown(() => pool.close())
  const options = { rules: null, withoutRules: [], requiresRationale: false, project: false, parseMs: 1 }
  const names = ['deep.ts', 'folder.ts', 'none.ts', 'fine.rs']
  const results = await pool.scan(
    names.map(path => ({ path, at: join(root, path) })),
    options
  )
  t.match(
    results.map(({ path, state }) => ({ path, state })),
    [
      { path: 'deep.ts', state: /timed_out|scanned/ },
      { state: 'unreadable' },
      { state: 'unreadable' },
      { path: 'fine.rs' }
    ]
  )
  const reason = new Error('the client left')
  await t.rejects(pool.scan([{ path: 'a.ts', text: 'x' }], options, AbortSignal.abort(reason)), reason)
  await pool.close()
  await t.rejects(pool.scan([{ path: 'a.ts', text: 'x' }], options), { code: 'STB_CLOSED' })
})

t.test('the operation scans the project only, keeps the findings and sends reward events', async t => {
  const events: RewardEvent[] = []
  let scanner: { readonly current: import('@svc/contracts').StubScanner } | undefined
  const probe = definePlugin({
    name: 'probe',
    requires: { scanner: ref(stubScanner) },
    activate(ctx, deps) {
      scanner = deps.scanner
      ctx.on(rewardEvents, event => void events.push(event))
    }
  })
  const kernel = await testKernel([plugin, probe] as Plugin[])
  t.teardown(() => kernel.close())
  writeFileSync(join(kernel.root, 'lib.rs'), FILES['lib.rs'])
  const scan = (input: object) => kernel.callById('stub-check.scan', input)
  t.match(await kernel.callById('stub-check.findings', {}), { findings: [] })
  t.match(await scan({}), {
    files_scanned: 1,
    counts: { error: 1 },
    findings: [{ rule_id: 'stub/todo', file: 'lib.rs' }]
  })
  t.match(await kernel.callById('stub-check.findings', {}), { path: '.', errors: 1, findings: [{ place: 'lib.rs:1' }] })
  t.equal(kernel.changes('stub-check.findings'), 1)
  await t.rejects(scan({ path: '..' }), { code: 'STB_PATH_OUTSIDE' })
  await t.rejects(scan({ path: 'none' }), { code: 'STB_PATH_UNREADABLE' })
  await t.rejects(scan({ rules: ['none'] }), { code: 'STB_RULE_UNKNOWN' })
  writeFileSync(join(kernel.root, 'lib.rs'), 'pub fn f() -> u8 { 3 }\n')
  t.match(await scan({ rules: ['stub'] }), { findings: [] })
  t.match(events, [{ type: 'toestub_scan_clean', path: '.' }])
  const { rules } = (await kernel.callById('stub-check.rules', {})) as { rules: { id: string }[] }
  t.ok(rules.length > 50)
  t.match(
    await scanner?.current.scanTexts([
      { path: 'b.rs', text: FILES['lib.rs'] },
      { path: 'b.md', text: 'TODO' }
    ]),
    [
      { state: 'scanned', findings: [{ ruleId: 'stub/todo' }] },
      { state: 'skipped', findings: [] }
    ]
  )
})

t.test('the console shows the page with the findings, and its scan', async t => {
  const world = await openConsole({ plugins: [plugin as Plugin] })
  t.teardown(() => world.close())
  const viewer = await world.signIn('viewer')
  const state = (await (await viewer.get('/ui/api/console')).json()) as { broken: unknown[]; pages: { path: string }[] }
  t.same(state.broken, [])
  t.ok(state.pages.some(({ path }) => path === 'stub-check/findings'))
})
