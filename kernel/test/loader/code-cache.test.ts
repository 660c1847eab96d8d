import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { digest, evaluate, readCodeCache, writeCodeCache } from '#loader'
import { folder, recorder } from '../fixtures/loader/plugin-folder.ts'

const TEXT = "exports.default = { kind: 'plugin', name: 'sample', activate: () => 'ran' }"

/** V8's compiled form of a text. */
function compiledOf(root: string, text: string): Buffer {
  const all: Buffer[] = []
  evaluate(
    { name: 'sample', root, text, preloaded: new Map() },
    { onCompiled: each => all.push(each) },
    recorder().hooks
  )
  return all[0] as Buffer
}

t.test('compiled code of the same text is read back, and runs', async t => {
  const root = folder(t, { 'dist/plugin.cjs': TEXT })
  const file = join(root, 'dist/plugin.cjs')
  await writeCodeCache(file, '1.0.0', compiledOf(root, TEXT))
  const compiled = await readCodeCache(file, digest('1.0.0', TEXT))
  t.ok(compiled)
  const code = { name: 'sample', root, text: TEXT, preloaded: new Map(), compiled: compiled as Buffer }
  const { plugin } = evaluate(code, {}, recorder().hooks)
  t.equal(plugin.activate({} as never, {} as never), 'ran')
})

t.test('compiled code of another text, version or V8 is left alone', async t => {
  const root = folder(t, { 'dist/plugin.cjs': TEXT })
  const file = join(root, 'dist/plugin.cjs')
  t.equal(await readCodeCache(file, digest('1.0.0', TEXT)), undefined, 'no file')
  await writeCodeCache(file, '1.0.0', compiledOf(root, TEXT))
  t.equal(await readCodeCache(file, digest('1.0.0', TEXT.replace('ran', 'run'))), undefined)
  t.equal(await readCodeCache(file, digest('1.0.1', TEXT)), undefined)
  const cache = join(root, 'dist/plugin.v8')
  writeFileSync(cache, Buffer.concat([Buffer.from('0'), readFileSync(cache)]))
  t.equal(await readCodeCache(file, digest('1.0.0', TEXT)), undefined)
})

t.test('compiled code that V8 refuses costs only the compilation', async t => {
  const root = folder(t)
  const code = { name: 'sample', root, text: TEXT, preloaded: new Map(), compiled: Buffer.from('not from V8') }
  const { plugin } = evaluate(code, {}, recorder().hooks)
  t.equal(plugin.activate({} as never, {} as never), 'ran')
})
