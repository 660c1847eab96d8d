import type { DatabaseStore, Program } from '@svc/contracts'
import type { PluginContext } from '@svc/plugin-sdk'
import { openAuthSecrets } from '../auth/secret.ts'
import { authSettings, filesSettings, type Settings } from '../settings.ts'
import { FileUrls } from './file-urls.ts'
import { openStorage, storageSettings } from './open-storage.ts'
import { type JobFiles, openScratchFiles } from './scratch-files.ts'
import { storageAnswers } from './storage-answers.ts'
import { usesFiles } from './uses-files.ts'

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
  if (isTemporary) return openScratchFiles(program, key, { fileBytes: filesSettings(config).max_bytes, bytes: null })
  const opened = await store()
  const { all } = await openAuthSecrets(authSettings(config).secret, projectRoot, opened)
  const storage = openStorage(program, key, opened, storageSettings(config, projectRoot))
  return { ...NO_FILES, answers: storageAnswers(storage, FileUrls.of(all)) }
}
