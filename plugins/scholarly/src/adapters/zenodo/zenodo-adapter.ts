import {
  type AdapterProblem,
  type DeclaredSecret,
  isRemoteFailure,
  type PublicationManifest,
  type RemoteClient,
  RemoteFailure,
  type ScholarlyAdapter,
  type SubmissionContext,
  type SubmissionReceipt
} from '@svc/contracts'
import { createOnce } from '../deposit/create-once.ts'
import { ArchiveHashes, type DepositFile } from '../deposit/deposit-file.ts'
import { depositFiles } from '../deposit/deposit-files.ts'
import { isPublished, publishStep } from '../deposit/deposit-flags.ts'
import { fingerprint } from '../deposit/fingerprint.ts'
import { missingStatus } from '../deposit/missing-status.ts'
import { checkPlanned, uploadStep } from '../deposit/planned-files.ts'
import { isSameTitle } from '../deposit/same-title.ts'
import type { AdapterParts } from '../parts.ts'
import { type Deposition, ZenodoApi } from './zenodo-api.ts'
import { zenodoMetadata } from './zenodo-metadata.ts'

const TOKEN = 'SVC_ZENODO_ACCESS_TOKEN'

export const ZENODO_SECRETS: readonly DeclaredSecret[] = [
  {
    id: 'zenodo.access_token',
    env: TOKEN,
    registry: 'zenodo',
    policy: 'optional',
    class: 'integration',
    remediation: `Create a token at zenodo.org, Applications, then store it with svc secrets set ${TOKEN}.`,
    description: 'Personal access token of Zenodo, for submissions',
    capabilities: ['scholarly']
  }
]

/** Archive zenodo.org: a draft deposition with files, published if the settings say so. */
export function zenodoAdapter(parts: AdapterParts): ScholarlyAdapter {
  return {
    name: 'zenodo',
    summary: 'Deposits publications at Zenodo',
    live: true,
    preflight: 'metadata_complete',
    intermediateStatuses: ['unsubmitted', 'inprogress'],
    httpAttempts: () => parts.settings().zenodo_http_max_attempts,
    problem: async () => ((await token(parts)) === null ? MISSING_TOKEN : null),
    async checkAccess({ http, signal }) {
      await (await apiOf(parts, http, signal)).checkToken()
      return { account: null }
    },
    async plan(manifest, signal) {
      const { title } = zenodoMetadata(manifest)
      const files = await depositFiles(parts, manifest, signal)
      const keep = 'Leave the deposition a draft'
      return {
        steps: [
          `Create a draft deposition at ${new URL(baseOf(parts)).host} with the title ${JSON.stringify(title)}`,
          ...files.map(uploadStep),
          publishStep(parts.settings(), files.length, 'Publish the deposition, which registers its DOI', keep)
        ],
        files: files.map(({ name, bytes, sha3_256 }) => ({ name, bytes, sha3_256 }))
      }
    },
    submit: (manifest, context) => submit(parts, manifest, context),
    async fetchStatus(id, { http, signal }) {
      const found = await (await apiOf(parts, http, signal)).get(id)
      if (typeof found === 'number')
        return missingStatus(found, { deposition_id: id, host: new URL(baseOf(parts)).host })
      return { status: found.deposition.state, detail_json: JSON.stringify(detailOf(found.deposition)) }
    }
  }
}

const MISSING_TOKEN: AdapterProblem = {
  failureClass: 'config',
  message: 'Zenodo: there is no access token',
  hint: `create one at zenodo.org with the scopes deposit:write and deposit:actions, then run svc secrets set ${TOKEN}`
}

function token(parts: AdapterParts, signal?: AbortSignal): Promise<string | null> {
  return parts.secret(parts.settings().zenodo_access_token, TOKEN, signal)
}

/** Returns the URL of the API. A base without a path means the API of that host. */
function baseOf(parts: AdapterParts): string {
  const { zenodo_api_base, zenodo_sandbox } = parts.settings()
  const base = zenodo_api_base ?? (zenodo_sandbox ? 'https://sandbox.zenodo.org/api' : 'https://zenodo.org/api')
  const url = URL.canParse(base) ? new URL(base) : null
  if (url === null || url.search !== '' || url.hash !== '')
    throw new RemoteFailure(
      'plugins.scholarly.zenodo_api_base: it is not a URL without a query; write https://HOST/api',
      {
        failureClass: 'config',
        code: 'url_refused'
      }
    )
  return url.pathname === '/' ? `${url.origin}/api` : url.href.replace(/\/+$/, '')
}

async function apiOf(parts: AdapterParts, http: RemoteClient, signal: AbortSignal): Promise<ZenodoApi> {
  const found = await token(parts, signal)
  if (found === null)
    throw new RemoteFailure(`${MISSING_TOKEN.message}; ${MISSING_TOKEN.hint}`, {
      failureClass: 'config',
      code: 'token_missing'
    })
  return new ZenodoApi({ http, base: baseOf(parts), token: found })
}

async function submit(
  parts: AdapterParts,
  manifest: PublicationManifest,
  context: SubmissionContext
): Promise<SubmissionReceipt> {
  const metadata = zenodoMetadata(manifest)
  const files = await depositFiles(parts, manifest, context.signal)
  checkPlanned(files, context.plannedFiles)
  const api = await apiOf(parts, context.http, context.signal)
  const hashes = new ArchiveHashes('md5', context.signal)
  const digest = manifest.content_sha3_256
  const { title } = metadata
  const id = await createOnce<Deposition>({
    archive: 'Zenodo',
    context,
    settleMs: parts.settings().zenodo_settle_seconds * 1_000,
    idOf: deposition => deposition.id,
    now: () => api.now(),
    create: () => api.create(metadata),
    async find(createdAfter) {
      const found = firstVersions((await api.search(digest)).filter(entry => entry.notes.includes(digest)))
      if (found.length > 0 || createdAfter === null) return found
      return firstVersions((await api.newest(createdAfter)).filter(entry => entry.notes.includes(digest)))
    }
  })
  let { deposition } = await read(api, id)
  checkEntry(deposition, title, digest)
  if (!deposition.submitted) {
    await upload(api, deposition, files, hashes, context)
    if (isPublished(parts.settings(), files.length)) await publish(api, id, title, digest, files, hashes)
  }
  const latest = await read(api, id)
  deposition = latest.deposition
  checkEntry(deposition, title, digest)
  if (deposition.submitted) await checkFiles(deposition, files, hashes)
  return {
    adapter: 'zenodo',
    external_submission_id: id,
    status: deposition.state,
    response_fingerprint: fingerprint(latest.text),
    metadata_json: JSON.stringify(detailOf(deposition))
  }
}

/** A person may have made new versions, which copy the note. The first one is the deposition that was created. */
function firstVersions(found: readonly Deposition[]): readonly Deposition[] {
  const first = new Map<string, Deposition>()
  for (const entry of found) {
    const key = entry.conceptId ?? entry.id
    const known = first.get(key)
    if (known === undefined || Number(entry.id) < Number(known.id)) first.set(key, entry)
  }
  return [...first.values()]
}

async function read(api: ZenodoApi, id: string): Promise<{ readonly deposition: Deposition; readonly text: string }> {
  const found = await api.get(id)
  if (typeof found !== 'number') return found
  throw new RemoteFailure(
    `Zenodo: deposition ${id} does not exist any more; cancel the job and submit again if it was deleted on purpose`,
    { failureClass: 'fatal', code: `http_${found}`, httpStatus: found }
  )
}

/** Throws if the deposition is broken or not the one of this publication. */
function checkEntry({ id, state, title, notes }: Deposition, planned: string, digest: string): void {
  if (state === 'error')
    throw new RemoteFailure(`Zenodo: deposition ${id} is in an error state; ask the support of Zenodo`, {
      failureClass: 'fatal',
      code: 'entry_error'
    })
  if (!isSameTitle(title, planned) || !notes.includes(digest))
    throw changed(id, 'has another title or lost the digest in its notes')
}

/** Throws if the files of a deposition are not exactly the planned ones. */
async function checkFiles({ id, files }: Deposition, planned: readonly DepositFile[], hashes: ArchiveHashes) {
  if (files.length !== planned.length) throw changed(id, `has ${files.length} files instead of ${planned.length}`)
  for (const file of planned) {
    if (!(await hashes.matches(file, named(files, file)))) throw changed(id, `has another content of ${file.name}`)
  }
}

function changed(id: string, problem: string): RemoteFailure {
  return new RemoteFailure(`Zenodo: deposition ${id} ${problem}; correct it in the browser, then replay the job`, {
    failureClass: 'fatal',
    code: 'entry_changed'
  })
}

function named(stored: Deposition['files'], { name }: DepositFile): Deposition['files'][number] | undefined {
  return stored.find(each => each.name === name)
}

/** Uploads the files that are not complete. */
async function upload(
  api: ZenodoApi,
  deposition: Deposition,
  files: readonly DepositFile[],
  hashes: ArchiveHashes,
  { progress }: SubmissionContext
): Promise<void> {
  for (const file of files) {
    const report = (sentBytes: number): void => progress({ file: file.name, sentBytes, totalBytes: file.bytes })
    if (!(await hashes.matches(file, named(deposition.files, file)))) {
      report(0)
      const stored = await api.upload(deposition, file, report)
      if (!(await hashes.matches(file, stored)))
        throw new RemoteFailure(`Zenodo: ${file.name} arrived damaged; it is sent again`, {
          failureClass: 'transient',
          code: 'upload_damaged'
        })
    }
    report(file.bytes)
  }
}

/** Publishes a draft whose content is exactly the planned one. A draft that is published already is a success. */
async function publish(
  api: ZenodoApi,
  id: string,
  title: string,
  digest: string,
  files: readonly DepositFile[],
  hashes: ArchiveHashes
): Promise<void> {
  const { deposition } = await read(api, id)
  checkEntry(deposition, title, digest)
  await checkFiles(deposition, files, hashes)
  if (deposition.submitted) return
  try {
    await api.publish(id)
  } catch (error) {
    // Another process, a person or a request whose answer was lost may have published it.
    if (!isRemoteFailure(error) || error.failureClass === 'auth') throw error
    const after = await api.get(id).catch(() => 404 as const)
    if (typeof after === 'number' || !after.deposition.submitted) throw error
  }
}

function detailOf({ id, state, doi, reservedDoi, url, files, conceptId }: Deposition): object {
  return {
    deposition_id: id,
    state,
    ...(doi === null ? {} : { doi }),
    ...(doi !== null || reservedDoi === null ? {} : { reserved_doi: reservedDoi }),
    ...(url === null ? {} : { url }),
    ...(conceptId === null ? {} : { concept_id: conceptId }),
    files: files.map(({ name, bytes, hash }) => ({ name, bytes, md5: hash }))
  }
}
