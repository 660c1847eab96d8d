import { parentPort, workerData } from 'node:worker_threads'
import { PostgresCoordination, parseServerAddress } from '@svc/plugin-coordination-postgres/testing'
import type { Logger } from '@svc/plugin-sdk'
import { answerBridge, type BridgeEnd } from '#threads'
import { sharedRunsAnswers } from '#workflows'

/** Answers the calls of a blocked thread, as the main thread of a program does. */
const { url, repository, end } = workerData as {
  readonly url: string
  readonly repository: string
  readonly end: BridgeEnd
}
const log = { debug() {}, info() {}, warn() {}, error() {} } as unknown as Logger
const address = parseServerAddress({ url, folder: '/' })
const runs = new PostgresCoordination({ address, connections: 4, fanout: null, log }).workflows(repository)
const send = ([runId, key, payload]: [string, string, string | null]) => runs.send(runId, key, payload, 0)
const claimReady = ([owner]: [string]) => runs.claimReady('p', owner, { max: 9, leaseMs: 60_000 })
const outlook = () => runs.outlook('p')
const answers = { ...sharedRunsAnswers(runs), send, claimReady, outlook }
answerBridge(end, new AbortController().signal, answers as never, error => console.error(error))
parentPort?.on('message', () => undefined)
