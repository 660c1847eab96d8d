import {
  type AdapterProblem,
  type DeclaredSecret,
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
import { OsfApi, type OsfFile, type OsfNode } from './osf-api.ts'
import { type OsfLicense, osfAttributes, osfLicense, tagOf } from './osf-metadata.ts'

const TOKEN = 'SVC_OSF_ACCESS_TOKEN'

export const OSF_SECRETS: readonly DeclaredSecret[] = [
  {
    id: 'osf.access_token',
    env: TOKEN,
    registry: 'osf',
    policy: 'optional',
    class: 'integration',
    remediation: `Create a token at osf.io, Settings, then store it with svc secrets set ${TOKEN}.`,
    description: 'Personal access token of OSF, for submissions',
    capabilities: ['scholarly']
  }
]

/** Archive osf.io: a private project with files, made public if the settings say so. */
export function osfAdapter(parts: AdapterParts): ScholarlyAdapter {
  return {
    name: 'osf',
    summary: 'Stores publications as projects at OSF',
    live: true,
    preflight: 'metadata_complete',
    intermediateStatuses: ['draft'],
    httpAttempts: () => parts.settings().osf_http_max_attempts,
    problem: async () => ((await token(parts)) === null ? MISSING_TOKEN : null),
    async checkAccess({ http, signal }) {
      return { account: await (await apiOf(parts, http, signal)).account() }
    },
    async plan(manifest, signal) {
      const { title } = osfAttributes(manifest)
      const license = osfLicense(manifest)
      const files = await depositFiles(parts, manifest, signal)
      return {
        steps: [
          `Create a private project at ${new URL(basesOf(parts).base).host} with the title ${JSON.stringify(title)}`,
          ...(license === null ? [] : [`Set its licence to ${license.name}`]),
          ...files.map(uploadStep),
          publishStep(parts.settings(), files.length, 'Make the project public', 'Leave the project private')
        ],
        files: files.map(({ name, bytes, sha3_256 }) => ({ name, bytes, sha3_256 }))
      }
    },
    submit: (manifest, context) => submit(parts, manifest, context),
    async fetchStatus(id, { http, signal }) {
      const found = await (await apiOf(parts, http, signal)).get(id)
      if (typeof found === 'number')
        return missingStatus(found, { node_id: id, host: new URL(basesOf(parts).base).host })
      return { status: statusOf(found.node), detail_json: JSON.stringify(detailOf(found.node)) }
    }
  }
}

const MISSING_TOKEN: AdapterProblem = {
  failureClass: 'config',
  message: 'OSF: there is no access token',
  hint: `create one at osf.io with the scope osf.full_write, then run svc secrets set ${TOKEN}`
}

function token(parts: AdapterParts, signal?: AbortSignal): Promise<string | null> {
  return parts.secret(parts.settings().osf_access_token, TOKEN, signal)
}

function basesOf(parts: AdapterParts): { readonly base: string; readonly filesBase: string } {
  const { osf_api_base, osf_files_base } = parts.settings()
  const checked = (setting: string, value: string): string => {
    const url = URL.canParse(value) ? new URL(value) : null
    if (url !== null && url.search === '' && url.hash === '') return url.href.replace(/\/+$/, '')
    throw new RemoteFailure(`plugins.scholarly.${setting}: it is not a URL without a query; write https://HOST/PATH`, {
      failureClass: 'config',
      code: 'url_refused'
    })
  }
  return { base: checked('osf_api_base', osf_api_base), filesBase: checked('osf_files_base', osf_files_base) }
}

async function apiOf(parts: AdapterParts, http: RemoteClient, signal: AbortSignal): Promise<OsfApi> {
  const found = await token(parts, signal)
  if (found === null)
    throw new RemoteFailure(`${MISSING_TOKEN.message}; ${MISSING_TOKEN.hint}`, {
      failureClass: 'config',
      code: 'token_missing'
    })
  return new OsfApi({ http, ...basesOf(parts), token: found })
}

async function submit(
  parts: AdapterParts,
  manifest: PublicationManifest,
  context: SubmissionContext
): Promise<SubmissionReceipt> {
  const attributes = osfAttributes(manifest)
  const license = osfLicense(manifest)
  const files = await depositFiles(parts, manifest, context.signal)
  checkPlanned(files, context.plannedFiles)
  const api = await apiOf(parts, context.http, context.signal)
  const hashes = new ArchiveHashes('sha256', context.signal)
  const tag = tagOf(manifest.content_sha3_256)
  const id = await createOnce<OsfNode>({
    archive: 'OSF',
    context,
    settleMs: parts.settings().osf_settle_seconds * 1_000,
    idOf: node => node.id,
    find: () => api.withTag(tag),
    now: () => api.now(),
    create: () => api.create(attributes)
  })
  const { node } = await read(api, id)
  checkEntry(node, attributes.title, tag)
  if (!node.public) {
    if (license !== null) await setLicense(api, node, license)
    await upload(api, id, files, hashes, context)
    if (isPublished(parts.settings(), files.length)) {
      checkEntry((await read(api, id)).node, attributes.title, tag)
      await checkFiles(api, id, files, hashes)
      await api.update(id, { attributes: { public: true } })
    }
  }
  const latest = await read(api, id)
  checkEntry(latest.node, attributes.title, tag)
  if (latest.node.public) await checkFiles(api, id, files, hashes)
  return {
    adapter: 'osf',
    external_submission_id: id,
    status: statusOf(latest.node),
    response_fingerprint: fingerprint(latest.text),
    metadata_json: JSON.stringify(detailOf(latest.node))
  }
}

/** OSF has no word for the state of a project: it is public or not. */
function statusOf(node: OsfNode): string {
  return node.public ? 'published' : 'draft'
}

function detailOf({ id, url, public: isPublic }: OsfNode): object {
  return { node_id: id, public: isPublic, ...(url === null ? {} : { url }) }
}

async function read(api: OsfApi, id: string): Promise<{ readonly node: OsfNode; readonly text: string }> {
  const found = await api.get(id)
  if (typeof found !== 'number') return found
  throw new RemoteFailure(
    `OSF: project ${id} does not exist any more; cancel the job and submit again if it was deleted on purpose`,
    { failureClass: 'fatal', code: `http_${found}`, httpStatus: found }
  )
}

/** Throws if a project is not the one of this publication. */
function checkEntry({ id, title, tags }: OsfNode, planned: string, tag: string): void {
  if (!isSameTitle(title, planned) || !tags.includes(tag))
    throw changed(id, 'has another title or lost the tag with the digest')
}

/** Throws if the files of a project are not exactly the planned ones. */
async function checkFiles(api: OsfApi, id: string, planned: readonly DepositFile[], hashes: ArchiveHashes) {
  const stored = await api.files(id)
  if (stored.length !== planned.length) throw changed(id, `has ${stored.length} files instead of ${planned.length}`)
  for (const file of planned) {
    if (!(await hashes.matches(file, named(stored, file)))) throw changed(id, `has another content of ${file.name}`)
  }
}

function changed(id: string, problem: string): RemoteFailure {
  return new RemoteFailure(`OSF: project ${id} ${problem}; correct it in the browser, then replay the job`, {
    failureClass: 'fatal',
    code: 'entry_changed'
  })
}

function named(stored: readonly OsfFile[], { name }: DepositFile): OsfFile | undefined {
  return stored.find(each => each.isFile && each.name === name)
}

async function setLicense(api: OsfApi, node: OsfNode, { name, year, holders }: OsfLicense): Promise<void> {
  const licenseId = await api.licenseId(name)
  if (licenseId === null)
    throw new RemoteFailure(`OSF: it does not list the licence ${name}; choose another one and prepare again`, {
      failureClass: 'fatal',
      code: 'license_unknown'
    })
  if (node.licenseId === licenseId) return
  await api.update(node.id, {
    attributes: { node_license: { year, copyright_holders: holders } },
    relationships: { license: { data: { type: 'licenses', id: licenseId } } }
  })
}

/** Uploads the files that are not complete. */
async function upload(
  api: OsfApi,
  id: string,
  files: readonly DepositFile[],
  hashes: ArchiveHashes,
  { progress }: SubmissionContext
): Promise<void> {
  let stored = files.length === 0 ? [] : await api.files(id)
  for (const file of files) {
    const report = (sentBytes: number): void => progress({ file: file.name, sentBytes, totalBytes: file.bytes })
    if (!(await hashes.matches(file, named(stored, file)))) {
      report(0)
      let uploaded = await api.upload(id, file, named(stored, file), report)
      if (uploaded === null) {
        stored = await api.files(id)
        uploaded = named(stored, file) ?? null
        if (uploaded !== null && !(await hashes.matches(file, uploaded)))
          uploaded = await api.upload(id, file, uploaded, report)
      }
      if (uploaded === null || !(await hashes.matches(file, uploaded)))
        throw new RemoteFailure(`OSF: ${file.name} arrived damaged; it is sent again`, {
          failureClass: 'transient',
          code: 'upload_damaged'
        })
    }
    report(file.bytes)
  }
}
