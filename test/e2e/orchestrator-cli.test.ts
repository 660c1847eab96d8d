import t from 'tap'
import { CHANNELS, orchestratorProject, serveWorkplace } from './orchestrator-channels.ts'
import { errorOf, runSvc } from './run-svc.ts'

t.test('commands of the orchestrator run in the running server', async t => {
  const folder = orchestratorProject(t)
  const server = await serveWorkplace(t, folder)
  const channel = await CHANNELS['methods of the daemon']!(server)
  const run = async (...words: string[]): Promise<any> => {
    const { code, stdout, stderr } = await runSvc(folder, [...words, '--json'])
    if (code !== 0) throw new Error(`svc ${words.join(' ')} ended with ${code}:\n${stderr}`)
    return JSON.parse(stdout)
  }
  const status = async (task_id: number): Promise<unknown> => (await channel.call('svc_task_status', { task_id })).data

  const { task_id, agent_id } = await run('orch', 'submit', 'Greet every visitor', '--priority', 'urgent')
  t.equal(await status(task_id), 'Queued', 'the server has the task')
  t.match(await run('orch', 'status'), { total_queued: 1, durability: { kind: 'database' } })
  t.match(await run('orch', 'show', String(task_id)), { id: task_id, priority: 'Urgent', agent_id })
  const explained = await runSvc(folder, ['orch', 'explain', String(task_id)])
  t.match(explained.stdout, /^T-\d+ +Queued +Urgent/)
  const thin = await runSvc(folder, ['orch', 'complete', String(task_id)])
  t.match(thin.stdout, /^task queued again by the stubcheck gate/)
  t.equal(thin.code, 1, 'a script does not go on')
  await run('orch', 'queue', 'doubt', String(task_id), 'no one has seen it')
  t.equal(await status(task_id), 'Doubted')
  await run('orch', 'queue', 'resolve', String(task_id), 'overruled', 'it is as it should be')
  t.equal(await status(task_id), 'Completed')
  const refused = await runSvc(folder, ['orch', 'cancel', String(task_id), '--json'])
  t.not(refused.code, 0)
  t.match(errorOf(refused), { code: 'ORC_TRANSITION' })

  const { session_id } = await run('plan', 'new', 'Add the login page; write a test for the login page')
  t.match((await channel.call('svc_plan_status', { session_id })).data, { latest_version: 1 })
  const draft = await runSvc(folder, ['plan', 'draft', 'Add `src/page.ts`; write a test for it'])
  t.match(draft.stdout, /^Plan\n[\s\S]*\nSteps\n\n1\. /)
  t.notMatch(draft.stdout, /^#|`/m, 'the draft is printed without Markdown syntax')
  t.match(await run('plan', 'replan', session_id, 'Support passwords of any length'), { replan_version: 2 })
  const { task_ids } = await run('plan', 'execute', session_id)
  t.equal(await status(task_ids[0]), 'BlockedOnApproval', "the first step waits for the user's approval")
  await run('orch', 'approve', String(task_ids[0]))
  t.equal(await status(task_ids[0]), 'Queued')
  t.match(await run('plan', 'show', session_id), { plan_version: 2 })

  const { agent_id: other } = await run('orch', 'agents', 'spawn', 'other')
  await run('a2a', 'send', String(agent_id), String(other), 'plan_handoff', 'the rest is yours')
  const inbox = await run('a2a', 'inbox', String(other))
  t.match(JSON.stringify(inbox), /the rest is yours/)
  t.match(await run('questions', 'list', 'a-session'), {})
  t.equal(await server.stop(), 0)
})
