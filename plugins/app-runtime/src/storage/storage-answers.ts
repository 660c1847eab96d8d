import type { Readable } from 'node:stream'
import { runErrors } from '../errors.ts'
import type { BridgeAnswers } from '../threads/bridge.ts'
import type { FileInfo } from './file-info.ts'
import type { FileStorage } from './file-storage.ts'
import type { FileUrls } from './file-urls.ts'

/** Requests of `std.files` to the main thread. */
export const FILE_QUESTIONS = {
  setup: 'files.setup',
  /** SQL of the condition that no row refers to a file; tables of other programs may be new. */
  unused: 'files.unused',
  put: 'files.put',
  read: 'files.read'
} as const

export interface FilesSetup {
  /** Key of the program, which owns its files. */
  readonly program: string
  readonly keys: readonly Uint8Array[]
}

export interface PutRequest {
  readonly name: string
  readonly contentType: string
  readonly content: Uint8Array
}

export type PutReply = FileInfo & { readonly sha256: string }

export interface ReadRequest {
  readonly id: string
  readonly maxBytes: number
}

/** Handles the requests of `std.files`. The thread reads and writes the rows itself, in its transaction. */
export function storageAnswers(storage: FileStorage, urls: FileUrls): BridgeAnswers {
  return {
    [FILE_QUESTIONS.setup]: (): FilesSetup => ({ program: storage.program, keys: urls.keys }),
    [FILE_QUESTIONS.unused]: (): Promise<string> => storage.unused(),
    [FILE_QUESTIONS.put]: async ({ name, contentType, content }: PutRequest): Promise<PutReply> =>
      storage.keep(await storage.stage([content]), name, contentType),
    [FILE_QUESTIONS.read]: async ({ id, maxBytes }: ReadRequest): Promise<Uint8Array> =>
      contentOf(await storage.read(id), maxBytes)
  }
}

async function contentOf(stream: Readable, maxBytes: number): Promise<Uint8Array> {
  const chunks: Uint8Array[] = []
  let length = 0
  for await (const chunk of stream as AsyncIterable<Uint8Array>) {
    length += chunk.length
    if (length > maxBytes) {
      throw runErrors.create('RUN_MEMORY_LIMIT', `the file is larger than ${maxBytes} bytes, the memory of the program`)
    }
    chunks.push(chunk)
  }
  return Buffer.concat(chunks, length)
}
