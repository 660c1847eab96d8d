import t, { type Test } from 'tap'
import { type KeptWeights, MemoryBudget, ModelLoader, ServedModel } from '#root'
import { ToyEngine } from './toy-engine.ts'
import { until } from './until.ts'

/** Returns loaders of one folder, each with its own name, and what they share. */
function openLoaders(t: Test) {
  const folder = t.testdir({ 'config.json': '{}', 'model.safetensors': 'x' })
  const engine = new ToyEngine()
  const budget = new MemoryBudget(() => 1e9)
  const kept = new Map<string, Promise<unknown>>()
  const effects = new Set<object>()
  const ctx = {
    config: { keep_alive: '-1' },
    projectRoot: folder,
    signal: new AbortController().signal,
    log: { debug: () => undefined, info: () => undefined, warn: () => undefined, error: () => undefined },
    background: () => undefined,
    keep: (key: string, open: () => unknown) => {
      kept.set(key, kept.get(key) ?? Promise.resolve(open()))
      return kept.get(key)
    },
    effect: (label: string, dispose: () => unknown) => {
      const effect = { label }
      effects.add(effect)
      return () => {
        effects.delete(effect)
        return dispose()
      }
    }
  }
  const load = (name: string) => {
    const served = new ServedModel(name, folder)
    return new ModelLoader(ctx as never, engine, served, { onDemand: true, adapters: {}, budget })
  }
  const weights = async () => (await [...kept.values()][0]) as KeptWeights
  return { load, engine, budget, effects, weights }
}

t.test('names that come and go leave nothing registered', async t => {
  const { load, engine, budget, effects, weights } = openLoaders(t)
  for (let round = 0; round < 5; round++) {
    const loader = load(`name ${round}`)
    const use = await loader.use(new AbortController().signal)
    use.release()
    await loader.retire()
    t.same([(await weights()).watchers, (await weights()).owners, budget.size, effects.size], [0, 0, 0, 0])
  }
  t.equal(engine.models.length, 5)
  t.ok(engine.models.every(({ closed }) => closed))
})

t.test('a name that goes leaves the weights to the other name of the same files', async t => {
  const { load, engine, budget, weights } = openLoaders(t)
  const [first, second] = [load('first'), load('second')]
  const { signal } = new AbortController()
  for (const loader of [first, second]) (await loader.use(signal)).release()
  await first.retire()
  t.equal(engine.models[0]?.closed, false)
  t.equal((await weights()).owners, 1)
  t.equal(budget.size, 1)
  await second.retire()
  t.equal(engine.models.length, 1)
  t.equal(engine.models[0]?.closed, true)
  t.equal(budget.size, 0)
})

t.test('a name that goes during a request counts until the request ends', async t => {
  const { load, engine, budget, effects } = openLoaders(t)
  const loader = load('busy')
  const use = await loader.use(new AbortController().signal)
  await loader.retire()
  t.equal(engine.models[0]?.closed, false)
  t.equal(budget.size, 1)
  use.release()
  await until(() => engine.models[0]?.closed === true && budget.size === 0)
  t.equal(effects.size, 0)
})
