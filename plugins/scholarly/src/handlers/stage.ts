import { isAbsolute, join, relative, resolve, sep } from 'node:path'
import type { Handler } from '@svc/plugin-sdk'
import { scholarlyErrors } from '../errors.ts'
import { callerError } from '../failures.ts'
import type { scholarlyStage } from '../operations/submit.ts'
import type { Settings } from '../settings.ts'
import { writeStaging } from '../staging/write-staging.ts'
import { type HandlerParts, publicationOf } from './parts.ts'

export interface StageParts extends Pick<HandlerParts, 'queue' | 'publications'> {
  readonly settings: () => Settings
  readonly projectRoot: string
  dataDirectory(): Promise<string>
}

export function stageHandler(parts: StageParts): Handler<typeof scholarlyStage> {
  return async ({ publication_id, out }, { surface }) => {
    const manifest = await publicationOf(parts, publication_id)
    const folder = await folderOf(parts, manifest.publication_id, out)
    const inside = relative(parts.projectRoot, folder)
    const isInside = inside !== '..' && !inside.startsWith(`..${sep}`) && !isAbsolute(inside)
    if (out !== undefined && !isInside && surface !== 'cli')
      throw scholarlyErrors.create('SCH_STAGING_FAILED', `staging folder ${folder} is outside of the project`, {
        hint: 'only the command line may choose such a folder'
      })
    try {
      return { folder, files: [...(await writeStaging(folder, manifest))] }
    } catch (error) {
      throw callerError(error)
    }
  }
}

async function folderOf(
  { settings, projectRoot, dataDirectory }: StageParts,
  id: string,
  out?: string
): Promise<string> {
  const chosen = out ?? settings().staging_dir
  if (chosen !== undefined) return resolve(projectRoot, chosen)
  return join(await dataDirectory(), 'staging', id.replaceAll(':', '_'))
}
