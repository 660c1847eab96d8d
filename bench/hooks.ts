/**
 * Cost of hooks: calls of a trivial operation whose hooks no plugin taps, and one plugin taps.
 *
 * Rounds alternate between the two. The median of each is printed with its range.
 *
 *   node --import tsx --conditions=svc-source bench/hooks.ts [--json] [--rounds N] [--calls N]
 */
import { parseArgs } from 'node:util'
import { operationEnded, operationStarting, requestFinished } from '@svc/contracts'
import { openTestKernel } from '@svc/kernel/testing'
import { defineOperation, definePlugin, type Plugin, type PluginContext, t } from '@svc/plugin-sdk'
import { figureOf, ratioOf } from './figures.ts'

const { values } = parseArgs({
  options: {
    json: { type: 'boolean', default: false },
    rounds: { type: 'string', default: '9' },
    calls: { type: 'string', default: '50000' }
  }
})
const [rounds, calls] = [Number(values.rounds), Number(values.calls)]

const ping = defineOperation({ id: 'bench.ping', summary: 'x', input: t.object({}), output: t.object({}) })
let context: PluginContext | undefined
const answering = definePlugin({
  name: 'bench',
  operations: [ping],
  activate(ctx) {
    context = ctx
    ctx.implement(ping, () => ({}))
  }
})
const tapping = definePlugin({
  name: 'tapping',
  activate(ctx) {
    ctx.on(operationStarting, () => {})
    ctx.on(operationEnded, () => {})
  }
})

const call = { surface: 'http', principal: { id: 'bench', role: 'user', scopes: [] } } as const

/** Measures nanoseconds per call. */
async function measure(plugins: readonly Plugin[]): Promise<number> {
  const { kernel, close } = await openTestKernel({ plugins })
  for (let index = 0; index < calls / 5; index++) await kernel.invoke('bench.ping', {}, call)
  const started = process.hrtime.bigint()
  for (let index = 0; index < calls; index++) await kernel.invoke('bench.ping', {}, call)
  const ns = Number(process.hrtime.bigint() - started) / calls
  await close()
  return ns
}

/** Measures nanoseconds per check of a hook that no plugin taps. */
async function look(): Promise<number> {
  const { close } = await openTestKernel({ plugins: [answering] })
  const started = process.hrtime.bigint()
  let tapped = 0
  for (let index = 0; index < calls * 10; index++) if (context?.isTapped(requestFinished)) tapped += 1
  const ns = Number(process.hrtime.bigint() - started) / (calls * 10)
  await close()
  return tapped === 0 ? ns : Number.NaN
}

const samples = { untapped: [] as number[], tapped: [] as number[], look: [] as number[] }
for (let round = 0; round < rounds; round++) {
  samples.untapped.push(await measure([answering]))
  samples.tapped.push(await measure([answering, tapping]))
  samples.look.push(await look())
}
const results = {
  untapped_ns: figureOf(samples.untapped),
  tapped_ns: figureOf(samples.tapped),
  tapped_over_untapped: ratioOf(samples.tapped, samples.untapped),
  look_ns: figureOf(samples.look)
}
process.stdout.write(`${JSON.stringify({ results, rounds, calls }, null, values.json ? 0 : 2)}\n`)
