import { randomBytes } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Program, SqlResult } from '@svc/contracts'
import { runErrors } from '../errors.ts'
import type { BridgeAnswers } from '../threads/bridge.ts'
import type { FileStorageOptions } from './file-storage.ts'
import { FileUrls } from './file-urls.ts'
import { openStorage } from './open-storage.ts'
import { FILE_QUESTIONS, type PutReply, type PutRequest, storageAnswers } from './storage-answers.ts'

/** Answers to `std.files` for a program that is not served. */
export interface JobFiles {
  readonly answers: BridgeAnswers
  close(): Promise<void>
}

export interface ScratchLimits {
  /** Maximum bytes of one file. */
  readonly fileBytes: number
  /** Maximum bytes of all files that are stored, also of deleted ones; null: no limit. A file counts as at least one block. */
  readonly bytes: number | null
}

/** Bytes that a disk uses for a small file, also for one without content. */
const BLOCK_BYTES = 4096

const NOTHING: SqlResult = { columns: [], rows: [], changes: 0, lastInsertId: null }

/** The rows of the files are in the database of the thread, which no other program uses. */
const NO_ROWS: FileStorageOptions['store'] = {
  query: async () => NOTHING,
  execute: async () => NOTHING
}

/** Opens a temporary folder for the files of a program whose database ends with its thread. */
export async function openScratchFiles(program: Program, key: string, limits: ScratchLimits): Promise<JobFiles> {
  const folder = await mkdtemp(join(tmpdir(), 'svc-files-'))
  const storage = openStorage(program, key, NO_ROWS, { folder, maxBytes: limits.fileBytes, s3: null }, 'files')
  const answers = storageAnswers(storage, FileUrls.of([randomBytes(32)]))
  const put = answers[FILE_QUESTIONS.put] as (request: PutRequest) => Promise<PutReply>
  let left = limits.bytes ?? Number.POSITIVE_INFINITY
  return {
    answers: {
      ...answers,
      [FILE_QUESTIONS.put]: async (request: PutRequest): Promise<PutReply> => {
        const size = Math.max(request.content.length, BLOCK_BYTES)
        if (size > left) {
          throw runErrors.create('RUN_STORAGE_FULL', `the files of this run have more than ${limits.bytes} bytes`, {
            hint: 'store less in one run'
          })
        }
        left -= size
        return put(request)
      }
    },
    close: () => rm(folder, { recursive: true, force: true })
  }
}
