import type { InferenceServer, ModelServerApi } from '@svc/contracts'
import t from 'tap'
import {
  type ModelFacts,
  ModelServer,
  type Placement,
  Placer,
  PrefixIndex,
  promptBlocks,
  type ReportedFacts
} from '#root'
import { type ClusterOptions, simulate } from './cluster.ts'

const CLUSTER = { servers: 4, slots: 8, users: 64, turns: 8, systems: 4, cacheBlocks: 4_000, thinkMs: 3_000 } as const

t.test('prefixes hit at least 0.9 of what is possible, where round robin does not', async t => {
  for (const seed of [1, 2, 3, 4, 5]) {
    const run = (placement: ClusterOptions['placement']) => simulate({ ...CLUSTER, seed, placement })
    const router = run('router')
    const roundRobin = run('round-robin')
    const rate = router.hits / router.possible
    const baseline = roundRobin.hits / roundRobin.possible
    t.ok(rate >= 0.9, `seed ${seed}: ${rate.toFixed(3)} of the possible hits`)
    t.ok(rate > baseline, `seed ${seed}: round robin has ${baseline.toFixed(3)}`)
    t.ok(router.firstTokenMs < roundRobin.firstTokenMs, `seed ${seed}: less time to the first token`)
    const requests = router.requestsByServer
    const mean = (CLUSTER.users * CLUSTER.turns) / CLUSTER.servers
    t.ok(Math.max(...requests) < 2 * mean, `seed ${seed}: no server has most of the requests: ${requests.join(', ')}`)
  }
})

t.test('under load, users with one system prompt spread over all servers', async t => {
  const { requestsByServer } = simulate({ ...CLUSTER, systems: 1, thinkMs: 500, seed: 9, placement: 'router' })
  t.ok(Math.min(...requestsByServer) > 0.1 * CLUSTER.users * CLUSTER.turns, requestsByServer.join(', '))
})

interface Given {
  readonly api?: ModelServerApi
  readonly models?: Readonly<Record<string, Partial<ModelFacts>>>
  readonly running?: number
  readonly waiting?: number
  readonly slots?: number
  readonly weight?: number
  readonly active?: readonly string[]
}

/** Returns a placement over servers with these facts, by name. */
function placement(given: Readonly<Record<string, Given | null>>) {
  const index = new PrefixIndex()
  let now = 0
  const context = { newResidency: () => index.newResidency(), now: () => now }
  const servers = Object.entries(given).map(([name, facts]) => {
    const entry: InferenceServer = {
      name,
      url: `http://${name}`,
      api: facts?.api ?? 'vllm',
      weight: facts?.weight ?? 1
    }
    const server = new ModelServer(entry, 'settings', context)
    if (facts !== null) server.takeFacts(reported(facts), server.beginFacts())
    return server
  })
  const placer = new Placer(index, 10_000)
  const place = (text: string, model = 'm', needsOllamaRoutes = false) => {
    const request = { model, needsOllamaRoutes, prompt: promptBlocks(model, text) }
    const placed = placer.place(request, servers)
    if (!('kind' in placed)) placer.record(request, placed.server)
    return placed
  }
  return {
    servers,
    server: (name: string) => servers.find(each => each.name === name) as ModelServer,
    place,
    chosen: (text: string, model?: string) => (place(text, model) as Placement).server?.name,
    wait: (ms: number) => {
      now += ms
    }
  }
}

function reported({ models = { m: {} }, running = 0, waiting = 0, slots = 4, active }: Given): ReportedFacts {
  const all = Object.entries(models).map(([name, facts]): [string, ModelFacts] => [
    name,
    { name, parent: null, loaded: true, created: 0, contextLength: null, tag: null, running: null, ...facts }
  ])
  const activeAdapters = active === undefined ? null : new Set(active)
  return {
    models: new Map(all),
    running,
    waiting,
    slots,
    cacheUsage: null,
    activeAdapters,
    startedAt: 1,
    counter: null
  }
}

const LONG = 'a system prompt of some length '.repeat(200)

t.test('a loaded model is worth a queue, but not one that takes longer than loading', async t => {
  const models = { m: { loaded: false } }
  t.equal(placement({ cold: { models }, warm: { running: 4, waiting: 1 } }).chosen(LONG), 'warm')
  const full = placement({ cold: { models }, warm: { running: 4, waiting: 60 }, other: { running: 4, waiting: 60 } })
  t.equal(full.chosen(LONG), 'cold')
})

t.test('a server that is loading the model for another request is preferred to one that has not begun', async t => {
  const models = { m: { loaded: false } }
  const { chosen, server, wait } = placement({ a: { models }, b: { models }, c: { models } })
  const first = chosen('one') as string
  server(first).use('m')
  wait(1_500)
  for (const text of ['two', 'three', 'four', LONG]) t.equal(chosen(text), first)
})

t.test('servers with the adapter in memory are preferred', async t => {
  const models = { m: {}, sql: { parent: 'm' } }
  const { chosen } = placement({
    a: { models, active: ['x'] },
    b: { models, active: ['sql'] },
    c: { models, active: [] }
  })
  for (const text of ['1', '2', '3', LONG]) t.equal(chosen(text, 'sql'), 'b')
})

t.test('a known prefix is followed until its server has too much load', async t => {
  const { chosen, server } = placement({ a: {}, b: {}, c: {} })
  const home = chosen(LONG) as string
  for (let turn = 0; turn < 5; turn++) t.equal(chosen(`${LONG}${turn}`), home)
  server(home).inFlight = 4
  const other = chosen(`${LONG}x`) as string
  t.not(other, home, 'more than 1.25 times the mean and two requests')
  server(home).inFlight = 0
  for (let turn = 0; turn < 5; turn++) t.ok([home, other].includes(chosen(`${LONG}${turn}`) as string))
})

t.test('prefixes of a restarted server, and of an unloaded model, are forgotten', async t => {
  const { place, server } = placement({ a: {}, b: {} })
  const first = place(LONG) as Placement
  t.equal(first.reason, 'hash')
  t.equal((place(LONG) as Placement).reason, 'prefix')
  const home = server(first.server.name)
  home.takeFacts({ ...reported({}), startedAt: 2 }, home.beginFacts())
  t.equal((place(LONG) as Placement).reason, 'hash')
  t.equal((place(LONG) as Placement).reason, 'prefix')
  home.takeFacts({ ...reported({ models: { m: { loaded: false } } }), startedAt: 2 }, home.beginFacts())
  home.takeFacts({ ...reported({}), startedAt: 2 }, home.beginFacts())
  t.equal((place(LONG) as Placement).reason, 'hash')
})

t.test('unknown prompts spread by their beginning, by weight, among the less loaded half', async t => {
  const count = (given: Parameters<typeof placement>[0]) => {
    const { place } = placement(given)
    const counts: Record<string, number> = {}
    for (let number = 0; number < 600; number++) {
      const { name } = (place(`prompt ${number}`) as Placement).server
      counts[name] = (counts[name] ?? 0) + 1
    }
    return counts
  }
  const even = count({ a: {}, b: {}, c: {} })
  for (const name of ['a', 'b', 'c']) t.ok((even[name] ?? 0) > 140, JSON.stringify(even))
  const loaded = count({ a: { running: 1 }, b: {}, c: { running: 1 }, d: {} })
  t.same(Object.keys(loaded).sort(), ['b', 'd'])
  const weighted = count({ a: { weight: 3 }, b: {} })
  t.ok((weighted.a ?? 0) > 2 * (weighted.b ?? 0), JSON.stringify(weighted))
  t.same(Object.keys(count({ a: { weight: 0 }, b: {} })), ['b'])
})

t.test('the reason of a refusal is the most helpful one', async t => {
  t.same(placement({}).place('x'), { kind: 'no-servers' })
  t.same(placement({ a: { models: { x: {} } } }).place('x'), { kind: 'unknown-model', offered: ['x'] })
  t.same(placement({ a: {} }).place('x', 'm', true), { kind: 'other-api' })
  t.match(placement({ a: { api: 'ollama' } }).place('x', 'm', true), { server: { name: 'a' } })
  t.same(placement({ a: { weight: 0 } }).place('x'), { kind: 'unavailable', retryMs: null })
  const held = placement({ a: {}, b: {} })
  held.server('a').hold(4_000)
  held.server('b').hold(3_000)
  t.same(held.place('x'), { kind: 'unavailable', retryMs: 3_000 })
  held.wait(3_000)
  t.match(held.place('x'), { server: { name: 'b' } })
})

t.test('a server without facts, or with old ones, is the last resort', async t => {
  const { place, chosen, wait, server } = placement({ known: {}, silent: null })
  for (const text of ['1', '2', '3']) t.equal(chosen(text), 'known')
  t.match(place('x', 'other'), { reason: 'last-resort', server: { name: 'silent' } })
  wait(10_001)
  server('silent').takeFacts(reported({}), server('silent').beginFacts())
  for (const text of ['1', '2', '3']) t.equal(chosen(text), 'silent')
})
