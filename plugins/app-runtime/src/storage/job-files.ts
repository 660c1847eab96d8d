import { randomBytes } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { DatabaseStore, Program } from '@svc/contracts'
import type { PluginContext } from '@svc/plugin-sdk'
import { openAuthSecrets } from '../auth/secret.ts'
import { authSettings, filesSettings, type Settings } from '../settings.ts'
import type { BridgeAnswers } from '../threads/bridge.ts'
import { FileUrls } from './file-urls.ts'
import { openStorage, storageSettings } from './open-storage.ts'
import { storageAnswers } from './storage-answers.ts'
import { usesFiles } from './uses-files.ts'

/** Answers to `std.files` for a program that is not served. */
export interface JobFiles {
  readonly answers: BridgeAnswers
  close(): Promise<void>
}

export interface JobFilesOptions {
  readonly program: Program
  /** Key of the program, which owns its files. */
  readonly key: string
  /** True if the database ends with the job, so that the files do, too. */
  readonly isTemporary: boolean
  readonly store: () => Promise<DatabaseStore>
}

const NO_FILES: JobFiles = { answers: {}, close: async () => undefined }

/** Opens the configured storage, or a temporary folder. */
export async function openJobFiles(
  { config, projectRoot }: Pick<PluginContext<Settings>, 'config' | 'projectRoot'>,
  { program, key, isTemporary, store }: JobFilesOptions
): Promise<JobFiles> {
  if (!usesFiles(program)) return NO_FILES
  const opened = await store()
  if (!isTemporary) {
    const { all } = await openAuthSecrets(authSettings(config).secret, projectRoot, opened)
    const storage = openStorage(program, key, opened, storageSettings(config, projectRoot))
    return { ...NO_FILES, answers: storageAnswers(storage, FileUrls.of(all)) }
  }
  const folder = await mkdtemp(join(tmpdir(), 'svc-files-'))
  const settings = { folder, maxBytes: filesSettings(config).max_bytes, s3: null }
  // The database of a test is in its thread.
  const storage = openStorage(program, key, opened, settings, 'files')
  return {
    answers: storageAnswers(storage, FileUrls.of([randomBytes(32)])),
    close: () => rm(folder, { recursive: true, force: true })
  }
}
