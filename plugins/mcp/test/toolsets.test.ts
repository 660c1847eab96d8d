import { type Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { defineOperation, definePlugin, type Plugin, t as schema } from '@svc/plugin-sdk'
import t, { type Test } from 'tap'
import mcp from '#plugin'
import { ERAS, type Era, newClient, type RunningMcp, startMcp, textOf } from './start-mcp.ts'

const tool = (id: string, toolsets?: readonly string[]) =>
  defineOperation({
    id,
    summary: `Run ${id}`,
    input: schema.object({ text: schema.optional(schema.string({ description: 'Any text.' })) }),
    output: schema.object({ id: schema.string({ description: 'The operation.' }) }),
    effect: id.includes('write') ? 'write' : 'read',
    expose: { mcp: toolsets === undefined ? true : { toolsets, use: 'Use it in tests.' } }
  })
const operations = [
  tool('demo.plain'),
  tool('demo.red', ['red']),
  tool('demo.both', ['red', 'blue']),
  tool('demo.write', ['blue'])
]
const demo: Plugin = definePlugin({
  name: 'demo',
  operations,
  activate(ctx) {
    for (const each of operations) ctx.implement(each, () => ({ id: each.id }))
  }
})
const OWN = ['svc_describe_tool', 'svc_enable_toolset', 'svc_list_toolsets']

/** Names of the listed tools of this test. */
async function names(client: Client): Promise<string[]> {
  const { tools } = await client.listTools(undefined, { cacheMode: 'refresh' } as never)
  return tools.map(({ name }) => name).filter(name => /^(demo_|svc_)/.test(name))
}

async function connectAt(t: Test, { url }: RunningMcp, era: Era, query: string): Promise<Client> {
  const client = newClient(era)
  await client.connect(new StreamableHTTPClientTransport(new URL(`${url}${query}`)))
  t.teardown(() => client.close())
  return client
}

for (const era of ERAS) {
  t.test(`toolsets over the ${era} protocol`, async t => {
    const running = await startMcp(t, [demo], { client_toolsets: { Painter: ['blue'] } })

    t.test('a client receives the default set, without the schemas of outputs', async t => {
      const client = await running.connect(era)
      t.same(await names(client), ['demo_plain', ...OWN])
      const { tools } = await client.listTools()
      for (const each of tools) t.equal(each.outputSchema, undefined, each.name)
      t.match(await client.callTool({ name: 'demo_plain' }), { structuredContent: { id: 'demo.plain' } })
    })

    t.test('the URL chooses toolsets and schemas', async t => {
      const red = await connectAt(t, running, era, '?toolsets=red&output_schemas=full')
      t.same(await names(red), ['demo_both', 'demo_red', ...OWN])
      const { tools } = await red.listTools()
      t.match(
        tools.find(({ name }) => name === 'demo_red'),
        { outputSchema: { properties: { id: {} } } }
      )
      t.equal(
        tools.find(({ name }) => name === 'demo_red')?.description,
        'Run demo.red\n\nUse it in tests.',
        'the guidance for models is part of the description'
      )
      t.same((await names(await connectAt(t, running, era, '?toolsets=all'))).length, operations.length + OWN.length)
      const several = await connectAt(t, running, era, '?toolsets=blue,%20demo')
      t.same(await names(several), ['demo_both', 'demo_plain', 'demo_write', ...OWN])
    })

    t.test('an unknown toolset or value is an error that names the known ones', async t => {
      for (const query of ['?toolsets=red,purple', '?output_schemas=some']) {
        const client = await connectAt(t, running, era, query)
        await t.rejects(client.listTools(), { code: -32602, message: /purple|some/ })
      }
    })

    t.test('the settings choose by name of the client, in any case', async t => {
      const client = newClient(era)
      Object.assign((client as unknown as { _clientInfo: object })._clientInfo, { name: 'painter' })
      await client.connect(new StreamableHTTPClientTransport(new URL(running.url)))
      t.teardown(() => client.close())
      t.same(await names(client), ['demo_both', 'demo_write', ...OWN])
    })

    t.test('a tool outside of the chosen sets can be called by name', async t => {
      const client = await running.connect(era)
      t.match(await client.callTool({ name: 'demo_red' }), { structuredContent: { id: 'demo.red' } })
    })

    t.test('a model finds a toolset, enables it, and is notified of the longer list', async t => {
      const client = await connectAt(t, running, era, '?toolsets=demo')
      const changed = new Promise<void>(resolve =>
        client.setNotificationHandler('notifications/tools/list_changed', () => resolve())
      )
      if (era === '2026') await client.listen({ toolsListChanged: true })
      else await running.http.streams(1)
      const { toolsets } = (await client.callTool({ name: 'svc_list_toolsets' })).structuredContent as {
        toolsets: { name: string; tools: number; listed: boolean }[]
      }
      t.match(
        toolsets.find(({ name }) => name === 'blue'),
        { tools: 2, listed: false, description: 'Tools of the plugin blue.' }
      )
      t.match(
        toolsets.find(({ name }) => name === 'demo'),
        { tools: 1, listed: true }
      )
      t.match(await client.callTool({ name: 'svc_list_toolsets', arguments: { toolset: 'red' } }), {
        structuredContent: {
          tools: [
            { name: 'demo_both', summary: 'Run demo.both' },
            { name: 'demo_red', listed: false }
          ]
        }
      })
      t.match(await client.callTool({ name: 'svc_enable_toolset', arguments: { toolset: 'red' } }), {
        structuredContent: { toolset: 'red', added: ['demo_both', 'demo_red'] }
      })
      await changed
      t.same(await names(client), ['demo_both', 'demo_plain', 'demo_red', ...OWN])
      t.same(await names(await connectAt(t, running, '2025', '?toolsets=demo')), ['demo_plain', ...OWN])
    })

    t.test('a tool is described with the schemas of its input and output', async t => {
      const client = await running.connect(era)
      const described = await client.callTool({ name: 'svc_describe_tool', arguments: { tool: 'demo_red' } })
      t.match(described.structuredContent, {
        name: 'demo_red',
        toolsets: ['red'],
        inputSchema: { properties: { text: { description: 'Any text.' } } },
        outputSchema: { properties: { id: { description: 'The operation.' } } }
      })
    })

    t.test('wrong arguments fail with their code', async t => {
      const client = await running.connect(era)
      const code = async (name: string, args: Record<string, unknown>): Promise<unknown> => {
        const result = await client.callTool({ name, arguments: args })
        t.ok(result.isError, textOf(result))
        return (result._meta as { 'svc/error': { code: string } })['svc/error'].code
      }
      t.equal(await code('svc_enable_toolset', {}), 'MCP_ARGUMENTS_INVALID')
      t.equal(await code('svc_enable_toolset', { toolset: 7 }), 'MCP_ARGUMENTS_INVALID')
      t.equal(await code('svc_describe_tool', { tool: 'demo_red', more: 'x' }), 'MCP_ARGUMENTS_INVALID')
      t.equal(await code('svc_enable_toolset', { toolset: 'purple' }), 'MCP_TOOLSET_UNKNOWN')
      t.equal(await code('svc_list_toolsets', { toolset: 'purple' }), 'MCP_TOOLSET_UNKNOWN')
      t.equal(await code('svc_describe_tool', { tool: 'demo_green' }), 'MCP_TOOL_UNKNOWN')
    })

    t.test('a reader finds no tool that changes something', async t => {
      const owner = running.http.principal
      running.http.principal = { id: 'r', role: 'read', scopes: ['*'] }
      t.teardown(() => {
        running.http.principal = owner
      })
      const client = await connectAt(t, running, era, '?toolsets=blue')
      t.same(await names(client), ['demo_both', ...OWN])
      t.match(await client.callTool({ name: 'svc_describe_tool', arguments: { tool: 'demo_write' } }), {
        isError: true
      })
    })

    t.test('the instructions have the banner, and at most ten lines of workflow with existing tools', async t => {
      const lines = (await running.connect(era)).getInstructions()?.split('\n') ?? []
      t.match(lines[0], /^svc .*: \d+ tools, MCP /)
      t.ok(lines.length > 1 && lines.length <= 11, lines.join('\n'))
      t.notMatch(lines.join('\n'), 'svc_submit_task', 'no plugin offers it here')
    })
  })
}

t.test('a toolset in the settings that does not exist is reported, and the others are used', async t => {
  const running = await startMcp(t, [demo], { toolsets: ['red', 'purple'], client_toolsets: { x: ['green'] } })
  t.match(running.kernel.log.filter(({ level }) => level === 'warn').at(-1)?.fields, { toolsets: ['purple', 'green'] })
  t.same(await names(await running.connect('2026')), ['demo_both', 'demo_red', ...OWN])
})

t.test('a change of the settings changes the list, and is announced', async t => {
  const running = await startMcp(t, [demo], { toolsets: ['red'] })
  const client = await running.connect('2025')
  const changed = new Promise<void>(resolve =>
    client.setNotificationHandler('notifications/tools/list_changed', () => resolve())
  )
  await running.http.streams(1)
  t.same(await names(client), ['demo_both', 'demo_red', ...OWN])
  const wider = definePlugin({
    ...mcp,
    activate(ctx, deps) {
      const config = { ...ctx.config, toolsets: ['blue'] }
      const get = (target: typeof ctx, key: keyof typeof ctx): unknown => {
        const value = key === 'config' ? config : target[key]
        return typeof value === 'function' ? value.bind(target) : value
      }
      return mcp.activate(new Proxy(ctx, { get } as never), deps)
    }
  })
  await running.kernel.replace(wider as Plugin)
  await changed
  t.same(await names(client), ['demo_both', 'demo_write', ...OWN])
})

t.test('an enabled toolset survives a reload of the plugin mcp', async t => {
  const running = await startMcp(t, [demo])
  for (const era of ERAS) {
    const client = await running.connect(era)
    await client.callTool({ name: 'svc_enable_toolset', arguments: { toolset: 'red' } })
    await running.reload()
    t.ok((await names(client)).includes('demo_red'), era)
  }
})
