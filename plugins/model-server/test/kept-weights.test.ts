import { setImmediate as turn } from 'node:timers/promises'
import fc from 'fast-check'
import t from 'tap'
import { KeptWeights, type Loaded } from '#root'
import { ToyModel } from './toy-engine.ts'
import { until } from './until.ts'

/** Opens weights whose loads and closes take `turns()` turns of the event loop. Counts the models in memory. */
function open(turns: () => number = () => 1) {
  const weights = new KeptWeights()
  const models: SlowModel[] = []
  let maxOpen = 0
  class SlowModel extends ToyModel {
    gone = false
    override async close() {
      await super.close()
      for (let left = turns(); left > 0; left--) await turn()
      this.gone = true
    }
  }
  const load = async (): Promise<Loaded> => {
    const model = new SlowModel({})
    models.push(model)
    maxOpen = Math.max(maxOpen, models.filter(({ gone }) => !gone).length)
    for (let left = turns(); left > 0; left--) await turn()
    return { model, modifiedAt: new Date() }
  }
  return { weights, models, load, maxOpen: () => maxOpen }
}

const never = new AbortController().signal

t.test('concurrent uses share one load, and the model stays loaded until the last is released', async t => {
  const { weights, models, load } = open()
  weights.setDefaultKeepAlive(0)
  const uses = await Promise.all([1, 2, 3].map(() => weights.use(load, never)))
  t.equal(models.length, 1)
  t.ok(uses.every(({ loadNs }) => loadNs > 0))
  const late = await weights.use(load, never)
  t.equal(late.loadNs, 0)
  for (const { release } of uses) release()
  for (const { release } of uses) release()
  t.notOk(models[0]?.closed, 'a second release of the same use has no effect')
  late.release()
  await until(() => models[0]?.closed === true)
  const again = await weights.use(load, never)
  t.equal(models.length, 2)
  t.equal(again.model, models[1])
  again.release()
})

t.test('the idle time of the latest request that set one applies until the model is unloaded', async t => {
  const { weights, models, load } = open()
  const use = async (keepMs?: number) => (await weights.use(load, never, keepMs)).release()
  await use()
  t.equal(weights.expiresAt, null)
  const before = Date.now()
  await use(60_000)
  await use()
  const expires = weights.expiresAt?.getTime() ?? 0
  t.ok(expires >= before + 60_000 && expires <= Date.now() + 60_000)
  await use(1e300)
  t.equal(weights.expiresAt, null, 'a time later than any Date is null')
  await use(1)
  await until(() => models[0]?.closed === true)
  await use()
  t.equal(weights.expiresAt, null, 'the default applies again')
  weights.setDefaultKeepAlive(1)
  await until(() => models[1]?.closed === true)
  await weights.close()
})

t.test('an unload requested during a use or a load happens after the last release', async t => {
  const { weights, models, load } = open()
  await weights.unload()
  const loading = weights.use(load, never)
  await weights.unload()
  const use = await loading
  await weights.unload()
  t.notOk(models[0]?.closed)
  use.release()
  await weights.unload()
  t.ok(models[0]?.gone)
  const { release } = await weights.use(load, never)
  release()
  await turn()
  t.notOk(models[1]?.closed, 'the requested unload does not apply to the next load')
})

t.test('a load whose callers have all aborted is kept, and a failed load is retried', async t => {
  const { weights, models, load } = open()
  const controller = new AbortController()
  const waiting = weights.use(load, controller.signal)
  controller.abort(new Error('gone'))
  await t.rejects(waiting, { message: 'gone' })
  await t.rejects(weights.use(load, controller.signal), { message: 'gone' })
  const { release, model } = await weights.use(load, never)
  t.equal(model, models[0])
  release()
  await weights.unload()
  const failing = () => Promise.reject(new Error('no memory'))
  await t.rejects(Promise.all([weights.use(failing, never), weights.use(failing, never)]), { message: 'no memory' })
  t.equal((await weights.use(load, never)).model, models[1])
})

t.test('a failed close is reported and does not block the next load', async t => {
  const { weights, load } = open()
  const failures: unknown[] = []
  weights.watch({ loaded: () => undefined, unloaded: (_, closed) => void closed.catch(error => failures.push(error)) })
  const stubborn = Object.assign(new ToyModel({}), { close: () => Promise.reject(new Error('stuck')) })
  ;(await weights.use(async () => ({ model: stubborn, modifiedAt: new Date() }), never)).release()
  await t.rejects(weights.unload(), { message: 'stuck' })
  t.match(failures, [{ message: 'stuck' }])
  t.ok((await weights.use(load, never)).model)
})

t.test('a close waits for a running load, and nothing is loaded after it', async t => {
  const { weights, models, load } = open()
  const waiting = weights.use(load, never)
  await turn()
  await weights.close()
  t.ok(models[0]?.gone)
  await waiting
  await t.rejects(weights.use(load, never), { code: 'MSV_STOPPED' })
})

t.test('a use always has an open model, whatever other callers unload', async t => {
  const step = fc.record({
    wait: fc.nat(4),
    hold: fc.nat(4),
    keepMs: fc.constantFrom(undefined, undefined, 0, 1, Number.POSITIVE_INFINITY),
    leaves: fc.constantFrom('releases', 'aborts', 'aborts early', 'unloads')
  })
  const property = fc.asyncProperty(
    fc.array(fc.array(step, { maxLength: 6 }), { minLength: 2, maxLength: 6 }),
    fc.infiniteStream(fc.nat(3)),
    fc.constantFrom(0, 1, Number.POSITIVE_INFINITY),
    async (users, delays, defaultMs) => {
      const { weights, models, load, maxOpen } = open(() => delays.next().value as number)
      weights.setDefaultKeepAlive(defaultMs)
      const run = async (steps: (typeof users)[number]) => {
        for (const { wait, hold, keepMs, leaves } of steps) {
          for (let left = wait; left > 0; left--) await turn()
          const controller = new AbortController()
          if (leaves === 'aborts early') setImmediate(() => controller.abort())
          const use = await weights.use(load, controller.signal, keepMs).catch(() => null)
          if (use === null) continue
          for (let left = hold; left > 0; left--) {
            if (!controller.signal.aborted && (use.model as ToyModel).closed) throw new Error('closed in use')
            await turn()
          }
          if (leaves === 'unloads') void weights.unload()
          if (leaves === 'releases' || leaves === 'unloads') use.release()
          else controller.abort()
        }
      }
      await Promise.all(users.map(run))
      await weights.unload()
      if (models.some(({ gone }) => !gone)) throw new Error('a model was not closed')
      if (maxOpen() > 1) throw new Error('two models in memory at the same time')
      await weights.close()
    }
  )
  await fc.assert(property, { numRuns: 100 })
  t.pass()
})
