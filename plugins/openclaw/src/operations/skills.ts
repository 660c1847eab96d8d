import { dashboardInboxOutput, skillsGatewayErrors } from '@svc/contracts'
import { defineOperation, t } from '@svc/plugin-sdk'
import { openclawErrors } from '../errors.ts'
import { SKILL_KINDS } from '../skills/record.ts'

/** Topic that is announced after a skill was installed, decided on or removed. */
export const SKILLS_TOPIC = 'openclaw.skills'

const {
  SKG_APPROVAL_UNKNOWN,
  SKG_GATEWAY_FIXED,
  SKG_NOT_APPROVED,
  SKG_NOT_INSTALLED,
  SKG_RUN_FAILED,
  SKG_RUN_LIMIT,
  SKG_SANDBOX_UNAVAILABLE,
  SKG_SECRET_MISSING,
  SKG_SKILL_TOO_LARGE,
  SKG_STORE_FAILED,
  SKG_STORE_FULL,
  SKG_UNTRUSTED
} = openclawErrors.specs
const { SKG_SKILL_INVALID } = skillsGatewayErrors.specs
const storeErrors = { SKG_SKILL_INVALID, SKG_NOT_INSTALLED, SKG_STORE_FAILED }

const slug = t.string({ minLength: 1, maxLength: 256, description: 'Name of the skill: NAME or OWNER/NAME.' })
const trust = t.enum(['trusted', 'community', 'untrusted'], {
  description: 'trusted: part of svc. community: of the configured gateway. untrusted: of another gateway.'
})

const record = t.object({
  slug: t.string(),
  version: t.string(),
  description: t.string(),
  author: t.nullable(t.string()),
  kind: t.enum(SKILL_KINDS),
  trust,
  approval: t.enum(['pending', 'approved', 'denied']),
  approval_id: t.string({ description: 'Identifies exactly this content; empty for a trusted skill.' }),
  secrets: t.array(t.string(), { description: 'Secrets that the skill requests.' }),
  source: t.string({ description: 'Gateway or plugin that the skill comes from.' }),
  sha256: t.string({ description: 'Digest of the text.' }),
  bytes: t.integer({ description: 'Size of the text.' }),
  installed_at: t.nullable(t.integer({ description: 'Milliseconds since 1970; null for a trusted skill.' }))
})

const decided = t.object({ slug: t.string(), version: t.string(), approval: t.string(), trust })

export const skillsImport = defineOperation({
  id: 'skills.import',
  summary: 'Read a skill of the external gateway, and install it if requested',
  description:
    'An installed skill does not run before a person approves it. Only the command line may choose another gateway, whose skills are untrusted.',
  input: t.object({
    slug,
    install: t.boolean({ default: false, description: 'Whether to install the skill.' }),
    gateway: t.optional(
      t.string({
        pattern: '^https?://[^\\s/?#@]',
        maxLength: 2_048,
        description: 'Base URL of another gateway. Only on the command line.'
      })
    ),
    token: t.optional(
      t.secret({
        minLength: 1,
        maxLength: 4_096,
        description: 'Token for that gateway. Only on the command line, where other users of the machine may see it.'
      })
    )
  }),
  output: t.object({
    slug: t.string(),
    version: t.string(),
    description: t.string(),
    kind: t.enum(SKILL_KINDS),
    trust,
    secrets: t.array(t.string()),
    installed: t.boolean(),
    approval: t.nullable(t.string({ description: 'pending, approved or denied; null if it is not installed.' })),
    approval_id: t.nullable(t.string()),
    source: t.string(),
    sha256: t.string(),
    text: t.string({ description: 'Text of the skill, Markdown.' })
  }),
  errors: {
    ...skillsGatewayErrors.specs,
    SKG_GATEWAY_FIXED,
    SKG_SKILL_TOO_LARGE,
    SKG_STORE_FAILED,
    SKG_STORE_FULL
  },
  timeoutMs: 0,
  expose: {
    http: { method: 'POST', path: '/api/skills/import' },
    mcp: {
      name: 'svc_openclaw_import',
      toolsets: ['skills'],
      use: 'Without install it only shows the text. An installed skill waits for the approval of a person, then use svc_openclaw_run.'
    },
    rpc: true,
    cli: {
      command: 'openclaw import',
      args: ['slug'],
      view: {
        fields: ['slug', 'version', 'description', 'kind', 'trust', 'installed', 'approval', 'approval_id', 'text']
      }
    }
  }
})

export const skillsInstalled = defineOperation({
  id: 'skills.installed',
  summary: 'List installed skills with their trust and approval',
  input: t.object({}),
  output: t.object({ skills: t.array(record) }),
  errors: { SKG_STORE_FAILED },
  effect: 'read',
  watch: { on: [SKILLS_TOPIC], minMs: 1_000 },
  expose: {
    http: { method: 'GET', path: '/api/skills' },
    mcp: {
      name: 'svc_openclaw_skills',
      toolsets: ['skills'],
      use: 'Use it to find what svc_openclaw_run can run. Skills that are not installed: svc_openclaw_list_remote.'
    },
    rpc: true,
    cli: {
      command: 'openclaw list',
      view: { rows: 'skills', columns: ['slug', 'version', 'kind', 'trust', 'approval', 'description'] }
    }
  }
})

export const skillsShow = defineOperation({
  id: 'skills.show',
  summary: 'Show the text of an installed skill',
  input: t.object({ slug }),
  output: t.object({ skill: record, text: t.string({ description: 'Markdown.' }) }),
  errors: storeErrors,
  effect: 'read',
  watch: { on: [SKILLS_TOPIC], minMs: 1_000 },
  expose: {
    http: { method: 'GET', path: '/api/skills/text' },
    rpc: true,
    cli: { command: 'openclaw show', args: ['slug'], view: { text: 'text' } }
  }
})

export const skillsApprovals = defineOperation({
  id: 'skills.approvals',
  summary: 'List installed skills that wait for an approval',
  input: t.object({}),
  output: t.object({ approvals: t.array(record) }),
  errors: { SKG_STORE_FAILED },
  effect: 'read',
  watch: { on: [SKILLS_TOPIC], minMs: 1_000 },
  expose: {
    http: { method: 'GET', path: '/api/skills/approvals' },
    rpc: true,
    cli: {
      command: 'openclaw approvals',
      view: {
        rows: 'approvals',
        columns: ['approval_id', 'slug', 'version', 'kind', 'trust', 'secrets', 'description']
      }
    }
  }
})

const approvalId = t.string({ minLength: 1, maxLength: 64, description: 'Id of the approval.' })

export const skillsApprove = defineOperation({
  id: 'skills.approve',
  summary: 'Approve an installed skill, so that it may run',
  input: t.object({ id: approvalId }),
  output: decided,
  errors: { SKG_APPROVAL_UNKNOWN, SKG_STORE_FAILED, SKG_UNTRUSTED },
  expose: {
    http: { method: 'POST', path: '/api/skills/approve' },
    rpc: true,
    cli: { command: 'openclaw approve', args: ['id'] }
  }
})

export const skillsDeny = defineOperation({
  id: 'skills.deny',
  summary: 'Deny an installed skill, so that it does not run',
  input: t.object({ id: approvalId }),
  output: decided,
  errors: { SKG_APPROVAL_UNKNOWN, SKG_STORE_FAILED },
  expose: {
    http: { method: 'POST', path: '/api/skills/deny' },
    rpc: true,
    cli: { command: 'openclaw deny', args: ['id'] }
  }
})

export const skillsTrust = defineOperation({
  id: 'skills.trust',
  summary: 'Promote an untrusted skill, or block an installed one',
  input: t.object({
    slug,
    trust: t.enum(['community', 'untrusted'], {
      description: 'community: may run after an approval. untrusted: does not run.'
    })
  }),
  output: decided,
  errors: storeErrors,
  expose: {
    http: { method: 'POST', path: '/api/skills/trust' },
    rpc: true,
    cli: { command: 'openclaw trust', args: ['slug', 'trust'] }
  }
})

export const skillsRemove = defineOperation({
  id: 'skills.remove',
  summary: 'Remove an installed skill and its approval',
  input: t.object({ slug }),
  output: t.object({ slug: t.string(), version: t.string() }),
  errors: storeErrors,
  effect: 'destructive',
  expose: {
    http: { method: 'POST', path: '/api/skills/remove' },
    rpc: true,
    cli: { command: 'openclaw remove', args: ['slug'] }
  }
})

export const skillsRun = defineOperation({
  id: 'skills.run',
  summary: 'Run an approved skill in a sandbox, or show the text of a document skill',
  description:
    'A tool or shell skill runs in a container without network. If neither docker nor podman responds, the gateway runs it.',
  input: t.object({
    slug,
    command: t.string({ default: '', maxLength: 1_048_576, description: 'Input of the skill, on its standard input.' })
  }),
  output: t.object({
    slug: t.string(),
    kind: t.enum(SKILL_KINDS),
    trust,
    isolation: t.enum(['none', 'process', 'container', 'gateway'], { description: 'Where the skill ran.' }),
    output: t.string(),
    errors: t.string({ description: 'Standard error.' }),
    exit_code: t.nullable(t.integer()),
    healthy: t.boolean({ description: 'False if the exit code is not 0.' })
  }),
  errors: {
    ...skillsGatewayErrors.specs,
    SKG_NOT_APPROVED,
    SKG_NOT_INSTALLED,
    SKG_RUN_FAILED,
    SKG_RUN_LIMIT,
    SKG_SANDBOX_UNAVAILABLE,
    SKG_SECRET_MISSING,
    SKG_STORE_FAILED,
    SKG_UNTRUSTED
  },
  timeoutMs: 0,
  concurrency: 4,
  expose: {
    http: { method: 'POST', path: '/api/skills/run' },
    mcp: {
      name: 'svc_openclaw_run',
      toolsets: ['skills'],
      use: 'Only for skills that a person approved; svc_openclaw_skills lists them.'
    },
    rpc: true,
    cli: { command: 'openclaw run', args: ['slug'], view: { text: 'output' } }
  }
})

export const skillsInbox = defineOperation({
  id: 'skills.inbox',
  summary: 'List skills that wait for an approval, for the inbox of the console',
  input: t.object({}),
  output: dashboardInboxOutput,
  errors: { SKG_STORE_FAILED },
  effect: 'read',
  watch: { on: [SKILLS_TOPIC], minMs: 1_000 },
  expose: { rpc: true }
})
