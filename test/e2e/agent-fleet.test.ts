import type { Client } from '@modelcontextprotocol/client'
import t, { type Test } from 'tap'
import { mcpProject, overHttp, overStdio } from './mcp-clients.ts'
import { serve } from './served-project.ts'

interface Result {
  readonly success: boolean
  readonly data?: Readonly<Record<string, unknown>>
  readonly error?: string
}

async function call(client: Client, name: string, args: Record<string, unknown>): Promise<Result> {
  const { content } = (await client.callTool({ name, arguments: args })) as { content: { text?: string }[] }
  return JSON.parse(content[0]?.text ?? '') as Result
}

/** Submits and completes a task. Without a model the client does the work: the fleet only claims the task and waits. */
async function completesTask(t: Test, client: Client): Promise<void> {
  t.teardown(() => client.close())
  const submitted = await call(client, 'svc_submit_task', { description: 'Write a greeting', files: [] })
  t.equal(submitted.success, true)
  const task_id = Number(submitted.data?.task_id)
  const status = async () => JSON.stringify((await call(client, 'svc_task_status', { task_id })).data)
  for (let now = ''; !now.includes('InProgress'); now = await status()) await new Promise(setImmediate)
  t.pass('the task is in progress')
  const done = await call(client, 'svc_complete_task', {
    task_id,
    completion_summary: 'The greeting was written by the client itself.',
    checks_passed: ['read it again'],
    declared_non_placeholder: true
  })
  t.match(done, { success: true })
  t.match(await status(), /Completed/)
}

t.test('an svc mcp that an editor starts has agents that claim tasks', async t => {
  await completesTask(t, await overStdio(mcpProject(t), '2025'))
})

t.test('svc serve has agents from its start', async t => {
  const { url } = await serve(t, mcpProject(t))
  await completesTask(t, await overHttp(url, '2026'))
})
