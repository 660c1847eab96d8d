import { readdir } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { inferenceEngine, type LoadedModel } from '@svc/contracts'
import { definePlugin } from '@svc/plugin-sdk'
import { testKernel } from '@svc/plugin-sdk/testing'
import { build } from 'esbuild'
import t from 'tap'
import plugin from '#plugin'
import type { OnnxEngine } from '#root'
import { collect, fixtures, greedy, temporaryFolder } from './support/models.ts'

const runDirectory = join(fixtures, 'qwen2-tiny')

/** Returns a plugin that keeps a model across reloads, like a model server. */
function consumer(onModel: (model: LoadedModel) => void) {
  return definePlugin({
    name: 'consumer',
    requires: { engine: inferenceEngine },
    async activate(ctx, { engine }) {
      const open = () => engine.load({ runDirectory })
      onModel(await ctx.keep('model', open, model => model.close()))
    }
  })
}

t.test('provides an engine, and a model that is kept survives a reload', async t => {
  const models: LoadedModel[] = []
  const kernel = await testKernel([plugin, consumer(model => models.push(model))], {
    settings: { 'inference-onnx': { threads: 1 } }
  })
  t.teardown(() => kernel.close())
  t.equal(kernel.state('inference-onnx'), 'active')
  const running = collect(models[0]!.generate(greedy([9, 8], 100)))
  await kernel.replace(plugin)
  t.equal((await running).tokens.length, 100)
  t.equal(models.length, 2, 'the consumer was activated again')
  t.equal(models[1], models[0], 'the consumer gets the same model')
  t.equal((await collect(models[1]!.generate(greedy([9, 8], 3)))).tokens.length, 3)
})

t.test('settings outside their ranges are rejected', async t => {
  for (const settings of [{ device: 'abacus' }, { threads: 0 }, { runtime: 'magic' }, { unknown: 1 }]) {
    await t.rejects(testKernel([plugin], { settings: { 'inference-onnx': settings } }), JSON.stringify(settings))
  }
})

t.test('settings in snake_case reach the engine', async t => {
  const cache = join(await temporaryFolder(t), 'weights')
  const models: LoadedModel[] = []
  const kernel = await testKernel([plugin, consumer(model => models.push(model))], {
    settings: { 'inference-onnx': { threads: 1, cache_directory: cache, prompt_chunk: 2, max_waiting: 0 } }
  })
  t.teardown(() => kernel.close())
  t.ok((await readdir(cache)).length, 'the cache is in the configured folder')
  const held = collect(models[0]!.generate(greedy([9, 8, 7], 50)))
  await t.rejects(collect(models[0]!.generate(greedy([9], 1))), { code: 'INF_BUSY' })
  t.equal((await held).tokens.length, 50)
})

for (const [runtime, minify] of [
  ['native', false],
  ['worker', false],
  ['worker', true]
] as const) {
  t.test(`a single-file bundle works: ${runtime} runtime${minify ? ', minified' : ''}`, async t => {
    const { outputFiles } = await build({
      entryPoints: [join(import.meta.dirname, '../src/engine.ts')],
      bundle: true,
      write: false,
      minify,
      format: 'cjs',
      platform: 'node',
      target: 'node20',
      packages: 'external',
      define: { 'import.meta.url': '__url' },
      logLevel: 'silent'
    })
    const module: { exports: { OnnxEngine?: typeof OnnxEngine } } = { exports: {} }
    const require = createRequire(import.meta.url)
    new Function('module', 'exports', 'require', '__url', outputFiles[0]!.text)(
      module,
      module.exports,
      require,
      import.meta.url
    )
    const engine = new module.exports.OnnxEngine!({
      cacheDirectory: join(await temporaryFolder(t), 'cache'),
      threads: 1,
      runtime
    })
    const model = await engine.load({ runDirectory })
    t.equal((await collect(model.generate(greedy([9, 8], 5)))).tokens.length, 5)
    await model.close()
    await engine.close()
  })
}
