import { metricsText } from '@svc/contracts'
import { definePlugin } from '@svc/plugin-sdk'
import { testKernel } from '@svc/plugin-sdk/testing'
import t from 'tap'
import plugin from '#plugin'
import {
  exposedValues,
  MAX_POINTS,
  MAX_SERIES,
  MetricHistory,
  MetricSampler,
  RequestCounter,
  Ring,
  RingFeed
} from '#root'

t.test('a history keeps the newest points of each series', t => {
  const history = new MetricHistory()
  for (let at = 0; at < MAX_POINTS + 10; at++) history.add(at, { a: at, ...(at % 2 === 0 ? { b: 1 } : {}) })
  const points = history.points(['a', 'b', 'unknown'])
  t.equal(points.length, MAX_POINTS)
  t.same(points[0], { time: 10, a: 10, b: 1, unknown: null })
  t.same(points.at(-1), { time: MAX_POINTS + 9, a: MAX_POINTS + 9, b: null, unknown: null })
  t.equal(history.points(['a'], MAX_POINTS).length, 10)
  t.end()
})

t.test('a history takes a limited number of series, and replaces those without values', t => {
  const history = new MetricHistory()
  history.add(0, Object.fromEntries(Array.from({ length: MAX_SERIES + 5 }, (_, at) => [`s${at}`, 1])))
  t.equal(history.names.length, MAX_SERIES)
  t.equal(history.dropped, 5)
  for (let at = 1; at <= MAX_POINTS; at++) history.add(at, { s1: 1 })
  history.add(MAX_POINTS + 1, { s1: 1, fresh: 2 })
  t.ok(history.names.includes('fresh'))
  t.equal(history.dropped, 0)
  t.end()
})

t.test('requests are counted with their errors and quantiles, for one period after another', t => {
  const counter = new RequestCounter()
  for (let ms = 1; ms <= 100; ms++) counter.add(ms, ms > 98)
  const { count, errors, p50, p95 } = counter.take()
  t.same([count, errors], [100, 2])
  for (const [found, exact] of [
    [p50, 50],
    [p95, 95]
  ] as const)
    t.ok((found as number) >= exact && (found as number) <= exact * 1.25, `${found} is near ${exact}`)
  t.same(counter.take(), { count: 0, errors: 0, p50: null, p95: null })
  counter.add(0, false)
  counter.add(1e9, false)
  t.equal(counter.take().count, 2)
  t.end()
})

t.test('values of a Prometheus text are read without labels that may hold ids or paths', t => {
  const text = [
    '# TYPE calls_total counter',
    'calls_total{plugin="a",path="/x/1"} 3',
    'calls_total{plugin="a",path="/x/2"} 4',
    '# TYPE open gauge',
    'open 5',
    '# TYPE wait_seconds histogram',
    'wait_seconds_bucket{le="1"} 9',
    'wait_seconds_sum{model="m \\" n"} 1.5e1',
    'wait_seconds_count 2',
    'broken{',
    'not_a_number NaN'
  ].join('\n')
  t.same(exposedValues(text), [
    { series: 'calls_total{plugin=a}', isCounter: true, value: 7 },
    { series: 'open', isCounter: false, value: 5 },
    { series: 'wait_seconds_sum{model=m \\" n}', isCounter: true, value: 15 },
    { series: 'wait_seconds_count', isCounter: true, value: 2 }
  ])
  t.end()
})

t.test('a sample has rates of requests, plugins and counters, and values of the process', async t => {
  const history = new MetricHistory()
  const requests = new RequestCounter()
  const stats = { calls: 0, failures: 0, totalMs: 0 }
  const units = new Map([['a', { name: 'a', stats }]])
  let tokens = 0
  const sampler = new MetricSampler({
    kernel: { current: { units } } as never,
    history,
    requests,
    sources: () => [
      {
        render: () =>
          `# TYPE svc_model_completion_tokens_total counter\nsvc_model_completion_tokens_total{model="m"} ${tokens}`
      },
      {
        render: () => {
          throw new Error('broken')
        }
      }
    ],
    onSample: () => undefined
  })
  t.teardown(() => sampler.close())
  await sampler.sample()
  for (let count = 0; count < 5; count++) requests.add(2, count === 0)
  Object.assign(stats, { calls: 10, failures: 1, totalMs: 50 })
  tokens = 40
  await new Promise(resolve => setTimeout(resolve, 20))
  await sampler.sample()
  const point = history.points(history.names).at(-1) as Record<string, number>
  const positive = (name: string): void => void t.ok((point[name] as number) > 0, `${name} is ${point[name]}`)
  for (const name of ['requests_per_second', 'errors_per_second', 'request_p95_ms', 'rss_bytes', 'heap_bytes'])
    positive(name)
  for (const name of ['calls_per_second{plugin=a}', 'failed_calls_per_second{plugin=a}', 'call_time_percent{plugin=a}'])
    positive(name)
  positive('tokens_per_second')
  t.equal(
    Math.round((point.requests_per_second as number) / (point.errors_per_second as number)),
    5,
    'rates belong to the same period'
  )
})

t.test('svc metrics selects series by name and by beginning, and says that a new server has no values', async t => {
  const source = definePlugin({
    name: 'source',
    activate: ctx => ctx.contribute(metricsText, { render: () => '# TYPE open gauge\nopen 5' })
  })
  const kernel = await testKernel([source, plugin])
  t.teardown(() => kernel.close())
  t.match(await kernel.callById('observability.metrics', {}), { series: [], points: [], note: /no values yet/ })
  await t.rejects(kernel.callById('observability.metrics', { since: 'x' }), { code: 'OBS_SINCE_INVALID' })
})

t.test('a feed of a ring sends large content in several answers', t => {
  const ring = new Ring<string>({ maxItems: 100 })
  for (let at = 0; at < 100; at++) ring.push(String(at).padEnd(4_000, '.'))
  const feed = new RingFeed(ring, text => (text.startsWith('7') ? null : { text }))
  const keys: string[] = []
  let since: string | undefined
  let answers = 0
  for (;;) {
    const { cursor, upsert, more, reset } = feed.read({ since, limit: 1_000 })
    t.ok(JSON.stringify(upsert).length < 256_000)
    t.equal(reset, answers === 0)
    keys.push(...upsert.map(({ key }) => key))
    answers += 1
    since = cursor
    if (!more) break
  }
  t.ok(answers > 1)
  t.same(
    keys,
    Array.from({ length: 100 }, (_, at) => String(at)).filter(key => !key.startsWith('7'))
  )
  t.end()
})
