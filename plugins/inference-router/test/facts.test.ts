import type { ModelServerApi } from '@svc/contracts'
import fc from 'fast-check'
import t, { type Test } from 'tap'
import { FactsClient, labelOf, ModelServer, PrefixIndex, READ_FACTS, readSamples, total } from '#root'
import { llamaMetrics, modelServer, type ServerOptions, vllmMetrics } from './model-servers.ts'

async function factsOf(t: Test, options: ServerOptions) {
  const { url } = await modelServer(t, options)
  return READ_FACTS[options.api](new FactsClient(url, options.key, AbortSignal.timeout(5_000)))
}

t.test('vLLM reports models, adapters, load and cache', async t => {
  const metrics = vllmMetrics({ running: 3, waiting: 2, cache: 0.5, running_adapters: 'sql, legal' })
  const facts = await factsOf(t, { api: 'vllm', models: ['base', 'sql'], adapters: { sql: 'base' }, metrics })
  t.match(facts, { running: 3, waiting: 2, cacheUsage: 0.5, slots: null, startedAt: 1_700_000_000 })
  t.same(facts.activeAdapters, new Set(['sql', 'legal']), 'the newest sample holds')
  t.match(facts.models.get('sql'), { parent: 'base', loaded: true, contextLength: 4096 })
  const old = vllmMetrics({ cache: 0.25, cacheName: 'vllm:gpu_cache_usage_perc' })
  t.equal((await factsOf(t, { api: 'vllm', models: ['base'], metrics: old })).cacheUsage, 0.25)
  t.match(await factsOf(t, { api: 'vllm', models: ['base'] }), {
    running: null,
    cacheUsage: null,
    activeAdapters: null
  })
})

t.test('Ollama reports its models and which are loaded, and no load', async t => {
  const facts = await factsOf(t, { api: 'ollama', models: ['a:latest', 'b:7b'], loaded: ['a:latest'] })
  t.match(
    [...facts.models],
    [
      ['a', { name: 'a:latest', loaded: true, contextLength: 4096 }],
      ['b:7b', { loaded: false, contextLength: null }]
    ]
  )
  t.match(facts, { running: null, waiting: null, slots: null })
})

t.test('llama.cpp reports its slots, and its load by metrics or slots', async t => {
  const slots = [{ is_processing: true }, { is_processing: false }]
  const options = { api: 'llama.cpp', models: ['m'], slots } as const
  const metrics = llamaMetrics({ processing: 2, deferred: 4, promptTokens: 99 })
  t.match(await factsOf(t, { ...options, metrics }), { running: 2, waiting: 4, slots: 2, counter: 99 })
  t.match(await factsOf(t, options), { running: 1, waiting: null, slots: 2, counter: null })
})

t.test('svc reports running and waiting requests', async t => {
  const metrics = [
    'svc_model_slots{model="m"} 4',
    'svc_model_running{model="m"} 3',
    'svc_model_waiting{model="m"} 2',
    'process_start_time_seconds 17'
  ].join('\n')
  const options: ServerOptions = { api: 'svc', models: ['m', 'm:sql'], adapters: { 'm:sql': 'm' }, metrics }
  const facts = await factsOf(t, options)
  t.match(facts, { running: 3, waiting: 2, slots: 4, startedAt: 17 })
  t.match(facts.models.get('m:sql'), { parent: 'm', loaded: true })
})

t.test('responses that are no facts are errors that name the route', async t => {
  const { url, options } = await modelServer(t, { api: 'openai', models: ['m'], key: 'secret' })
  const read = (api: ModelServerApi, key?: string) =>
    READ_FACTS[api](new FactsClient(url, key, AbortSignal.timeout(5_000)))
  await t.rejects(read('openai', 'wrong'), { message: 'GET /v1/models returned 401', status: 401, isDown: false })
  t.equal((await read('openai', 'secret')).models.size, 1)
  await t.rejects(read('ollama', 'secret'), { message: /GET \/api\/(tags|ps) returned 404/ })
  options.beforeFacts = () => {
    throw new Error('closes the connection')
  }
  await t.rejects(read('openai', 'secret'), { name: 'FactsError', message: /GET \/v1\/models/, isDown: false })
  const ended = await modelServer(t, { api: 'openai', models: ['m'] })
  await ended.kill()
  const gone = new FactsClient(ended.url, undefined, AbortSignal.timeout(5_000))
  await t.rejects(READ_FACTS.openai(gone), { message: /ECONNREFUSED/, isDown: true })
})

t.test('the Prometheus text format is read whatever else it holds', async t => {
  const samples = readSamples('a{x="1,}\\"",y="2"} 3 1700\nb 1e3\nab 7\n# a 5\na NaN\na\n{} 1\na{ 4\nc +Inf', [
    'a',
    'b'
  ])
  t.equal(total(samples, 'a'), 3)
  t.equal(total(samples, 'b'), 1000)
  t.equal(total(samples, 'c'), null)
  const [first] = samples.get('a') ?? []
  t.equal(labelOf(first ?? { labels: '', value: 0 }, 'x'), '1,}"')
  t.equal(labelOf(first ?? { labels: '', value: 0 }, 'y'), '2')
  fc.assert(
    fc.property(
      fc.string({ unit: 'binary', maxLength: 200 }),
      fc.double({ noNaN: true, noDefaultInfinity: true }),
      (junk, value) => {
        const text = `${junk.replaceAll('wanted', '')}\nwanted{a="b"} ${value}\n`
        return total(readSamples(text, ['wanted']), 'wanted') === value
      }
    )
  )
})

t.test('load is what the server reports, corrected by the requests since then', async t => {
  const index = new PrefixIndex()
  let now = 0
  const context = { newResidency: () => index.newResidency(), now: () => now }
  const server = new ModelServer({ name: 's', url: 'http://s', api: 'vllm' }, 'settings', context)
  const facts = (running: number, waiting: number) => ({
    models: new Map(),
    running,
    waiting,
    slots: null,
    cacheUsage: null,
    activeAdapters: null,
    startedAt: 1,
    counter: null
  })
  server.inFlight = 2
  t.equal(server.load, 2)
  server.takeFacts(facts(5, 1), server.beginFacts())
  t.equal(server.load, 6)
  server.inFlight = 4
  t.equal(server.load, 8, 'two were sent since')
  server.inFlight = 0
  t.equal(server.load, 4, 'two have ended since')
  server.takeFacts(facts(0, 0), server.beginFacts())
  server.inFlight = 3
  t.equal(server.load, 3)
  t.equal(server.slots, 256)
  server.takeFacts(facts(8, 2), server.beginFacts())
  t.equal(server.slots, 8, 'a server with a queue uses all its slots')
  now = 7
  t.equal(server.factsAgeMs, 7)
})
