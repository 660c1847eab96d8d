import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { callProgram, serveWorkflows, type WorkflowHost } from '../workflow-host.ts'

const SOURCE = `
activity step(n: int) to Result[int] { Ok(n + 1) }
workflow one(n: int) to Result[int] { step(n) }

@server
fn start(round: int, count: int) to int {
    for n in range(count) { one(n) with { detach: true } }
    count
}
`

/** Calls at a time to each host, each of which starts runs one after the other. */
const CALLS = 16
const MAX_WAIT_MS = 120_000

/** Hosts of svc that share the workflow runs of a program on a PostgreSQL server. */
export class SharedWorkflows {
  readonly #hosts: readonly WorkflowHost[]
  readonly #database: pg.Client

  private constructor(hosts: readonly WorkflowHost[], database: pg.Client) {
    this.#hosts = hosts
    this.#database = database
  }

  /** Rejects if this build of svc cannot share runs. */
  static async start(folder: string, url: string, count: number): Promise<SharedWorkflows> {
    const database = new pg.Client({ connectionString: url })
    // The server may stop first.
    database.on('error', () => {})
    const hosts: WorkflowHost[] = []
    try {
      await database.connect()
      for (let host = 0; host < count; host += 1) {
        const project = join(folder, `host-${host}`)
        mkdirSync(project)
        writeFileSync(join(project, 'svc.toml'), '')
        writeFileSync(join(project, 'app.vox'), SOURCE)
        hosts.push(
          await serveWorkflows({
            folder: project,
            plugins: ['coordination', 'coordination-postgres'],
            // No run is removed while it is counted.
            settings: ['app-runtime.durable_store="coordination"', 'app-runtime.workflow_keep_runs=1000000'],
            env: { SVC_COORDINATION_URL: url, SVC_REPOSITORY_ID: 'bench' }
          })
        )
      }
      return new SharedWorkflows(hosts, database)
    } catch (error) {
      for (const { child } of hosts) child.kill('SIGKILL')
      await database.end()
      throw error
    }
  }

  /** Starts runs on all hosts, and waits until they have ended. Returns runs per second. */
  async measure(runs: number): Promise<number> {
    const each = Math.ceil(runs / this.#hosts.length / CALLS)
    const total = each * this.#hosts.length * CALLS
    const before = await this.#completed()
    const begin = performance.now()
    await Promise.all(
      this.#hosts.flatMap(({ url }) =>
        Array.from({ length: CALLS }, (_, round) => callProgram(`${url}/api/start`, { round, count: each }))
      )
    )
    for (;;) {
      if ((await this.#completed()) - before >= total) break
      if (performance.now() - begin > MAX_WAIT_MS) throw new Error(`${total} runs did not end in ${MAX_WAIT_MS} ms`)
      await sleep(50)
    }
    return total / ((performance.now() - begin) / 1_000)
  }

  async close(): Promise<void> {
    for (const { child } of this.#hosts) child.kill('SIGKILL')
    await this.#database.end()
  }

  async #completed(): Promise<number> {
    const { rows } = await this.#database.query(
      "select count(*)::integer as count from svc_workflow.runs where status = 'completed'"
    )
    return rows[0].count
  }
}
