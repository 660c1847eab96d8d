import type { AgentEventKind } from '@svc/contracts'
import fc from 'fast-check'
import t from 'tap'
import { EventBus } from '#events'

const idle = (idle_ms: number): AgentEventKind => ({ type: 'orchestrator_idle', idle_ms })

function bus() {
  const errors: unknown[] = []
  return { errors, bus: new EventBus({ now: () => 7, report: error => void errors.push(error) }) }
}

t.test('numbers events from 1, and stores the last 1,024', t => {
  const { bus: events } = bus()
  t.same(events.recent(), [])
  for (let at = 1; at <= 3_000; at += 1) events.emit(idle(at))
  const recent = events.recent()
  t.equal(recent.length, 1_024)
  t.same([recent[0]?.id, recent.at(-1)], [1_977, { id: 3_000, timestamp_ms: 7, kind: idle(3_000) }])
  t.same(
    events.recent(2).map(({ id }) => id),
    [2_999, 3_000]
  )
  t.same(events.recent(-1), [])
  t.end()
})

t.test('reports the error of a listener, and still calls the others', t => {
  const { bus: events, errors } = bus()
  const seen: number[] = []
  events.subscribe(() => {
    throw new Error('broken')
  })
  const stop = events.subscribe(({ id }) => void seen.push(id))
  events.emit(idle(1))
  stop()
  events.emit(idle(2))
  t.same(seen, [1])
  t.match(errors, [/broken/, /broken/])
  t.end()
})

t.test('passes changed records to the listeners of records, and reports an error of one of them', t => {
  const { bus: events, errors } = bus()
  const seen: unknown[] = []
  events.subscribeRecords(() => {
    throw new Error('broken')
  })
  const stop = events.subscribeRecords(records => void seen.push(records === null ? null : [...records]))
  events.publishRecords(new Set(['task/1', 'agent/2']))
  events.publishRecords(new Set())
  events.publishRecords(null)
  stop()
  events.publishRecords(new Set(['task/3']))
  t.same(seen, [['task/1', 'agent/2'], null])
  t.equal(errors.length, 3)
  t.end()
})

t.test('delivers an event published by a listener after its cause, to all listeners', t => {
  const { bus: events } = bus()
  const seen: number[] = []
  events.subscribe(({ id }) => {
    if (id === 1) events.publish([idle(2), idle(3)])
  })
  events.subscribe(({ id }) => void seen.push(id))
  events.emit(idle(1))
  t.same(seen, [1, 2, 3])
  t.end()
})

t.test('a slow reader gets the number of dropped events, and the others in order', async t => {
  const property = fc.asyncProperty(fc.array(fc.integer({ min: 0, max: 12 }), { maxLength: 20 }), async bursts => {
    const { bus: events } = bus()
    const end = new AbortController()
    const reader = events.read(end.signal, 8)
    let last = 0
    for (const burst of bursts) {
      for (let at = 0; at < burst; at += 1) events.emit(idle(at))
      if (burst === 0) continue
      const { value } = await reader.next()
      if (value === undefined) throw new Error('the iteration ended early')
      if (value.event.id !== last + 1 + value.dropped)
        throw new Error('an event was neither delivered nor counted as dropped')
      last = value.event.id
    }
    end.abort()
    for await (const { event, dropped } of reader) {
      if (event.id !== last + 1 + dropped) throw new Error('an event was neither delivered nor counted as dropped')
      last = event.id
    }
    return last === (events.recent(1)[0]?.id ?? 0)
  })
  await t.resolves(fc.assert(property))
})

t.test('a waiting reader gets the next event, and ends when its signal is aborted', async t => {
  const { bus: events } = bus()
  const end = new AbortController()
  const reader = events.read(end.signal)
  const next = reader.next()
  events.emit(idle(1))
  t.match(await next, { value: { event: { id: 1 }, dropped: 0 } })
  const last = reader.next()
  end.abort()
  t.same(await last, { value: undefined, done: true })
  t.same(await events.read(AbortSignal.abort()).next(), { value: undefined, done: true })
})
