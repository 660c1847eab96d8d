import { EventEmitter, once } from 'node:events'
import { defineOperation, definePlugin, type Plugin, t } from '@svc/plugin-sdk'

const echo = defineOperation({
  id: 'test.echo',
  summary: 'Return what was sent',
  input: t.object({ text: t.string() }),
  output: t.object({ text: t.string(), by: t.string() }),
  effect: 'read',
  expose: { rpc: true }
})
const refuse = defineOperation({
  id: 'test.refuse',
  summary: 'Fail with a declared error',
  input: t.object({}),
  output: t.object({}),
  errors: { TEST_REFUSED: { message: 'refused on principle', status: 409 } },
  expose: { rpc: 'refuse' }
})
const crash = defineOperation({
  id: 'test.crash',
  summary: 'Throw',
  input: t.object({}),
  output: t.object({}),
  expose: { rpc: true }
})
const wait = defineOperation({
  id: 'test.wait',
  summary: 'End when the test says so',
  input: t.object({ gate: t.string() }),
  output: t.object({ gate: t.string(), by: t.string() }),
  timeoutMs: 0,
  expose: { rpc: true }
})
const count = defineOperation({
  id: 'test.count',
  summary: 'Emit numbers and progress',
  input: t.object({ to: t.integer(), size: t.integer({ default: 0 }) }),
  output: t.object({ sum: t.integer() }),
  events: t.object({ number: t.integer(), padding: t.string() }),
  expose: { rpc: true }
})
const report = defineOperation({
  id: 'test.report',
  summary: 'Report progress without events, when the test says so',
  input: t.object({ gate: t.optional(t.string()), times: t.integer({ default: 1 }) }),
  output: t.object({ ok: t.boolean() }),
  expose: { rpc: true }
})
const hidden = defineOperation({
  id: 'test.hidden',
  summary: 'Not for this surface',
  input: t.object({}),
  output: t.object({}),
  expose: {}
})
const huge = defineOperation({
  id: 'test.huge',
  summary: 'Answer with many bytes',
  input: t.object({ bytes: t.integer() }),
  output: t.object({ text: t.string() }),
  expose: { rpc: true }
})

export interface Gates {
  /** Emits `entered GATE` and `aborted GATE`. Emit `open GATE` to let a waiting call end. */
  readonly events: EventEmitter
}

/** Creates a plugin with operations that a test can block, fail and count. `version` distinguishes two instances. */
export function examplePlugin(gates: Gates, version = 'first'): Plugin {
  return definePlugin({
    name: 'example',
    operations: [echo, refuse, crash, wait, count, report, hidden, huge],
    activate(ctx) {
      ctx.implement(echo, ({ text }) => ({ text, by: version }))
      ctx.implement(refuse, (_input, call) => call.fail('TEST_REFUSED', undefined, { why: 'test' }))
      ctx.implement(crash, () => {
        throw new Error('secret inner reason')
      })
      ctx.implement(wait, async ({ gate }, call) => {
        call.signal.addEventListener('abort', () => gates.events.emit(`aborted ${gate}`))
        const opened = once(gates.events, `open ${gate}`, { signal: call.signal })
        gates.events.emit(`entered ${gate}`)
        await opened
        return { gate, by: version }
      })
      ctx.implement(count, async ({ to, size }, call) => {
        let sum = 0
        for (let number = 1; number <= to; number++) {
          call.emit({ number, padding: 'x'.repeat(size) })
          call.progress(number, to)
          sum += number
          if (number % 16 === 0) await new Promise(resolve => setImmediate(resolve))
          call.signal.throwIfAborted()
        }
        return { sum }
      })
      ctx.implement(report, async ({ gate, times }, call) => {
        if (gate !== undefined) {
          const opened = once(gates.events, `open ${gate}`, { signal: call.signal })
          gates.events.emit(`entered ${gate}`)
          await opened
        }
        for (let time = 1; time <= times; time++) call.progress(time, times)
        return { ok: true }
      })
      ctx.implement(hidden, () => ({}))
      ctx.implement(huge, ({ bytes }) => ({ text: 'x'.repeat(bytes) }))
    }
  })
}

export function newGates(): Gates {
  const events = new EventEmitter()
  events.setMaxListeners(0)
  return { events }
}
