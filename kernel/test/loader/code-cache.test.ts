import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import {
  Bundler,
  type CachedCode,
  codeOf,
  digest,
  evaluate,
  readCodeCache,
  withPackages,
  writeCodeCache
} from '#loader'
import { folder, packageJson, pluginSource, recorder, write } from '../fixtures/loader/plugin-folder.ts'

const TEXT = "exports.default = { kind: 'plugin', name: 'sample', activate: () => 'ran' }"

/** Returns the code cache that a build writes for a text. */
function cachedOf(root: string, text: string): CachedCode {
  const all: CachedCode[] = []
  evaluate(codeOf({ name: 'sample', root, text }, new Map()), { onCompiled: each => all.push(each) }, recorder().hooks)
  return all[0] as CachedCode
}

t.test('the code cache of the same text is used', async t => {
  const root = folder(t, { 'dist/plugin.cjs': TEXT })
  const file = join(root, 'dist/plugin.cjs')
  await writeCodeCache(file, '1.0.0', cachedOf(root, TEXT))
  const cached = await readCodeCache(file, digest('1.0.0', TEXT))
  t.same(cached?.imports, [])
  const code = codeOf({ name: 'sample', root, text: TEXT, cached: cached as CachedCode }, new Map())
  const { plugin } = evaluate(code, {}, recorder().hooks)
  t.equal(plugin.activate({} as never, {} as never), 'ran')
})

t.test('a code cache of another text, version or V8 is ignored', async t => {
  const root = folder(t, { 'dist/plugin.cjs': TEXT })
  const file = join(root, 'dist/plugin.cjs')
  t.equal(await readCodeCache(file, digest('1.0.0', TEXT)), undefined, 'there is no file')
  await writeCodeCache(file, '1.0.0', cachedOf(root, TEXT))
  t.equal(await readCodeCache(file, digest('1.0.0', TEXT.replace('ran', 'run'))), undefined)
  t.equal(await readCodeCache(file, digest('1.0.1', TEXT)), undefined)
  const cache = join(root, 'dist/plugin.v8')
  writeFileSync(cache, Buffer.concat([Buffer.from('0'), readFileSync(cache)]))
  t.equal(await readCodeCache(file, digest('1.0.0', TEXT)), undefined)
})

t.test('a code cache that V8 rejects only requires a compilation', async t => {
  const root = folder(t)
  const cached = { compiled: Buffer.from('not from V8'), imports: [] }
  const code = codeOf({ name: 'sample', root, text: TEXT, cached }, new Map())
  const { plugin } = evaluate(code, {}, recorder().hooks)
  t.equal(plugin.activate({} as never, {} as never), 'ran')
})

t.test('the code cache lists packages that only `import` can load', async t => {
  const text = `const esm = require("esm-only"); ${TEXT.replace("'ran'", 'esm.value')}`
  const root = folder(t, {
    'dist/plugin.cjs': text,
    'node_modules/esm-only/package.json': '{ "name": "esm-only", "exports": { "import": "./index.mjs" } }',
    'node_modules/esm-only/index.mjs': 'export const value = 7'
  })
  const file = join(root, 'dist/plugin.cjs')
  const found: CachedCode[] = []
  evaluate(
    await withPackages({ name: 'sample', root, text }),
    { onCompiled: each => found.push(each) },
    recorder().hooks
  )
  await writeCodeCache(file, '1.0.0', found[0] as CachedCode)
  const cached = await readCodeCache(file, digest('1.0.0', text))
  t.same(cached?.imports, ['esm-only'])
  const code = await withPackages({ name: 'sample', root, text, cached: cached as CachedCode })
  t.equal(evaluate(code, {}, recorder().hooks).plugin.activate({} as never, {} as never), 7)
})

t.test('stacks of cached code have the lines of the source', async t => {
  const root = folder(t, {
    'package.json': packageJson('sample'),
    'src/plugin.ts': pluginSource('sample', "\n\nthrow new Error('boom')")
  })
  const bundler = new Bundler()
  t.teardown(() => bundler.dispose())
  const { text } = await bundler.bundle({ root, source: join(root, 'src/plugin.ts'), entries: {} })
  write(root, { 'dist/plugin.cjs': text })
  const stackOf = (cached?: CachedCode): string => {
    const code = codeOf({ name: 'sample', root, text, ...(cached === undefined ? {} : { cached }) }, new Map())
    const { plugin } = evaluate(code, {}, recorder().hooks)
    try {
      plugin.activate({} as never, {} as never)
    } catch (error) {
      return String((error as Error).stack).split('\n')[1] ?? ''
    }
    return ''
  }
  const inline = stackOf()
  t.match(inline, `${join(root, 'src/plugin.ts')}:`)
  const file = join(root, 'dist/plugin.cjs')
  await writeCodeCache(file, '1.0.0', cachedOf(root, text))
  t.equal(stackOf(await readCodeCache(file, digest('1.0.0', text))), inline)
})
