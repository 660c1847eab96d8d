import {
  type DashboardPage,
  dashboardActions,
  dashboardCards,
  dashboardInbox,
  dashboardPages,
  SECRET_STATUSES
} from '@svc/contracts'
import type { PluginContext } from '@svc/plugin-sdk'

const PAGE = 'secrets/declared'
/** Kinds of rows that the actions are for. */
const SECRET = 'secret'
const DELEGATION = 'secret-delegation'

const page: DashboardPage = {
  path: PAGE,
  title: 'Declared secrets',
  summary: 'Secrets that plugins and services need, where they come from, and what to do. Values are never shown',
  icon: 'key-round',
  section: 'system',
  order: 40,
  role: 'owner',
  view: {
    kind: 'tabs',
    items: [
      {
        title: 'Secrets',
        view: {
          kind: 'table',
          operation: 'secrets.doctor',
          rows: 'secrets',
          key: 'id',
          of: SECRET,
          columns: [
            { field: 'id', title: 'Secret' },
            { field: 'canonical_env', title: 'Variable', format: 'code' },
            { field: 'status', title: 'Status', format: 'state' },
            { field: 'source', title: 'Source' },
            { field: 'remediation', title: 'Next step' }
          ],
          filters: [
            { name: 'status', label: 'Status', choices: SECRET_STATUSES, field: 'status' },
            { name: 'secret', label: 'Secret', field: 'id' },
            { name: 'variable', label: 'Variable', field: 'canonical_env' }
          ],
          empty: 'No plugin declares a secret.'
        }
      },
      {
        title: 'State',
        view: {
          kind: 'record',
          operation: 'secrets.doctor',
          columns: [
            { field: 'healthy', title: 'Requirements are met', format: 'boolean' },
            { field: 'rollout_flags.profile', title: 'Profile' },
            { field: 'backend_mode', title: 'Backend' },
            { field: 'rollout_flags.backend_selected_by', title: 'Selected by' },
            { field: 'rollout_flags.backend_problem', title: 'Problem of the backend' },
            { field: 'rollout_flags.cutover_phase', title: 'Phase of the cutover' },
            { field: 'rollout_flags.hard_cut', title: 'Hard cut', format: 'boolean' },
            { field: 'rollout_flags.legacy_sources_allowed', title: 'Variables and files allowed', format: 'boolean' },
            { field: 'rollout_flags.keyring', title: 'Keyring' },
            { field: 'rollout_flags.keyring_detail', title: 'Place of the keyring' },
            { field: 'vault_diagnostic.mode', title: 'Local vault' },
            { field: 'vault_diagnostic.problem', title: 'Problem of the vault' },
            { field: 'account_warning', title: 'Warning' },
            { field: 'suggested_migrations', title: 'Suggestions' }
          ]
        }
      },
      {
        title: 'Backends',
        view: {
          kind: 'table',
          operation: 'secrets.backend_status',
          rows: 'backends',
          key: 'name',
          columns: [
            { field: 'name', title: 'Backend' },
            { field: 'selected', title: 'Selected', format: 'boolean' },
            { field: 'state', title: 'State', format: 'state' },
            { field: 'detail', title: 'Detail' }
          ]
        }
      },
      {
        title: 'Delegations',
        view: {
          kind: 'table',
          operation: 'secrets.delegations',
          rows: 'delegations',
          key: 'id',
          of: DELEGATION,
          columns: [
            { field: 'secret', title: 'Secret' },
            { field: 'agent', title: 'Agent' },
            { field: 'scopes', title: 'Rights' },
            { field: 'issued_at', title: 'Issued', format: 'time' },
            { field: 'expires_at', title: 'Ends', format: 'time' },
            { field: 'state', title: 'State', format: 'state' }
          ],
          filters: [
            { name: 'state', label: 'State', choices: ['active', 'expired', 'revoked'], field: 'state' },
            { name: 'agent', label: 'Agent', field: 'agent' }
          ],
          sort: '-issued_at',
          empty: 'No secret is delegated to an agent. Delegate one: svc secrets delegate NAME --agent AGENT'
        }
      },
      {
        title: 'Audit log',
        view: {
          kind: 'table',
          operation: 'secrets.audit',
          input: { limit: { value: 500 } },
          rows: 'rows',
          key: 'id',
          columns: [
            { field: 'at', title: 'Time', format: 'time' },
            { field: 'secret', title: 'Secret' },
            { field: 'action', title: 'Action' },
            { field: 'actor', title: 'Actor' },
            { field: 'outcome', title: 'Outcome', format: 'state' },
            { field: 'detail', title: 'Detail' }
          ],
          filters: [
            { name: 'secret', label: 'Secret', field: 'secret' },
            { name: 'action', label: 'Action', field: 'action' }
          ],
          empty:
            'Reads and writes of the vault appear here in the profiles prod and hard_cut, or with plugins.secrets-local.audit_log.'
        }
      }
    ]
  }
}

/** Contributes the page of the declared secrets, its actions, a card and the inbox. */
export function contributeConsole(ctx: Pick<PluginContext, 'contribute'>): void {
  ctx.contribute(dashboardPages, page)
  const name = { name: { from: 'row', name: 'id' } } as const
  ctx.contribute(dashboardActions, {
    on: SECRET,
    label: 'Store',
    operation: 'secrets.set',
    bind: name,
    ask: ['value'],
    when: { field: 'status', in: ['MissingOptional', 'MissingRequired'] },
    role: 'owner'
  })
  ctx.contribute(dashboardActions, {
    on: SECRET,
    label: 'Replace',
    operation: 'secrets.set',
    bind: name,
    ask: ['value'],
    when: { field: 'source', in: ['ExternalBackend', 'SecureStore', 'AuthJson'] },
    role: 'owner'
  })
  ctx.contribute(dashboardActions, {
    on: DELEGATION,
    label: 'Revoke',
    operation: 'secrets.revoke',
    bind: { id: { from: 'row', name: 'id' } },
    when: { field: 'state', in: ['active'] },
    role: 'owner',
    tone: 'danger'
  })
  ctx.contribute(dashboardInbox, { operation: 'secrets.inbox' })
  ctx.contribute(dashboardCards, {
    title: 'Secrets',
    order: 66,
    size: 's',
    link: { page: PAGE },
    view: {
      kind: 'record',
      operation: 'secrets.summary',
      columns: [
        { field: 'unmet', title: 'Required and missing', format: 'number' },
        { field: 'invalid', title: 'Empty or refused', format: 'number' },
        { field: 'outdated', title: 'To be rotated or renamed', format: 'number' },
        { field: 'present', title: 'Present', format: 'number' },
        { field: 'delegations_ending', title: 'Delegations that end today', format: 'number' },
        { field: 'backend_mode', title: 'Backend' }
      ]
    }
  })
}
