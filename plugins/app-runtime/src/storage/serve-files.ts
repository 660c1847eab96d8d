import type { DatabaseStore, HttpHandlerRoute, Program } from '@svc/contracts'
import { errorMessage, type PluginContext } from '@svc/plugin-sdk'
import { openAuthSecrets } from '../auth/secret.ts'
import { isFile } from '../schema/column-type.ts'
import { authSettings, filesSettings, type Settings } from '../settings.ts'
import type { BridgeAnswers } from '../threads/bridge.ts'
import { downloadRoutes } from './download-route.ts'
import type { FileStorage } from './file-storage.ts'
import { FileUrls } from './file-urls.ts'
import { openStorage, storageSettings } from './open-storage.ts'
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
  { config, projectRoot, log }: Pick<PluginContext<Settings>, 'config' | 'projectRoot' | 'log'>,
  program: Program,
  key: string,
  store: DatabaseStore
): Promise<ProgramFiles> {
  const { types } = filesSettings(config)
  const { all } = await openAuthSecrets(authSettings(config).secret, projectRoot, store)
  const storage = openStorage(program, key, store, storageSettings(config, projectRoot))
  const urls = FileUrls.of(all)
  // The program is served in any case: the storage may be back before a call needs it.
  void storage.check().catch((error: unknown) => log.warn(errorMessage(error), { program: key }))
  return {
    storage,
    answers: storageAnswers(storage, urls),
    uploads: new Uploads(storage, { types, isFile: type => isFile(type, program.module) }),
    routes: downloadRoutes(storage, urls)
  }
}
