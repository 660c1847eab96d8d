import { assertNoLeaks } from '@svc/plugin-sdk/testing'
import t from 'tap'
import { examplePlugin } from './example-plugin.ts'
import { ERAS, startMcp } from './start-mcp.ts'

t.test('connecting and closing clients leaks no resources', async t => {
  // The first use of the MCP SDK and of fetch opens resources that stay open.
  await use(t)
  await assertNoLeaks(() => use(t))
})

async function use(t: Parameters<typeof startMcp>[0]): Promise<void> {
  const { connect, reload, kernel, http } = await startMcp(t, [examplePlugin()])
  for (const era of ERAS) {
    const client = await connect(era)
    await client.listTools()
    await reload()
    await client.callTool({ name: 'test_simple_text' })
    await client.close()
  }
  await http.close()
  await kernel.close()
}
