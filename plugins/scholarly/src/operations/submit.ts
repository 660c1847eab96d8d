import { FAILURE_CLASSES, PREFLIGHT_PROFILES } from '@svc/contracts'
import { defineOperation, t } from '@svc/plugin-sdk'
import { scholarlyErrors } from '../errors.ts'
import { adapterName, failures, job, publicationId } from './shared.ts'

const {
  SCH_CONFIG_INVALID,
  SCH_DATABASE_MISSING,
  SCH_GATE_CLOSED,
  SCH_PREFLIGHT_FAILED,
  SCH_PUBLICATION_UNKNOWN,
  SCH_REFUSED,
  SCH_STAGING_FAILED
} = scholarlyErrors.specs

export const scholarlyAdapterList = defineOperation({
  id: 'scholarly.adapters',
  summary: 'List archives, and whether they can be used now',
  input: t.object({}),
  output: t.object({
    adapters: t.array(
      t.object({
        name: t.string(),
        aliases: t.array(t.string()),
        summary: t.string(),
        live: t.boolean({ description: 'Whether it sends anything to another machine.' }),
        default: t.boolean({ description: 'Whether it is used if a call names no archive.' }),
        preflight: t.nullable(t.string({ description: 'Profile of checks before a submission.' })),
        state: t.enum(['ready', 'disabled', 'config']),
        problem: t.nullable(t.string({ description: 'Why it cannot be used, and what to do.' }))
      })
    )
  }),
  effect: 'read',
  expose: {
    http: { method: 'GET', path: '/api/scholarly/adapters' },
    rpc: true,
    cli: {
      command: 'scholarly adapters',
      view: { rows: 'adapters', columns: ['name', 'live', 'default', 'state', 'preflight', 'summary', 'problem'] }
    }
  }
})

export const scholarlySubmit = defineOperation({
  id: 'scholarly.submit',
  summary: 'Show what a submission to an archive would do; with submit, do it',
  description:
    'Without submit it is a dry run: nothing is queued or sent. One content is submitted to an archive at most once; a repeated call returns the job.',
  input: t.object({
    publication_id: publicationId,
    adapter: adapterName,
    submit: t.boolean({ default: false, description: 'Whether to submit; else the plan is shown.' }),
    wait: t.boolean({
      default: true,
      description: 'Whether to run the job in this call; else a serving process runs it.'
    })
  }),
  output: t.object({
    ok: t.boolean({ description: 'False if the submission failed.' }),
    dry_run: t.boolean({ description: 'Whether nothing was queued and sent.' }),
    ready: t.boolean({ description: 'Whether nothing prevents the submission.' }),
    adapter: t.string(),
    live: t.boolean(),
    publication_id: t.string(),
    title: t.string(),
    content_sha3_256: t.string(),
    steps: t.array(t.string()),
    files: t.array(t.object({ name: t.string(), bytes: t.integer(), sha3_256: t.string() })),
    gate_codes: t.array(t.string()),
    approvers: t.array(t.string()),
    preflight: t.nullable(
      t.object({
        profile: t.enum(PREFLIGHT_PROFILES),
        ok: t.boolean(),
        readiness_score: t.number(),
        findings: t.array(t.object({ code: t.string(), severity: t.string(), message: t.string() }))
      })
    ),
    problem: t.nullable(
      t.object({ error_class: t.enum(FAILURE_CLASSES), code: t.string(), message: t.string(), hint: t.string() })
    ),
    job: t.nullable(job),
    text: t.string({ description: 'The same for people.' })
  }),
  events: t.object({ file: t.string(), sent_bytes: t.integer(), total_bytes: t.integer() }),
  errors: { ...failures, SCH_GATE_CLOSED, SCH_PUBLICATION_UNKNOWN },
  timeoutMs: 0,
  expose: {
    http: { method: 'POST', path: '/api/scholarly/submit' },
    mcp: {
      name: 'svc_scientia_submit',
      lane: 'data',
      toolsets: ['scientia'],
      use: 'Shows the plan unless submit is true. Submitting needs the approval of two people, which tools cannot replace.'
    },
    rpc: true,
    cli: { command: 'scholarly submit', args: ['publication_id'], view: { text: 'text', success: 'ok', events: false } }
  }
})

export const scholarlyStage = defineOperation({
  id: 'scholarly.stage',
  summary: 'Write the files of a submission, with their checksums, into a folder',
  input: t.object({
    publication_id: publicationId,
    out: t.optional(
      t.string({
        minLength: 1,
        maxLength: 4_096,
        description: 'Folder, relative to the project. Default: the setting staging_dir, else a folder of this plugin.'
      })
    )
  }),
  output: t.object({
    folder: t.string(),
    files: t.array(t.object({ name: t.string(), bytes: t.integer(), sha3_256: t.string() }))
  }),
  errors: {
    SCH_CONFIG_INVALID,
    SCH_DATABASE_MISSING,
    SCH_PREFLIGHT_FAILED,
    SCH_PUBLICATION_UNKNOWN,
    SCH_REFUSED,
    SCH_STAGING_FAILED
  },
  expose: {
    http: { method: 'POST', path: '/api/scholarly/stage' },
    rpc: true,
    cli: {
      command: 'scholarly stage',
      args: ['publication_id'],
      view: { rows: 'files', columns: ['name', 'bytes', 'sha3_256'], note: 'folder' }
    }
  }
})

export const scholarlyPreflight = defineOperation({
  id: 'scholarly.preflight',
  summary: 'Check a publication against the profile of an archive',
  input: t.object({ publication_id: publicationId, adapter: adapterName }),
  output: t.object({
    ok: t.boolean(),
    adapter: t.string(),
    profile: t.enum(PREFLIGHT_PROFILES, { description: 'default, if the archive has no profile.' }),
    readiness_score: t.number({ description: '0 to 100.' }),
    findings: t.array(t.object({ severity: t.string(), code: t.string(), message: t.string() })),
    note: t.string()
  }),
  errors: {
    SCH_ADAPTER_UNKNOWN: scholarlyErrors.specs.SCH_ADAPTER_UNKNOWN,
    SCH_DATABASE_MISSING,
    SCH_PUBLICATION_UNKNOWN
  },
  effect: 'read',
  expose: {
    http: { method: 'GET', path: '/api/scholarly/preflight' },
    rpc: true,
    cli: {
      command: 'scholarly preflight',
      args: ['publication_id'],
      view: { rows: 'findings', columns: ['severity', 'code', 'message'], note: 'note', success: 'ok' }
    }
  }
})
