import { EventEmitter, once } from 'node:events'
import {
  defineMcpTool,
  mcpElicitUrl,
  mcpInputRequired,
  mcpResourceNotFound,
  mcpResourceTemplates,
  mcpTools
} from '@svc/contracts'
import { defineOperation, definePlugin, type Plugin, SvcError, t } from '@svc/plugin-sdk'

const greet = defineOperation({
  id: 'example.greet',
  summary: 'Greet a person',
  description: 'In the language of the test.',
  input: t.object({ name: t.string(), loud: t.boolean({ default: false }) }),
  output: t.object({ greeting: t.string(), by: t.string() }),
  effect: 'read',
  expose: { mcp: { title: 'Greeter' } }
})
const erase = defineOperation({
  id: 'example.erase',
  summary: 'Erase everything',
  input: t.object({}),
  output: t.object({}),
  errors: { EXAMPLE_KEPT: { message: 'nothing was erased', status: 409 } },
  effect: 'destructive',
  idempotent: true,
  scopes: ['example.erase'],
  expose: { mcp: { name: 'erase-all' } }
})
const list = defineOperation({
  id: 'example.list',
  summary: 'Return an array',
  input: t.object({}),
  output: t.array(t.integer()),
  effect: 'read',
  expose: { mcp: true }
})
const wait = defineOperation({
  id: 'example.wait',
  summary: 'Wait until the test opens a gate',
  input: t.object({ gate: t.string() }),
  output: t.object({ by: t.string() }),
  timeoutMs: 0,
  expose: { mcp: true }
})
const count = defineOperation({
  id: 'example.count',
  summary: 'Emit numbers while running',
  input: t.object({ to: t.integer(), quietly: t.boolean({ default: false }) }),
  output: t.object({ sum: t.integer() }),
  events: t.object({ number: t.integer() }),
  effect: 'read',
  expose: { mcp: true }
})
const internal = defineOperation({
  id: 'example.internal',
  summary: 'Not for this surface',
  input: t.object({}),
  output: t.object({}),
  expose: { rpc: true }
})

export interface ExampleOptions {
  readonly gates?: EventEmitter
  readonly version?: string
  /** Name of an additional tool. */
  readonly extra?: string
}

/**
 * Returns a plugin with operations and raw tools. A test can delay them or make them fail; `version` is in the results.
 */
export function examplePlugin({ gates = new EventEmitter(), version = 'first', extra }: ExampleOptions = {}): Plugin {
  return definePlugin({
    name: 'example',
    operations: [greet, erase, list, wait, count, internal],
    activate(ctx) {
      ctx.implement(greet, ({ name, loud }) => ({ greeting: `Hello, ${name}${loud ? '!' : ''}`, by: version }))
      ctx.implement(erase, (_input, call) => call.fail('EXAMPLE_KEPT', undefined, { left: 3 }))
      ctx.implement(list, () => [1, 2, 3])
      ctx.implement(wait, async ({ gate }, call) => {
        call.signal.addEventListener('abort', () => gates.emit(`aborted ${gate}`))
        const opened = once(gates, `open ${gate}`, { signal: call.signal })
        gates.emit(`entered ${gate}`)
        await opened
        return { by: version }
      })
      ctx.implement(count, ({ to, quietly }, call) => {
        let sum = 0
        for (let number = 1; number <= to; number++) {
          call.emit({ number })
          if (!quietly) call.progress(number, to, `at ${number}`)
          sum += number
        }
        return { sum }
      })
      ctx.implement(internal, () => ({}))
      ctx.contribute(
        mcpTools,
        defineMcpTool({
          name: 'raw_guarded',
          description: 'A raw tool with a scope',
          input: t.object({ size: t.integer() }),
          output: t.object({ ok: t.boolean() }),
          scopes: ['example.raw'],
          hints: { readOnly: true, openWorld: false },
          call({ size }, call) {
            if (size < 0) throw new SvcError('EXAMPLE_NEGATIVE', 'size is negative', { hint: 'use a positive size' })
            const facts = { ok: true, principal: call.principal.id, version: call.protocolVersion }
            return {
              content: [{ type: 'text', text: JSON.stringify(facts) }],
              structuredContent: size === 0 ? {} : { ok: true }
            }
          }
        })
      )
      ctx.contribute(
        mcpTools,
        defineMcpTool({
          name: 'raw_wait',
          description: 'A raw tool that waits until the test opens a gate',
          input: t.object({ gate: t.string() }),
          async call({ gate }, call) {
            call.signal.addEventListener('abort', () => gates.emit(`aborted ${gate}`))
            const opened = once(gates, `open ${gate}`, { signal: call.signal })
            gates.emit(`entered ${gate}`)
            await opened
            return { content: [{ type: 'text', text: version }] }
          }
        })
      )
      ctx.contribute(
        mcpTools,
        defineMcpTool({
          name: 'raw_sign_in',
          description: 'Sends the user to a page',
          input: t.object({}),
          call(_input, call) {
            const answer = call.inputs.elicited('page')
            if (answer === undefined) return mcpInputRequired({ page: mcpElicitUrl('Sign in', 'https://example.org/') })
            return { content: [{ type: 'text', text: answer.action }] }
          }
        })
      )
      ctx.contribute(mcpResourceTemplates, {
        uriTemplate: 'example://shelf/{id}',
        name: 'shelf',
        read(uri, { id }) {
          if (id !== '1') throw mcpResourceNotFound(uri)
          return { contents: [{ uri, text: 'the first' }] }
        }
      })
      if (extra !== undefined) {
        const tool = { name: extra, description: 'Added by a reload', input: t.object({}) }
        ctx.contribute(mcpTools, defineMcpTool({ ...tool, call: () => ({ content: [] }) }))
      }
    }
  })
}
