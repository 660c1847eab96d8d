import { join } from 'node:path'
import { MessageChannel, Worker } from 'node:worker_threads'
import type { SharedWorkflowRuns } from '@svc/contracts'
import { PostgresServer } from '@svc/plugin-coordination-postgres/testing'
import { FileConnection } from '@svc/plugin-database/testing'
import type { Test } from 'tap'
import type { Durable } from '#interpreter'
import { bridgeTo } from '#threads'
import { databaseDurable } from '#workflows'

export interface SharedBed {
  readonly connection: FileConnection
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
    durable: databaseDurable(connection, options, () => undefined, null, bridge),
    signal: (...signal) => void bridge.ask('send', signal),
    claimReady: owner => bridge.ask('claimReady', [owner]) as ReturnType<SharedBed['claimReady']>,
    outlook: () => bridge.ask('outlook', []) as ReturnType<SharedBed['outlook']>
  }
}
