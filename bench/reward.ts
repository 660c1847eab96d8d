/**
 * Cost of reward events for the plugin that sends them: without the plugin `reward`, with a tap that does nothing, and
 * with the plugin and a database file; compared with a listener of an EventEmitter. Also the CPU time of the whole process
 * for each event that is committed.
 *
 * Rounds alternate between the contestants. The median of each is printed with its range. The cost for the sender is the
 * time of the synchronous call, in bursts of events that fit into the queue.
 *
 *   node --import tsx --conditions=svc-source bench/reward.ts [--json] [--rounds N] [--events N]
 */
import { EventEmitter } from 'node:events'
import { parseArgs } from 'node:util'
import { rewardEvents, sendReward } from '@svc/contracts'
import { openTestKernel } from '@svc/kernel/testing'
import { definePlugin, type Plugin, type PluginContext } from '@svc/plugin-sdk'
import database from '../plugins/database/src/plugin.ts'
import reward from '../plugins/reward/src/plugin.ts'
import '../plugins/database/test/built-worker.ts'
import { type Figure, figureOf, ratioOf, withRange } from './figures.ts'
import { isSmoke } from './smoke-mode.ts'

const { values } = parseArgs({
  options: {
    json: { type: 'boolean', default: false },
    rounds: { type: 'string', default: isSmoke ? '1' : '7' },
    events: { type: 'string', default: isSmoke ? '2000' : '20000' }
  }
})
const [rounds, events] = [Number(values.rounds), Number(values.events)]
/** Events that are sent before the process may handle them. */
const BURST = 500

export interface Result {
  /** Nanoseconds for each event that no plugin taps. */
  readonly offNs: Figure
  /** Microseconds for each event: listener of an EventEmitter, tap that does nothing, plugin `reward`. */
  readonly emitterUs: Figure
  readonly emptyTapUs: Figure
  readonly onUs: Figure
  readonly onToEmitter: Figure
  readonly onToEmptyTap: Figure
  /** Microseconds of CPU time of the whole process for each committed event. */
  readonly committedUs: Figure
}

let sequence = 0
/** Returns an event as the orchestrator sends it. */
function taskEvent() {
  sequence += 1
  return {
    type: 'task_completed',
    agent_id: 7,
    task_id: sequence,
    ludus_dedupe_id: `bench:${sequence}`,
    title: 'Measure the cost of an event'
  }
}

interface Measured {
  /** Microseconds of the synchronous call, for each event. */
  readonly us: number
  /** Microseconds of CPU time until all events were handled, for each event. */
  readonly cpuUs: number
}

/** Sends events in bursts. Between two bursts, all of them are handled. */
async function measure(count: number, send: () => void, settle: () => Promise<unknown>): Promise<Measured> {
  let spent = 0
  const before = process.cpuUsage()
  for (let sent = 0; sent < count; sent += BURST) {
    const started = performance.now()
    for (let at = 0; at < BURST; at++) send()
    spent += performance.now() - started
    await settle()
  }
  const { user, system } = process.cpuUsage(before)
  return { us: (spent * 1_000) / count, cpuUs: (user + system) / count }
}

/** Measures events that a plugin sends to the given plugins. */
async function measureWith(plugins: readonly Plugin[], count: number): Promise<Measured> {
  let context: PluginContext | undefined
  const sender = definePlugin({
    name: 'sender',
    hooks: [rewardEvents],
    activate(ctx) {
      context = ctx as PluginContext
    }
  })
  const { kernel, close } = await openTestKernel({
    plugins: [sender as Plugin, ...plugins],
    settings: { database: { path: 'bench.db' }, reward: { user_id: 'bench' } }
  })
  const call = { surface: 'internal', principal: { id: 'bench', role: 'user', scopes: [] } } as const
  const settle = plugins.includes(reward as Plugin)
    ? () => kernel.invoke('reward.progress_snapshot', {}, call)
    : () => new Promise(resolve => setImmediate(resolve))
  const ctx = context
  if (ctx === undefined) throw new Error('the sender is not active')
  const send = (): void => sendReward(ctx, taskEvent)
  await measure(BURST * 2, send, settle)
  const measured = await measure(count, send, settle)
  await close()
  return measured
}

async function measureEmitter(count: number): Promise<Measured> {
  const emitter = new EventEmitter()
  let seen = 0
  emitter.on('event', () => {
    seen += 1
  })
  const send = (): void => void emitter.emit('event', taskEvent())
  const settle = (): Promise<unknown> => new Promise(resolve => setImmediate(resolve))
  await measure(BURST * 2, send, settle)
  const measured = await measure(count, send, settle)
  return seen >= count ? measured : { us: Number.NaN, cpuUs: Number.NaN }
}

const emptyTap = definePlugin({ name: 'tapping', activate: ctx => ctx.on(rewardEvents, () => {}) }) as Plugin

const samples = { off: [], emitter: [], emptyTap: [], on: [], committed: [] } as Record<string, number[]>
const { off = [], emitter = [], emptyTap: empty = [], on = [], committed = [] } = samples
for (let round = 0; round < rounds; round++) {
  off.push((await measureWith([], events * 10)).us * 1_000)
  emitter.push((await measureEmitter(events)).us)
  empty.push((await measureWith([emptyTap], events)).us)
  const withReward = await measureWith([database as Plugin, reward as Plugin], events)
  on.push(withReward.us)
  committed.push(withReward.cpuUs)
}

const result: Result = {
  offNs: figureOf(off),
  emitterUs: figureOf(emitter),
  emptyTapUs: figureOf(empty),
  onUs: figureOf(on),
  onToEmitter: ratioOf(on, emitter),
  onToEmptyTap: ratioOf(on, empty),
  committedUs: figureOf(committed)
}

if (values.json) process.stdout.write(`${JSON.stringify(result, null, 2)}\n`)
else
  process.stdout.write(
    [
      `off, for each event            ${withRange(result.offNs, ' ns')}`,
      `EventEmitter, one listener     ${withRange(result.emitterUs, ' us')}`,
      `hook with an empty tap         ${withRange(result.emptyTapUs, ' us')}`,
      `hook with the plugin reward    ${withRange(result.onUs, ' us')}; goal: at most 50 us`,
      `reward to EventEmitter         ${withRange(result.onToEmitter, 'x')}`,
      `reward to an empty tap         ${withRange(result.onToEmptyTap, 'x')}`,
      `CPU time of a committed event  ${withRange(result.committedUs, ' us')}`,
      ''
    ].join('\n')
  )
