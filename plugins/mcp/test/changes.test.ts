import { EventEmitter } from 'node:events'
import type { Client } from '@modelcontextprotocol/client'
import t from 'tap'
import { examplePlugin } from './example-plugin.ts'
import { ERAS, type Era, type RunningMcp, startMcp } from './start-mcp.ts'

type Kind = 'tools' | 'prompts' | 'resources' | `updated ${string}`

/** Counts the notifications of a client, and waits for them. */
class Notices {
  readonly counts = new Map<Kind, number>()
  readonly #events = new EventEmitter()

  constructor(client: Client) {
    for (const kind of ['tools', 'prompts', 'resources'] as const) {
      client.setNotificationHandler(`notifications/${kind}/list_changed`, () => this.#add(kind))
    }
    client.setNotificationHandler('notifications/resources/updated', ({ params }) => this.#add(`updated ${params.uri}`))
  }

  count(kind: Kind): number {
    return this.counts.get(kind) ?? 0
  }

  async reached(kind: Kind, count: number): Promise<void> {
    while (this.count(kind) < count) await new Promise(resolve => this.#events.once('notice', resolve))
  }

  #add(kind: Kind): void {
    this.counts.set(kind, this.count(kind) + 1)
    this.#events.emit('notice')
  }
}

const EVERYTHING = {
  toolsListChanged: true,
  promptsListChanged: true,
  resourcesListChanged: true,
  resourceSubscriptions: ['test://watched-resource']
}

/** Connects a client that subscribes to all notifications in the way of its protocol. */
async function listening({ connect, http }: RunningMcp, era: Era): Promise<{ client: Client; notices: Notices }> {
  const client = await connect(era)
  const notices = new Notices(client)
  if (era === '2026') await client.listen(EVERYTHING)
  else {
    await client.subscribeResource({ uri: 'test://watched-resource' })
    // The stream of a 2025 client opens by itself, some time after the handshake.
    await http.streams(1)
  }
  return { client, notices }
}

for (const era of ERAS) {
  t.test(`a client of the ${era} protocol is notified only of changes`, async t => {
    const running = await startMcp(t, [examplePlugin()])
    const { kernel } = running
    const { client, notices } = await listening(running, era)

    await kernel.replace(examplePlugin({ version: 'second' }))
    await kernel.replace(examplePlugin({ extra: 'a_new_tool' }))
    await notices.reached('tools', 1)
    const { tools } = await client.listTools(undefined, { cacheMode: 'refresh' })
    t.ok(tools.some(tool => tool.name === 'a_new_tool'))
    t.match(await client.callTool({ name: 'a_new_tool' }), { content: [] })

    await client.callTool({ name: 'test_trigger_prompt_change' })
    await notices.reached('prompts', 1)
    await client.callTool({ name: 'test_trigger_resource_change' })
    await notices.reached('resources', 1)
    await client.callTool({ name: 'test_trigger_resource_update' })
    await notices.reached('updated test://watched-resource', 1)

    await kernel.replace(examplePlugin())
    await notices.reached('tools', 2)
    await t.rejects(client.callTool({ name: 'a_new_tool' }), { code: -32602 })
    t.same(
      [...notices.counts],
      [
        ['tools', 2],
        ['prompts', 1],
        ['resources', 1],
        ['updated test://watched-resource', 1]
      ],
      'a reload that changes no listing is not announced'
    )
  })

  t.test(`a tool may appear and disappear without a reload (${era})`, async t => {
    const { client, notices } = await listening(await startMcp(t), era)
    await t.rejects(client.callTool({ name: 'test_guest' }), { code: -32602 })
    await client.callTool({ name: 'test_trigger_tool_change' })
    await notices.reached('tools', 1)
    t.match(await client.callTool({ name: 'test_guest' }), { content: [{ text: 'here now' }] })
  })

  t.test(`running calls survive a reload of their plugin and of the plugin mcp (${era})`, async t => {
    const gates = new EventEmitter()
    const { connect, kernel, reload } = await startMcp(t, [examplePlugin({ gates })])
    const client = await connect(era)
    const enter = async (name: string, gate: string): Promise<Promise<unknown>[]> => {
      const entered = new Promise(resolve => gates.once(`entered ${gate}`, resolve))
      const call = client.callTool({ name, arguments: { gate } })
      await entered
      return [call]
    }
    const [operation] = await enter('example_wait', 'a')
    const [raw] = await enter('raw_wait', 'b')
    await kernel.replace(examplePlugin({ gates, version: 'second' }))
    await reload()
    const [newer] = await enter('raw_wait', 'c')
    await reload()
    for (const gate of ['a', 'b', 'c']) gates.emit(`open ${gate}`)
    t.match(await operation, { structuredContent: { by: 'first' } })
    t.match(await raw, { content: [{ text: 'first' }] })
    t.match(await newer, { content: [{ text: 'second' }] })
    t.match(await client.callTool({ name: 'example_greet', arguments: { name: 'Ada' } }), {
      structuredContent: { by: 'second' }
    })
  })
}

t.test('a subscription ends gracefully when the plugin mcp is reloaded, and can be opened again', async t => {
  const { connect, reload, kernel } = await startMcp(t, [examplePlugin()])
  const client = await connect('2026')
  const notices = new Notices(client)
  const first = await client.listen({ toolsListChanged: true })
  await reload()
  t.equal(await first.closed, 'graceful')
  await client.listen({ toolsListChanged: true })
  await kernel.replace(examplePlugin({ extra: 'later' }))
  await notices.reached('tools', 1)
})

t.test('a session of the 2025 protocol survives reloads of the plugin mcp, with its subscriptions', async t => {
  const running = await startMcp(t, [examplePlugin()])
  const { reload, kernel, http } = running
  const { client, notices } = await listening(running, '2025')
  await reload()
  await reload()
  t.ok((await client.listTools()).tools.length > 0)
  // The reload ended the stream; the client opens another one by itself.
  await http.streams(2)
  await client.callTool({ name: 'test_trigger_resource_update' })
  await notices.reached('updated test://watched-resource', 1)
  await client.unsubscribeResource({ uri: 'test://watched-resource' })
  await client.callTool({ name: 'test_trigger_resource_update' })
  await kernel.replace(examplePlugin({ extra: 'later' }))
  await notices.reached('tools', 1)
  t.equal(notices.count('updated test://watched-resource'), 1)
})
