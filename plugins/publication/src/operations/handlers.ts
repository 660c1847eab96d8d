import {
  type ManifestContent,
  manifestDigest,
  type PublicationApproval,
  type PublicationAttempt,
  type PublicationLink,
  type PublicationManifest
} from '@svc/contracts'
import { defined, type PluginContext } from '@svc/plugin-sdk'
import { readContent } from '../manuscript/manuscript.ts'
import { identify } from '../people.ts'
import { oneLine, printable } from '../printable.ts'
import type { Records } from '../records.ts'
import type { Settings } from '../settings.ts'
import { isDual } from '../store/approvals.ts'
import * as operations from './declare.ts'

const SHOWN = 100
/** Attempts, and links, in the text of a publication. */
const MAX_LINES = 20

/** Sets the handlers of this plugin's operations, except the inbox. */
export function implementOperations(ctx: PluginContext<unknown>, records: Records): void {
  const settings = () => ctx.config as Settings
  ctx.implement(operations.prepareOperation, async ({ path, id, ...stated }, call) => {
    const content = await readContent(ctx.projectRoot, path, defined({ publication_id: id, ...stated }), call.signal)
    return shown(await records.prepare(content))
  })
  ctx.implement(operations.listOperation, async ({ state, content_type, limit }) => {
    const found = await records.manifests.listWithApprovals(defined({ state, contentType: content_type, limit }))
    const note = found.length === 0 ? 'There are no such publications. Store one: svc publication prepare FILE' : ''
    return { publications: [...found], note }
  })
  ctx.implement(operations.showOperation, async ({ publication_id, body }) => {
    const manifest = await records.get(publication_id)
    const { history } = records
    const approvals = await records.approvals(publication_id, manifest.content_sha3_256)
    const [attempts, links, revisions, events, media] = await Promise.all([
      history.attempts(publication_id, SHOWN),
      history.links(publication_id, SHOWN),
      history.revisions(publication_id, SHOWN),
      history.events(publication_id, SHOWN),
      history.media(publication_id, manifest.content_sha3_256)
    ])
    return {
      publication: { ...shown(manifest), ...(body ? { body_markdown: manifest.body_markdown } : {}) },
      approvals: approvals.map(({ publication_id: _, ...each }) => each),
      missing_approvals: missing(approvals),
      text: `${textOf(manifest, approvals, attempts, links)}${body ? contentOf(manifest) : ''}`,
      attempts: attempts.map(({ publication_id: _, ...each }) => each),
      ...{ links, media, revisions, events }
    }
  })
  ctx.implement(operations.approveOperation, async ({ publication_id, digest, approver, approver_token }, call) => {
    const who = identify({ approver, token: approver_token }, call, settings())
    const { approvals, isNew } = await records.approve(publication_id, digest, who)
    return {
      ...{ publication_id, content_sha3_256: digest, approver: who.name, approver_role: who.role, is_new: isNew },
      state: (await records.get(publication_id)).state,
      approvals: approvals.map(({ publication_id: _, ...each }) => each),
      missing_approvals: missing(approvals)
    }
  })
  ctx.implement(operations.revokeOperation, async ({ publication_id, digest, approver, approver_token }, call) => {
    const { name } = identify({ approver, token: approver_token }, call, settings())
    const revoked = await records.revoke(publication_id, digest, name)
    const left = await records.approvals(publication_id, digest)
    const { state } = await records.get(publication_id)
    return { publication_id, state, approver: name, revoked, missing_approvals: missing(left) }
  })
  ctx.implement(operations.preflightOperation, async ({ publication_id, profile }) => {
    const manifest = await records.get(publication_id)
    const { findings, ...report } = records.preflight(manifest, profile)
    const verdict = report.ok ? 'passes' : 'does not pass'
    const note = `${publication_id} ${verdict} the profile ${profile}; readiness ${report.readiness_score} of 100`
    return { ...idOf(manifest), ...report, note, findings: [...findings] }
  })
  ctx.implement(operations.worthinessOperation, async ({ publication_id }) => {
    const manifest = await records.get(publication_id)
    const { failed_minima, red_lines, reasons, ...report } = records.worthiness(manifest)
    return {
      ...{ ...idOf(manifest), ...report },
      ...{ failed_minima: [...failed_minima], red_lines: [...red_lines], reasons: [...reasons] }
    }
  })
  ctx.implement(operations.diffOperation, async ({ publication_id, since }) => {
    const manifest = await records.get(publication_id)
    const former = await records.manifests.revision(
      publication_id,
      since === undefined ? 'approved' : { digest: since }
    )
    return { ...idOf(manifest), ...(await comparison(manifest, former, since)) }
  })
  ctx.implement(operations.gateOperation, async ({ publication_id }) => {
    const manifest = await records.get(publication_id)
    const digest = manifest.content_sha3_256
    const gate = await records.gate({ publicationId: publication_id, digest, dryRun: false })
    return { ...idOf(manifest), open: gate.open, codes: [...gate.codes], approvers: [...gate.approvers] }
  })
}

export async function comparison(manifest: ManifestContent, former: ManifestContent | null, since?: string) {
  if (former === null) {
    const read = `Read all of it: svc publication show ${manifest.publication_id} --body`
    const text = since === undefined ? `No content of it was approved yet. ${read}` : 'That content is not kept.'
    return { since: null, changes: [], text }
  }
  // Loads the library that compares texts when it is first used.
  const { changesBetween } = await import('../changes.ts')
  const changes = changesBetween(former, manifest)
  const text = printable(changes.map(({ field, patch }) => `${field}\n${patch}`).join('\n'))
  return {
    since: manifestDigest(former),
    changes: [...changes],
    text: changes.length === 0 ? 'The content is the same.' : text
  }
}

/** Approvals that are still needed: a person's, if all approvers so far are agents. */
export function missing(approvals: Parameters<typeof isDual>[0]): number {
  return isDual(approvals) ? 0 : Math.max(1, 2 - approvals.length)
}

function textOf(
  { publication_id, title, author, content_type, state, version, content_sha3_256, source_ref }: PublicationManifest,
  approvals: readonly PublicationApproval[],
  attempts: readonly PublicationAttempt[],
  links: readonly PublicationLink[]
): string {
  const at = (ms: number) => new Date(ms).toISOString()
  const lacking = missing(approvals)
  const rows: (readonly [string, string])[] = [
    ['author', author],
    ['kind', content_type],
    ['state', `${state}, version ${version}`],
    ['digest', content_sha3_256],
    ['origin', source_ref ?? ''],
    ...approvals.map(
      each => ['approved', `by ${each.approver} (${each.approver_role}), ${at(each.approved_at_ms)}`] as const
    ),
    ...(lacking === 0 ? [] : [['missing', `${lacking} ${lacking === 1 ? 'approval' : 'approvals'}`] as const]),
    ...attempts.slice(0, MAX_LINES).map(each => ['attempt', `${each.channel}, ${at(each.attempted_at_ms)}`] as const),
    ...links.slice(0, MAX_LINES).map(({ kind, value, source }) => ['link', `${kind} ${value} (${source})`] as const)
  ]
  const lines = rows.filter(([, value]) => value !== '').map(([name, value]) => `${name.padEnd(9)} ${oneLine(value)}`)
  return [`${publication_id}: ${oneLine(title)}`, ...lines].join('\n')
}

/** The parts of the content that the list of fields does not show, so that a person reads all that the digest is for. */
function contentOf({ abstract_text, metadata_json, citations_json, body_markdown }: ManifestContent): string {
  const parts = Object.entries({ abstract: abstract_text, metadata: metadata_json, citations: citations_json })
  const lines = parts.flatMap(([name, value]) => (value === null ? [] : [`${name.padEnd(9)} ${oneLine(value)}`]))
  return ['', ...lines, '', printable(body_markdown).trimEnd()].join('\n')
}

function idOf({ publication_id, content_sha3_256 }: PublicationManifest) {
  return { publication_id, content_sha3_256 }
}

function shown({ body_markdown, ...rest }: PublicationManifest) {
  return { ...rest, body_bytes: Buffer.byteLength(body_markdown) }
}
