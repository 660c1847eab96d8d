import {
  type Column,
  type DashboardPage,
  dashboardActions,
  dashboardCards,
  dashboardInbox,
  dashboardPages,
  type TableView
} from '@svc/contracts'
import type { PluginContext } from '@svc/plugin-sdk'
import { SKILL_PAGE } from './handlers/skills.ts'

const PAGE = 'openclaw/gateway'
/** Kinds of rows that the actions are for. */
const SKILL = 'openclaw-skill'
const SIDECAR = 'openclaw-sidecar'
const REMOTE = 'openclaw-remote-skill'

const skillColumns: readonly Column[] = [
  { field: 'slug', title: 'Skill', format: 'code' },
  { field: 'version', title: 'Version' },
  { field: 'kind', title: 'Kind' },
  { field: 'trust', title: 'Trust', format: 'state' },
  { field: 'approval', title: 'Approval', format: 'state' }
]

const detailColumns: readonly Column[] = [
  ...skillColumns,
  { field: 'secrets', title: 'Secrets', format: 'json' },
  { field: 'source', title: 'Source', format: 'code' },
  { field: 'description', title: 'Description' },
  { field: 'author', title: 'Author' },
  { field: 'installed_at', title: 'Installed', format: 'time' },
  { field: 'bytes', title: 'Size', format: 'bytes' },
  { field: 'sha256', title: 'Digest', format: 'code' }
]

const sidecarColumns: readonly Column[] = [
  { field: 'running', title: 'Running', format: 'boolean' },
  { field: 'pid', title: 'Process', format: 'code' },
  { field: 'started_unix_ms', title: 'Started', format: 'time' },
  { field: 'binary', title: 'Program', format: 'code' },
  { field: 'state_file', title: 'State file', format: 'code' },
  { field: 'disabled', title: 'Disabled by a setting', format: 'boolean' }
]

const approvals: TableView = {
  kind: 'table',
  operation: 'skills.approvals',
  rows: 'approvals',
  key: 'slug',
  of: SKILL,
  columns: skillColumns.slice(0, 4),
  open: { page: SKILL_PAGE, params: { slug: { from: 'row', name: 'slug' } } },
  empty: 'No skill waits for an approval.'
}

const page: DashboardPage = {
  path: PAGE,
  title: 'Skills gateway',
  summary: 'Skills of the external gateway, their approvals, and the gateway process on this machine',
  icon: 'plug',
  section: 'system',
  order: 70,
  view: {
    kind: 'tabs',
    items: [
      {
        title: 'Installed skills',
        view: {
          kind: 'table',
          operation: 'skills.installed',
          rows: 'skills',
          key: 'slug',
          columns: skillColumns,
          of: SKILL,
          open: { page: SKILL_PAGE, params: { slug: { from: 'row', name: 'slug' } } },
          empty: 'No skills are installed. Install one: svc openclaw import NAME --install'
        }
      },
      {
        title: 'Skills of the gateway',
        view: {
          kind: 'table',
          operation: 'skills.remote',
          rows: 'skills',
          key: 'name',
          columns: [
            { field: 'name', title: 'Skill', format: 'code' },
            { field: 'version', title: 'Version' },
            { field: 'description', title: 'Description' }
          ],
          of: REMOTE,
          empty: 'The gateway offers no skills.'
        }
      },
      {
        title: 'Gateway',
        view: {
          kind: 'record',
          operation: 'skills.health',
          columns: [
            { field: 'ready', title: 'Ready', format: 'boolean' },
            { field: 'http_gateway_url', title: 'HTTP address', format: 'code' },
            { field: 'http_status', title: 'HTTP status' },
            { field: 'ws_gateway_url', title: 'Control plane', format: 'code' },
            { field: 'ws_ok', title: 'Control plane responds', format: 'boolean' },
            { field: 'discovery_source', title: 'Origin of the addresses' },
            { field: 'token_configured', title: 'Token is set', format: 'boolean' },
            { field: 'sidecar_version', title: 'Version of the sidecar' },
            { field: 'sidecar_expected_version', title: 'Expected version' },
            { field: 'sidecar_version_match', title: 'Version matches', format: 'boolean' }
          ]
        }
      },
      {
        title: 'Sidecar',
        view: { kind: 'record', operation: 'skills.sidecarStatus', columns: sidecarColumns, of: SIDECAR }
      },
      {
        title: 'Subscriptions',
        view: {
          kind: 'table',
          operation: 'skills.subscriptions',
          rows: 'subscriptions',
          key: 'domain',
          columns: [
            { field: 'domain', title: 'Domain' },
            { field: 'count', title: 'Subscribers', format: 'number' }
          ],
          empty: 'No domain has subscribers.'
        }
      }
    ]
  }
}

const skillPage: DashboardPage = {
  path: SKILL_PAGE,
  title: 'Skill',
  icon: 'file-text',
  section: 'system',
  view: {
    kind: 'stack',
    items: [
      {
        view: {
          kind: 'record',
          operation: 'skills.show',
          input: { slug: { from: 'route', name: 'slug' } },
          field: 'skill',
          columns: detailColumns,
          of: SKILL
        }
      },
      {
        title: 'Text',
        view: {
          kind: 'text',
          operation: 'skills.show',
          input: { slug: { from: 'route', name: 'slug' } },
          field: 'text',
          format: 'code'
        }
      }
    ]
  }
}

/** Contributes the pages of the gateway and its skills, a card, and the approvals of the inbox. */
export function contributeConsole(ctx: Pick<PluginContext, 'contribute'>): void {
  for (const each of [page, skillPage]) ctx.contribute(dashboardPages, each, `page ${each.path}`)
  const slug = { slug: { from: 'row', name: 'slug' } } as const
  const id = { id: { from: 'row', name: 'approval_id' } } as const
  ctx.contribute(dashboardActions, {
    on: SKILL,
    label: 'Approve',
    operation: 'skills.approve',
    bind: id,
    when: { field: 'approval', in: ['pending', 'denied'] },
    tone: 'primary'
  })
  ctx.contribute(dashboardActions, {
    on: SKILL,
    label: 'Deny',
    operation: 'skills.deny',
    bind: id,
    when: { field: 'approval', in: ['pending', 'approved'] },
    tone: 'danger'
  })
  ctx.contribute(dashboardActions, {
    on: SKILL,
    label: 'Trust its source',
    operation: 'skills.trust',
    bind: { ...slug, trust: { value: 'community' } },
    when: { field: 'trust', in: ['untrusted'] },
    tone: 'danger'
  })
  ctx.contribute(dashboardActions, {
    on: SKILL,
    label: 'Remove',
    operation: 'skills.remove',
    bind: slug,
    when: { field: 'trust', in: ['community', 'untrusted'] },
    tone: 'danger'
  })
  ctx.contribute(dashboardActions, {
    on: REMOTE,
    label: 'Install',
    operation: 'skills.import',
    bind: { slug: { from: 'row', name: 'name' }, install: { value: true } },
    tone: 'primary'
  })
  ctx.contribute(dashboardActions, {
    on: SIDECAR,
    label: 'Start',
    operation: 'skills.sidecarStart',
    bind: {},
    when: { field: 'running', in: [false] },
    tone: 'primary'
  })
  ctx.contribute(dashboardActions, {
    on: SIDECAR,
    label: 'Stop',
    operation: 'skills.sidecarStop',
    bind: {},
    when: { field: 'running', in: [true] },
    tone: 'danger'
  })
  ctx.contribute(dashboardInbox, { operation: 'skills.inbox' })
  ctx.contribute(dashboardCards, {
    title: 'Skills gateway',
    order: 85,
    size: 'm',
    link: { page: PAGE },
    view: {
      kind: 'stack',
      items: [
        { view: { kind: 'record', operation: 'skills.sidecarStatus', columns: sidecarColumns.slice(0, 3) } },
        { title: 'Waiting for approval', view: approvals }
      ]
    }
  })
}
