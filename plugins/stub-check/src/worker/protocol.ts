import type { FileScan, ScanOptions } from '../engine/scan-file.ts'

/** Text to scan. Without `text`, the worker reads the file at `at`. */
export interface ScanItem {
  /** Path in the results; its extension decides the language. */
  readonly path: string
  /** Absolute path. */
  readonly at?: string
  readonly text?: string
  /** Digest of a content whose result is known; a file with it is not scanned again. */
  readonly knownDigest?: string
}

/** Batch for a worker thread. */
export interface ScanRequest {
  readonly items: readonly ScanItem[]
  readonly options: ScanOptions
  readonly maxBytes: number
}

/** Result for one item. */
export interface ScanResult extends Omit<FileScan, 'state'> {
  /** `unchanged`: the content has the known digest. */
  readonly state: FileScan['state'] | 'too_large' | 'unreadable' | 'unchanged'
  /** System code of the failure, or its message; absent unless `unreadable`. */
  readonly reason?: string
  /** SHA-256 of the content in hexadecimal; empty if it was not read. */
  readonly digest: string
}

export interface ScanReply {
  readonly results: readonly ScanResult[]
}

export interface WorkerData {
  /** One Int32: the index of the item that the thread works on. The pool reads it to find an item that hangs. */
  readonly progress: SharedArrayBuffer
}

/** First message of a thread. A thread that ends before it cannot work at all. */
export interface ThreadReady {
  readonly ready: true
}
