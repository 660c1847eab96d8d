import { once } from 'node:events'
import { existsSync, utimesSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { type Discovered, Discovery, type DiscoveryOptions } from '#host'
import { type Files, folder, packageJson, pluginSource, write } from '../fixtures/loader/plugin-folder.ts'

/** Returns the files of a project plugin whose module body begins with `body`. */
function attacker(name: string, body: string, more: object = {}): Files {
  return {
    [`all/${name}/package.json`]: packageJson(name, more),
    [`all/${name}/src/plugin.ts`]: pluginSource(name, '', body)
  }
}

function discovery(t: Test, root: string, options: Partial<DiscoveryOptions> = {}): Discovery {
  const made = new Discovery({
    installRoot: join(root, 'install'),
    projectRoot: join(root, 'project'),
    cacheDirectory: join(root, 'cache'),
    prefer: 'source',
    ...options
  })
  t.teardown(() => made.close())
  return made
}

const source = (found: Discovered, name: string) => found.sources.find(each => each.name === name)!

/** Makes files older than the resolution of file times, within which a change could be missed. */
function settle(root: string, ...paths: string[]): void {
  for (const path of paths) utimesSync(join(root, path), 1_000_000, 1_000_000)
}

const GOOD = attacker('good', '')

t.test('a module body that replaces built-in methods does not affect the host', async t => {
  const { map } = Array.prototype
  const { parse } = JSON
  const root = folder(t, {
    ...GOOD,
    ...attacker(
      'poison',
      'Array.prototype.map = (() => { throw new Error("poisoned") }) as never; JSON.parse = (() => "poisoned") as never'
    )
  })
  const found = await discovery(t, root).discover([join(root, 'all')])
  t.equal(Array.prototype.map, map)
  t.equal(JSON.parse, parse)
  t.equal(source(found, 'good').problem, null)
  t.type(source(found, 'poison').problem?.message, 'string')
})

t.test('a module body that loops is ended, and its failure is stored until its files change', async t => {
  const root = folder(t, { ...GOOD, ...attacker('loop', "console.log('ran')\nfor (;;) {}") })
  settle(root, 'all/loop/package.json', 'all/loop/src/plugin.ts')
  const options = { describeTimeoutMs: 400 }
  const found = await discovery(t, root, options).discover([join(root, 'all')])
  t.match(source(found, 'loop').problem, {
    code: 'LDR_DESCRIBE_TIMEOUT',
    message: /loop: .*within 400 ms/,
    hint: /activate.*kernel\.describe_timeout_ms/
  })
  t.equal(source(found, 'good').problem, null)
  t.same(
    found.output.map(({ line }) => line),
    ['ran']
  )
  const again = await discovery(t, root, options).discover([join(root, 'all')])
  t.match(source(again, 'loop').problem, { code: 'LDR_DESCRIBE_TIMEOUT' })
  t.same(again.output, [], 'the module body did not run again')
  const longer = await discovery(t, root, { describeTimeoutMs: 500 }).discover([join(root, 'all')])
  t.same(longer.output.length, 1, 'with a higher limit the module body runs again')
  write(root, attacker('loop', ''))
  const healed = await discovery(t, root, options).discover([join(root, 'all')])
  t.equal(source(healed, 'loop').problem, null)
})

t.test('a module body cannot write, start processes or workers, or read outside its package', async t => {
  const root = folder(t, {
    'secret.txt': 'secret',
    ...attacker('writes', "(await0())\nfunction await0() { require('node:fs').writeFileSync('written.txt', 'x') }"),
    ...attacker('reads', "require('node:fs').readFileSync('../../secret.txt')"),
    ...attacker('spawns', "require('node:child_process').execFileSync('true')"),
    ...attacker('works', "new (require('node:worker_threads').Worker)('1', { eval: true })")
  })
  const found = await discovery(t, root).discover([join(root, 'all')])
  for (const [name, access] of [
    ['writes', /FileSystemWrite .*written\.txt/],
    ['reads', /FileSystemRead .*secret\.txt/],
    ['spawns', /ChildProcess/],
    ['works', /Worker/]
  ] as const)
    t.match(source(found, name).problem, { code: 'LDR_DESCRIBE_REFUSED', message: access, hint: /activate/ }, name)
  t.notOk(existsSync(join(root, 'all/writes/written.txt')))
})

/** Bodies that reach out of the process, with the access that the error names. */
const REACHES: Readonly<Record<string, readonly [body: string, access: RegExp]>> = {
  kills: ["process.kill(process.ppid, 'SIGTERM')", /process\.kill/],
  killsgroup: ["process.kill(-process.ppid, 'SIGTERM')", /process\.kill/],
  killsother: ["process.kill(2 ** 22 + 1, 'SIGTERM')", /process\.kill/],
  killsglobal: ["globalThis.process.kill(process.ppid, 'SIGTERM')", /process\.kill/],
  killsreal: ["Object.getPrototypeOf(async () => {}).constructor; new Function('return process')().kill(1, 0)", /kill/],
  killsraw: ["(new Function('return process')())._kill(process.ppid, 15)", /process\._kill/],
  killspackage: ["require('reaches').kill(process.ppid)", /process\.kill/],
  debugs: ['(process as any)._debugProcess(process.ppid)', /_debugProcess/],
  binds: ["(process as any).binding('tcp_wrap')", /process\.binding/],
  renices: ["require('node:os').setPriority(process.ppid, 19)", /os\.setPriority/],
  traces: ["require('node:trace_events').createTracing({ categories: ['node'] }).enable()", /createTracing/],
  inspects: ["require('node:inspector').open(0)", /nspector/],
  flags: ["require('node:v8').setFlagsFromString('--redirect-code-traces-to=code.asm')", /v8\.setFlagsFromString/],
  flagspackage: ["require('reaches').flag('--redirect-code-traces-to=code.asm')", /v8\.setFlagsFromString/],
  snapshots: ["require('node:v8').writeHeapSnapshot('heap.heapsnapshot')", /writeHeapSnapshot|FileSystemWrite/],
  nearlimit: ["require('node:v8').setHeapSnapshotNearHeapLimit(1)", /v8\.setHeapSnapshotNearHeapLimit/],
  reports: ["(new Function('return process')()).report.writeReport('report.json')", /process\.writeReport/],
  reportslater: ["(new Function('return process')()).report.filename = 'r.json'", /process\.report\.filename/],
  wasi: ["new (require('node:wasi').WASI)({ version: 'preview1', preopens: { '/': '/' } })", /wasi\.WASI/],
  connects: ["require('node:net').connect(9)", /net\.connect/],
  connectspackage: ["require('reaches').connect()", /net\.connect/],
  requests: ["require('node:http').get('http://127.0.0.1:9')", /net\.connect/],
  encrypts: ["require('node:tls').connect(9)", /net\.connect/],
  listens: ["require('node:http').createServer().listen(0)", /net\.listen/],
  sends: ["require('node:dgram').createSocket('udp4')", /dgram\.createSocket/],
  resolves: ["require('node:dns').lookup('localhost', () => {})", /dns\.lookup/],
  promises: ["new (require('node:dns/promises').Resolver)().resolve4('localhost')", /dns\.resolve4/]
}

t.test(
  'a module body cannot signal or debug another process, set flags, write reports, or use the network',
  async t => {
    const files = Object.entries(REACHES).map(([name, [body]]) => attacker(name, `declare const require: any\n${body}`))
    const root = folder(t, {
      ...Object.assign({}, ...files),
      'all/node_modules/reaches/index.js': `
      const { kill } = require('node:process')
      const { setFlagsFromString } = require('node:v8')
      exports.kill = pid => kill(pid)
      exports.flag = flag => setFlagsFromString(flag)
      exports.connect = () => new (class extends require('node:net').Socket {})().connect(9)`
    })
    const found = await discovery(t, root, { describeTimeoutMs: 60_000 }).discover([join(root, 'all')])
    for (const [name, [, access]] of Object.entries(REACHES))
      t.match(source(found, name).problem, { code: 'LDR_DESCRIBE_REFUSED', message: access, plugin: name }, name)
  }
)

t.test('a module body cannot connect by fetch', async t => {
  const server = createServer((_, response) => response.end()).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close())
  const { port } = server.address() as AddressInfo
  const url = `http://127.0.0.1:${port}`
  const body = `fetch('${url}').then(() => console.log('connected'), error => console.log(error.cause.message))`
  // The process may end before its fetch fails, so that nothing is printed: then another one is started.
  for (let attempt = 0; attempt < 20; attempt++) {
    const root = folder(t, attacker('fetches', body))
    const finder = discovery(t, root, { spares: 1 })
    let found = await finder.discover([join(root, 'all')])
    t.equal(source(found, 'fetches').problem, null)
    for (let poll = 0; poll < 100 && found.output.length === 0; poll++) {
      await sleep(20)
      found = await finder.rediscover(new Set())
    }
    if (found.output.length === 0) continue
    t.same(
      found.output.map(({ line }) => line),
      ['net.connect is not permitted here']
    )
    return
  }
  t.fail('no process printed the result of its fetch')
})

t.test('a forged reply with a duplicate key is rejected', async t => {
  const forged = '{"type":"manifest","id":1,"id":1,"manifest":{}}'
  const root = folder(t, attacker('forges', `require('node:fs').writeSync(3, ${JSON.stringify(`${forged}\n`)})`))
  const found = await discovery(t, root).discover([join(root, 'all')])
  t.match(source(found, 'forges').problem, { code: 'LDR_DESCRIBE_CRASHED', message: /reply is not valid JSON/ })
})

t.test('svc.toml can grant permissions to a module body', async t => {
  const root = folder(t, { 'note.txt': 'x', ...attacker('reads', "require('node:fs').readFileSync('../../note.txt')") })
  const directories = [join(root, 'all')]
  const refused = await discovery(t, root).discover(directories)
  t.match(source(refused, 'reads').problem, { code: 'LDR_DESCRIBE_REFUSED' })
  const granted = await discovery(t, root).discover(directories, { grants: () => ({ fsRead: [root] }) })
  t.equal(source(granted, 'reads').problem, null)
})

t.test('a module body cannot read environment variables of the host', async t => {
  process.env.SVC_TEST_TOKEN = 'hunter2'
  t.teardown(() => delete process.env.SVC_TEST_TOKEN)
  const root = folder(t, attacker('peeks', 'console.log(JSON.stringify(process.env))'))
  const found = await discovery(t, root).discover([join(root, 'all')])
  t.equal(source(found, 'peeks').problem, null)
  t.notMatch(JSON.stringify(found.output), /hunter2|PATH|HOME/)
})

t.test('a module body that ends its process makes its plugin invalid', async t => {
  const root = folder(t, {
    ...GOOD,
    ...attacker('exits', 'globalThis.process.reallyExit(0)'),
    ...attacker('kills', "globalThis.process.kill(globalThis.process.pid, 'SIGKILL')"),
    ...attacker('eats', 'const all: unknown[] = []\nfor (;;) all.push(new Array(1e6).fill({}))')
  })
  const found = await discovery(t, root, { describeTimeoutMs: 60_000 }).discover([join(root, 'all')])
  for (const name of ['exits', 'kills', 'eats'])
    t.match(source(found, name).problem, { code: /LDR_DESCRIBE_CRASHED|LDR_DESCRIBE_REFUSED/, plugin: name }, name)
  t.equal(source(found, 'good').problem, null)
})

t.test('the problem of a module body that crashed its process quotes the error', async t => {
  const root = folder(t, {
    ...attacker('rejects', "setInterval(() => {}, 1000)\nvoid Promise.reject(new RangeError('the cause'))"),
    ...attacker('eats', 'const all: unknown[] = []\nfor (;;) all.push(new Array(1e6).fill({}))')
  })
  const found = await discovery(t, root, { describeTimeoutMs: 60_000 }).discover([join(root, 'all')])
  t.match(source(found, 'eats').problem, { code: 'LDR_DESCRIBE_CRASHED', message: /FATAL ERROR: .*heap out of memory/ })
  t.match(source(found, 'rejects').problem, { code: 'LDR_DESCRIBE_CRASHED', message: /: RangeError: the cause$/ })
})

t.test('output of a module body is limited and does not reach the output of the host', async t => {
  const root = folder(t, attacker('noise', "for (let at = 0; at < 20_000; at++) console.log('x'.repeat(100))"))
  const found = await discovery(t, root).discover([join(root, 'all')])
  t.equal(source(found, 'noise').problem, null)
  t.ok(found.output.length > 0 && found.output.length <= 1_000, `${found.output.length} lines`)
})

t.test('a manifest of 10 MB is rejected', async t => {
  const root = folder(t, {
    'all/large/package.json': packageJson('large'),
    'all/large/src/plugin.ts': pluginSource('large').replace(
      'definePlugin({',
      "definePlugin({ summary: 'x'.repeat(1e7),"
    )
  })
  const found = await discovery(t, root).discover([join(root, 'all')])
  t.match(source(found, 'large').problem, { code: 'LDR_MANIFEST_INVALID', message: /larger than the limit of 4 MiB/ })
})

t.test('a disabled plugin is neither compiled nor run, and is listed with its known data', async t => {
  const root = folder(t, {
    ...attacker('dark', "console.log('ran')\nconst x = ="),
    ...attacker('named', "console.log('ran')", {
      svc: { plugin: './dist/plugin.cjs', source: './src/plugin.ts', name: 'called' }
    }),
    ...attacker('known', "console.log('ran')")
  })
  const directories = [join(root, 'all')]
  const first = await discovery(t, root).discover(directories, { off: name => name !== 'known' })
  t.match(source(first, 'dark'), { problem: null, manifest: { name: 'dark', operations: [] } })
  t.match(source(first, 'called'), { problem: null, manifest: { name: 'called' } })
  t.same(
    first.output.map(({ plugin }) => plugin),
    ['known']
  )
  const remembered = source(first, 'known').manifest
  write(root, { 'all/known/src/plugin.ts': 'const x = =' })
  const second = await discovery(t, root).discover(directories, { off: () => true })
  t.same(source(second, 'known').manifest, remembered, 'the manifest is the one of the last run')
  t.same(second.output, [])
  const watched = second.files.filter(file => file.startsWith(join(root, 'all')))
  t.same(
    watched.sort(),
    ['dark', 'known', 'named'].map(name => join(root, `all/${name}/package.json`))
  )
})

t.test('with `only`, other plugins are described only to find required providers', async t => {
  const body = "console.log('ran')"
  const provider = pluginSource('provider', '', body).replace(
    'definePlugin({',
    "definePlugin({ provides: [service('test.thing@1')],"
  )
  const root = folder(t, {
    ...attacker('chosen', body),
    ...attacker('other', body),
    ...attacker('needy', body),
    'all/provider/package.json': packageJson('provider'),
    'all/provider/src/plugin.ts': `import { service } from '@svc/plugin-sdk'\n${provider}`
  })
  write(root, {
    'all/needy/src/plugin.ts': `import { service } from '@svc/plugin-sdk'\n${pluginSource('needy', '', body).replace(
      'definePlugin({',
      "definePlugin({ requires: { thing: service('test.thing@1') },"
    )}`
  })
  const ran = (found: Discovered): string[] => found.output.map(({ plugin }) => plugin).sort()
  const directories = [join(root, 'all')]
  const one = await discovery(t, root, { cacheDirectory: null }).discover(directories, { only: ['chosen'] })
  t.same(ran(one), ['chosen'])
  t.match(source(one, 'other'), { problem: null, manifest: { name: 'other' } })
  const two = await discovery(t, root, { cacheDirectory: null }).discover(directories, { only: ['needy'] })
  t.ok(ran(two).includes('provider'), 'the plugin is described, since no known plugin provides the service')
})

t.test('plugins of the installation are described in one process', async t => {
  const body = 'console.log(process.pid)'
  const root = folder(t, {
    'install/plugins/a/package.json': packageJson('a'),
    'install/plugins/a/src/plugin.ts': pluginSource('a', '', body),
    'install/plugins/b/package.json': packageJson('b'),
    'install/plugins/b/src/plugin.ts': pluginSource('b', '', body)
  })
  const found = await discovery(t, root).discover()
  t.equal(found.output.length, 2)
  t.equal(found.output[0]?.line, found.output[1]?.line)
  t.same([...found.installed].sort(), ['a', 'b'])
  write(root, { 'install/plugins/a/src/plugin.ts': pluginSource('a', '', 'process.exitCode = 1\nfor (;;) {}') })
  const looping = await discovery(t, root, { cacheDirectory: null, describeTimeoutMs: 400 }).discover()
  t.match(source(looping, 'a').problem, { code: 'LDR_DESCRIBE_TIMEOUT' })
  t.equal(source(looping, 'b').problem, null, 'the other plugin is described')
})

t.test('code runs in the host only when it is instantiated, not when it is described or prepared', async t => {
  const root = folder(t, attacker('late', 'Object.assign(globalThis, { svcTestLate: true })'))
  t.teardown(() => Reflect.deleteProperty(globalThis, 'svcTestLate'))
  const found = await discovery(t, root).discover([join(root, 'all')])
  const code = await source(found, 'late').prepare()
  t.notOk('svcTestLate' in globalThis)
  code.instantiate({ effect: (_label, dispose) => dispose, onLeak: () => {}, onError: () => {} })
  t.ok('svcTestLate' in globalThis)
})

/** Saves the plugin `one` with another module body, and returns the result of the discovery. */
type Save = (body: string, edit?: (source: string) => string) => Promise<Discovered>

/** Discovers a plugin `one` with a describer that keeps spare processes. */
async function watched(
  t: Test,
  body: string,
  options: Partial<DiscoveryOptions> = {}
): Promise<{ readonly first: Discovered; readonly save: Save }> {
  const root = folder(t, attacker('one', body))
  const finder = discovery(t, root, { spares: 2, ...options })
  const file = join(root, 'all/one/src/plugin.ts')
  return {
    first: await finder.discover([join(root, 'all')]),
    save: (next, edit = source => source) => {
      write(root, { 'all/one/src/plugin.ts': edit(pluginSource('one', '', next)) })
      return finder.rediscover(new Set([file]))
    }
  }
}

const PRINT_PID = 'console.log(process.pid)'
const pidIn = ({ output }: Discovered): number => Number(output.at(-1)?.line)

t.test('saves that do not change the manifest are described by one process', async t => {
  const { first, save } = await watched(t, PRINT_PID)
  const second = await save(`console.log('two')\n${PRINT_PID}`)
  const third = await save(`console.log('three')\n${PRINT_PID}`)
  t.same([pidIn(second), pidIn(third)], [pidIn(first), pidIn(first)])
})

t.test('without spares, each manifest comes from a new process', async t => {
  const { first, save } = await watched(t, PRINT_PID, { spares: 0 })
  t.not(pidIn(await save(`console.log('two')\n${PRINT_PID}`)), pidIn(first))
})

t.test('a changed manifest comes from a new process, so that earlier code cannot affect it', async t => {
  const count = 'const all = globalThis as { runs?: number }\nall.runs = (all.runs ?? 0) + 1\n'
  const declare = (text: string): string => text.replace('definePlugin({', "definePlugin({ summary: 'run ' + all.runs,")
  const { save } = await watched(t, PRINT_PID)
  const first = await save(count + PRINT_PID, declare)
  t.equal(source(first, 'one').manifest?.summary, 'run 1')
  const second = await save(`${count}console.log('two')\n${PRINT_PID}`, declare)
  t.equal(source(second, 'one').manifest?.summary, 'run 1')
  t.not(pidIn(second), pidIn(first))
})

t.test('an error comes from a new process, so that earlier code cannot cause it', async t => {
  const once = 'const all = globalThis as { ran?: boolean }\nif (all.ran) throw new Error("again")\nall.ran = true\n'
  const { first, save } = await watched(t, once + PRINT_PID)
  const second = await save(`${once}console.log('two')\n${PRINT_PID}`)
  t.equal(source(second, 'one').problem, null)
  t.not(pidIn(second), pidIn(first))
})

t.test('a saved module body that loops is ended once, and the next save is described', async t => {
  const { save } = await watched(t, PRINT_PID, { describeTimeoutMs: 400 })
  const looping = await save("console.log('ran')\nfor (;;) {}")
  t.same(
    looping.output.map(({ line }) => line),
    ['ran']
  )
  const healed = await save(PRINT_PID, text => text.replace('definePlugin({', "definePlugin({ summary: 'healed',"))
  t.equal(source(healed, 'one').manifest?.summary, 'healed')
})

const LOOP_LATER = `
const { port1, port2 } = new MessageChannel()
port1.onmessage = () => { for (;;) {} }
port2.postMessage('go')
`

t.test('a spare process that is busy or has ended is replaced', async t => {
  const { first, save } = await watched(t, LOOP_LATER + PRINT_PID, { describeTimeoutMs: 2_000 })
  const second = await save(PRINT_PID)
  t.equal(source(second, 'one').problem, null)
  t.not(pidIn(second), pidIn(first), 'the first process is busy')
  process.kill(pidIn(second), 'SIGKILL')
  const third = await save(`console.log('three')\n${PRINT_PID}`)
  t.equal(source(third, 'one').problem, null)
  t.not(pidIn(third), pidIn(second), 'the second process has ended')
})
