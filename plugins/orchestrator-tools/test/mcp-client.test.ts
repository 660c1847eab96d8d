import orchestrator from '@svc/plugin-orchestrator'
import type { Plugin } from '@svc/plugin-sdk'
import t from 'tap'
import plugin from '#plugin'
import { ERAS, startMcp, textOf } from '../../mcp/test/start-mcp.ts'

for (const era of ERAS) {
  t.test(`the official client submits, uses an alias, and gets errors (${era})`, async t => {
    const { connect } = await startMcp(t, [orchestrator, plugin] as Plugin[])
    const client = await connect(era)
    const { tools } = await client.listTools()
    const names = tools.map(({ name }) => name)
    t.ok(names.includes('svc_task_status'))
    t.notOk(names.includes('task_status'))
    t.match(tools.find(({ name }) => name === 'svc_submit_task')?.inputSchema, {
      additionalProperties: false,
      required: ['description'],
      properties: { description: { minLength: 1, maxLength: 131_072 } }
    })
    const call = (name: string, args: object) => client.callTool({ name, arguments: args as Record<string, unknown> })
    const submitted = await call('svc_submit_task', { description: 'Do it', files: [] })
    t.match(submitted.structuredContent, { success: true, data: { task_id: 1, status: 'Queued' } })
    t.same(JSON.parse(textOf(submitted)), submitted.structuredContent)
    t.same((await call('task_status', { task_id: 'T-0001' })).structuredContent, { success: true, data: 'Queued' })
    t.match(await call('svc_task_status', { task_id: 99 }), {
      isError: true,
      structuredContent: { success: false, error: 'task 99 not found', remediation: String }
    })
    t.match(await call('svc_submit_task', { files: [] }), { isError: true, structuredContent: { success: false } })
  })
}
