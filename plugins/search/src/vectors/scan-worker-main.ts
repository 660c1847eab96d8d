import { parentPort } from 'node:worker_threads'
import { type ScoredRow, type SignBlock, scan, scanNearest, type VectorBlock } from './scan.ts'

export interface ScanRequest {
  readonly id: number
  readonly block: VectorBlock
  /** Null for a comparison with all rows. */
  readonly signs: SignBlock | null
  readonly query: Float32Array
  readonly k: number
}

export interface ScanReply {
  readonly id: number
  readonly rows: readonly ScoredRow[]
}

const port = parentPort
if (port === null) throw new Error('this program runs as a worker thread')
port.on('message', ({ id, block, signs, query, k }: ScanRequest) => {
  const rows = signs === null ? scan(block, query, k) : scanNearest(block, signs, query, k)
  port.postMessage({ id, rows } satisfies ScanReply)
})
