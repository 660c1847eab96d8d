import { createHash } from 'node:crypto'
import type { PublicationManifest } from '@svc/contracts'
import type { AdapterParts } from '../parts.ts'
import type { DepositFile } from './deposit-file.ts'
import { attachesBody } from './deposit-flags.ts'

/** Returns the files of a deposit: those of the staging folder, else `body.md` if the settings attach it. */
export async function depositFiles(
  parts: AdapterParts,
  manifest: PublicationManifest,
  _signal: AbortSignal
): Promise<readonly DepositFile[]> {
  const body = Buffer.from(manifest.body_markdown, 'utf8')
  if (!attachesBody(parts.settings())) return []
  return [{ name: 'body.md', bytes: body.length, sha3_256: createHash('sha3-256').update(body).digest('hex'), body }]
}
