import { resolve } from 'node:path'
import type { DatabaseStore, HttpHandlerRoute, Program } from '@svc/contracts'
import type { PluginContext } from '@svc/plugin-sdk'
import { openAuthSecrets } from '../auth/secret.ts'
import { isFile } from '../schema/column-type.ts'
import { authSettings, filesSettings, type Settings } from '../settings.ts'
import type { BridgeAnswers } from '../threads/bridge.ts'
import { downloadRoutes } from './download-route.ts'
import type { FileStorage } from './file-storage.ts'
import { FileUrls } from './file-urls.ts'
import { openStorage } from './open-storage.ts'
import { storageAnswers } from './storage-answers.ts'
import { Uploads } from './uploads.ts'

/** Services of the main thread for a program with files. */
export interface ProgramFiles {
  readonly storage: FileStorage
  readonly answers: BridgeAnswers
  readonly uploads: Uploads
  readonly routes: readonly HttpHandlerRoute[]
}

/** Opens the files of a program. `key`: key of the program. */
export async function openFiles(
  { config, projectRoot }: Pick<PluginContext<Settings>, 'config' | 'projectRoot'>,
  program: Program,
  key: string,
  store: DatabaseStore
): Promise<ProgramFiles> {
  const { folder, max_bytes: maxBytes, types } = filesSettings(config)
  const { all } = await openAuthSecrets(authSettings(config).secret, projectRoot, store)
  const storage = openStorage(program, key, store, { folder: resolve(projectRoot, folder), maxBytes })
  const urls = FileUrls.of(all)
  return {
    storage,
    answers: storageAnswers(storage, urls),
    uploads: new Uploads(storage, { types, isFile: type => isFile(type, program.module) }),
    routes: downloadRoutes(storage, urls)
  }
}
