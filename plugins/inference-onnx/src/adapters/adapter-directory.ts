import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { isSvcError } from '@svc/plugin-sdk'
import { type Adapter, findAdapterMetadata, readAdapter } from '../adapter.ts'
import { inferenceErrors } from '../errors.ts'
import { invalidAdapter } from './invalid-adapter.ts'
import { PEFT_CONFIGURATION, readPeftAdapter } from './peft.ts'

/**
 * Reads an adapter in either format: PEFT if `adapter_config.json` exists, else the format of run directories.
 *
 * Throws `INF_ADAPTER_INVALID` for any problem with the folder or a file in it.
 */
export async function readAdapterDirectory(folder: string): Promise<Adapter> {
  try {
    return (await isFile(join(folder, PEFT_CONFIGURATION))) ? await readPeftAdapter(folder) : await readOwn(folder)
  } catch (error) {
    if (!isSvcError(error) || error.code === 'INF_ADAPTER_INVALID') throw error
    throw inferenceErrors.create('INF_ADAPTER_INVALID', error.message, {
      cause: error,
      at: { file: folder },
      data: { file: folder }
    })
  }
}

async function readOwn(folder: string): Promise<Adapter> {
  const adapter = await readAdapter(folder, await findAdapterMetadata(folder), new Map())
  if (adapter !== null) return adapter
  throw invalidAdapter(
    folder,
    `it contains neither ${PEFT_CONFIGURATION} nor the adapter of a run directory`,
    'Name the folder that contains the adapter and its metadata.'
  )
}

function isFile(path: string): Promise<boolean> {
  return stat(path).then(
    found => found.isFile(),
    () => false
  )
}
