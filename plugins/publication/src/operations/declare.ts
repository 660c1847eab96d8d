import { dashboardInboxOutput } from '@svc/contracts'
import { defineOperation, t } from '@svc/plugin-sdk'
import { publicationErrors } from '../errors.ts'
import { PUBLICATION_TOPIC } from '../topic.ts'
import { approval, digest, manifest, profile, publicationId, report, summary } from './schemas.ts'

const { specs } = publicationErrors
const { PUB_DATABASE_MISSING, PUB_UNKNOWN, PUB_CONTENT_INVALID, PUB_DIGEST_CHANGED } = specs
const found = { PUB_DATABASE_MISSING, PUB_UNKNOWN }
const named = {
  PUB_APPROVAL_REFUSED: specs.PUB_APPROVAL_REFUSED,
  PUB_APPROVER_INVALID: specs.PUB_APPROVER_INVALID,
  PUB_APPROVER_UNKNOWN: specs.PUB_APPROVER_UNKNOWN,
  PUB_TOKEN_REFUSED: specs.PUB_TOKEN_REFUSED
}
const watch = { on: [PUBLICATION_TOPIC], minMs: 500 } as const
const tool = (name: string, title: string, use: string) => ({
  name: `svc_scientia_${name}`,
  title,
  lane: 'data' as const,
  toolsets: ['scientia'],
  use
})
const text = (maxLength: number, description: string) => t.optional(t.string({ maxLength, description }))

export const prepareOperation = defineOperation({
  id: 'publication.prepare',
  summary: 'Store the content of a publication',
  description:
    'Reads a Markdown file with YAML front matter, or fields, which win over those of the file. Other content than before voids all approvals. Nothing is sent.',
  input: t.object({
    path: text(1_000, 'Markdown file inside the project.'),
    id: text(200, 'Id of the publication.'),
    content_type: text(64, 'Kind, such as article, dataset, software or news_item. Default: article.'),
    title: text(1_000, 'Title.'),
    author: text(4_096, 'Authors, separated by semicolons.'),
    abstract: text(65_536, 'Abstract.'),
    body: text(4_194_304, 'Text in Markdown, instead of a file.'),
    source_ref: text(2_048, 'Origin of the text. Default: the path.'),
    citations_json: text(1_048_576, 'JSON array of CSL-JSON items.'),
    metadata_json: text(262_144, 'JSON object, such as with license and keywords.')
  }),
  output: manifest,
  errors: {
    PUB_DATABASE_MISSING,
    PUB_CONTENT_INVALID,
    PUB_FILE_INVALID: specs.PUB_FILE_INVALID,
    PUB_FILE_OUTSIDE: specs.PUB_FILE_OUTSIDE,
    PUB_OPTIONS_CONFLICT: specs.PUB_OPTIONS_CONFLICT
  },
  effect: 'write',
  idempotent: true,
  expose: {
    http: { method: 'POST', path: '/api/publications' },
    mcp: tool('prepare', 'Prepare a publication', 'First step of every publication; two approvals follow.'),
    rpc: true,
    cli: {
      command: 'publication prepare',
      args: ['path'],
      view: { fields: ['publication_id', 'title', 'version', 'state', 'content_sha3_256'] }
    }
  }
})

export const listOperation = defineOperation({
  id: 'publication.list',
  summary: 'List publications, the last changed ones first',
  input: t.object({
    state: text(100, 'Only this state.'),
    content_type: text(64, 'Only this kind.'),
    limit: t.integer({ default: 100, minimum: 1, maximum: 1_000, description: 'Most publications to return.' })
  }),
  output: t.object({ publications: t.array(summary), note: t.string() }),
  errors: { PUB_DATABASE_MISSING },
  effect: 'read',
  watch,
  expose: {
    http: { method: 'GET', path: '/api/publications' },
    mcp: tool('list', 'List publications', 'To find ids and states.'),
    rpc: true,
    cli: {
      command: 'publication list',
      view: {
        rows: 'publications',
        columns: ['publication_id', 'content_type', 'state', 'version', 'approvers', 'title'],
        note: 'note'
      }
    }
  }
})

export const showOperation = defineOperation({
  id: 'publication.show',
  summary: 'Show a publication with its approvals, attempts and links',
  input: t.object({
    publication_id: publicationId,
    body: t.boolean({ default: false, description: 'Whether to return the content, too: what approvals are for.' })
  }),
  output: t.object({
    publication: manifest,
    approvals: t.array(approval),
    missing_approvals: t.integer({ description: 'Approvals that the gate still needs.' }),
    text: t.string({ description: 'All of it as text, with the newest attempts; with the content only if requested.' }),
    attempts: t.array(
      t.object({
        id: t.integer({ description: 'Number of the row.' }),
        channel: t.string({ description: 'Channel of the news, or scholarly:ADAPTER.' }),
        content_sha3_256: t.string(),
        attempted_at_ms: t.integer({ description: 'Unix milliseconds.' }),
        outcome: t.unknown({ description: 'What became of it.' })
      }),
      { description: 'Newest first, at most 100.' }
    ),
    links: t.array(
      t.object({
        id: t.integer({ description: 'Number of the row.' }),
        kind: t.string(),
        value: t.string(),
        source: t.string(),
        content_sha3_256: t.string(),
        created_at_ms: t.integer({ description: 'Unix milliseconds.' })
      })
    ),
    media: t.array(
      t.object({
        path: t.string({ description: 'Path as the text names it.' }),
        media_type: t.string(),
        bytes: t.integer(),
        sha3_256: t.string()
      }),
      { description: 'Images of the current content.' }
    ),
    revisions: t.array(
      t.object({
        version: t.integer(),
        content_sha3_256: t.string(),
        created_at_ms: t.integer({ description: 'Unix milliseconds.' }),
        approved_at_ms: t.nullable(t.integer({ description: 'Unix milliseconds.' }))
      }),
      { description: 'Newest first, at most 100.' }
    ),
    events: t.array(
      t.object({
        id: t.integer({ description: 'Number of the row.' }),
        status: t.string(),
        detail: t.unknown(),
        created_at_ms: t.integer({ description: 'Unix milliseconds.' })
      }),
      { description: 'Changes of the state and of approvals, newest first, at most 100.' }
    )
  }),
  errors: found,
  effect: 'read',
  watch,
  expose: {
    http: { method: 'GET', path: '/api/publications/:publication_id' },
    mcp: tool('show', 'Show a publication', 'For approvals, attempts and links of one publication.'),
    rpc: true,
    cli: {
      command: 'publication show',
      args: ['publication_id'],
      view: { text: 'text' }
    }
  }
})

const decision = {
  publication_id: publicationId,
  digest,
  approver: text(400, 'Name of the person, who needs a token except on the command line. Default: the caller.'),
  approver_token: t.optional(
    t.secret({ maxLength: 4_096, description: 'Token of that person, if the configuration has one.' })
  )
}

export const approveOperation = defineOperation({
  id: 'publication.approve',
  summary: 'Approve exactly this content of a publication',
  description: 'The gate opens for content that two distinct people have approved. Read the content first.',
  input: t.object(decision),
  output: t.object({
    publication_id: t.string(),
    content_sha3_256: t.string(),
    state: t.string(),
    approver: t.string(),
    approver_role: t.string(),
    approvals: t.array(approval),
    missing_approvals: t.integer({ description: 'Approvals that the gate still needs.' }),
    is_new: t.boolean({ description: 'False if this person had approved the content before.' })
  }),
  errors: { ...found, ...named, PUB_DIGEST_CHANGED },
  effect: 'write',
  idempotent: true,
  expose: {
    http: { method: 'POST', path: '/api/publications/:publication_id/approvals' },
    mcp: tool(
      'approve',
      'Approve a publication',
      'Only if the configuration lets tools approve; a person must approve as well.'
    ),
    rpc: true
  }
})

export const revokeOperation = defineOperation({
  id: 'publication.revoke',
  summary: 'Revoke an approval, as long as nothing was sent',
  input: t.object(decision),
  output: t.object({
    publication_id: t.string(),
    state: t.string(),
    approver: t.string(),
    revoked: t.boolean({ description: 'False if there was no such approval.' }),
    missing_approvals: t.integer({ description: 'Approvals that the gate still needs.' })
  }),
  errors: { ...found, ...named, PUB_DIGEST_CHANGED, PUB_REVOKE_REFUSED: specs.PUB_REVOKE_REFUSED },
  effect: 'write',
  idempotent: true,
  expose: { http: { method: 'POST', path: '/api/publications/:publication_id/revocations' }, rpc: true }
})

export const preflightOperation = defineOperation({
  id: 'publication.preflight',
  summary: 'Check a publication against a profile',
  input: t.object({ publication_id: publicationId, profile }),
  output: report,
  errors: found,
  effect: 'read',
  watch,
  expose: {
    http: { method: 'GET', path: '/api/publications/:publication_id/preflight' },
    mcp: tool('preflight', 'Check a publication', 'Before approvals: archives and channels refuse what fails it.'),
    rpc: true,
    cli: {
      command: 'publication preflight',
      args: ['publication_id'],
      ownFlags: ['profile'],
      view: { rows: 'findings', columns: ['severity', 'code', 'message'], note: 'note', success: 'ok' }
    }
  }
})

export const worthinessOperation = defineOperation({
  id: 'publication.worthiness',
  summary: 'Rate a publication from the evidence in its metadata',
  input: t.object({ publication_id: publicationId }),
  output: t.object({
    publication_id: t.string(),
    content_sha3_256: t.string(),
    score: t.nullable(t.number({ description: '0 to 1; null without evidence.' })),
    decision: t.enum(['Publish', 'AskForEvidence', 'AbstainDoNotPublish']),
    failed_minima: t.array(t.string()),
    red_lines: t.array(t.string()),
    reasons: t.array(t.string())
  }),
  errors: found,
  effect: 'read',
  watch,
  expose: {
    http: { method: 'GET', path: '/api/publications/:publication_id/worthiness' },
    mcp: tool('worthiness', 'Rate a publication', 'To see which evidence metadata.worthiness lacks.'),
    rpc: true,
    cli: {
      command: 'publication worthiness',
      args: ['publication_id'],
      view: { fields: ['score', 'decision', 'failed_minima', 'red_lines', 'reasons'] }
    }
  }
})

export const diffOperation = defineOperation({
  id: 'publication.diff',
  summary: 'Show what changed since the last approved content',
  input: t.object({
    publication_id: publicationId,
    since: t.optional(
      t.string({ pattern: '^[0-9a-f]{64}$', description: 'Digest of former content. Default: the last approved one.' })
    )
  }),
  output: t.object({
    publication_id: t.string(),
    content_sha3_256: t.string(),
    since: t.nullable(t.string({ description: 'Digest that is compared with; null if no content was approved.' })),
    changes: t.array(t.object({ field: t.string(), patch: t.string() })),
    text: t.string({ description: 'All changes as one text.' })
  }),
  errors: found,
  effect: 'read',
  watch,
  expose: {
    http: { method: 'GET', path: '/api/publications/:publication_id/diff' },
    rpc: true,
    cli: { command: 'publication diff', args: ['publication_id'], view: { text: 'text' } }
  }
})

export const gateOperation = defineOperation({
  id: 'publication.gate',
  summary: 'Show whether a publication may be sent, and what prevents it',
  input: t.object({ publication_id: publicationId }),
  output: t.object({
    publication_id: t.string(),
    content_sha3_256: t.string(),
    open: t.boolean(),
    codes: t.array(t.string(), { description: 'dry_run, missing_db, missing_dual_approval, publish_not_armed.' }),
    approvers: t.array(t.string())
  }),
  errors: found,
  effect: 'read',
  watch,
  expose: {
    http: { method: 'GET', path: '/api/publications/:publication_id/gate' },
    rpc: true,
    cli: {
      command: 'publication gate',
      args: ['publication_id'],
      view: { fields: ['open', 'codes', 'approvers', 'content_sha3_256'], success: 'open' }
    }
  }
})

export const inboxOperation = defineOperation({
  id: 'publication.inbox',
  summary: 'List publications that wait for their second approval',
  input: t.object({}),
  output: dashboardInboxOutput,
  effect: 'read',
  watch,
  expose: { rpc: true }
})

export const OPERATIONS = [
  prepareOperation,
  listOperation,
  showOperation,
  approveOperation,
  revokeOperation,
  preflightOperation,
  worthinessOperation,
  diffOperation,
  gateOperation,
  inboxOperation
] as const
