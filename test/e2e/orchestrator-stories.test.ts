import t, { type Test } from 'tap'
import { CHANNELS, type Channel, orchestratorProject, serveWorkplace, stdioChannel } from './orchestrator-channels.ts'

/** Attestation for a completed task. */
const DONE = {
  completion_summary: 'The page greets every visitor, and a human has reviewed it',
  checks_passed: ['human_review_approved'],
  artifact_paths: ['src/login.ts']
}

/** State after the story over one channel. */
interface Left {
  readonly tasks: ReadonlyMap<number, unknown>
  readonly plan: { readonly session_id: string; readonly goal: string }
}

const data = async (answer: ReturnType<Channel['call']>): Promise<any> => {
  const { success, error, data } = await answer
  if (!success) throw new Error(`refused: ${error}`)
  return data
}

/** Story of tasks and a plan: from a task that a gate requeues, to a plan that is replanned. */
async function story(t: Test, channel: Channel, name: string): Promise<Left> {
  const call = (tool: string, args: object = {}) => data(channel.call(tool, args))
  const submit = async (description: string): Promise<number> => {
    const files = [{ path: 'src/login.ts', access: 'write' }]
    return (await call('svc_submit_task', { description, files, session_id: name })).task_id
  }
  const status = (task_id: number) => call('svc_task_status', { task_id })

  const first = await submit(`Greet every visitor (${name})`)
  const { routing, gates } = await call('svc_explain_task', { task_id: first })
  t.ok(routing.candidates[0].terms.length > 0, 'the explanation has the terms of the score')
  t.same(gates, [])
  const refused = await call('svc_complete_task', { task_id: first })
  t.match(refused, /^task queued again by the approval gate \(attempt 1\): .*human_review_approved/)
  const asked = (await call('svc_explain_task', { task_id: first })).gates
  t.match(asked.at(-1), { gate: 'approval', verdict: 'requeue' })
  const thin = { ...DONE, completion_summary: 'todo' }
  t.match(await call('svc_complete_task', { task_id: first, ...thin }), /^task queued again by the stubcheck gate/)
  t.equal(await status(first), 'Queued')
  t.equal(await call('svc_complete_task', { task_id: first, ...DONE }), 'task completed')
  t.equal(await status(first), 'Completed')
  t.match(await channel.call('svc_complete_task', { task_id: first, ...DONE }), {
    success: false,
    code: 'ORC_TRANSITION'
  })

  const second = await submit(`Doubt what greets (${name})`)
  await call('svc_doubt_task', { task_id: second, reason: 'no one has seen it' })
  t.match(await channel.call('svc_complete_task', { task_id: second, ...DONE }), { code: 'ORC_TRANSITION' })
  await call('svc_resolve_doubt', { task_id: second, outcome: 'validated', report: 'no one had indeed' })
  t.equal(await status(second), 'Queued')
  const third = await submit(`Doubt without need (${name})`)
  await call('svc_doubt_task', { task_id: third })
  await call('svc_resolve_doubt', { task_id: third, outcome: 'overruled', report: 'it is as it should be' })
  t.equal(await status(third), 'Completed')

  const goal = `Add the login page; write a test for the login page of ${name}`
  // The daemon's method uses the field name of its protocol.
  const made = await call('svc_plan', { goal })
  const session_id = made.plan_session_id ?? made.session_id
  const { replan_version } = await call('svc_replan', { session_id, delta_hint: 'Support passwords of any length' })
  t.equal(replan_version, 2)
  const tasks = new Map<number, unknown>()
  for (const task_id of [first, second, third]) tasks.set(task_id, await detailsOf(channel, task_id))
  return { tasks, plan: { session_id, goal } }
}

/** Returns the details of a task, without the process that holds it: another one holds it after a restart. */
async function detailsOf(channel: Channel, task_id: number): Promise<unknown> {
  const { holder, process, ...details } = await data(channel.call('svc_task_details', { task_id }))
  return details
}

async function check(t: Test, channel: Channel, { tasks, plan }: Left): Promise<void> {
  for (const [task_id, details] of tasks) t.same(await detailsOf(channel, task_id), details)
  const status = await data(channel.call('svc_plan_status', { session_id: plan.session_id }))
  t.match(status, { goal: plan.goal, latest_version: 2 })
}

t.test('tasks and plans work the same over every channel, and survive a restart', async t => {
  const folder = orchestratorProject(t)
  const server = await serveWorkplace(t, folder)
  const left: Left[] = []
  for (const [name, open] of Object.entries(CHANNELS)) {
    const channel = await open(server)
    await t.test(name, async t => {
      left.push(await story(t, channel, name))
    })
    await channel.close()
  }
  t.equal(await server.stop('SIGKILL'), 'SIGKILL')

  const next = await serveWorkplace(t, folder)
  const ways = Object.values(CHANNELS)
  for (const [at, each] of left.entries()) {
    // Each channel reads the state that another one left.
    const channel = await (ways[(at + 1) % ways.length] as (typeof ways)[number])(next)
    await check(t, channel, each)
    await channel.close()
  }
  t.equal(await next.stop(), 0)
})

t.test('the state of a killed editor process is taken over', async t => {
  const folder = orchestratorProject(t)
  const editor = await stdioChannel(folder)
  const left = await story(t, editor, 'an editor')
  const { task_id } = await data(editor.call('svc_submit_task', { description: 'Go on with it' }))
  const server = await serveWorkplace(t, folder)
  const channel = await CHANNELS['methods of the daemon']!(server)
  const holder = async () => (await data(channel.call('svc_task_details', { task_id }))).process
  t.match(await holder(), { pid: editor.pid, own: false, alive: true }, 'the editor process holds the task')
  process.kill(editor.pid, 'SIGKILL')
  const deadline = Date.now() + 120_000
  while (!(await holder()).own) {
    if (Date.now() > deadline) throw new Error('the daemon did not take over the task')
    await new Promise(resolve => setTimeout(resolve, 100))
  }
  await check(t, channel, left)
  await editor.close()
  t.equal(
    await data(channel.call('svc_complete_task', { task_id, ...DONE, declared_non_placeholder: true })),
    'task completed'
  )
  t.equal(await server.stop(), 0)
})
