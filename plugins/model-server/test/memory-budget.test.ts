import { setImmediate as turn } from 'node:timers/promises'
import fc from 'fast-check'
import t from 'tap'
import { KeptWeights, type Loaded, MemoryBudget } from '#root'
import { ToyModel } from './toy-engine.ts'

const LIMIT = 100

class SizedModel extends ToyModel {
  readonly #bytes: number
  gone = false

  constructor(bytes: number) {
    super({})
    this.#bytes = bytes
  }

  override statistics() {
    return { ...super.statistics(), weightBytes: this.#bytes, cacheBytes: 0 }
  }

  override async close() {
    await super.close()
    for (let left = 5; left > 0; left--) await turn()
    this.gone = true
  }
}

/** Opens models of these sizes that share a budget. `problems`: loads that exceeded it with several models. */
function open(sizes: readonly number[]) {
  const budget = new MemoryBudget(() => LIMIT)
  const models: SizedModel[] = []
  const problems: string[] = []
  const slots = sizes.map((bytes, at) => {
    const weights = new KeptWeights()
    budget.add(weights, `model ${at}`)
    const load = async (): Promise<Loaded> => {
      const release = await budget.makeRoom(weights, bytes)
      try {
        const model = new SizedModel(bytes)
        models.push(model)
        const present = models.filter(({ gone }) => !gone)
        const sum = present.reduce((total, each) => total + each.statistics().weightBytes, 0)
        if (sum > LIMIT && present.length > 1) problems.push(`${sum} bytes in ${present.length} models`)
        return { model, modifiedAt: new Date(0) }
      } catch (error) {
        release()
        throw error
      }
    }
    return { weights, load }
  })
  return { slots, problems, models }
}

t.test(
  'concurrent uses never exceed the limit with several models, never lose a model in use, and fail only with the names in the way',
  async t => {
    const plan = fc.array(fc.record({ model: fc.nat({ max: 3 }), turns: fc.nat({ max: 4 }) }), {
      minLength: 1,
      maxLength: 25
    })
    const sizes = fc.array(fc.integer({ min: 1, max: 130 }), { minLength: 4, maxLength: 4 })
    await fc.assert(
      fc.asyncProperty(sizes, plan, async (bytes, uses) => {
        const { slots, problems } = open(bytes)
        const never = new AbortController().signal
        await Promise.all(
          uses.map(async ({ model, turns }, at) => {
            for (let before = at % 5; before > 0; before--) await turn()
            const { weights, load } = slots[model] as (typeof slots)[number]
            const use = await weights.use(load, never).catch(error => {
              if (error.code !== 'MSV_MEMORY' || error.data.in_use.length === 0) problems.push(String(error))
              return null
            })
            if (use === null) return
            for (let left = turns; left > 0; left--) {
              await turn()
              if ((use.model as SizedModel).closed) problems.push('a model in use was closed')
            }
            use.release()
          })
        )
        t.same(problems, [])
        const last = slots[0] as (typeof slots)[number]
        ;(await last.weights.use(last.load, never)).release()
        await Promise.all(slots.map(({ weights }) => weights.close()))
      }),
      { numRuns: 60 }
    )
  }
)

t.test('a model larger than the limit is loaded if nothing else is, after the idle ones have gone', async t => {
  const { slots, models } = open([60, 500])
  const never = new AbortController().signal
  const [small, large] = slots as [(typeof slots)[number], (typeof slots)[number]]
  const use = await small.weights.use(small.load, never)
  await t.rejects(large.weights.use(large.load, never), {
    code: 'MSV_MEMORY',
    data: { needed: 500, limit: LIMIT, in_use: ['model 0'] }
  })
  use.release()
  const alone = await large.weights.use(large.load, never)
  t.equal(models[0]?.gone, true)
  t.equal(alone.model, models[1])
})
