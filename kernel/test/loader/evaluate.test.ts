import { execFileSync, spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import * as sdk from '@svc/plugin-sdk'
import { schemaCheck } from '@svc/plugin-sdk/check'
import t from 'tap'
import { Bundler, codeOf, evaluate } from '#loader'
import {
  folder,
  loadAndRun,
  packageJson,
  pluginSource,
  recorder,
  run,
  write
} from '../fixtures/loader/plugin-folder.ts'

const code = (root: string, text: string) => codeOf({ name: 'sample', root, text }, new Map())

t.test('plugins use the SDK instance of the host', async t => {
  const { result } = await loadAndRun(t, 'return SvcError', "import { SvcError } from '@svc/plugin-sdk'")
  t.equal(result, sdk.SvcError)
})

t.test('plugins use the schema check of the host', async t => {
  const head = "import { schemaCheck } from '@svc/plugin-sdk/check'"
  t.equal((await loadAndRun(t, 'return schemaCheck', head)).result, schemaCheck)
})

t.test('a plugin may be the default export, the export `plugin` or module.exports', async t => {
  const root = folder(t)
  const make = "{ kind: 'plugin', name: 'sample', activate() {} }"
  for (const text of [`exports.default = ${make}`, `exports.plugin = ${make}`, `module.exports = ${make}`]) {
    const { hooks, dispose } = recorder()
    t.equal(evaluate(code(root, text), {}, hooks).plugin.name, 'sample', text)
    await dispose()
  }
  const { hooks } = recorder()
  t.throws(() => evaluate(code(root, 'exports.default = 3'), {}, hooks), {
    code: 'LDR_NOT_A_PLUGIN',
    hint: /definePlugin/
  })
})

t.test('stacks have source lines, for each loaded version', async t => {
  const fail = (lines: number) => `${'\n'.repeat(lines)}export function fail() { throw new Error('boom') }`
  const root = folder(t, {
    'package.json': packageJson('sample'),
    'src/plugin.ts': pluginSource('sample', 'fail()', "import { fail } from './deep/fail.ts'"),
    'src/deep/fail.ts': fail(4)
  })
  const bundler = new Bundler()
  t.teardown(() => bundler.dispose())
  const stackOf = (running: { plugin: { activate(context: unknown): unknown } }): string => {
    try {
      running.plugin.activate({})
    } catch (error) {
      return String((error as Error).stack)
    }
    return ''
  }
  const first = await run(t, root, bundler)
  t.match(stackOf(first), `${join(root, 'src/deep/fail.ts')}:5:`)
  t.match(stackOf(first), `${join(root, 'src/plugin.ts')}:3:`)
  write(root, { 'src/deep/fail.ts': fail(8) })
  const second = await run(t, root, bundler)
  t.match(stackOf(second), `${join(root, 'src/deep/fail.ts')}:9:`)
  t.match(stackOf(first), `${join(root, 'src/deep/fail.ts')}:5:`, 'the old version keeps its lines')
  await first.dispose()
  write(root, { 'src/deep/fail.ts': fail(0) })
  t.match(stackOf(await run(t, root, bundler)), `${join(root, 'src/deep/fail.ts')}:1:`)
})

t.test('an error of a module body has its position', async t => {
  const root = folder(t, {
    'package.json': packageJson('sample'),
    'src/plugin.ts': `import './bad.ts'\n${pluginSource('sample')}`,
    'src/bad.ts': "\n\nthrow new TypeError('not today')"
  })
  await t.rejects(run(t, root), {
    code: 'LDR_EVALUATE_FAILED',
    plugin: 'sample',
    at: { file: join(root, 'src/bad.ts'), line: 3 },
    message: /bad\.ts:3: not today/,
    cause: { message: 'not today' }
  })
  write(root, { 'src/bad.ts': "import 'not-installed'" })
  await t.rejects(run(t, root), { code: 'LDR_EVALUATE_FAILED', hint: `run npm install in ${root}` })
  write(root, {
    'src/bad.ts': "import 'waits'",
    'node_modules/waits/package.json': { name: 'waits', version: '1.0.0', type: 'module', exports: './index.js' },
    'node_modules/waits/index.js': 'await 1'
  })
  await t.rejects(run(t, root), { code: 'LDR_EVALUATE_FAILED', hint: /await import/ })
})

t.test('resources of a module body that threw are closed', async t => {
  const { hooks, leaks, dispose } = recorder()
  const root = folder(t)
  t.throws(() => evaluate(code(root, "setInterval(() => {}, 1000); throw new Error('x')"), {}, hooks), {
    code: 'LDR_EVALUATE_FAILED'
  })
  await dispose()
  t.match(leaks, [/^interval of 1000 ms \(opened at dist\/plugin\.cjs:\d\)$/])
})

t.test('code may redeclare injected names and runs in strict mode', async t => {
  const head = `
const process = { pid: 'mine' }
class setTimeout {}
function queueMicrotask() { return 'mine' }
`
  const body = 'return [process.pid, typeof setTimeout, queueMicrotask(), (function () { return this })()]'
  t.same((await loadAndRun(t, body, head)).result, ['mine', 'function', 'mine', undefined])
})

t.test('the compilation cache is disabled only during compilation, even if it throws', async t => {
  // In a separate process, since the loader takes the function when it is loaded.
  const script = `
    const { default: v8 } = await import('node:v8')
    const flags = []
    v8.setFlagsFromString = flag => flags.push(flag)
    const { compile } = await import(${JSON.stringify(import.meta.resolve('#loader'))})
    compile('', [], 'file:///x.cjs', true)
    flags.push('with compilationCache: true')
    compile('', [], 'file:///x.cjs', false)
    try {
      compile('const = 1', [], 'file:///x.cjs', false)
    } catch (error) {
      flags.push(error.name)
    }
    process.stdout.write(JSON.stringify(flags))`
  const argv = [...process.execArgv, '--input-type=module', '--eval', script]
  const flags: unknown = JSON.parse(execFileSync(process.execPath, argv, { encoding: 'utf8' }))
  const off = ['--no-compilation-cache', '--compilation-cache']
  t.same(flags, ['with compilationCache: true', ...off, ...off, 'SyntaxError'])
})

t.test('V8 knows code by the URL of the compiled file, and URLs are reused', async t => {
  const root = folder(t)
  const text = "exports.default = { kind: 'plugin', name: 'sample', activate: () => new Error('here').stack }"
  const urlOf = () => {
    const running = recorder()
    const { plugin } = evaluate(code(root, text), {}, running.hooks)
    const stack = String(plugin.activate({} as never, {} as never))
    return {
      url: /\((.*):\d+:\d+\)/.exec(stack)?.[1] ?? /at (file:.*):\d+:\d+/.exec(stack)?.[1],
      dispose: running.dispose
    }
  }
  const { href } = pathToFileURL(join(root, 'dist/plugin.cjs'))
  const first = urlOf()
  const second = urlOf()
  t.match(first.url, href)
  t.match(second.url, `${href}?1`)
  await first.dispose()
  const third = urlOf()
  t.equal(third.url, first.url)
  await second.dispose()
  await third.dispose()
})

t.test('an import while a plugin runs shows no warning of Node', t => {
  const root = folder(t)
  write(root, { 'late.mjs': 'export const value = 7' })
  const script = `
    const { codeOf, evaluate } = await import(${JSON.stringify(import.meta.resolve('#loader'))})
    const text = "exports.default = { kind: 'plugin', name: 'sample', activate() {} }; " +
      "__svc_import('../late.mjs').then(({ value }) => console.log(value))"
    evaluate(
      codeOf({ name: 'sample', root: ${JSON.stringify(root)}, text }, new Map()),
      {},
      { effect() {}, failed() {} }
    )
  `
  const args = [...process.execArgv, '--input-type=module', '--eval', script]
  const { stdout, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8' })
  t.equal(stdout.trim(), '7')
  t.equal(stderr, '')
  t.end()
})
