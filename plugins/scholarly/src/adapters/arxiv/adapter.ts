import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { type PublicationManifest, RemoteFailure, type ScholarlyAdapter } from '@svc/contracts'
import type { AdapterParts } from '../parts.ts'
import {
  type ArxivBundle,
  BUNDLE_FILE,
  createBundle,
  HANDOFF_FILE,
  MAIN_FILE,
  readHandoff,
  writeBundle
} from './bundle.ts'

const NAME = 'arxiv_assist'

/**
 * Writes a bundle that a person uploads to arXiv, which has no API for submissions: main.tex, an archive with the
 * figures, and what to enter in the form. The same content gives the same files, so that a repeated attempt is harmless.
 */
export function arxivAssist(parts: AdapterParts): ScholarlyAdapter {
  return {
    name: NAME,
    aliases: ['arxiv'],
    summary: 'Writes a bundle that a person uploads to arXiv',
    live: false,
    preflight: 'arxiv_assist',
    intermediateStatuses: ['bundle_ready', 'bundle_changed', 'bundle_missing'],
    problem: () => Promise.resolve(null),
    async plan(manifest, signal) {
      const { handoff } = await checkedBundle(manifest, signal)
      const warnings = handoff.findings.map(({ code, message }) => `Note ${code}: ${message}`)
      return {
        steps: [
          `Write ${MAIN_FILE}, ${BUNDLE_FILE} and ${HANDOFF_FILE} into ${await folderOf(manifest)}`,
          `Upload ${BUNDLE_FILE} at ${handoff.upload_url} by hand`,
          ...warnings
        ],
        files: [...handoff.files, handoff.bundle]
      }
    },
    async submit(manifest, { signal }) {
      const bundle = await checkedBundle(manifest, signal)
      const folder = await folderOf(manifest)
      const other = await readHandoff(folder)
      if (other !== null && other.publication_id !== manifest.publication_id)
        throw new RemoteFailure(
          `${folder}: the folder contains the bundle of ${other.publication_id}; set SVC_ARXIV_STAGING_DIR to another folder`,
          { failureClass: 'config', code: 'folder_in_use' }
        )
      await writeBundle(folder, bundle)
      return {
        adapter: NAME,
        external_submission_id: idOf(manifest.content_sha3_256),
        status: 'bundle_ready',
        metadata_json: JSON.stringify({
          folder,
          bundle_sha3_256: bundle.handoff.bundle.sha3_256,
          upload_url: bundle.handoff.upload_url
        })
      }
    },
    async fetchStatus(id) {
      for (const folder of [await configuredFolder(), await dataFolder(id)]) {
        const handoff = folder === null ? null : await readHandoff(folder)
        if (folder === null || handoff === null || idOf(handoff.content_sha3_256) !== id) continue
        const status =
          (await hashOf(join(folder, BUNDLE_FILE))) === handoff.bundle.sha3_256 ? 'bundle_ready' : 'bundle_changed'
        return { status, detail_json: JSON.stringify({ folder, upload_url: handoff.upload_url }) }
      }
      return { status: 'bundle_missing', detail_json: JSON.stringify({ id }) }
    }
  }

  /** Creates a bundle. Throws if it has findings of severity `error`. */
  async function checkedBundle(manifest: PublicationManifest, signal: AbortSignal): Promise<ArxivBundle> {
    const bundle = await createBundle(manifest, parts.projectRoot, { signal })
    const errors = bundle.handoff.findings.filter(({ severity }) => severity === 'error')
    if (errors.length === 0) return bundle
    const shown = errors.slice(0, 10).map(({ code, message }) => `${code}: ${message}`)
    throw new RemoteFailure(`The bundle for arXiv has ${errors.length} errors. ${shown.join(' ')}`, {
      failureClass: 'preflight',
      code: 'bundle_invalid'
    })
  }

  async function folderOf({ content_sha3_256 }: PublicationManifest): Promise<string> {
    return (await configuredFolder()) ?? (await dataFolder(idOf(content_sha3_256)))
  }

  async function configuredFolder(): Promise<string | null> {
    const { arxiv_staging_dir: folder } = parts.settings()
    return folder === undefined ? null : resolve(parts.projectRoot, folder)
  }

  async function dataFolder(id: string): Promise<string> {
    return join(await parts.dataDirectory(), 'arxiv', id.replace(/[^\w-]/g, '_'))
  }
}

function idOf(digest: string): string {
  return `arxiv-${digest.slice(0, 12)}-v1`
}

async function hashOf(path: string): Promise<string | null> {
  try {
    return createHash('sha3-256')
      .update(await readFile(path))
      .digest('hex')
  } catch {
    return null
  }
}
