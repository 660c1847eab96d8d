import { EventEmitter } from 'node:events'
import type { Progress } from '@modelcontextprotocol/client'
import {
  defineMcpTool,
  type McpTool,
  type McpToolset,
  mcpTools,
  mcpToolset,
  type RewardEvent,
  rewardEvents
} from '@svc/contracts'
import { defineOperation, definePlugin, type Plugin, t as schema } from '@svc/plugin-sdk'
import { testKernel } from '@svc/plugin-sdk/testing'
import t from 'tap'
import mcp from '#plugin'
import { examplePlugin } from './example-plugin.ts'
import { ERAS, startMcp, textOf } from './start-mcp.ts'

for (const era of ERAS) {
  t.test(`tools of the ${era} protocol`, async t => {
    const gates = new EventEmitter()
    const { connect, http } = await startMcp(t, [examplePlugin({ gates })], { output_schemas: 'full' })
    const client = await connect(era)

    t.test('operations are listed with their schemas and hints, sorted by name', async t => {
      const { tools } = await client.listTools()
      const names = tools.map(tool => tool.name)
      t.same(names, [...names].sort())
      t.notOk(names.includes('example_internal'))
      t.match(
        tools.find(tool => tool.name === 'example_greet'),
        {
          title: 'Greeter',
          description: 'Greet a person\n\nIn the language of the test.',
          inputSchema: { type: 'object', required: ['name'], properties: { name: { type: 'string' } } },
          outputSchema: { type: 'object', required: ['greeting', 'by'] },
          annotations: { readOnlyHint: true, destructiveHint: false, idempotentHint: true }
        }
      )
      t.match(
        tools.find(tool => tool.name === 'erase-all'),
        { annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: true } }
      )
    })

    t.test('a result has structured content, and the same as text', async t => {
      const result = await client.callTool({ name: 'example_greet', arguments: { name: 'Ada' } })
      t.match(result, { structuredContent: { greeting: 'Hello, Ada', by: 'first' } })
      t.same(JSON.parse(textOf(result)), result.structuredContent)
      const array = await client.callTool({ name: 'example_list' })
      t.same(
        array.structuredContent,
        era === '2026' ? [1, 2, 3] : { result: [1, 2, 3] },
        'the 2025 protocol allows only objects'
      )
    })

    t.test('failures are results with code, message and hint', async t => {
      const invalid = await client.callTool({ name: 'example_greet', arguments: { name: 7 } })
      t.match(invalid, { isError: true, _meta: { 'svc/error': { code: 'OPR_INPUT_INVALID', status: 400 } } })
      t.match(textOf(invalid), /^OPR_INPUT_INVALID: .*\nHint: /s)
      const declared = await client.callTool({ name: 'erase-all' })
      t.match(declared, {
        isError: true,
        _meta: { 'svc/error': { code: 'EXAMPLE_KEPT', message: 'nothing was erased', data: { left: 3 } } }
      })
      const raw = await client.callTool({ name: 'raw_guarded', arguments: { size: -1 } })
      t.equal(textOf(raw), 'EXAMPLE_NEGATIVE: size is negative\nHint: use a positive size')
      t.match(textOf(await client.callTool({ name: 'raw_guarded', arguments: { size: 'x' } })), /Invalid arguments/)
      const unknown = await client.callTool({ name: 'raw_guarded', arguments: { sise: 1, size: 'x', more: 2 } })
      t.equal(
        textOf(unknown),
        'Invalid arguments for raw_guarded: data/size must be integer; unknown "sise", "more"; known: size'
      )
      const other = await client.callTool({ name: 'example_greet', arguments: { name: 'Ada', loudly: true } })
      t.match(textOf(other), /loudly unknown key; known keys: name, loud/)
      t.match(textOf(await client.callTool({ name: 'raw_guarded', arguments: { size: 0 } })), /invalid result/)
      await t.rejects(client.callTool({ name: 'nope' }), { code: -32602, message: /Unknown tool: nope/ })
      await t.rejects(client.callTool({ name: 'example_internal' }), { code: -32602 })
    })

    t.test('a template lists its members', async t => {
      t.match(await client.readResource({ uri: 'example://shelf/1' }), { contents: [{ text: 'the first' }] })
      const uri = 'example://shelf/2'
      await t.rejects(client.readResource({ uri }), { code: -32602, data: { uri } })
    })

    t.test('events and progress become increasing progress notifications', async t => {
      for (const quietly of [false, true]) {
        const seen: Progress[] = []
        const result = await client.callTool(
          { name: 'example_count', arguments: { to: 3, quietly } },
          { onprogress: progress => void seen.push(progress) }
        )
        t.match(result, { structuredContent: { sum: 6 } })
        t.equal(seen.length, quietly ? 3 : 6)
        t.ok(
          seen.every((each, index) => index === 0 || each.progress > seen[index - 1]!.progress),
          JSON.stringify(seen)
        )
        t.ok(seen.some(each => each.message === '{"number":2}'))
        t.equal(
          seen.some(each => each.message === 'at 2' && each.total === 3),
          !quietly
        )
      }
    })

    t.test('a cancelled request aborts its operation or raw tool', async t => {
      for (const name of ['example_wait', 'raw_wait']) {
        const entered = new Promise(resolve => gates.once(`entered ${name}`, resolve))
        const aborted = new Promise(resolve => gates.once(`aborted ${name}`, resolve))
        const controller = new AbortController()
        const call = client.callTool({ name, arguments: { gate: name } }, { signal: controller.signal })
        await entered
        controller.abort()
        await t.rejects(call)
        await aborted
      }
    })

    t.test('a tool is hidden from callers without its scopes, and writing tools from readers', async t => {
      const seen = async (principal: typeof http.principal): Promise<Set<string>> => {
        http.principal = principal
        const other = await connect(era)
        const { tools } = await other.listTools()
        for (const name of ['erase-all', 'raw_guarded']) {
          if (tools.some(tool => tool.name === name)) continue
          await t.rejects(other.callTool({ name, arguments: {} }), { code: -32602, message: /Unknown tool/ })
        }
        return new Set(tools.map(tool => tool.name))
      }
      const owner = http.principal
      const reader = await seen({ id: 'r', role: 'read', scopes: ['*'] })
      t.ok(reader.has('example_greet') && reader.has('raw_guarded') && reader.has('test_simple_text'))
      t.notOk(reader.has('erase-all') || reader.has('example_wait') || reader.has('test_image_content'))
      const scoped = await seen({ id: 's', role: 'user', scopes: ['example.raw'] })
      t.ok(scoped.has('raw_guarded') && scoped.has('example_wait'))
      t.notOk(scoped.has('erase-all'))
      const stranger = await seen({ id: 'anonymous', role: 'anonymous', scopes: [] })
      t.ok(stranger.has('example_greet'))
      t.notOk(stranger.has('raw_guarded') || stranger.has('example_wait'))
      http.principal = owner
    })

    t.test('a raw tool receives its caller and surface', async t => {
      const result = await client.callTool({ name: 'raw_guarded', arguments: { size: 1 } })
      t.same(JSON.parse(textOf(result)), {
        ok: true,
        principal: 'local',
        version: era === '2026' ? '2026-07-28' : '2025-11-25'
      })
    })

    t.test('every kind of content arrives', async t => {
      const kinds = async (name: string): Promise<string[]> => {
        const { content } = (await client.callTool({ name })) as { content: { type: string }[] }
        return content.map(block => block.type)
      }
      t.same(await kinds('test_image_content'), ['image'])
      t.same(await kinds('test_audio_content'), ['audio'])
      t.same(await kinds('test_multiple_content_types'), ['text', 'image', 'resource'])
    })
  })
}

const operation = (id: string, name?: string): Plugin => {
  const op = defineOperation({
    id,
    summary: 'x',
    input: schema.object({}),
    output: schema.object({}),
    expose: { mcp: name === undefined ? true : { name } }
  })
  return definePlugin({ name: 'ops', operations: [op], activate: ctx => ctx.implement(op, () => ({})) })
}
const raw = (tool: Partial<McpTool>): Plugin =>
  definePlugin({
    name: 'raw',
    activate(ctx) {
      const base = defineMcpTool({
        name: 'same',
        description: 'x',
        input: schema.object({}),
        call: () => ({ content: [] })
      })
      ctx.contribute(mcpTools, { ...base, ...tool })
    }
  })

t.test('an invalid catalog fails the change, and the error names the plugins', async t => {
  await t.rejects(testKernel([mcp, operation('a.b', 'same'), raw({})]), {
    code: 'MCP_TOOL_CONFLICT',
    message: /tool same: ops and raw/
  })
  await t.rejects(testKernel([mcp, operation('a.b', 'with space')]), {
    code: 'MCP_TOOL_NAME_INVALID',
    message: /ops offers a tool named "with space"/
  })
  await t.rejects(testKernel([mcp, raw({ name: 'x'.repeat(129) })]), { code: 'MCP_TOOL_NAME_INVALID' })
  await t.rejects(testKernel([mcp, raw({ input: { type: 'object', properties: { a: { type: 'nonsense' } } } })]), {
    code: 'MCP_SCHEMA_INVALID',
    message: /input of the tool same of raw/
  })
})

t.test('calls that succeed are sent to the reward component, without secret arguments', async t => {
  const keep = defineOperation({
    id: 'vault.keep',
    summary: 'Keep a secret',
    input: schema.object({
      name: schema.string(),
      value: schema.secret(),
      more: schema.array(schema.object({ key: schema.secret(), note: schema.string() }))
    }),
    output: schema.object({}),
    expose: { mcp: true }
  })
  const events: RewardEvent[] = []
  const vault = definePlugin({
    name: 'vault',
    operations: [keep],
    activate: ctx => {
      ctx.implement(keep, ({ name }) => {
        if (name === '') throw new Error('no name')
        return {}
      })
    }
  })
  let toolset: McpToolset | undefined
  const listener = definePlugin({
    name: 'listener',
    requires: { tools: mcpToolset },
    activate(ctx, { tools }) {
      toolset = tools
      ctx.on(rewardEvents, event => void events.push(event))
    }
  })
  const { connect } = await startMcp(t, [vault, listener])
  const client = await connect('2026')
  const args = { name: 'a', value: 'hunter2', more: [{ key: 'hunter3', note: 'b' }] }
  t.notOk((await client.callTool({ name: 'vault_keep', arguments: args })).isError)
  t.ok((await client.callTool({ name: 'vault_keep', arguments: { ...args, name: '' } })).isError)
  const expected = {
    type: 'mcp_tool_called',
    tool: 'vault_keep',
    plugin: 'vault',
    arguments: { name: 'a', more: [{ note: 'b' }] }
  }
  while (events.length === 0) await new Promise(resolve => setTimeout(resolve, 5))
  t.same(events, [expected])
  const principal = { id: 'local', role: 'admin', scopes: ['*'] }
  t.notOk((await toolset?.call('vault_keep', args, { principal }))?.isError)
  while (events.length === 1) await new Promise(resolve => setTimeout(resolve, 5))
  t.same(events, [expected, expected], 'also calls over another surface')
})
