import { parentPort } from 'node:worker_threads'
import { type ScoredRow, scan, type VectorBlock } from './scan.ts'

export interface ScanRequest {
  readonly id: number
  readonly block: VectorBlock
  readonly query: Float32Array
  readonly k: number
}

export interface ScanReply {
  readonly id: number
  readonly rows: readonly ScoredRow[]
}

const port = parentPort
if (port === null) throw new Error('this program runs as a worker thread')
port.on('message', ({ id, block, query, k }: ScanRequest) =>
  port.postMessage({ id, rows: scan(block, query, k) } satisfies ScanReply)
)
