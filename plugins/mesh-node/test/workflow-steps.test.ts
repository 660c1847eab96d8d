// Steps of a workflow of `svc serve` on another node, while processes are killed.
import { noPostgres, PostgresServer } from '@svc/plugin-coordination-postgres/testing'
import t, { type Test } from 'tap'
import { makeProject, type Served, serve } from '../../../test/e2e/served-project.ts'
import { type Control, eventually, openControl, TOKEN, WORKS } from './bed.ts'
import { type FaultHost, type FaultHostOptions, localHost } from './fault-host.ts'
import { startHost } from './processes.ts'

const activity = (name: string, timeout: string) => `
activity ${name}(task: str) to Result[str] with { mens: "dispatch", labels: "gpu", timeout: "${timeout}", retries: 50, initial_backoff: "200ms", max_backoff: "1s" } {
    Ok("here")
}`
const PROGRAM = `${activity('mesh_render', '90s')}
${activity('mesh_preview', '8s')}
workflow film(task: str) to Result[str] { mesh_render(task) }
workflow double(task: str) to Result[str] { film(task) }
workflow trailer(task: str) to Result[str] { mesh_preview(task) }
@server
fn start_double(id: str) to Result[str] { double("Render it") with { id: id, detach: true } }
@server
fn start(id: str) to Result[str] { film("Render it") with { id: id, detach: true } }
@server
fn preview(id: str) to Result[str] { trailer("Preview it") with { id: id, detach: true } }
`

interface Entry {
  readonly event: string
  readonly [field: string]: unknown
}
interface Run {
  readonly run: { readonly status: string }
  readonly journal: readonly Entry[]
}

/** Serves the program as a node that runs no work. `plugins`: loaded in addition. */
async function serveProgram(
  t: Test,
  folder: string,
  url: string,
  node = 'desk',
  plugins = ''
): Promise<Served & { readonly app: string }> {
  const set = ['app-runtime.program="app.vox"', 'app-runtime.port=0'].flatMap(each => ['--set', `plugins.${each}`])
  const served = await serve(t, folder, ['--only', `app-runtime,http,mesh,mesh-node${plugins}`, ...set], undefined, {
    SVC_MESH_ENABLED: '1',
    SVC_MESH_CONTROL_ADDR: url,
    SVC_MESH_TOKEN: TOKEN,
    SVC_MESH_NODE_ID: node,
    SVC_MESH_GPU_READINESS_PROBE_OFF: '1',
    SVC_ORCHESTRATOR_MESH_REMOTE_WORKER_POLL_INTERVAL_SECS: '0'
  })
  const line = await served.line(/app listens on (http:\/\/[^\s"]+)/)
  return { ...served, app: /app listens on (http:\/\/[^\s"]+)/.exec(line)?.[1] ?? '' }
}

async function post(url: string, body: object): Promise<void> {
  const headers = { 'content-type': 'application/json' }
  const response = await fetch(url, { method: 'POST', headers, body: JSON.stringify(body) })
  if (!response.ok) throw new Error(`${url}: ${response.status} ${await response.text()}`)
}

const inspect = async ({ url }: Served, id: string) => (await (await fetch(`${url}/api/workflows/${id}`)).json()) as Run

/** Waits until a run has completed, and returns its journal. */
const completed = (served: Served, id: string, count = 1) =>
  eventually(
    async () => {
      const { run, journal } = await inspect(served, id)
      const steps = journal.filter(({ event }) => event === 'MeshActivity')
      return run.status === 'completed' && steps.length === count ? journal : null
    },
    () => `the run ${id} completes:\n${served.lines.slice(-20).join('\n')}`
  )

/** Starts the worker `gpu`; resolves when it has joined, since a step without a node fails at once. */
async function startWorker<A extends FaultHost>(
  t: Test,
  { url, store }: Control,
  start: (t: Test, options: FaultHostOptions) => Promise<A>,
  workMs: number
): Promise<A> {
  const worker = await start(t, { name: 'gpu', url, orchestrator: WORKS, mesh: { labels: ['gpu'] }, workMs })
  await eventually(
    () => store.nodes.find('default', 'gpu'),
    () => 'the worker joins'
  )
  return worker
}

const begins = (worker: FaultHost, count: number) =>
  eventually(
    () => (worker.began.length >= count ? true : null),
    () => `the worker begins job ${count}`
  )

t.test('mesh steps of a workflow, while processes are killed', async t => {
  const control = await openControl(t)
  const folder = makeProject(t, { 'app.vox': PROGRAM })
  const worker = await startWorker(t, control, localHost, 3_000)
  const first = await serveProgram(t, folder, control.url)
  await post(`${first.app}/api/start`, { id: 'film' })
  await begins(worker, 1)
  await first.stop('SIGKILL')
  const served = await serveProgram(t, folder, control.url)

  await t.test('a killed process of a workflow finds the step that it began: the step is done once', async t => {
    const journal = await completed(served, 'film')
    t.match(
      journal.find(({ event }) => event === 'MeshActivity'),
      { mesh_op: 'dispatch', control: 'dispatch_ok', node_id: 'gpu' }
    )
    t.equal(journal.filter(({ event }) => event === 'ActivityAttemptFailed').length, 0)
    t.equal(worker.began.length, 1)

    await post(`${served.url}/api/workflows/film/reset`, {})
    await completed(served, 'film', 2)
    t.equal(worker.began.length, 2, 'a reset step is done again')
    await eventually(async () => ((await control.store.count('a2a:')) === 0 ? true : null))
    await worker.close()
  })

  await t.test('the step of a killed worker is retried, and its error names the node', async t => {
    const killed = await startWorker(t, control, startHost, 600_000)
    await post(`${served.app}/api/preview`, { id: 'trailer' })
    await begins(killed, 1)
    await killed.kill()
    const failed = await eventually(async () => {
      const { journal } = await inspect(served, 'trailer')
      return journal.find(({ event }) => event === 'ActivityAttemptFailed') ?? null
    })
    const worker = await startWorker(t, control, localHost, 0)
    const journal = await completed(served, 'trailer')
    t.match(failed, {
      attempt: 1,
      max_attempts: 51,
      error: /mesh_preview: the time limit of the step is over: the node gpu has not finished the job/
    })
    t.ok(journal.some(({ event }) => event === 'ActivityRetryScheduled'))
    t.ok(worker.began.length >= 1)
    t.notOk(
      worker.began.some(({ key }) => key === killed.began[0]?.key),
      'each attempt is another job'
    )
  })
})

t.test('a step of a killed host is done once, and its run continues on another host', { skip: noPostgres }, async t => {
  const control = await openControl(t)
  const server = await PostgresServer.start({ fsync: 'off' })
  t.teardown(() => server.remove())
  const serveHost = (node: string) => {
    const toml = `[coordination]\nurl = ${JSON.stringify(server.url())}\n[plugins.app-runtime]\ndurable_store = "coordination"\n`
    const folder = makeProject(t, { 'app.vox': PROGRAM, 'svc.toml': toml })
    return serveProgram(t, folder, control.url, node, ',coordination-postgres')
  }
  const worker = await startWorker(t, control, localHost, 3_000)
  const killed = await serveHost('desk')
  await post(`${killed.app}/api/start`, { id: 'film' })
  await post(`${killed.app}/api/start_double`, { id: 'double' })
  await begins(worker, 1)
  await killed.stop('SIGKILL')
  const served = await serveHost('shelf')
  const journal = await completed(served, 'film')
  t.match(
    journal.find(({ event }) => event === 'MeshActivity'),
    { mesh_op: 'dispatch', control: 'dispatch_ok', node_id: 'gpu' }
  )
  t.equal(journal.filter(({ event }) => event === 'ActivityAttemptFailed').length, 0)
  await completed(served, 'double', 0)
  t.equal(worker.began.length, 2, 'each step is done once, also that of a child run')
  await eventually(async () => ((await control.store.count('a2a:')) === 0 ? true : null))
})
