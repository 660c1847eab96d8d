import type { Delta } from '@svc/plugin-sdk'
import t from 'tap'
import { benchmarkFeed, benchmarkRecord } from '#root'
import { openTelemetry } from './world.ts'

t.test('the page of benchmarks follows 1,000 results with long details, and then only new ones', async t => {
  const kernel = await openTelemetry(t, { benchmarks: true, syntax_k: true })
  const details = { source: 'test', text: `<b>${'x'.repeat(20_000)}</b>` }
  const record = (count: number, from: number) =>
    kernel.call(benchmarkRecord, {
      results: Array.from({ length: count }, (_, at) => ({
        name: `speed ${from + at}`,
        value: at,
        unit: 'ms',
        details
      }))
    })
  for (let at = 0; at < 1_010; at += 10) await record(10, at)
  const first = (await kernel.call(benchmarkFeed, {})) as Delta<{ name: string; details: string }>
  t.equal(first.upsert.length, 1_000)
  t.match(first.upsert[0], {
    name: 'speed 1009',
    metric_value: 9,
    metric_value_unit: 'ms',
    details: /^\{"source":"mcp","text":"<b>x/
  })
  t.ok(first.upsert.every(each => each.details.length === 500))
  await record(1, 1_010)
  const next = (await kernel.call(benchmarkFeed, { since: first.cursor })) as Delta<{ name: string }>
  t.match(next, { reset: false, upsert: [{ name: 'speed 1010' }], more: false })
  t.equal(next.remove.length, 1, 'the oldest result is no longer listed')
})
