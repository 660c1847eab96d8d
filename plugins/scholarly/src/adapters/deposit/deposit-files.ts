import { createHash } from 'node:crypto'
import { type PublicationManifest, RemoteFailure } from '@svc/contracts'
import { approvedHashes, BODY_FILE } from '../../staging/content.ts'
import { stagedFiles } from '../../staging/staged-files.ts'
import type { AdapterParts } from '../parts.ts'
import type { DepositFile } from './deposit-file.ts'
import { attachesBody } from './deposit-flags.ts'

/**
 * Returns the files of a deposit: those of the staging folder, else `body.md` if the settings attach it. Throws
 * `RemoteFailure` for a staging folder that cannot be used, and for files in folders of it.
 */
export async function depositFiles(
  parts: AdapterParts,
  manifest: PublicationManifest,
  signal: AbortSignal
): Promise<readonly DepositFile[]> {
  const settings = parts.settings()
  const staged = await stagedFiles(settings, parts.projectRoot, manifest, signal)
  if (staged !== null) {
    const nested = staged.find(({ name }) => name.includes('/'))
    if (nested !== undefined)
      throw new RemoteFailure(
        `${nested.name}: deposits have no folders; move the file to the top of the staging folder`,
        {
          failureClass: 'config',
          code: 'file_nested'
        }
      )
    const approved = approvedHashes(manifest)
    return staged.map(({ name, bytes, sha3_256, path }) => {
      return { name, bytes, sha3_256, body: { path, bytes, sha3_256 }, isApproved: approved.has(sha3_256) }
    })
  }
  if (!attachesBody(settings)) return []
  const body = Buffer.from(manifest.body_markdown, 'utf8')
  const sha3_256 = createHash('sha3-256').update(body).digest('hex')
  return [{ name: BODY_FILE, bytes: body.length, sha3_256, body, isApproved: true }]
}
