import { lstat, realpath } from 'node:fs/promises'
import { basename, dirname, isAbsolute, join, relative, resolve, sep } from 'node:path'
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
    if (out !== undefined && surface !== 'cli' && !(await isInside(parts.projectRoot, folder)))
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

/** Returns whether a folder that may not exist yet is inside of another one, after links are resolved. */
async function isInside(root: string, folder: string): Promise<boolean> {
  const real = await realPathOf(folder)
  if (real === null) return false
  const path = relative(await realpath(root), real)
  return path !== '..' && !path.startsWith(`..${sep}`) && !isAbsolute(path)
}

/** Returns a path without links, whose last parts may not exist; null for one with a link that leads nowhere. */
async function realPathOf(path: string): Promise<string | null> {
  const real = await realpath(path).catch(() => null)
  if (real !== null) return real
  const isThere = (await lstat(path).catch(() => null)) !== null
  const parent = isThere || dirname(path) === path ? null : await realPathOf(dirname(path))
  return parent === null ? null : join(parent, basename(path))
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
