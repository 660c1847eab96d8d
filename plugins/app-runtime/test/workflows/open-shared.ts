import { join } from 'node:path'
import { MessageChannel, Worker } from 'node:worker_threads'
import type { SharedWorkflowRuns } from '@svc/contracts'
import { PostgresCoordination, PostgresServer, parseServerAddress } from '@svc/plugin-coordination-postgres/testing'
import { FileConnection, openFile } from '@svc/plugin-database/testing'
import type { Logger } from '@svc/plugin-sdk'
import type { Test } from 'tap'
import type { Durable } from '#interpreter'
import { bridgeTo } from '#threads'
import { databaseDurable, forwardStarts, prepareStore } from '#workflows'

export interface SharedBed {
  readonly connection: FileConnection
  /** File of the connection. */
  readonly file: string
  readonly repository: string
  readonly durable: Durable
  signal(runId: string, key: string, payload: string | null): void
  /** Claims all runs that a scheduler can claim. */
  claimReady(owner: string): Awaited<ReturnType<SharedWorkflowRuns['claimReady']>>
  outlook(): Awaited<ReturnType<SharedWorkflowRuns['outlook']>>
}

let last = 0

/** Starts a PostgreSQL server for the tests of a file. */
export async function startServer(t: Test): Promise<PostgresServer> {
  const server = await PostgresServer.start({ fsync: 'off' })
  t.teardown(() => server.remove())
  return server
}

export interface MainThread {
  readonly shared: SharedWorkflowRuns
  /** Errors in the log. */
  readonly logged: readonly string[]
  /** Forwards the stored starts of runs. */
  forward(): Promise<void>
}

/** Opens the server and the database of a bed as the main thread of a program does. */
export async function openMainThread(t: Test, url: string, { file, repository }: SharedBed): Promise<MainThread> {
  const logged: string[] = []
  const log = { debug() {}, info() {}, warn() {}, error: (text: string) => logged.push(text) } as unknown as Logger
  const address = parseServerAddress({ url, folder: '/' })
  const server = new PostgresCoordination({ address, connections: 4, fanout: null, log })
  const store = await openFile(file, { busyTimeoutMs: 5_000, synchronous: 'normal' })
  t.teardown(async () => {
    await server.close()
    await store.close()
  })
  const shared = server.workflows(repository)
  await prepareStore(store)
  return { shared, logged, forward: () => forwardStarts({ store, shared, program: 'p', log }) }
}

/** Opens the runs of a repository as a thread of a program does, with a database for its actors. */
export function openShared(t: Test, url: string, repository = `r${++last}`): SharedBed {
  const { port1, port2 } = new MessageChannel()
  const answered = new SharedArrayBuffer(4)
  const workerData = { url, repository, end: { port: port2, answered } }
  const worker = new Worker(new URL('./shared-runs-child.ts', import.meta.url), { workerData, transferList: [port2] })
  t.teardown(() => worker.terminate())
  const bridge = bridgeTo({ port: port1, answered })
  const file = join(t.testdir(), `${repository}.db`)
  const connection = new FileConnection({ file, busyTimeoutMs: 1000, synchronous: 'normal' })
  t.teardown(() => connection.close())
  const options = { program: 'p', metricSession: null, isShared: true }
  return {
    connection,
    file,
    repository,
    durable: databaseDurable(connection, options, () => undefined, null, bridge),
    signal: (...signal) => void bridge.ask('send', signal),
    claimReady: owner => bridge.ask('claimReady', [owner]) as ReturnType<SharedBed['claimReady']>,
    outlook: () => bridge.ask('outlook', []) as ReturnType<SharedBed['outlook']>
  }
}
