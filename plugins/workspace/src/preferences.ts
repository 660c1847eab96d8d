import type { DatabaseStore } from '@svc/contracts'
import { defineOperation, type Handler, t } from '@svc/plugin-sdk'
import { workspaceErrors } from './errors.ts'

const { WSP_NO_DATABASE, WSP_PREFERENCE_UNKNOWN } = workspaceErrors.specs
const key = t.string({
  minLength: 1,
  maxLength: 256,
  pattern: '^\\S+$',
  description: 'Name of the preference, for example editor.tab_width.'
})
const user = t.optional(
  t.string({ minLength: 1, maxLength: 256, description: 'Whose preference it is. Default: the caller.' })
)
const preference = t.object({ user_id: t.string(), key: t.string(), value: t.string() })

export const setPreference = defineOperation({
  id: 'workspace.setPreference',
  summary: 'Store or delete a preference of a user',
  input: t.object({
    key,
    value: t.nullable(t.string({ maxLength: 65_536 }), { description: 'New value; null deletes the preference.' }),
    user_id: user
  }),
  output: t.object({ user_id: t.string(), key: t.string(), value: t.nullable(t.string()) }),
  errors: { WSP_NO_DATABASE },
  idempotent: true,
  expose: {
    http: { method: 'PUT', path: '/api/workspace/preferences/:key' },
    mcp: {
      name: 'svc_preference_set',
      result: 'tool-result',
      lane: 'data',
      toolsets: ['workspace'],
      use: 'For what the user told you to remember about the way to work. Values for other agents: svc_set_context.'
    },
    rpc: true,
    cli: { command: 'workspace prefer', args: ['key', 'value'], view: { fields: ['user_id', 'key', 'value'] } }
  }
})

export const getPreference = defineOperation({
  id: 'workspace.getPreference',
  summary: 'Read one preference of a user, or all of them',
  input: t.object({ key: t.optional(key), user_id: user }),
  output: t.object({ preferences: t.array(preference) }),
  errors: { WSP_NO_DATABASE, WSP_PREFERENCE_UNKNOWN },
  effect: 'read',
  expose: {
    http: { method: 'GET', path: '/api/workspace/preferences' },
    mcp: {
      name: 'svc_preference_get',
      result: 'tool-result',
      lane: 'data',
      toolsets: ['workspace'],
      use: 'At the beginning, to follow what the user prefers. svc_preference_set changes a preference.'
    },
    rpc: true,
    cli: {
      command: 'workspace preferences',
      args: ['key'],
      view: { rows: 'preferences', columns: ['key', 'value', 'user_id'] }
    }
  }
})

type Database = DatabaseStore | undefined

const UPSERT = `INSERT INTO user_preferences (user_id, key, value) VALUES (:user_id, :key, :value)
  ON CONFLICT (user_id, key) DO UPDATE SET value = excluded.value`
const MAX_LISTED = 1_000

export function setPreferenceHandler(database: Database): Handler<typeof setPreference> {
  return async ({ key, value, user_id }, { principal }) => {
    const user = user_id ?? principal.id
    const store = storeOf(database)
    if (value === null) await store.execute('DELETE FROM user_preferences WHERE user_id = ? AND key = ?', [user, key])
    else await store.execute(UPSERT, { user_id: user, key, value })
    return { user_id: user, key, value }
  }
}

export function getPreferenceHandler(database: Database): Handler<typeof getPreference> {
  return async ({ key, user_id }, { principal }) => {
    const user = user_id ?? principal.id
    const { rows } = await storeOf(database).query(
      'SELECT key, value FROM user_preferences WHERE user_id = :user AND (:key IS NULL OR key = :key) ORDER BY key LIMIT :limit',
      { user, key: key ?? null, limit: MAX_LISTED }
    )
    if (key !== undefined && rows.length === 0)
      throw workspaceErrors.create('WSP_PREFERENCE_UNKNOWN', `the preference ${key} of ${user} is not set`, {
        hint: 'call it without a key to list all preferences'
      })
    return {
      preferences: rows.map(([name, value]) => ({ user_id: user, key: String(name), value: String(value ?? '') }))
    }
  }
}

function storeOf(database: Database): DatabaseStore {
  if (database !== undefined) return database
  throw workspaceErrors.create('WSP_NO_DATABASE', 'preferences are stored in the database, and there is none', {
    hint: 'enable the plugin database'
  })
}
