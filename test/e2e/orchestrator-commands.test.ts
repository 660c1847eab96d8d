import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import t, { type Test } from 'tap'
import { daemonStateOf } from '../daemon-state.ts'
import { errorOf, type Ran, runSvc } from './run-svc.ts'
import { makeProject, SVC_BIN, serve } from './served-project.ts'

const ONLY = ['--only', 'http,daemon,database,orchestrator,orchestrator-tools,sessions,a2a']
const DONE = ['-m', 'It is done as it was asked, and a person looked at it.']
const CHECKS = ['--checks-passed', 'tests', '--checks-passed', 'human_review_approved']

const project = (t: Test, more = '') =>
  makeProject(t, { 'svc.toml': `[orchestrator]\nstubcheck_gate = false\nauto_continue_enabled = false\n${more}` })

const outputOf = ({ stdout }: Ran) => JSON.parse(stdout)

/** Starts a command that runs until it is interrupted. */
function start(t: Test, folder: string, argv: readonly string[]) {
  const child = spawn(process.execPath, [SVC_BIN, ...argv], {
    cwd: folder,
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, NODE_OPTIONS: '', NO_COLOR: '1' }
  })
  const ended = once(child, 'exit')
  t.teardown(() => child.kill('SIGKILL'))
  const lines: string[] = []
  const waiting = new Set<() => void>()
  createInterface({ input: child.stdout }).on('line', line => {
    lines.push(line)
    for (const look of waiting) look()
  })
  return {
    /** Resolves to the first line that matches, including earlier lines. */
    line: (pattern: RegExp): Promise<string> =>
      new Promise((resolve, reject) => {
        const look = (): void => {
          const found = lines.find(line => pattern.test(line))
          if (found === undefined) return
          waiting.delete(look)
          resolve(found)
        }
        waiting.add(look)
        look()
        void ended.then(() => reject(new Error(`the command ended without a line that matches ${pattern}`)))
      }),
    async interrupt(): Promise<string> {
      child.kill('SIGINT')
      const [code, signal] = await ended
      return String(code ?? signal)
    }
  }
}

/** Life of a task, one command per step. */
async function story(t: Test, svc: (...argv: string[]) => Promise<Ran>): Promise<void> {
  const submitted = await svc('submit', 'Do it', '--agent-name', 'builder', '-p', 'urgent', '--json')
  t.equal(submitted.code, 0, submitted.stderr)
  t.match(outputOf(submitted), { task_id: 1, agent_id: 1, status: 'Queued' })
  const listed = await svc('tasks')
  t.match(listed.stdout, /TASK +STATUS +PRIORITY.*\nT-0001 +Queued +Urgent +1 +\d+ on \S+ +Do it/)
  t.match((await svc('explain', 'T-0001')).stdout, /^T-0001 {2}Queued {2}Urgent[\s\S]*Agent builder: requested by name/)
  t.match((await svc('status')).stdout, /1 +builder +1[\s\S]*durable in .*store\.db/)
  t.match((await svc('agents', 'list')).stdout, /ID +NAME +QUEUED[\s\S]*1 +builder +1/)
  t.equal((await svc('queue', 'reorder', '1', 'background')).stdout.trim(), 'task reordered')
  t.equal((await svc('complete', 'T-0001', ...DONE, ...CHECKS)).stdout.trim(), 'task completed')
  t.equal(outputOf(await svc('queue', 'status', '1', '--json')), 'Completed')
  t.match((await svc('agents', 'lineage', '1')).stdout, /task_completed[\s\S]*task_submitted/)

  t.match((await svc('agents', 'lineage', '1')).stdout, /CREATED_AT\n.* \d{4}-\d\d-\d\dT[\d:.]+Z\n/)
  const shown = await svc('show', '1')
  t.match(shown.stdout, /^FIELD +VALUE\nid +1\nstatus +Completed\n[\s\S]*created at +\d{4}-\S+Z\n/)
  t.match(outputOf(await svc('show', '1', '--json')), { id: 1, status: 'Completed', created_at_ms: Number })
  t.match((await svc('queue', 'test-decision', '1')).stdout, /decision +\w+\nrationale +\w/)
  t.match((await svc('budget', 'tool-time', 'none')).stdout, /^FIELD +VALUE\nfound +false\n$/)

  const unknown = await svc('queue', 'status', '99', '--json')
  t.equal(unknown.code, 4)
  t.match(errorOf(unknown), { code: 'ORC_TASK_NOT_FOUND', message: 'task 99 not found', hint: String })
  const twice = await svc('complete', '1', ...DONE, ...CHECKS)
  t.not(twice.code, 0)
  t.match(twice.stderr, /Task T-0001 is Completed[\s\S]*ORC_TRANSITION/)
  t.equal((await svc('submit')).code, 2)
  const help = (await svc('submit', '--help')).stdout
  t.match(help, /choices: "urgent", "normal", "background"\]/)
  t.match(help, /Each is a path, path=…,access=read\|write or JSON/)
  t.notMatch(help, /^ +(?:-\w, )?--[\w-]+ +\[/m, 'every flag has a description')
  t.equal((await svc('submit', 'x', '--task-category', 'cooking')).code, 2)
}

t.test('commands work without a daemon, and each sees the state of the last one', async t => {
  const folder = project(t)
  await story(t, (...argv) => runSvc(folder, ['orch', ...argv]))
  const { code, stdout } = await runSvc(folder, ['orch', 'top'])
  t.equal(code, 0)
  t.match(stdout, /no daemon runs[\s\S]*completed 1 [\s\S]*A-01 +builder/)
})

t.test('without daemon and database, submit warns that the task is not stored', async t => {
  const folder = project(t, '[plugins.database]\nenabled = false\n')
  const { code, stderr } = await runSvc(folder, ['orch', 'submit', 'Do it'])
  t.equal(code, 0, stderr)
  t.match(stderr, /the task is lost when this command ends/)
})

t.test('commands run in the daemon if one runs, and events --follow shows its events', async t => {
  const folder = project(t)
  const served = await serve(t, folder, ONLY)
  const state = await daemonStateOf(folder)
  t.equal(state.pid, served.child.pid)
  await t.test('all commands of a task', t => story(t, (...argv) => runSvc(folder, ['orch', ...argv])))
  const messages = () => runSvc(folder, ['orch', 'messages', 'list', '1'])
  t.equal((await messages()).stdout, 'No questions or answers.\n')
  await runSvc(folder, ['orch', 'agents', 'spawn', 'asker'])
  await runSvc(folder, ['orch', 'messages', 'ask', '2', '1', 'Which port?'])
  t.match((await messages()).stdout, /^Questions:\n\d{4}-\S+Z {2}from A-02 {2}\S+\n {2}Which port\?\n$/)
  const plain = await runSvc(folder, ['orch', 'top'])
  t.equal(plain.code, 0, plain.stderr)
  t.match(plain.stdout, new RegExp(`daemon at ${state?.socket}, process ${state?.pid}`))
  t.match(plain.stdout, /task_completed {2}T-0001/)

  const watching = start(t, folder, ['orch', 'top', '--json', '--interval', '100'])
  await watching.line(/"at_ms"/)
  const look = JSON.parse(await watching.line(/"lost":null/))
  t.match(look, { origin: { kind: 'daemon', pid: state?.pid }, status: { agent_count: 2 } })
  t.match(await watching.interrupt(), /^(0|130)$/)

  // `events --follow` first replays past events, so none is missed.
  const following = start(t, folder, ['orch', 'events', '--follow', '--json'])
  const reading = start(t, folder, ['orch', 'events', '--follow'])
  await runSvc(folder, ['orch', 'submit', 'Do it'])
  await runSvc(folder, ['orch', 'cancel', '2'])
  t.match(JSON.parse(await following.line(/task_cancelled/)), { kind: { task_id: 2 } })
  t.match(await reading.line(/task_cancelled/), /^\d{4}-[\d-]+T[\d:.]+Z {2}task_cancelled {2}T-0002/)
  t.equal(await following.interrupt(), '130')
  t.equal(await reading.interrupt(), '130')
  const past = (await runSvc(folder, ['orch', 'events'])).stdout.trimEnd().split('\n')
  for (const line of past) t.match(line, /^\d{4}-\S+Z {2}\w+/, 'only lines of events')
  t.equal(await served.stop(), 0)
})

t.test('submit accepts plain paths, and shows the task', async t => {
  const folder = project(t)
  const files = ['--files', 'src/a.ts', '--files', 'path=src/b.ts,access=read']
  const submitted = await runSvc(folder, ['orch', 'submit', 'Do it', '-p', 'Background', '-a', 'builder', ...files])
  t.match(submitted.stdout, /^FIELD +VALUE\ntask id +1\nstatus +Queued\nagent id +1\n/, submitted.stderr)
  t.match(outputOf(await runSvc(folder, ['orch', 'show', '1', '--json'])), {
    priority: 'Background',
    files: [
      { path: 'src/a.ts', access: 'write' },
      { path: 'src/b.ts', access: 'read' }
    ]
  })
  const owner = await runSvc(folder, ['orch', 'files', 'owner', 'src/a.ts'])
  t.match(owner.stdout, /path +src\/a\.ts\nagent id +1\nagent name +builder\n/)
})
