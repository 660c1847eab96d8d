import { type BenchmarkResult, benchmarkRecorder } from '@svc/contracts'
import { definePlugin, type Plugin, SvcError } from '@svc/plugin-sdk'
import t, { type Test } from 'tap'
import { modelBench } from '#root'
import { openServer } from './open-server.ts'
import { ToyEngine, type ToyOptions } from './toy-engine.ts'
import { toyPlugin } from './toy-plugin.ts'

async function open(t: Test, toy: ToyOptions = {}, plugins: readonly Plugin[] = []) {
  const model = t.testdir({ run: { 'config.json': '{}' } }).concat('/run')
  const engine = new ToyEngine({ contextLength: 4_000, ...toy })
  const { kernel } = await openServer(t, [toyPlugin(engine), ...plugins], { model, max_tokens: 300 })
  return { kernel, engine }
}

t.test(
  'a benchmark measures rounds of equal length, whose prompts begin differently, and records their medians',
  async t => {
    const recorded: BenchmarkResult[] = []
    const recorder = definePlugin({
      name: 'recorder',
      provides: [benchmarkRecorder],
      activate: ctx =>
        ctx.provide(benchmarkRecorder, {
          records: () => true,
          record: async results => recorded.push(...results)
        })
    }) as Plugin
    const { kernel, engine } = await open(t, { beforeToken: () => new Promise(resolve => setTimeout(resolve, 1)) }, [
      recorder
    ])
    const output = await kernel.call(modelBench, { rounds: 3, prompt_tokens: 40, max_tokens: 12 })
    t.equal(output.rounds.length, 3)
    for (const round of output.rounds) {
      t.match(round, { prompt_tokens: 40, completion_tokens: 12 })
      t.ok((round.tokens_per_second ?? 0) > 0 && (round.first_token_ms ?? 0) > 0)
    }
    t.equal(output.recorded, 2)
    t.match(recorded, [
      {
        type: 'benchmark_event',
        name: 'model.tokens_per_second',
        value: output.tokens_per_second,
        unit: 'tokens/s',
        details: { source: 'model.bench', model: 'run', rounds: 3, prompt_tokens: 40, max_tokens: 12 }
      },
      { name: 'model.first_token', value: output.first_token_ms, unit: 'ms' }
    ])
    const prompts = engine.models.flatMap(({ requests }) => requests.map(({ tokens }) => tokens.join()))
    t.equal(new Set(prompts).size, 4, 'one warm-up and three rounds')
  }
)

t.test('a benchmark works without telemetry, and refuses unknown models and prompts beyond the context', async t => {
  const { kernel } = await open(t)
  const output = await kernel.call(modelBench, { rounds: 1, prompt_tokens: 8, max_tokens: 2 })
  t.equal(output.recorded, 0)
  t.equal(output.rounds.length, 1)
  await t.rejects(kernel.call(modelBench, { model: 'other' }), { code: 'MSV_MODEL_UNKNOWN' })
  await t.rejects(kernel.call(modelBench, { prompt_tokens: 5_000 }), { code: 'MSV_CONTEXT_EXCEEDED' })
})

t.test('a benchmark that cannot be recorded keeps its figures, and names the cause', async t => {
  const recorder = definePlugin({
    name: 'recorder',
    provides: [benchmarkRecorder],
    activate: ctx =>
      ctx.provide(benchmarkRecorder, {
        records: () => true,
        record: async () => {
          throw new SvcError('DBS_OPEN_FAILED', 'the database x.db cannot be opened: the disk is full')
        }
      })
  }) as Plugin
  const { kernel } = await open(t, {}, [recorder])
  const output = await kernel.call(modelBench, { rounds: 2, prompt_tokens: 8, max_tokens: 4 })
  t.equal(output.rounds.length, 2)
  t.ok((output.first_token_ms ?? 0) > 0)
  t.equal(output.recorded, 0)
  t.equal(
    output.warning,
    'the figures were not recorded: the database x.db cannot be opened: the disk is full (DBS_OPEN_FAILED)'
  )
})
